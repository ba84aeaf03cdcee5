package body

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// object is a body within another.
func object[T any, P bodyOf[T]](x *visitor, v *T) {
	if x.r != nil {
		if d, ok := any(P(v)).(defaulter); ok {
			d.setDefaults()
		}
	}
	x.body(P(v))
}

// pointer is a body that may be null.
func pointer[T any, P bodyOf[T]](x *visitor, v **T) {
	if x.w != nil {
		if *v == nil {
			x.w.buf = append(x.w.buf, "null"...)
			return
		}
		x.body(P(*v))
		return
	}
	if x.r.peek() != '{' {
		*v = nil
		if x.r.begin('{') {
			x.r.fail("expected an object")
		}
		return
	}
	*v = new(T)
	object[T, P](x, *v)
}

// listOf is a list; when reading, nulls in it are dropped and null gives nil.
func listOf[T any](x *visitor, v *[]T, elem func(x *visitor, v *T)) {
	if x.w != nil {
		x.w.open('[')
		for i := range *v {
			x.w.next(i == 0)
			elem(x, &(*v)[i])
		}
		x.w.close(']', len(*v) == 0)
		return
	}
	*v = nil
	if !x.r.begin('[') {
		return
	}
	*v = []T{}
	for first := true; x.r.more(']', &first); {
		if x.r.null() {
			continue
		}
		var e T
		elem(x, &e)
		*v = append(*v, e)
	}
}

// mapOf is a map, written in the order of its keys; when reading, null values are dropped and null gives nil.
func mapOf[K comparable, V any](x *visitor, v *map[K]V, key keyCodec[K], elem func(x *visitor, v *V)) {
	if x.w != nil {
		keys := make([]K, 0, len(*v))
		for k := range *v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, key.compare)
		x.w.open('{')
		for i, k := range keys {
			x.w.next(i == 0)
			key.write(x.w, k)
			e := (*v)[k]
			elem(x, &e)
		}
		x.w.close('}', len(keys) == 0)
		return
	}
	*v = nil
	if !x.r.begin('{') {
		return
	}
	*v = make(map[K]V)
	for first := true; x.r.more('}', &first); {
		k, err := key.read(x.r.key())
		if err != nil {
			x.r.fail("%v", err)
			return
		}
		if x.r.null() {
			continue
		}
		var e V
		elem(x, &e)
		(*v)[k] = e
	}
}

// null skips a null.
func (r *reader) null() bool {
	if c := r.peek(); c != 'n' && c != 'u' && c != 'N' {
		return false
	}
	at := r.i
	if _, kind := r.scalar(); kind == null {
		return true
	}
	r.i = at
	return false
}

// keyCodec writes and reads the keys of a map.
type keyCodec[K any] interface {
	write(w *writer, k K)
	read(text []byte) (K, error)
	compare(a, b K) int
}

type stringKey struct{}

func (stringKey) write(w *writer, k string) {
	w.text(k)
	w.buf = append(w.buf, ':')
}

func (stringKey) read(text []byte) (string, error) {
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func (stringKey) compare(a, b string) int { return strings.Compare(a, b) }

type intKey[K ~int32 | ~int64] struct{}

func (intKey[K]) write(w *writer, k K) { w.integerKey(int64(k)) }

func (intKey[K]) read(text []byte) (K, error) {
	v, ok := parseInteger(bytes.TrimSpace(text), 64)
	if !ok || int64(K(v)) != v {
		return 0, fmt.Errorf("expected an integer key, got %.32q", text)
	}
	return K(v), nil
}

func (intKey[K]) compare(a, b K) int { return cmp.Compare(a, b) }

// queueKey is a MessageQueue as a key, in object form; its text in quotes is read, too.
type queueKey struct{}

func (queueKey) write(w *writer, k MessageQueue) {
	x := visitor{w: w}
	x.body(&k)
	w.buf = append(w.buf, ':')
}

func (queueKey) read(text []byte) (MessageQueue, error) {
	var q MessageQueue
	r := newReader(text)
	x := visitor{r: r}
	x.body(&q)
	return q, r.finish()
}

func (queueKey) compare(a, b MessageQueue) int { return a.Compare(b) }

// enum is a constant of a Java enum by name, "" for null. Reading takes any case and ordinals; what is no constant is null, as in
// the reference.
func enum[E ~string](x *visitor, v *E, constants []E) {
	if x.w != nil {
		x.w.text(string(*v))
		return
	}
	*v = ""
	text, kind := x.r.scalar()
	if kind == null {
		return
	}
	if n, ok := parseInteger(text, 32); ok && n >= 0 && n < int64(len(constants)) {
		*v = constants[n]
		return
	}
	for _, c := range constants {
		if strings.EqualFold(string(text), string(c)) {
			*v = c
			return
		}
	}
}

package message

import (
	"bytes"
	"unsafe"
)

// Separators of the wire form of properties.
const (
	NameValueSeparator = 0x01
	PropertySeparator  = 0x02
)

// Properties are message properties in wire form: "name 0x01 value 0x02 name 0x01 value 0x02 …", UTF-8. The last 0x02 may be
// missing (old writers leave it out). It reads as MessageDecoder.string2messageProperties does: a pair without 0x01, with
// an empty name or with an empty value does not exist; of equal names the last one counts; a value may hold 0x01.
//
// A Properties is immutable to its methods: those that change something return a new one and never write into the
// receiver's array. Strings handed out alias it (see the package comment).
type Properties []byte

// Get returns the value of key, which holds no separator, without copying it. It reads the whole of p once and allocates
// nothing.
func (p Properties) Get(key string) (value string, ok bool) {
	if len(key) == 0 {
		return "", false
	}
	for rest := []byte(p); len(rest) > len(key); {
		var pair []byte
		pair, rest = cutPair(rest)
		if len(pair) > len(key)+1 && pair[len(key)] == NameValueSeparator && string(pair[:len(key)]) == key {
			value, ok = aliasString(pair[len(key)+1:]), true
		}
	}
	return value, ok
}

// Has tells whether key has a value.
func (p Properties) Has(key string) bool {
	_, ok := p.Get(key)
	return ok
}

// Range calls fn for each pair in wire order until fn returns false. Of equal names a later pair replaces an earlier one. Several
// properties are found in one pass this way; nothing is allocated if fn does not escape.
func (p Properties) Range(fn func(key, value string) bool) {
	for rest := []byte(p); len(rest) > 0; {
		var pair []byte
		pair, rest = cutPair(rest)
		i := bytes.IndexByte(pair, NameValueSeparator)
		if i <= 0 || i == len(pair)-1 {
			continue
		}
		if !fn(aliasString(pair[:i]), aliasString(pair[i+1:])) {
			return
		}
	}
}

// With returns properties in which key has value, and only that one, at the end. Separators in key or value are not escaped:
// the format cannot. An empty value removes key, since it could not be read back.
func (p Properties) With(key, value string) Properties {
	out := p.appendWithout(make(Properties, 0, len(p)+len(key)+len(value)+3), key)
	return out.Append(key, value)
}

// Without returns properties that lack keys. It is p itself when none of them is there.
func (p Properties) Without(keys ...string) Properties {
	for _, key := range keys {
		if p.contains(key) {
			return p.appendWithout(make(Properties, 0, len(p)), keys...)
		}
	}
	return p
}

// Append adds a pair at the end of p's array, as append does: for building properties in an array the caller owns. A pair
// with an empty key or value is left out. It does not look for key in p.
func (p Properties) Append(key, value string) Properties {
	if key == "" || value == "" {
		return p
	}
	if p.unterminated() {
		p = append(p, PropertySeparator)
	}
	p = append(p, key...)
	p = append(p, NameValueSeparator)
	p = append(p, value...)
	return append(p, PropertySeparator)
}

// Clone returns a copy that shares nothing with p.
func (p Properties) Clone() Properties { return bytes.Clone(p) }

// unterminated tells that the last pair lacks its separator, so that something appended would run into its value.
func (p Properties) unterminated() bool { return len(p) > 0 && p[len(p)-1] != PropertySeparator }

// contains is Has for any pair of that name, also one with an empty value.
func (p Properties) contains(key string) bool {
	for rest := []byte(p); len(rest) > len(key); {
		var pair []byte
		pair, rest = cutPair(rest)
		if named(pair, key) {
			return true
		}
	}
	return false
}

// appendWithout appends p's pairs but those named by keys to dst, which has room for len(p) and one separator.
func (p Properties) appendWithout(dst Properties, keys ...string) Properties {
	for rest := []byte(p); len(rest) > 0; {
		var pair []byte
		pair, rest = cutPair(rest)
		drop := len(pair) == 0
		for _, key := range keys {
			drop = drop || named(pair, key)
		}
		if !drop {
			dst = append(append(dst, pair...), PropertySeparator)
		}
	}
	return dst
}

func named(pair []byte, key string) bool {
	return len(pair) > len(key) && pair[len(key)] == NameValueSeparator && string(pair[:len(key)]) == key
}

// cutPair splits b, which is not empty, behind its first pair. The separator belongs to neither.
func cutPair(b []byte) (pair, rest []byte) {
	if i := bytes.IndexByte(b, PropertySeparator); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// aliasString views b as a string without copying.
func aliasString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

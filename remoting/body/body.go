package body

import "fmt"

// Body is one of this package's structs: it lists its members once, for writing and reading.
type Body interface {
	members(m *members)
}

// bodyOf is the pointer type of a body struct.
type bodyOf[T any] interface {
	*T
	Body
}

// defaulter is a Body whose class has defaults other than zero.
type defaulter interface {
	setDefaults()
}

// Encode writes a body as standard JSON but for MessageQueue keys.
func Encode(b Body) []byte { return Append(nil, b) }

// Append is Encode behind dst.
func Append(dst []byte, b Body) []byte { return encode(writer{buf: dst}, b) }

// EncodeBare writes a body with unquoted integer keys, as RemotingSerializable.encode does.
func EncodeBare(b Body) []byte { return encode(writer{bareKeys: true}, b) }

// EncodePretty writes a body with one member per line and tabs, the form of the reference's configuration files.
func EncodePretty(b Body) []byte { return encode(writer{pretty: true}, b) }

// AppendPrettyMember writes a member of EncodePretty's form behind dst, without the line before it: name and body, depth objects deep.
func AppendPrettyMember(dst []byte, depth int, name string, b Body) []byte {
	w := writer{buf: dst, pretty: true, depth: depth}
	stringKey{}.write(&w, name)
	return encode(w, b)
}

func encode(w writer, b Body) []byte {
	x := visitor{w: &w}
	x.body(b)
	return w.buf
}

// EncodeList writes a JSON array of bodies.
func EncodeList[T any, P bodyOf[T]](list []T) []byte {
	var w writer
	listOf(&visitor{w: &w}, &list, object[T, P])
	return w.buf
}

// Decode reads a body. An empty input or null gives the class's defaults. The error names position and member.
func Decode[T any, P bodyOf[T]](data []byte) (*T, error) {
	v := new(T)
	r := newReader(data)
	object[T, P](&visitor{r: r}, v)
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("decode %T: %w", *v, err)
	}
	return v, nil
}

// DecodeList reads a JSON array of bodies.
func DecodeList[T any, P bodyOf[T]](data []byte) ([]T, error) {
	var list []T
	r := newReader(data)
	listOf(&visitor{r: r}, &list, object[T, P])
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("decode %T: %w", list, err)
	}
	return list, nil
}

// EncodeStrings writes a JSON array of strings.
func EncodeStrings(list []string) []byte {
	var w writer
	listOf(&visitor{w: &w}, &list, stringValue)
	return w.buf
}

// DecodeStrings reads a JSON array of strings.
func DecodeStrings(data []byte) ([]string, error) {
	var list []string
	r := newReader(data)
	listOf(&visitor{r: r}, &list, stringValue)
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("decode string list: %w", err)
	}
	return list, nil
}

package remoting

import (
	"encoding/binary"
	"strconv"
)

// fieldMode says what an absent ext field means.
type fieldMode uint8

const (
	// required: absent is an error when decoding; always encoded (@CFNotNull in the reference).
	required fieldMode = iota
	// optional: absent is the empty string, and the empty string is not encoded (null in the reference).
	optional
	// primitive: absent is the zero value; always encoded (a Java primitive, which cannot be null).
	primitive
)

// fieldSet carries one header's ext fields in one of three directions: out of a received command, into a JSON header,
// into a ROCKETMQ header. A Header's field list calls its methods once a field, in wire order. It allocates nothing
// but the *HeaderError of a bad field. After the first error the rest of the list is skipped.
type fieldSet struct {
	op fieldOp
	// ext is what decode reads. Of doubled keys the last one counts.
	ext []ExtField
	// next is the index in ext behind the last field found: lists and senders mostly agree on the order.
	next int
	// unique says that ext has no doubled keys, so the first hit is the right one.
	unique bool
	// emptyIsNull is set for ROCKETMQ headers, which cannot tell an empty string from none.
	emptyIsNull bool
	err         *HeaderError
	// out is what encode appends to; pairs counts the fields in it.
	out   []byte
	pairs int
}

type fieldOp uint8

const (
	decodeFields fieldOp = iota
	encodeJSON
	encodeBinary
)

// HeaderError tells which ext field of a command its header could not take, and why. As a handler's error it becomes
// SYSTEM_ERROR with this text.
type HeaderError struct {
	Field string
	Value string // a copy, cut to 64 bytes; empty when the field is missing
	Rule  string
}

// Error names field, value and rule.
func (e *HeaderError) Error() string {
	if e.Value == "" {
		return "the custom field <" + e.Field + "> " + e.Rule
	}
	return "the custom field <" + e.Field + "> has value " + strconv.Quote(e.Value) + ": " + e.Rule
}

const (
	ruleMissing = "is null: the request needs it"
	ruleI32     = "not a whole number from -2147483648 to 2147483647"
	ruleI64     = "not a whole number from -9223372036854775808 to 9223372036854775807"
)

// Decode reads the ext fields into h, whose every listed field is set: absent optional ones to zero. The strings of h
// alias the command's. The error is a *HeaderError.
//
// Unlike RemotingCommand.decodeCommandCustomHeader, which logs a bad field and goes on to a NullPointerException, a
// missing required or malformed field is named, also when the command has no ext fields at all.
func (c *Command) Decode(h Header) error {
	h.fields(c.beginDecode())
	return c.endDecode()
}

func (c *Command) beginDecode() *fieldSet {
	f := &c.set
	f.op = decodeFields
	f.ext = c.Ext
	f.next = 0
	f.emptyIsNull = c.Serialize == RocketMQ
	f.err = nil
	return f
}

func (c *Command) endDecode() error {
	c.set.ext = nil
	if c.set.err != nil {
		return c.set.err
	}
	return nil
}

// lookup is the value of a key, searched from where the last one was found.
func (f *fieldSet) lookup(name string) (string, bool) {
	if f.next < len(f.ext) && f.unique {
		// Short names are compared without a call.
		if k := f.ext[f.next].Key; len(k) == len(name) && (len(k) == 1 && k[0] == name[0] || k == name) {
			f.next++
			return f.value(f.next - 1)
		}
	}
	for i := len(f.ext) - 1; i >= 0; i-- {
		// The first bytes decide in most cases, without a call.
		if k := f.ext[i].Key; len(k) == len(name) && len(k) > 0 && k[0] == name[0] && k == name {
			f.next = i + 1
			return f.value(i)
		}
	}
	return "", false
}

func (f *fieldSet) value(i int) (string, bool) {
	v := f.ext[i].Value
	return v, v != "" || !f.emptyIsNull
}

func (f *fieldSet) fail(name, value, rule string) {
	if f.err != nil {
		return
	}
	const keep = 64
	if len(value) > keep {
		value = value[:keep]
	}
	f.err = &HeaderError{Field: name, Value: string(append([]byte(nil), value...)), Rule: rule}
}

func (f *fieldSet) str(name string, p *string, mode fieldMode) {
	if f.op != decodeFields {
		if mode != optional || *p != "" {
			f.putString(name, *p)
		}
		return
	}
	v, ok := f.lookup(name)
	if !ok && mode == required {
		f.fail(name, "", ruleMissing)
	}
	*p = v
}

func (f *fieldSet) i32(name string, p *int32, mode fieldMode) {
	if f.op != decodeFields {
		f.putInt(name, int64(*p))
		return
	}
	*p = 0
	if v, ok := f.lookup(name); ok {
		*p = f.parseI32(name, v)
	} else if mode == required {
		f.fail(name, "", ruleMissing)
	}
}

// i32Def is a primitive whose absence means def.
func (f *fieldSet) i32Def(name string, p *int32, def int32) {
	if f.op != decodeFields {
		f.putInt(name, int64(*p))
		return
	}
	*p = def
	if v, ok := f.lookup(name); ok {
		*p = f.parseI32(name, v)
	}
}

func (f *fieldSet) i64(name string, p *int64, mode fieldMode) {
	if f.op != decodeFields {
		f.putInt(name, *p)
		return
	}
	*p = 0
	if v, ok := f.lookup(name); ok {
		*p = f.parseI64(name, v)
	} else if mode == required {
		f.fail(name, "", ruleMissing)
	}
}

func (f *fieldSet) boolean(name string, p *bool, mode fieldMode) {
	if f.op != decodeFields {
		f.putBool(name, *p)
		return
	}
	v, ok := f.lookup(name)
	if !ok && mode == required {
		f.fail(name, "", ruleMissing)
	}
	*p = parseBool(v)
}

// booleanDef is a primitive whose absence means def.
func (f *fieldSet) booleanDef(name string, p *bool, def bool) {
	if f.op != decodeFields {
		f.putBool(name, *p)
		return
	}
	*p = def
	if v, ok := f.lookup(name); ok {
		*p = parseBool(v)
	}
}

func (f *fieldSet) optI32(name string, p *Optional[int32]) {
	if f.op != decodeFields {
		if p.Set {
			f.putInt(name, int64(p.Value))
		}
		return
	}
	*p = Optional[int32]{}
	if v, ok := f.lookup(name); ok {
		*p = Optional[int32]{Value: f.parseI32(name, v), Set: true}
	}
}

func (f *fieldSet) optI64(name string, p *Optional[int64]) {
	if f.op != decodeFields {
		if p.Set {
			f.putInt(name, p.Value)
		}
		return
	}
	*p = Optional[int64]{}
	if v, ok := f.lookup(name); ok {
		*p = Optional[int64]{Value: f.parseI64(name, v), Set: true}
	}
}

func (f *fieldSet) optBool(name string, p *Optional[bool]) {
	if f.op != decodeFields {
		if p.Set {
			f.putBool(name, p.Value)
		}
		return
	}
	*p = Optional[bool]{}
	if v, ok := f.lookup(name); ok {
		*p = Optional[bool]{Value: parseBool(v), Set: true}
	}
}

// parseI32 reads a number as Integer.parseInt does: decimal, a sign allowed, nothing around it.
func (f *fieldSet) parseI32(name, v string) int32 {
	n, ok := parseDecimal(v)
	if !ok || n != int64(int32(n)) {
		f.fail(name, v, ruleI32)
		return 0
	}
	return int32(n)
}

func (f *fieldSet) parseI64(name, v string) int64 {
	n, ok := parseDecimal(v)
	if !ok {
		f.fail(name, v, ruleI64)
		return 0
	}
	return n
}

// parseBool reads a boolean as Boolean.parseBoolean does: "true" in any case is true, everything else is false.
func parseBool(v string) bool {
	if len(v) != 4 {
		return false
	}
	return v[0]|0x20 == 't' && v[1]|0x20 == 'r' && v[2]|0x20 == 'u' && v[3]|0x20 == 'e'
}

// parseDecimal is strconv.ParseInt(v, 10, 64) without its error's allocation.
func parseDecimal(v string) (int64, bool) {
	neg := false
	i := 0
	if len(v) > 0 && (v[0] == '-' || v[0] == '+') {
		neg = v[0] == '-'
		i = 1
	}
	if i == len(v) {
		return 0, false
	}
	var n uint64
	const cutoff = uint64(1) << 63
	for ; i < len(v); i++ {
		d := v[i] - '0'
		if d > 9 || n > cutoff/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if neg {
		return -int64(n), n <= cutoff
	}
	return int64(n), n < cutoff
}

func (f *fieldSet) putString(name, v string) {
	if f.op == encodeBinary {
		f.out = appendPair(f.out, name, v)
	} else {
		f.key(name)
		f.out = appendJSONString(f.out, v)
	}
	f.pairs++
}

func (f *fieldSet) putInt(name string, n int64) {
	if f.op == encodeBinary {
		f.out = appendKey(f.out, name)
		at := len(f.out)
		f.out = append(f.out, 0, 0, 0, 0)
		f.out = strconv.AppendInt(f.out, n, 10)
		binary.BigEndian.PutUint32(f.out[at:], uint32(len(f.out)-at-4))
	} else {
		f.key(name)
		f.out = append(f.out, '"')
		f.out = strconv.AppendInt(f.out, n, 10)
		f.out = append(f.out, '"')
	}
	f.pairs++
}

func (f *fieldSet) putBool(name string, b bool) {
	v := "false"
	if b {
		v = "true"
	}
	f.putString(name, v)
}

// key appends a field list's name, which needs no escapes, and the comma before it.
func (f *fieldSet) key(name string) {
	if f.pairs > 0 {
		f.out = append(f.out, ',')
	}
	f.out = append(f.out, '"')
	f.out = append(f.out, name...)
	f.out = append(f.out, '"', ':')
}

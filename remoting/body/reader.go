package body

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one body; the frame bounds its bytes.
const (
	maxDepth    = 64
	maxElements = 1 << 20 // members of all objects and elements of all lists together
)

// reader is a cursor over JSON text in fastjson's dialect. The first error sticks: after it nothing is consumed and
// every loop ends.
type reader struct {
	b        []byte
	i        int
	depth    int
	elements int
	member   []byte // last key read, for errors
	err      error
}

func newReader(b []byte) *reader { return &reader{b: b} }

func (r *reader) fail(format string, args ...any) {
	if r.err != nil {
		return
	}
	r.err = fmt.Errorf("offset %d, member %.64q: %s", r.i, r.member, fmt.Sprintf(format, args...))
}

// finish is the error, if any, also that of text behind the value.
func (r *reader) finish() error {
	if r.err == nil && r.peek() != 0 {
		r.fail("unexpected %q behind the value", r.b[r.i])
	}
	return r.err
}

// peek skips blanks and comments. It is 0 at the end and after an error.
func (r *reader) peek() byte {
	if r.err != nil {
		return 0
	}
	for r.i < len(r.b) {
		switch c := r.b[r.i]; {
		case c <= ' ':
			r.i++
		case c == '/':
			if !r.comment() {
				return 0
			}
		default:
			return c
		}
	}
	return 0
}

func (r *reader) comment() bool {
	rest := r.b[r.i:]
	end := -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if end = bytes.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			end += 4
		}
	}
	if end < 0 {
		r.fail("unexpected '/'")
		return false
	}
	r.i += end
	return true
}

// begin enters an object or list. It is false for null, "" and an empty input, which are skipped.
func (r *reader) begin(open byte) bool {
	c := r.peek()
	if c == open {
		r.i++
		if r.depth++; r.depth > maxDepth {
			r.fail("nested deeper than %d", maxDepth)
			return false
		}
		return true
	}
	if c == 0 && r.depth == 0 {
		return false // nothing at all
	}
	if text, kind := r.scalar(); r.err == nil && kind != null && len(text) > 0 {
		r.fail("expected %q, got %.32q", open, text)
	}
	return false
}

// more moves to the next element of what begin entered, and leaves it at close.
func (r *reader) more(closing byte, first *bool) bool {
	comma := *first
	for c := r.peek(); ; c = r.peek() {
		switch {
		case c == ',':
			r.i++
			comma = true
		case c == closing:
			r.i++
			r.depth--
			return false
		case c == 0:
			r.fail("ends before %q", closing)
			return false
		case !comma:
			r.fail("expected ',' or %q, got %q", closing, c)
			return false
		default:
			*first = false
			if r.elements++; r.elements > maxElements {
				r.fail("more than %d elements", maxElements)
				return false
			}
			return true
		}
	}
}

// key reads a member's name or a map's key and the colon behind it. A key that is an object is returned as its text.
func (r *reader) key() []byte {
	var key []byte
	switch c := r.peek(); c {
	case '"', '\'':
		key = r.quoted(c)
	case '{', '[':
		key = r.raw()
	default:
		key = r.token()
	}
	r.member = key
	if c := r.peek(); c != ':' {
		r.fail("expected ':' behind key, got %q", c)
		return nil
	}
	r.i++
	return key
}

// raw skips a value and returns its text.
func (r *reader) raw() []byte {
	r.peek()
	start := r.i
	r.skip()
	return r.b[start:r.i]
}

// skip skips a value of any kind.
func (r *reader) skip() {
	first := true
	switch c := r.peek(); c {
	case '{':
		if r.begin('{') {
			for r.more('}', &first) {
				r.key()
				r.skip()
			}
		}
	case '[':
		if r.begin('[') {
			for r.more(']', &first) {
				r.skip()
			}
		}
	case '"', '\'':
		r.quoted(c)
	default:
		r.token()
	}
}

// token reads text without quotes up to the next structural character.
func (r *reader) token() []byte {
	if r.err != nil {
		return nil
	}
	start := r.i
	for r.i < len(r.b) && !structural(r.b[r.i]) {
		r.i++
	}
	if r.i == start {
		r.fail("expected a value")
	}
	return r.b[start:r.i]
}

func structural(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', '\'', '/':
		return true
	}
	return c <= ' '
}

// quoted reads a string in quotes. Without escapes the result points into the input.
func (r *reader) quoted(quote byte) []byte {
	r.i++
	start := r.i
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case quote:
			text := r.b[start:r.i]
			r.i++
			return text
		case '\\':
			return r.escaped(quote, start)
		}
		r.i++
	}
	r.fail("string without end")
	return nil
}

// escaped reads the rest of a string that has escapes; r.i is at the first.
func (r *reader) escaped(quote byte, start int) []byte {
	text := bytes.Clone(r.b[start:r.i])
	for r.i < len(r.b) {
		c := r.b[r.i]
		r.i++
		switch c {
		case quote:
			return text
		case '\\':
			text = r.unescape(text)
		default:
			text = append(text, c)
		}
	}
	r.fail("string without end")
	return nil
}

func (r *reader) unescape(text []byte) []byte {
	if r.i >= len(r.b) {
		return text
	}
	c := r.b[r.i]
	r.i++
	switch c {
	case 'b':
		return append(text, '\b')
	case 't':
		return append(text, '\t')
	case 'n':
		return append(text, '\n')
	case 'v':
		return append(text, '\v')
	case 'f':
		return append(text, '\f')
	case 'r':
		return append(text, '\r')
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return append(text, c-'0')
	case 'x':
		return utf8.AppendRune(text, r.hex(2))
	case 'u':
		code := r.hex(4)
		if utf16.IsSurrogate(code) && bytes.HasPrefix(r.b[r.i:], []byte(`\u`)) {
			r.i += 2
			code = utf16.DecodeRune(code, r.hex(4))
		}
		return utf8.AppendRune(text, code)
	default:
		return append(text, c)
	}
}

func (r *reader) hex(digits int) rune {
	if r.i+digits > len(r.b) {
		r.fail("escape without end")
		r.i = len(r.b)
		return utf8.RuneError
	}
	code, err := strconv.ParseUint(string(r.b[r.i:r.i+digits]), 16, 32)
	if err != nil {
		r.fail("bad escape %q", r.b[r.i:r.i+digits])
		return utf8.RuneError
	}
	r.i += digits
	return rune(code)
}

type kind uint8

const (
	null   kind = iota // also undefined and NaN
	bare               // number, true, false
	quoted             // string in quotes
	nested             // object or list, as its text
)

// scalar reads a value as text.
func (r *reader) scalar() ([]byte, kind) {
	switch c := r.peek(); c {
	case '"', '\'':
		return r.quoted(c), quoted
	case '{', '[':
		return r.raw(), nested
	default:
		text := r.token()
		switch string(text) {
		case "null", "undefined", "NaN":
			return nil, null
		}
		return text, bare
	}
}

// integer reads an integer of the given bits. ok is false for null and "", which mean the member's default.
func (r *reader) integer(bits int) (v int64, ok bool) {
	text, kind := r.scalar()
	text = bytes.TrimSpace(text)
	if r.err != nil || kind == null || len(text) == 0 {
		return 0, false
	}
	v, ok = parseInteger(text, bits)
	if !ok && string(text) != "null" {
		r.fail("expected a %d-bit integer, got %.32q", bits, text)
	}
	return v, ok
}

func parseInteger(text []byte, bits int) (int64, bool) {
	if last := len(text) - 1; last > 0 && bytes.IndexByte([]byte("LSB"), text[last]) >= 0 {
		text = text[:last]
	}
	if v, err := strconv.ParseInt(string(text), 10, bits); err == nil {
		return v, true
	}
	switch string(text) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	limit := math.Ldexp(1, bits-1)
	if err != nil || math.IsNaN(f) || f >= limit || f < -limit {
		return 0, false
	}
	return int64(f), true
}

// double reads a floating-point number.
func (r *reader) double() (float64, bool) {
	text, kind := r.scalar()
	if r.err != nil || kind == null || len(text) == 0 {
		return 0, false
	}
	if last := len(text) - 1; last > 0 && (text[last] == 'D' || text[last] == 'F') {
		text = text[:last]
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		r.fail("expected a number, got %.32q", text)
		return 0, false
	}
	return v, true
}

// boolean reads a truth value: true or false in any case, 1 or 0, Y or N, T or F.
func (r *reader) boolean() (v, ok bool) {
	text, kind := r.scalar()
	if r.err != nil || kind == null || len(text) == 0 {
		return false, false
	}
	switch string(bytes.ToLower(text)) {
	case "true", "1", "y", "t":
		return true, true
	case "false", "0", "n", "f":
		return false, true
	}
	r.fail("expected true or false, got %.32q", text)
	return false, false
}

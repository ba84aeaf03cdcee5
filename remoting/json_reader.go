package remoting

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads a JSON header in place. What it takes beyond strict JSON: numbers, booleans and whole values where
// strings belong, numbers in quotes, raw control characters in strings. It does not recurse.
type jsonReader struct {
	b     []byte
	i     int
	arena []byte // unescaped strings
}

// decodeJSONHeader reads a JSON header. A missing member has its zero value, a missing language is JAVA, as in the
// reference's class; unknown members are skipped, of doubled ones the last one counts.
func (c *Command) decodeJSONHeader(b []byte) error {
	r := jsonReader{b: b, arena: c.arena}
	err := r.header(c)
	c.arena = r.arena
	c.set.unique = true
	return err
}

func (r *jsonReader) header(c *Command) error {
	r.space()
	if !r.take('{') {
		return r.errorf("header is no JSON object")
	}
	c.Language = Java
	for first := true; ; first = false {
		key, more, err := r.next(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch key {
		case "code":
			err = r.i32(key, &c.Code)
		case "version":
			err = r.i32(key, &c.Version)
		case "opaque":
			err = r.i32(key, &c.Opaque)
		case "flag":
			err = r.i32(key, &c.Flag)
		case "language":
			err = r.language(&c.Language)
		case "remark":
			c.Remark, _, err = r.value()
		case "extFields":
			err = r.extFields(c)
		default:
			_, _, err = r.value()
		}
		if err != nil {
			return err
		}
	}
	r.space()
	if r.i != len(r.b) {
		return r.errorf("bytes behind the header's closing brace")
	}
	return nil
}

func (r *jsonReader) extFields(c *Command) error {
	c.Ext = c.Ext[:0]
	if !r.take('{') {
		_, null, err := r.value()
		if err == nil && !null {
			return r.errorf("extFields is no JSON object")
		}
		return err
	}
	var seen keySet
	for first := true; ; first = false {
		if key, v, ok := r.plainPair(first); ok {
			if err := c.addDecoded(&seen, key, v); err != nil {
				return err
			}
			continue
		}
		key, more, err := r.next(first)
		if err != nil || !more {
			return err
		}
		v, null, err := r.value()
		if err != nil {
			return err
		}
		if null {
			continue
		}
		if err := c.addDecoded(&seen, key, v); err != nil {
			return err
		}
	}
}

func (r *jsonReader) language(l *LanguageCode) error {
	v, _, err := r.value()
	if n, ok := parseDecimal(v); ok {
		*l = languageOfCode(n)
	} else {
		*l = languageOf(v)
	}
	return err
}

func (r *jsonReader) i32(key string, p *int32) error {
	v, null, err := r.value()
	if err != nil || null {
		return err
	}
	n, ok := parseDecimal(v)
	if !ok || n != int64(int32(n)) {
		return r.errorf("%s is %.64q, %s", key, v, ruleI32)
	}
	*p = int32(n)
	return nil
}

// next reads up to the value of an object's next member. more is false when the object has ended.
func (r *jsonReader) next(first bool) (key string, more bool, err error) {
	r.space()
	if r.take('}') {
		return "", false, nil
	}
	if !first {
		if !r.take(',') {
			return "", false, r.errorf("no comma between members")
		}
		r.space()
	}
	if !r.take('"') {
		return "", false, r.errorf("no quoted key")
	}
	if key, err = r.str(); err != nil {
		return "", false, err
	}
	r.space()
	if !r.take(':') {
		return "", false, r.errorf("no colon behind key %.64q", key)
	}
	r.space()
	return key, true, nil
}

// plainPair reads a member with a key of one letter and a string without escapes, without blanks around them, as most fields of a send are. ok is
// false when the next member is none: nothing has been read then.
func (r *jsonReader) plainPair(first bool) (key, value string, ok bool) {
	const head = len(`,"k":"`)
	from := r.i
	if first {
		from-- // there is no comma, but the brace
	}
	if from < 0 || len(r.b)-from < head {
		return "", "", false
	}
	b := r.b[from:]
	if !first && b[0] != ',' || b[1] != '"' || b[2] == '"' || b[2] == '\\' || b[3] != '"' || b[4] != ':' || b[5] != '"' {
		return "", "", false
	}
	for at := head; at+8 <= len(b); at += 8 {
		m := quotesOrBackslashes(binary.LittleEndian.Uint64(b[at:]))
		if m == 0 {
			continue
		}
		end := at + bits.TrailingZeros64(m)/8
		if b[end] != '"' {
			break
		}
		r.i = from + end + 1
		return alias(b[2:3]), alias(b[head:end]), true
	}
	return "", "", false
}

// value reads any value: a string unescaped, everything else as its text.
func (r *jsonReader) value() (text string, null bool, err error) {
	if r.i == len(r.b) {
		return "", false, r.errorf("value cut off")
	}
	switch r.b[r.i] {
	case '"':
		r.i++
		text, err = r.str()
		return text, false, err
	case '{', '[':
		text, err = r.container()
		return text, false, err
	}
	start := r.i
	for r.i < len(r.b) && isTokenByte(r.b[r.i]) {
		r.i++
	}
	text = alias(r.b[start:r.i])
	switch {
	case text == "null":
		return "", true, nil
	case text == "true", text == "false":
		return text, false, nil
	case text != "" && (text[0] == '-' || text[0]-'0' <= 9):
		return text, false, nil
	}
	return "", false, r.errorf("no JSON value")
}

func isTokenByte(b byte) bool {
	return b-'0' <= 9 || b|0x20-'a' <= 'z'-'a' || b == '-' || b == '+' || b == '.'
}

// container skips an object or array.
func (r *jsonReader) container() (string, error) {
	start, depth := r.i, 0
	for r.i < len(r.b) {
		b := r.b[r.i]
		r.i++
		switch b {
		case '"':
			if !r.skipString() {
				return "", r.errorf("string not closed")
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return alias(r.b[start:r.i]), nil
			}
		}
	}
	return "", r.errorf("object or array not closed")
}

func (r *jsonReader) skipString() bool {
	for r.i < len(r.b) {
		b := r.b[r.i]
		r.i++
		switch b {
		case '"':
			return true
		case '\\':
			r.i++
		}
	}
	r.i = len(r.b)
	return false
}

// str reads a string behind its opening quote.
func (r *jsonReader) str() (string, error) {
	rest := r.b[r.i:]
	n := quoteOrBackslash(rest)
	if n == len(rest) {
		return "", r.errorf("string not closed")
	}
	if rest[n] == '\\' {
		return r.unescape()
	}
	r.i += n + 1
	return alias(rest[:n]), nil
}

// unescape copies a string into the arena, eight bytes at a time as long as its escapes are the separators of properties, \u0001 and \u0002, by far
// the most common ones.
func (r *jsonReader) unescape() (string, error) {
	rest, from := r.b[r.i:], len(r.arena)
	r.arena = slices.Grow(r.arena, len(rest))
	to := r.arena[from : from+len(rest)]
	i, n := 0, 0 // bytes read and written, n <= i
	for i+8 <= len(rest) {
		w := binary.LittleEndian.Uint64(rest[i:])
		binary.LittleEndian.PutUint64(to[n:], w)
		m := quotesOrBackslashes(w)
		if m == 0 {
			i, n = i+8, n+8
			continue
		}
		plain := bits.TrailingZeros64(m) / 8
		i, n = i+plain, n+plain
		if rest[i] == '"' {
			r.arena, r.i = r.arena[:from+n], r.i+i+1
			return alias(to[:n]), nil
		}
		if !separatorEscape(rest[i:]) {
			break
		}
		to[n] = rest[i+5] - '0'
		i, n = i+6, n+1
	}
	r.arena, r.i = r.arena[:from+n], r.i+i
	return r.unescapeAny(from)
}

// separatorEscape tells whether b begins with a \u000 escape, of a digit.
func separatorEscape(b []byte) bool {
	return len(b) >= 6 && b[1] == 'u' && b[2] == '0' && b[3] == '0' && b[4] == '0' && b[5]-'0' <= 9
}

// unescapeAny goes on with a string of which the arena holds the beginning.
func (r *jsonReader) unescapeAny(from int) (string, error) {
	for {
		rest := r.b[r.i:]
		e := quoteOrBackslash(rest)
		if e == len(rest) {
			return "", r.errorf("string not closed")
		}
		r.arena = append(r.arena, rest[:e]...)
		r.i += e + 1
		if rest[e] == '"' {
			return alias(r.arena[from:]), nil
		}
		if err := r.escape(); err != nil {
			return "", err
		}
	}
}

// escape reads one escape behind its backslash into the arena.
func (r *jsonReader) escape() error {
	if r.i == len(r.b) {
		return r.errorf("escape cut off")
	}
	b := r.b[r.i]
	r.i++
	switch b {
	case '"', '\\', '/', '\'':
	case 'b':
		b = '\b'
	case 'f':
		b = '\f'
	case 'n':
		b = '\n'
	case 'r':
		b = '\r'
	case 't':
		b = '\t'
	case 'u':
		return r.unicode()
	default:
		return r.errorf("unknown escape \\%c", b)
	}
	r.arena = append(r.arena, b)
	return nil
}

// unicode reads the digits of a \u escape, with the second half of a surrogate pair. Half a pair becomes '?', which is
// what Java's String.getBytes makes of it.
func (r *jsonReader) unicode() error {
	u, ok := r.hex4(r.i)
	if !ok {
		return r.errorf("\\u without four hex digits")
	}
	r.i += 4
	if !utf16.IsSurrogate(u) {
		r.arena = utf8.AppendRune(r.arena, u)
		return nil
	}
	if r.i+6 <= len(r.b) && r.b[r.i] == '\\' && r.b[r.i+1] == 'u' {
		if low, ok := r.hex4(r.i + 2); ok {
			if full := utf16.DecodeRune(u, low); full != utf8.RuneError {
				r.i += 6
				r.arena = utf8.AppendRune(r.arena, full)
				return nil
			}
		}
	}
	r.arena = append(r.arena, '?')
	return nil
}

func (r *jsonReader) hex4(at int) (rune, bool) {
	if at+4 > len(r.b) {
		return 0, false
	}
	var u rune
	for _, b := range r.b[at : at+4] {
		switch {
		case b-'0' <= 9:
			u = u<<4 | rune(b-'0')
		case b|0x20-'a' <= 5:
			u = u<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

func (r *jsonReader) space() {
	if r.i < len(r.b) && r.b[r.i] > ' ' {
		return
	}
	r.spaces()
}

func (r *jsonReader) spaces() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\t' || r.b[r.i] == '\n' || r.b[r.i] == '\r') {
		r.i++
	}
}

// take moves on when the next byte is b.
func (r *jsonReader) take(b byte) bool {
	if r.i < len(r.b) && r.b[r.i] == b {
		r.i++
		return true
	}
	return false
}

func (r *jsonReader) errorf(format string, args ...any) error {
	return frameErrorf("JSON header at byte %d: "+format, append([]any{r.i}, args...)...)
}

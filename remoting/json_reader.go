package remoting

import (
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
	// Most keys of a send have one letter, and no blanks around them.
	if b := r.b[r.i:]; !first && len(b) >= 5 && b[0] == ',' && b[1] == '"' && b[2] != '"' && b[2] != '\\' && b[3] == '"' && b[4] == ':' {
		r.i += 5
		r.space()
		return alias(b[2:3]), true, nil
	}
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
		return r.unescape(n)
	}
	r.i += n + 1
	return alias(rest[:n]), nil
}

// unescape copies a string into the arena; the first escape is at offset e.
func (r *jsonReader) unescape(e int) (string, error) {
	from := len(r.arena)
	for {
		rest := r.b[r.i:]
		e += quoteOrBackslash(rest[e:])
		if e == len(rest) {
			return "", r.errorf("string not closed")
		}
		// The separators of properties, \u0001 and \u0002, are by far the most common escapes.
		if rest[e] == '\\' && e+6 <= len(rest) && rest[e+1] == 'u' && rest[e+2] == '0' && rest[e+3] == '0' && rest[e+4] == '0' && rest[e+5]-'0' <= 9 {
			r.arena = append(append(r.arena, rest[:e]...), rest[e+5]-'0')
			r.i += e + 6
			e = 0
			continue
		}
		r.arena = append(r.arena, rest[:e]...)
		r.i += e + 1
		if rest[e] == '"' {
			return alias(r.arena[from:]), nil
		}
		if err := r.escape(); err != nil {
			return "", err
		}
		e = 0
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

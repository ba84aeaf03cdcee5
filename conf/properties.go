package conf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Property is one entry of a properties text.
type Property struct {
	Key, Value string
	Line       int // where the entry begins, from 1
}

// ParseProperties reads the syntax of java.util.Properties: comments (# and !), continuation lines, "=", ":" or blank
// as separator, escapes including \uXXXX. Entries come in the order of the text, repeated keys included; the last one
// counts. Text that is not UTF-8 is read as ISO 8859-1, as the reference reads all of it. An error names the line.
func ParseProperties(text []byte) ([]Property, error) {
	p := propertiesReader{text: decodeText(text), line: 1}
	var entries []Property
	for {
		logical, line, ok := p.next()
		if !ok {
			return entries, nil
		}
		rawKey, rawValue := splitProperty(logical)
		name, err := unescapeProperty(rawKey)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		value, err := unescapeProperty(rawValue)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		entries = append(entries, Property{Key: name, Value: value, Line: line})
	}
}

func decodeText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for _, c := range text {
		b.WriteRune(rune(c))
	}
	return b.String()
}

// propertiesReader cuts a text into logical lines.
type propertiesReader struct {
	text string
	pos  int
	line int // of pos
}

// next returns the next logical line that is neither blank nor a comment, with the number of its first natural line.
// Continuations are joined; escapes other than those of line ends are kept.
func (p *propertiesReader) next() (logical string, line int, ok bool) {
	for p.pos < len(p.text) {
		first, joined := p.line, ""
		for {
			natural := strings.TrimLeft(p.natural(), " \t\f")
			if joined == "" && (natural == "" || natural[0] == '#' || natural[0] == '!') {
				break
			}
			joined += natural
			if !endsInBackslash(joined) {
				return joined, first, true
			}
			joined = joined[:len(joined)-1]
			if p.pos >= len(p.text) {
				// A backslash alone at the end of the text is an entry with empty name and value there.
				return joined, first, joined != "" || !strings.HasSuffix(p.text, "\n") && !strings.HasSuffix(p.text, "\r")
			}
		}
	}
	return "", 0, false
}

// natural consumes one natural line and its end (\n, \r or \r\n).
func (p *propertiesReader) natural() string {
	rest := p.text[p.pos:]
	end := strings.IndexAny(rest, "\r\n")
	if end < 0 {
		p.pos = len(p.text)
		return rest
	}
	p.pos += end + 1
	if rest[end] == '\r' && strings.HasPrefix(p.text[p.pos:], "\n") {
		p.pos++
	}
	p.line++
	return rest[:end]
}

// endsInBackslash tells whether s ends in an odd number of backslashes: one that is not itself escaped.
func endsInBackslash(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// splitProperty cuts a logical line at the first separator that is not escaped.
func splitProperty(s string) (rawKey, rawValue string) {
	end := 0
	for end < len(s) && !strings.ContainsRune("=: \t\f", rune(s[end])) {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return s, ""
	}
	value := strings.TrimLeft(s[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return s[:end], value
}

func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	units := make([]uint16, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			r, size := utf8.DecodeRuneInString(s[i:])
			units = utf16.AppendRune(units, r)
			i += size
			continue
		}
		i++
		if i == len(s) {
			break
		}
		switch s[i] {
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf(`\u needs four hexadecimal digits: %q`, s[i-1:])
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u needs four hexadecimal digits: %q`, s[i-1:i+5])
			}
			units = append(units, uint16(n))
			i += 5
		case 't':
			units, i = append(units, '\t'), i+1
		case 'n':
			units, i = append(units, '\n'), i+1
		case 'r':
			units, i = append(units, '\r'), i+1
		case 'f':
			units, i = append(units, '\f'), i+1
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			units = utf16.AppendRune(units, r)
			i += size
		}
	}
	return string(utf16.Decode(units)), nil
}

// AppendProperty writes one entry so that ParseProperties and java.util.Properties read it back.
func AppendProperty(dst []byte, name, value string) []byte {
	dst = appendEscaped(dst, name, true)
	dst = append(dst, '=')
	dst = appendEscaped(dst, value, false)
	return append(dst, '\n')
}

func appendEscaped(dst []byte, s string, isKey bool) []byte {
	for i, r := range s {
		switch {
		case r == '\\' || isKey && strings.ContainsRune("=: #!", r):
			dst = append(dst, '\\', byte(r))
		case r == ' ' && i == 0:
			dst = append(dst, '\\', ' ')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\f':
			dst = append(dst, '\\', 'f')
		case r < ' ' || r > '~':
			for _, u := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04X`, u)
			}
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst
}

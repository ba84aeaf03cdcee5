package body

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// writer appends JSON text.
type writer struct {
	buf      []byte
	bareKeys bool // integer keys unquoted
	pretty   bool
	depth    int
}

// open begins an object or array.
func (w *writer) open(c byte) {
	w.buf = append(w.buf, c)
	w.depth++
}

// next begins an element: the comma when it is not the first, and the line in pretty form.
func (w *writer) next(first bool) {
	if !first {
		w.buf = append(w.buf, ',')
	}
	w.line()
}

// close ends an object or array.
func (w *writer) close(c byte, empty bool) {
	w.depth--
	if !empty {
		w.line()
	}
	w.buf = append(w.buf, c)
}

func (w *writer) line() {
	if !w.pretty {
		return
	}
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, '\t')
	}
}

// name writes a member's name, which needs no escapes.
func (w *writer) name(name string) {
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"', ':')
}

func (w *writer) integer(v int64) { w.buf = strconv.AppendInt(w.buf, v, 10) }

func (w *writer) boolean(v bool) { w.buf = strconv.AppendBool(w.buf, v) }

// integerKey writes a map's integer key with its colon.
func (w *writer) integerKey(v int64) {
	if w.bareKeys {
		w.integer(v)
	} else {
		w.buf = append(w.buf, '"')
		w.integer(v)
		w.buf = append(w.buf, '"')
	}
	w.buf = append(w.buf, ':')
}

// double writes as Java's Double.toString does; what JSON cannot say becomes 0.0.
func (w *writer) double(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	abs := math.Abs(v)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		start := len(w.buf)
		w.buf = strconv.AppendFloat(w.buf, v, 'f', -1, 64)
		w.fraction(start, len(w.buf))
		return
	}
	var scratch [32]byte
	text := strconv.AppendFloat(scratch[:0], v, 'e', -1, 64)
	mantissa := 0
	for mantissa < len(text) && text[mantissa] != 'e' {
		mantissa++
	}
	start := len(w.buf)
	w.buf = append(w.buf, text[:mantissa]...)
	w.fraction(start, len(w.buf))
	exponent, _ := strconv.Atoi(string(text[mantissa+1:])) // written by AppendFloat
	w.buf = append(w.buf, 'E')
	w.buf = strconv.AppendInt(w.buf, int64(exponent), 10)
}

// fraction adds .0 to a number without one.
func (w *writer) fraction(start, end int) {
	for _, c := range w.buf[start:end] {
		if c == '.' {
			return
		}
	}
	w.buf = append(w.buf, '.', '0')
}

const hexDigits = "0123456789abcdef"

// text writes a string with quotes. Bytes that are no UTF-8 become U+FFFD.
func (w *writer) text(s string) {
	w.buf = append(w.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		w.buf = append(w.buf, s[start:i]...)
		w.escape(c)
		i++
		start = i
	}
	w.buf = append(w.buf, s[start:]...)
	w.buf = append(w.buf, '"')
}

func (w *writer) escape(c byte) {
	switch c {
	case '"', '\\':
		w.buf = append(w.buf, '\\', c)
	case '\b':
		w.buf = append(w.buf, '\\', 'b')
	case '\t':
		w.buf = append(w.buf, '\\', 't')
	case '\n':
		w.buf = append(w.buf, '\\', 'n')
	case '\f':
		w.buf = append(w.buf, '\\', 'f')
	case '\r':
		w.buf = append(w.buf, '\\', 'r')
	default:
		if c >= utf8.RuneSelf {
			w.buf = append(w.buf, "\uFFFD"...)
			return
		}
		w.buf = append(w.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

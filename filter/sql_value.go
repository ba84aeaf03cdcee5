package filter

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// kind is the type of a value, as the reference's evaluation has it.
type kind uint8

const (
	kindNull   kind = iota // unknown
	kindFailed             // evaluation threw
	kindBoolean
	kindInt  // 32 bits
	kindLong // 64 bits
	kindDouble
	kindText
)

// value is what an operation yields. The zero value is null.
type value struct {
	kind   kind
	number int64 // of int and long; 0 or 1 of a boolean
	double float64
	text   string // aliases the message's properties
}

// failed is what an operation the reference throws from yields.
var failed = value{kind: kindFailed}

func boolean(b bool) value {
	if b {
		return value{kind: kindBoolean, number: 1}
	}
	return value{kind: kindBoolean}
}

func (v value) isTrue() bool { return v.kind == kindBoolean && v.number == 1 }

// negate is unary minus; of something that is not a number it is null.
func (v value) negate() value {
	switch v.kind {
	case kindInt:
		v.number = int64(-int32(v.number))
	case kindLong:
		v.number = -v.number
	case kindDouble:
		v.double = -v.double
	case kindFailed:
	default:
		return value{}
	}
	return v
}

// asDouble converts text or a number.
func (v value) asDouble() value {
	switch v.kind {
	case kindDouble:
		return v
	case kindInt, kindLong:
		return value{kind: kindDouble, double: float64(v.number)}
	case kindText:
		if f, ok := parseDouble(v.text); ok {
			return value{kind: kindDouble, double: f}
		}
	default: // neither text nor number
	}
	return failed
}

// asInteger converts text to an int or a long.
func (v value) asInteger(k kind) value {
	bits := 32
	if k == kindLong {
		bits = 64
	}
	if n, ok := parseInteger(v.text, bits); ok {
		return value{kind: k, number: n}
	}
	return failed
}

// compare orders two values that are neither null nor failed, as ComparisonExpression.__compare does: text becomes what the other is, an
// int a long, a number a double; what cannot be compared is less. ok is false where it throws.
func compare(l, r value) (c int, ok bool) {
	switch {
	case l.kind == r.kind:
	case l.kind == kindBoolean && r.kind == kindText:
		return 0, false // it casts the boolean to a string
	case r.kind == kindBoolean && l.kind == kindText:
		l = boolean(strings.EqualFold(l.text, "true"))
	case l.kind == kindBoolean || r.kind == kindBoolean:
		return -1, true
	case l.kind == kindDouble || r.kind == kindDouble:
		l, r = l.asDouble(), r.asDouble()
	case l.kind == kindText:
		l = l.asInteger(r.kind)
	case r.kind == kindText:
		r = r.asInteger(l.kind)
	}
	if l.kind == kindFailed || r.kind == kindFailed {
		return 0, false
	}
	switch l.kind {
	case kindText:
		return strings.Compare(l.text, r.text), true
	case kindDouble:
		return compareDoubles(l.double, r.double), true
	default:
		return cmp.Compare(l.number, r.number), true
	}
}

// compareDoubles is Double.compare: NaN is the largest and equal to itself, -0.0 is less than 0.0.
func compareDoubles(l, r float64) int {
	switch {
	case l < r:
		return -1
	case l > r:
		return 1
	case math.IsNaN(l) || math.IsNaN(r):
		return -cmp.Compare(l, r) // Go orders NaN first
	}
	return cmp.Compare(boolToInt(math.Signbit(r)), boolToInt(math.Signbit(l)))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parseInteger is Integer.parseInt or Long.parseLong: an optional sign and decimal digits, of any script.
func parseInteger(s string, bits int) (int64, bool) {
	limit := uint64(1) << (bits - 1) // of a negative number
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if !negative {
		limit--
	}
	var n uint64
	for _, r := range s {
		d := digit(r)
		if d < 0 || n > (limit-uint64(d))/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if negative {
		n = -n
	}
	return int64(n), s != ""
}

// digit is Character.digit in base 10, or -1. The digits besides ASCII's come in runs of ten; the reference sees no further than the
// basic plane, since it goes by UTF-16 units.
func digit(r rune) int {
	if r < 0x80 {
		if r < '0' || r > '9' {
			return -1
		}
		return int(r - '0')
	}
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return int(r-rune(run.Lo)) % 10
		}
	}
	return -1
}

// parseDouble is Double.valueOf: white space around, a sign, NaN, Infinity, decimal or hexadecimal notation, and one of f, F, d, D
// behind it.
func parseDouble(s string) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	unsigned := s
	if s != "" && (s[0] == '+' || s[0] == '-') {
		unsigned = s[1:]
	}
	switch {
	case unsigned == "NaN":
		return math.NaN(), true
	case unsigned == "Infinity":
	case strings.HasPrefix(unsigned, "0x"), strings.HasPrefix(unsigned, "0X"):
		if strings.IndexByte(s, '_') >= 0 {
			return 0, false // Go takes some
		}
		s = trimSuffixFD(s)
	default:
		s, unsigned = trimSuffixFD(s), trimSuffixFD(unsigned)
		if !isDecimalNotation(unsigned) { // spares the error of ParseFloat, which allocates
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func trimSuffixFD(s string) string {
	if s != "" && strings.IndexByte("fFdD", s[len(s)-1]) >= 0 {
		return s[:len(s)-1]
	}
	return s
}

// isDecimalNotation: digits with a point anywhere or none, and an exponent or none.
func isDecimalNotation(s string) bool {
	rest := trimDigits(s)
	digits := len(s) - len(rest)
	if strings.HasPrefix(rest, ".") {
		fraction := rest[1:]
		rest = trimDigits(fraction)
		digits += len(fraction) - len(rest)
	}
	if digits == 0 || rest == "" {
		return digits > 0
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && trimDigits(rest) == ""
}

func trimDigits(s string) string { return strings.TrimLeft(s, "0123456789") }

package remoting

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Eight bytes at a time: each constant has one bit pattern in every byte.
const (
	everyLow   = 0x0101010101010101
	everyHigh  = 0x8080808080808080
	everyQuote = 0x2222222222222222
	everySlash = 0x5C5C5C5C5C5C5C5C
	everyBlank = 0x2020202020202020
)

// quotesOrBackslashes has the high bit of the byte set that is w's first quote or backslash, and is 0 when there is none. Borrows may set it in bytes
// above, so only the lowest one counts.
func quotesOrBackslashes(w uint64) uint64 {
	quote, slash := w^everyQuote, w^everySlash
	return ((quote-everyLow)&^quote | (slash-everyLow)&^slash) & everyHigh
}

// quoteOrBackslash is where the first quote or backslash of b is, len(b) when there is none.
func quoteOrBackslash(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := quotesOrBackslashes(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\'; i++ {
	}
	return i
}

// plainPrefix is how many bytes of s a JSON string holds as they are: printable ASCII but quote and backslash.
func plainPrefix(s string) int {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^everyQuote, w^everySlash
		if m := ((quote-everyLow)&^quote | (slash-everyLow)&^slash | (w-everyBlank)&^w | w) & everyHigh; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b) && b[i] >= ' ' && b[i] < 0x80 && b[i] != '"' && b[i] != '\\'; i++ {
	}
	return i
}

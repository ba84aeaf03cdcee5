package remoting

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestScansFindTheFirstByte compares the scans that look at eight bytes at a time with a look at each byte.
func TestScansFindTheFirstByte(t *testing.T) {
	alphabet := []byte("ab \x00\x1f\x20\x21\x22\x23\x5b\x5c\x5d\x7f\x80\xa2\xdc\xff")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = 'x'
			if r.IntN(6) == 0 {
				b[i] = alphabet[r.IntN(len(alphabet))]
			}
		}
		want := strings.IndexAny(string(b)+`"`, `"\`)
		if got := quoteOrBackslash(b); got != want {
			t.Fatalf("quoteOrBackslash(%q) = %d, want %d", b, got, want)
		}
		want = 0
		for want < len(b) && b[want] >= ' ' && b[want] < 0x80 && b[want] != '"' && b[want] != '\\' {
			want++
		}
		if got := plainPrefix(string(b)); got != want {
			t.Fatalf("plainPrefix(%q) = %d, want %d", b, got, want)
		}
	}
}

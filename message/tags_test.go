package message_test

import (
	"testing"

	"github.com/rocketd/rocketd/message"
)

func TestTagsHashIsJavas(t *testing.T) {
	for _, row := range rows(t, "hashes.tsv", 2) {
		tags := string(unhex(t, row[0]))
		if got, want := message.TagsHash(tags), number(t, row[1]); got != want {
			t.Errorf("%x: got %d, want %d", tags, got, want)
		}
	}
}

func TestTagsHashKnownValues(t *testing.T) {
	for tags, want := range map[string]int64{"": 0, "TagA": 2598919, "Hello": 69609650, "中": 20013, "polygenelubricants": -2147483648} {
		if got := message.TagsHash(tags); got != want {
			t.Errorf("%q: got %d, want %d", tags, got, want)
		}
	}
}

func FuzzJavaHash(f *testing.F) {
	for _, row := range rows(f, "hashes.tsv", 2) {
		f.Add(string(unhex(f, row[0])))
	}
	f.Fuzz(func(t *testing.T, s string) {
		// The reference's decoder is a homomorphism over ASCII borders.
		if a, b := message.JavaHash(s+"x"), message.JavaHash(s)*31+'x'; a != b {
			t.Fatalf("%x: hash with x is %d, want %d", s, a, b)
		}
	})
}

func BenchmarkTagsHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		message.TagsHash("a-rather-usual-tag")
	}
}

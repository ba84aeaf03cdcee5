package message_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

func describe(e message.BatchEntry) string {
	return fmt.Sprintf("%d/%s/%s", e.Flag, hex.EncodeToString(e.Body), hex.EncodeToString(e.Properties))
}

func TestBatchEntriesAreTheReferences(t *testing.T) {
	for _, row := range rows(t, "batch.tsv", 2) {
		batch := unhex(t, row[1])
		var got []string
		var again []byte
		for rest := batch; len(rest) > 0; {
			e, r, err := message.CutBatchEntry(rest)
			if err != nil {
				t.Fatal(err)
			}
			got, rest = append(got, describe(e)), r
			if again, err = message.AppendBatchEntry(again, e); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, ",") != row[0] {
			t.Errorf("got %v, want %s", got, row[0])
		}
		if !bytes.Equal(again, batch) {
			t.Errorf("encoded again: %x, want %x", again, batch)
		}
		if n, err := message.CountBatch(batch); n != len(got) || err != nil {
			t.Errorf("counted %d, %v, want %d", n, err, len(got))
		}
	}
}

func TestDescribedBatchEntry(t *testing.T) {
	want := unhex(t, "0000001b 00000000 00000000 00000000 00000001 78 0004 70017102")
	got, err := message.AppendBatchEntry(nil, message.BatchEntry{Body: []byte("x"), Properties: message.Properties{}.Append("p", "q")})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
}

func TestBatchRefuses(t *testing.T) {
	good := unhex(t, "0000001b 00000000 00000000 00000000 00000001 78 0004 70017102")
	for n := 1; n < len(good); n++ {
		if _, _, err := message.CutBatchEntry(good[:n]); !errors.Is(err, message.ErrBatch) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
		if count, err := message.CountBatch(append(bytes.Clone(good), good[:n]...)); !errors.Is(err, message.ErrBatch) || count != 1 {
			t.Errorf("second entry cut to %d bytes: %d, %v", n, count, err)
		}
	}
	for name, bad := range map[string]string{
		"negative body":       "0000001b 00000000 00000000 00000000 ffffffff 78 0004 70017102",
		"body over the end":   "0000001b 00000000 00000000 00000000 7fffffff 78 0004 70017102",
		"negative properties": "0000001b 00000000 00000000 00000000 00000001 78 ffff 70017102",
	} {
		if _, _, err := message.CutBatchEntry(unhex(t, bad)); !errors.Is(err, message.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := message.AppendBatchEntry(nil, message.BatchEntry{Properties: make([]byte, 32768)}); !errors.Is(err, message.ErrPropertiesTooLarge) {
		t.Errorf("properties of 32768 bytes: %v", err)
	}
}

func FuzzCutBatchEntry(f *testing.F) {
	for _, row := range rows(f, "batch.tsv", 2) {
		f.Add(unhex(f, row[1]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		e, rest, err := message.CutBatchEntry(b)
		if err != nil {
			return
		}
		again, err := message.AppendBatchEntry(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if len(again)+len(rest) != len(b) {
			t.Fatalf("entry of %d bytes, rest of %d, batch of %d", len(again), len(rest), len(b))
		}
		second, _, err := message.CutBatchEntry(again)
		if err != nil || describe(second) != describe(e) {
			t.Fatalf("got %s, %v, want %s", describe(second), err, describe(e))
		}
	})
}

func BenchmarkCutBatchEntry(b *testing.B) {
	var batch []byte
	for range 16 {
		var err error
		if batch, err = message.AppendBatchEntry(batch, message.BatchEntry{Body: make([]byte, 1024), Properties: benchmarkMessage().Properties}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := message.CountBatch(batch); err != nil {
			b.Fatal(err)
		}
	}
}

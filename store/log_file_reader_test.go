package store

import (
	"bytes"
	"errors"
	"testing"
)

func TestALogFileReadsAsItsRecordsDo(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	var offsets []int64
	for range 500 { // several files
		offsets = append(offsets, st.put(s, newMessage("T", 0, "some body of some length")).PhysicalOffset)
	}
	for _, offset := range offsets {
		r, err := s.Record(offset)
		if err != nil {
			t.Fatal(err)
		}
		f, base, end, err := s.OpenLogFile(offset)
		if err != nil {
			t.Fatal(err)
		}
		if offset < base || offset >= end {
			t.Errorf("offset %d is said to lie in [%d, %d)", offset, base, end)
		}
		got := make([]byte, len(r.Bytes()))
		if _, err := f.ReadAt(got, offset-base); err != nil || !bytes.Equal(got, r.Bytes()) {
			t.Errorf("at %d: got %x, %v, want %x", offset, got, err, r.Bytes())
		}
		r.Release()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, _, err := s.OpenLogFile(1 << 50); !errors.Is(err, ErrNotFound) {
		t.Errorf("beyond the log: %v", err)
	}
}

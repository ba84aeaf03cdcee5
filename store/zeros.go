package store

import (
	"bytes"

	"github.com/rocketd/rocketd/internal/vfs"
)

// zeroChunk is how much writeZeros writes at a time.
const zeroChunk = 64 << 10

// writeZeros overwrites [from, to) of a file.
func writeZeros(f vfs.File, from, to int64) error {
	zeros := make([]byte, min(zeroChunk, to-from))
	for from < to {
		n := min(int64(len(zeros)), to-from)
		if _, err := f.WriteAt(zeros[:n], from); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// allZero tells whether b holds nothing but zeros: its first byte is one, and each byte equals the one before.
func allZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}

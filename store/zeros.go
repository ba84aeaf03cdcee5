package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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

// nextNonZero finds the first piece of [from, to) of a file that is not all zeros, a page or a few long; end is 0 when there is none. Holes
// cost nothing where the file system tells of them. buf, of at least a page, is scratch.
func nextNonZero(f vfs.File, from, to int64, buf []byte) (start, end int64, err error) {
	for at := from; at < to; {
		next, err := vfs.NextData(f, at)
		if errors.Is(err, io.EOF) || err == nil && next >= to {
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if next == at && at > from && len(buf) < zeroChunk {
			buf = make([]byte, zeroChunk) // it may not be able to tell
		}
		at = next
		b := buf[:min(int64(len(buf))-at%pageSize, to-at)]
		if n, err := f.ReadAt(b, at); n < len(b) {
			return 0, 0, fmt.Errorf("read %s at %d: %w", f.Name(), at, noEOF(err))
		}
		if !allZero(b) {
			return at, at + int64(len(b)), nil
		}
		at += int64(len(b))
	}
	return 0, 0, nil
}

// allZero tells whether b holds nothing but zeros: its first byte is one, and each byte equals the one before.
func allZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}

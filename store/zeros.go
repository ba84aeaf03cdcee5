package store

import "github.com/rocketd/rocketd/internal/vfs"

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

// allZero tells whether b holds nothing but zeros.
func allZero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

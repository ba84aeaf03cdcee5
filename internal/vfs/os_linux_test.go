package vfs_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rocketd/rocketd/internal/vfs"
)

// TestNextDataWhereTheSystemCannotTell: a file system that refuses SEEK_DATA, as /proc does, is one that knows nothing of holes.
func TestNextDataWhereTheSystemCannotTell(t *testing.T) {
	const path = "/proc/self/maps"
	plain, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	_, err = plain.Seek(0, unix.SEEK_DATA)
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EINVAL) {
		t.Skipf("it answers %v", err)
	}
	f := mustOpen(t, vfs.OS{}, path, os.O_RDONLY)
	if got, err := vfs.NextData(f, 0); !errors.Is(err, io.EOF) {
		t.Errorf("NextData of a file of 0 bytes = %d, %v, want EOF", got, err)
	}
}

//go:build unix

package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

func TestPagesThatAreGoneAreAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(strings.Repeat("x", 1<<16)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := vfs.OS{}.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	m, ok, err := f.Map(1 << 16)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer func() { _ = m.Unmap() }()
	b := make([]byte, 10)
	if err := vfs.CopyMapped(b, m.Bytes(), 1<<15); err != nil || string(b) != "xxxxxxxxxx" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	if err := vfs.CopyMapped(b, m.Bytes(), 1<<15); !errors.Is(err, vfs.ErrPage) {
		t.Errorf("%v, want ErrPage", err)
	}
	if err := vfs.CopyMapped(b, m.Bytes(), 90); err != nil || string(b) != "xxxxxxxxxx" {
		t.Errorf("what is left of the file: %q, %v", b, err)
	}
}

func TestOtherPanicsAreNotCaught(t *testing.T) {
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("caught %v", p)
		}
	}()
	defer vfs.CatchPageFault(vfs.PanicOnFault(), func(uintptr) bool { return true })
	panic("other")
}

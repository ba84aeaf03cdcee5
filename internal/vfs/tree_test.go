package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestTreeSync: what was written and made below a directory survives a crash after the sync of its tree, and nothing else has to.
func TestTreeSync(t *testing.T) {
	m := NewMem()
	write := func(path, text string) {
		t.Helper()
		if err := m.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := m.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	fault := NewFault(m)
	tree, ok, err := fault.OpenTree("/d")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	write("/d/a/b", "deep")
	write("/d/c", "flat")
	if err := tree.Sync(); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		crashed := m.CrashClone(seed)
		for path, text := range map[string]string{"/d/a/b": "deep", "/d/c": "flat"} {
			f, err := crashed.OpenFile(path, os.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 4)
			if _, err := f.ReadAt(b, 0); err != nil || string(b) != text {
				t.Errorf("seed %d: %s holds %q, %v", seed, path, b, err)
			}
		}
	}
	if size, _, err := tree.Look("a/b"); err != nil || size != 4 {
		t.Errorf("a/b has %d bytes, %v", size, err)
	}
	broken := errors.New("broken")
	fault.SetRule(FailOn(OpSync, "/d", broken))
	if err := tree.Sync(); !errors.Is(err, broken) {
		t.Errorf("sync on a broken disk: %v", err)
	}
}

// TestTreeSyncOfTheSystem calls the system's, where it has one.
func TestTreeSyncOfTheSystem(t *testing.T) {
	dir := t.TempDir()
	tree, ok, err := OS{}.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("this file system cannot, or does not tell of errors")
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if size, modified, err := tree.Look("f"); err != nil || size != 3 || modified != info.ModTime().UnixNano() {
		t.Errorf("size %d, modified %d, %v", size, modified, err)
	}
	if _, _, err := tree.Look("g"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := errors.Join(tree.Sync(), tree.Close()); err != nil {
		t.Error(err)
	}
}

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.8": true, "5.8.0-rc1": true, "5.10.0": true, "6.1-generic": true, "10.0": true, "5.7.19": false, "4.19.0": false, "5": false, "": false, "x.9": false, "5.x": false,
	} {
		if got := atLeast(release, 5, 8); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

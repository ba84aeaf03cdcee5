package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

// eachFS runs a test on every file system, with an empty directory.
func eachFS(t *testing.T, test func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Helper()
	t.Run("os", func(t *testing.T) { test(t, vfs.OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) { test(t, vfs.NewMem(), "") })
	t.Run("fault", func(t *testing.T) { test(t, vfs.NewFault(vfs.NewMem()), "") })
}

func mustOpen(t *testing.T, fsys vfs.FS, name string, flag int) vfs.File {
	t.Helper()
	f, err := fsys.OpenFile(name, flag, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func mustWrite(t *testing.T, f vfs.File, data string, off int64) {
	t.Helper()
	if n, err := f.WriteAt([]byte(data), off); n != len(data) || err != nil {
		t.Fatalf("WriteAt(%d bytes, %d) = %d, %v", len(data), off, n, err)
	}
}

func content(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const create = os.O_RDWR | os.O_CREATE

func TestFilesReadWhatWasWritten(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "f")
		f := mustOpen(t, fsys, name, create)
		if f.Name() != name {
			t.Errorf("name %q, want %q", f.Name(), name)
		}
		if err := f.Truncate(1 << 30); err != nil {
			t.Fatal(err)
		}
		far := int64(512<<20 + 4090)
		mustWrite(t, f, "across a page", far)
		b := make([]byte, 20)
		if n, err := f.ReadAt(b, far-3); n != 20 || err != nil || string(b) != "\x00\x00\x00across a page\x00\x00\x00\x00" {
			t.Errorf("got %d, %v, %q", n, err, b)
		}
		if n, err := f.ReadAt(b, 1<<30-5); n != 5 || !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %d, %v, want 5 and EOF", n, err)
		}
		if n, err := f.ReadAt(b, 1<<30); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("behind the end: %d, %v, want 0 and EOF", n, err)
		}
		if size, err := f.Size(); size != 1<<30 || err != nil {
			t.Errorf("size %d, %v", size, err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt([]byte("x"), -1); err == nil {
			t.Error("wrote at a negative offset")
		}
	})
}

func TestTruncateCutsAndZeroes(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := mustOpen(t, fsys, filepath.Join(dir, "f"), create)
		mustWrite(t, f, string(bytes.Repeat([]byte("x"), 10000)), 0)
		for _, size := range []int64{5000, 10000} {
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
		}
		b := make([]byte, 10000)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if want := append(bytes.Repeat([]byte("x"), 5000), make([]byte, 5000)...); !bytes.Equal(b, want) {
			t.Error("what was cut off came back")
		}
	})
}

func TestOpenFlags(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "f")
		if _, err := fsys.OpenFile(name, os.O_RDWR, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing file: %v", err)
		}
		if _, err := fsys.OpenFile(filepath.Join(dir, "no", "f"), create, 0o644); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing directory: %v", err)
		}
		mustWrite(t, mustOpen(t, fsys, name, create|os.O_EXCL), "abc", 0)
		if _, err := fsys.OpenFile(name, create|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("O_EXCL on a file that exists: %v", err)
		}
		if _, err := mustOpen(t, fsys, name, os.O_RDONLY).WriteAt([]byte("x"), 0); err == nil {
			t.Error("wrote to a file opened for reading")
		}
		if got := content(t, fsys, name); got != "abc" {
			t.Errorf("got %q", got)
		}
		mustOpen(t, fsys, name, os.O_RDWR|os.O_TRUNC)
		if got := content(t, fsys, name); got != "" {
			t.Errorf("after O_TRUNC: %q", got)
		}
		f := mustOpen(t, fsys, name, os.O_RDWR)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("write after close: %v", err)
		}
	})
}

func TestDirectories(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		deep := filepath.Join(dir, "b", "c")
		for range 2 {
			if err := fsys.MkdirAll(deep, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		mustWrite(t, mustOpen(t, fsys, filepath.Join(dir, "a"), create), "abc", 0)
		list, err := fsys.ReadDir(dir)
		if err != nil || len(list) != 2 || list[0].Name() != "a" || list[0].IsDir() || list[1].Name() != "b" || !list[1].IsDir() {
			t.Fatalf("got %v, %v", list, err)
		}
		if info, err := fsys.Stat(filepath.Join(dir, "a")); err != nil || info.Size() != 3 || info.IsDir() || info.ModTime().IsZero() {
			t.Errorf("stat of a file: %v, %v", info, err)
		}
		if info, err := fsys.Stat(deep); err != nil || !info.IsDir() {
			t.Errorf("stat of a directory: %v, %v", info, err)
		}
		if err := fsys.MkdirAll(filepath.Join(dir, "a", "x"), 0o755); err == nil {
			t.Error("made a directory below a file")
		}
		if err := fsys.Remove(filepath.Join(dir, "b")); err == nil {
			t.Error("removed a directory that is not empty")
		}
		if err := errors.Join(fsys.SyncDir(dir), fsys.SyncDir(deep), fsys.Remove(deep), fsys.RemoveAll(filepath.Join(dir, "b")), fsys.RemoveAll(deep)); err != nil {
			t.Error(err)
		}
		for _, name := range []string{deep, filepath.Join(dir, "b")} {
			if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", name, err)
			}
			if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("second removal of %s: %v", name, err)
			}
			if _, err := fsys.ReadDir(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("list of %s: %v", name, err)
			}
		}
	})
}

func TestRenameReplaces(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		mustWrite(t, mustOpen(t, fsys, a, create), "new", 0)
		old := mustOpen(t, fsys, b, create)
		mustWrite(t, old, "old", 0)
		if err := fsys.Rename(a, b); err != nil {
			t.Fatal(err)
		}
		if content(t, fsys, a) != "<none>" || content(t, fsys, b) != "new" {
			t.Errorf("a is %q, b is %q", content(t, fsys, a), content(t, fsys, b))
		}
		got := make([]byte, 3)
		if _, err := old.ReadAt(got, 0); err != nil || string(got) != "old" {
			t.Errorf("the open file that was replaced reads %q, %v", got, err)
		}
		if err := fsys.Rename(a, b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing file: %v", err)
		}
	})
}

func TestLockConflictsUntilClosed(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "lock")
		first, err := fsys.Lock(name)
		if err != nil {
			t.Fatal(err)
		}
		// Closing another descriptor of the file must not give the lock back, as it does with POSIX locks.
		if err := mustOpen(t, fsys, name, os.O_RDWR).Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Lock(name); !errors.Is(err, vfs.ErrLocked) {
			t.Fatalf("second lock: %v, want ErrLocked", err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second, err := fsys.Lock(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestUsage(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		total, free, err := fsys.Usage(dir)
		if err != nil || total == 0 || free > total {
			t.Errorf("total %d, free %d, %v", total, free, err)
		}
	})
}

func TestConcurrentReadsAndWrites(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := mustOpen(t, fsys, filepath.Join(dir, "f"), create)
		var users sync.WaitGroup
		for i := range 4 {
			users.Go(func() {
				data, got := bytes.Repeat([]byte{byte('a' + i)}, 3000), make([]byte, 3000)
				for n := range 50 {
					off := int64(4*n+i) * 3000
					if _, err := f.WriteAt(data, off); err != nil {
						t.Error(err)
					}
					if _, err := f.ReadAt(got, off); err != nil || !bytes.Equal(got, data) {
						t.Errorf("read back %q…, %v", got[:1], err)
					}
					if err := f.Sync(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		users.Wait()
	})
}

func TestOSMappingShowsLaterWrites(t *testing.T) {
	f := mustOpen(t, vfs.OS{}, filepath.Join(t.TempDir(), "f"), create)
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Map(1<<20 + 1); err == nil {
		t.Error("mapped more than the file has")
	}
	m, ok, err := f.Map(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("no mapping on this system")
	}
	mustWrite(t, f, "later", 70000)
	if got := string(m.Bytes()[70000:70005]); got != "later" {
		t.Errorf("mapping shows %q", got)
	}
	for range 2 {
		if err := m.Unmap(); err != nil {
			t.Error(err)
		}
	}
}

func TestNextDataFindsWhatWasWrittenAmongZeros(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := mustOpen(t, fsys, filepath.Join(dir, "f"), os.O_RDWR|os.O_CREATE)
		const size, at = 1 << 20, 640 << 10
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, f, "x", at)
		for _, c := range []struct {
			name     string
			from     int64
			low, end int64 // where it may be found; end 0: nothing may be
		}{
			{"before", 0, 0, at},
			{"right at it", at, at, at},
			{"behind the file", size, 0, 0},
		} {
			got, err := vfs.NextData(f, c.from)
			if c.end == 0 {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: NextData(%d) = %d, %v, want EOF", c.name, c.from, got, err)
				}
				continue
			}
			if err != nil || got < c.low || got > c.end {
				t.Errorf("%s: NextData(%d) = %d, %v, want %d to %d", c.name, c.from, got, err, c.low, c.end)
			}
		}
		// Behind it are zeros: what is called data must be read as that.
		var b [4096]byte
		for from := int64(at + 1); ; from += int64(len(b)) {
			got, err := vfs.NextData(f, from)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || got < from {
				t.Fatalf("NextData(%d) = %d, %v", from, got, err)
			}
			from = got
			if n, _ := f.ReadAt(b[:], from); !bytes.Equal(b[:n], make([]byte, n)) {
				t.Fatalf("bytes at %d are not zero", from)
			}
		}
	})
}

package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

func load(fsys vfs.FS, name string) (got string, fromBackup bool, err error) {
	fromBackup, err = vfs.ReadFileOrBackup(fsys, name, 1<<10, func(data []byte) error {
		if bytes.HasPrefix(data, []byte("bad")) {
			return errors.New("refused")
		}
		got = string(data)
		return nil
	})
	return got, fromBackup, err
}

func TestWriteFileAtomicKeepsThePreviousVersion(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "config", "topics.json")
		for i := 1; i <= 3; i++ {
			if err := vfs.WriteFileAtomic(fsys, name, fmt.Append(nil, "version ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if got := content(t, fsys, name); got != "version 3" {
			t.Errorf("got %q", got)
		}
		if got := content(t, fsys, name+".bak"); got != "version 2" {
			t.Errorf("backup %q", got)
		}
	})
}

func TestReadFileOrBackup(t *testing.T) {
	const none = "<none>"
	for _, row := range []struct {
		name, main, backup string
		want               string
		fromBackup         bool
		wantErr            bool
	}{
		{"main file", "new", "old", "new", false, false},
		{"main file missing", none, "old", "old", true, false},
		{"main file empty", "", "old", "old", true, false},
		{"main file refused", "bad", "old", "old", true, false},
		{"main file too large", string(make([]byte, 1<<10+1)), "old", "old", true, false},
		{"both refused", "bad", "bad", "", false, true},
		{"no backup", "bad", none, "", false, true},
		{"neither", none, none, "", false, true},
		{"only an empty backup", none, "", "", false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := vfs.NewMem()
			for name, data := range map[string]string{"f": row.main, "f.bak": row.backup} {
				if data != none {
					mustWrite(t, mustOpen(t, fsys, name, create), data, 0)
				}
			}
			got, fromBackup, err := load(fsys, "f")
			if got != row.want || fromBackup != row.fromBackup || (err != nil) != row.wantErr {
				t.Errorf("got %q, %v, %v; want %q, %v, error %v", got, fromBackup, err, row.want, row.fromBackup, row.wantErr)
			}
			if wantMissing := row.main == none && row.backup == none; errors.Is(err, fs.ErrNotExist) != wantMissing {
				t.Errorf("error %v, want ErrNotExist: %v", err, wantMissing)
			}
		})
	}
}

// Whatever operation a crash hits and whatever it leaves, a version that was written can be read, and never one older than the last
// that WriteFileAtomic finished.
func TestWriteFileAtomicSurvivesACrashAtEachStep(t *testing.T) {
	for k := int64(1); ; k++ {
		for seed := range uint64(20) {
			mem := vfs.NewMem()
			fsys := vfs.NewFault(mem)
			if err := errors.Join(fsys.MkdirAll("config", 0o755), fsys.SyncDir("")); err != nil {
				t.Fatal(err)
			}
			fsys.SetRule(vfs.CrashAt(fsys.Count() + k))
			finished := 0
			for i := 1; i <= 3; i++ {
				if err := vfs.WriteFileAtomic(fsys, "config/f", fmt.Append(nil, "version ", i)); err == nil {
					finished = i
				}
			}
			if !fsys.Crashed() {
				return
			}
			for name, left := range map[string]*vfs.Mem{"crash": mem.CrashClone(seed), "kill": mem.Clone()} {
				got, _, err := load(left, "config/f")
				if finished == 0 && errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if version := 0; err != nil {
					t.Fatalf("%s at operation %d, seed %d: %v", name, k, seed, err)
				} else if _, err := fmt.Sscanf(got, "version %d", &version); err != nil || version < finished {
					t.Fatalf("%s at operation %d, seed %d: got %q after version %d was finished", name, k, seed, got, finished)
				}
			}
		}
	}
}

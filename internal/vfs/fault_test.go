package vfs_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

func TestFaultFailsTheOperationTheRuleNames(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem())
	f := mustOpen(t, fsys, "log/../f", create)
	fsys.SetRule(vfs.FailOn(vfs.OpSync, "f", syscall.EIO))
	mustWrite(t, f, "abc", 0)
	var path *fs.PathError
	if err := f.Sync(); !errors.Is(err, syscall.EIO) || !errors.As(err, &path) || path.Op != "sync" {
		t.Errorf("sync: %v", err)
	}
	fsys.SetRule(nil)
	if err := f.Sync(); err != nil {
		t.Errorf("without a rule: %v", err)
	}
}

func TestFaultCountsWhatChanges(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem())
	if err := fsys.MkdirAll("d", 0o755); err != nil { // 1
		t.Fatal(err)
	}
	f := mustOpen(t, fsys, "d/f", create) // 2
	mustOpen(t, fsys, "d/f", create)
	mustWrite(t, f, "abc", 0) // 3
	content(t, fsys, "d/f")
	if _, err := fsys.Stat("d"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(2), f.Sync(), fsys.Rename("d/f", "d/g"), fsys.SyncDir("d"), fsys.Remove("d/g"), fsys.RemoveAll("d")); err != nil {
		t.Fatal(err)
	}
	if got := fsys.Count(); got != 9 {
		t.Errorf("counted %d operations, want 9", got)
	}
}

func TestFaultFailAtFailsOnce(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem())
	f := mustOpen(t, fsys, "f", create)
	fsys.SetRule(vfs.FailAt(fsys.Count()+2, syscall.ENOSPC))
	mustWrite(t, f, "a", 0)
	if n, err := f.WriteAt([]byte("b"), 1); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %d, %v", n, err)
	}
	mustWrite(t, f, "c", 1)
	if got := content(t, fsys, "f"); got != "ac" {
		t.Errorf("got %q", got)
	}
}

func TestFaultShortWrite(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem())
	f := mustOpen(t, fsys, "f", create)
	fsys.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op == vfs.OpWrite {
			return vfs.Action{Err: syscall.ENOSPC, Keep: 2}
		}
		return vfs.Action{}
	})
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %d, %v, want 2 and ENOSPC", n, err)
	}
	if got := content(t, fsys, "f"); got != "ab" {
		t.Errorf("got %q", got)
	}
}

func TestFaultAfterACrashNothingWorks(t *testing.T) {
	mem := vfs.NewMem()
	fsys := vfs.NewFault(mem)
	f := mustOpen(t, fsys, "f", create)
	fsys.SetRule(vfs.CrashAt(fsys.Count() + 1))
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, vfs.ErrCrashed) {
		t.Errorf("got %d, %v, want half the write and ErrCrashed", n, err)
	}
	if !fsys.Crashed() {
		t.Error("not crashed")
	}
	_, openErr := fsys.OpenFile("f", create, 0o644)
	_, lockErr := fsys.Lock("lock")
	_, statErr := fsys.Stat("f")
	_, listErr := fsys.ReadDir("")
	_, sizeErr := f.Size()
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, _, mapErr := f.Map(1)
	_, _, usageErr := fsys.Usage("")
	for i, err := range []error{
		openErr, lockErr, statErr, listErr, sizeErr, readErr, mapErr, usageErr, f.Sync(), f.Truncate(0), fsys.MkdirAll("d", 0o755),
		fsys.Remove("f"), fsys.RemoveAll("f"), fsys.Rename("f", "g"), fsys.SyncDir(""),
	} {
		if !errors.Is(err, vfs.ErrCrashed) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got := content(t, mem, "f"); got != "ab" {
		t.Errorf("left %q", got)
	}
}

func TestFaultHoldsAnOperation(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem())
	f := mustOpen(t, fsys, "f", create)
	reached, release := make(chan struct{}), make(chan struct{})
	fsys.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op != vfs.OpSync {
			return vfs.Action{}
		}
		return vfs.Action{Before: func() { close(reached); <-release }}
	})
	done := make(chan error, 1)
	go func() { done <- f.Sync() }()
	<-reached
	mustWrite(t, f, "others go on", 0)
	select {
	case err := <-done:
		t.Fatalf("sync ended while held: %v", err)
	default:
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestFullFileSystem fills a file system of 200 MB to the brim and frees it again. It needs the right to mount one.
func TestFullFileSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("no right to mount a file system: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	}()
	c := conf.Default().Store
	st := &storeTest{T: t, fs: vfs.OS{}, dir: filepath.Join(root, "store"), clock: clock.System{}, conf: &c}
	o := st.options()
	o.DiskMinFree = 512 << 20
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Close()

	body := strings.Repeat("x", 10_000)
	sent := 0
	send := func() error {
		_, err := s.Put(newMessage("T", int32(sent%4), fmt.Sprint(sent, body), message.KeyUniqueKey, fmt.Sprint("u", sent)))
		if err == nil {
			sent++
		}
		return err
	}
	fill := func() error {
		for {
			if err := send(); err != nil {
				return err
			}
		}
	}
	readAll := func() {
		t.Helper()
		n := 0
		for id := range int32(4) {
			n += len(st.bodies(s, "T", id, 0))
		}
		if n != sent {
			t.Errorf("%d messages can be read, %d were accepted", n, sent)
		}
	}
	// The reserve keeps what was accepted manageable.
	if err := fill(); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), root) {
		t.Fatalf("full: %v, want ErrDiskFull with the path", err)
	}
	t.Logf("%d messages until: %v", sent, s.Writable())
	readAll()
	if err := s.Flush(); err != nil {
		t.Errorf("flush within the reserve: %v", err)
	}

	// Something else takes all the rest, byte by byte.
	ballast, err := os.Create(filepath.Join(root, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := ballast.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	readAll()
	if found, err := s.Query("T", "u0", 10, 0, 1<<62); err != nil || len(found) != 1 {
		t.Errorf("key: %d found, %v", len(found), err)
	} else {
		found[0].Release()
	}

	// Room again.
	writable := func() {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for send() != nil {
			if time.Now().After(deadline) {
				t.Fatalf("10 s after there was room: %v", s.Writable())
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	if err := ballast.Truncate(0); err != nil {
		t.Fatal(err)
	}
	// The log fills the disk: only its own reserve came back.
	if err := send(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("only the reserve is free: %v, want ErrDiskFull", err)
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, "size=300m"); err != nil {
		t.Fatal(err)
	}
	writable()

	// Writes fail in the middle of a record, before the disk was looked at again.
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, "size=210m"); err != nil {
		t.Fatal(err)
	}
	if err := fill(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("full: %v, want ErrDiskFull", err)
	}
	t.Logf("%d messages until: %v", sent, s.Writable())
	readAll()
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, "size=400m"); err != nil {
		t.Fatal(err)
	}
	writable()
	readAll()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Check(CheckOptions{Dir: st.dir, FS: st.fs})
	if err != nil || report.Damaged() || report.Records != int64(sent) {
		t.Errorf("check: %v, %d records of %d, %v", err, report.Records, sent, report.Problems)
	}
}

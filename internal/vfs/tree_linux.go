package vfs

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

type osTree struct{ f *os.File }

func openTree(dir string) (Tree, bool, error) {
	if !kernelAtLeast(5, 8) {
		return nil, false, nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, false, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	switch int64(st.Type) { //nolint:unconvert // of another type on other processors
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default:
		return nil, false, nil
	}
	// It stays open: what went wrong is told to descriptors that were open then.
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	return &osTree{f}, true, nil
}

func kernelAtLeast(major, minor int) bool {
	var name unix.Utsname
	return unix.Uname(&name) == nil && atLeast(unix.ByteSliceToString(name.Release[:]), major, minor)
}

func (t *osTree) Sync() error {
	for {
		err := unix.Syncfs(int(t.f.Fd()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "syncfs", Path: t.f.Name(), Err: err}
		}
		return nil
	}
}

func (t *osTree) Look(name string) (size, modified int64, err error) {
	var st unix.Stat_t
	for {
		err = unix.Fstatat(int(t.f.Fd()), name, &st, 0)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: filepath.Join(t.f.Name(), name), Err: err}
	}
	return st.Size, st.Mtim.Nano(), nil
}

func (t *osTree) Close() error { return t.f.Close() }

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func syncDir(string) error { return nil }

func syncData(f *os.File) error { return f.Sync() }

// mapFile maps nothing: a mapped file could be neither removed nor renamed.
func mapFile(*os.File, int) (Mapping, bool, error) { return nil, false, nil }

func lockByte0(f *os.File) (unlock func(), err error) {
	var at windows.Overlapped
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, os.NewSyscallError("LockFileEx", err)
	}
	return func() {}, nil // closing the file gives it back
}

func usage(dir string) (total, free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	if err := windows.GetDiskFreeSpaceEx(path, &free, &total, nil); err != nil {
		return 0, 0, os.NewSyscallError("GetDiskFreeSpaceEx", err)
	}
	return total, free, nil
}

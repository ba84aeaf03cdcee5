//go:build unix && !linux

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// held keeps the paths locked by this process, since POSIX locks do not conflict inside one.
type heldLocks struct {
	mu    sync.Mutex
	paths map[string]bool // guarded by mu
}

var held = heldLocks{paths: map[string]bool{}}

func lockByte0(f *os.File) (unlock func(), err error) {
	path, err := filepath.Abs(f.Name())
	if err != nil {
		return nil, err
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.paths[path] {
		return nil, ErrLocked
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: 0, Len: 1}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	held.paths[path] = true
	return func() {
		held.mu.Lock()
		delete(held.paths, path)
		held.mu.Unlock()
	}, nil
}

func syncData(f *os.File) error { return f.Sync() }

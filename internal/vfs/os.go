package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked says that somebody else, in this process or another, holds the lock.
var ErrLocked = errors.New("file is locked")

// OS is the machine's file system.
type OS struct{}

// OpenFile opens a file as os.OpenFile does.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// MkdirAll creates dir and its parents.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

// Remove removes a file or an empty directory.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll removes path and all below it.
func (OS) RemoveAll(path string) error { return os.RemoveAll(path) }

// Rename replaces newName by oldName.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// ReadDir lists dir sorted by name.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// Stat describes a file.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// SyncDir makes creations, removals and renames in dir durable. On Windows, which has no such call, it does nothing.
func (OS) SyncDir(dir string) error { return syncDir(dir) }

// Lock creates the file if it is missing and locks its byte 0. On Linux a Java FileChannel.lock and a second Lock in this
// process conflict alike.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	unlock, err := lockByte0(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return &osLock{f: f, unlock: unlock}, nil
}

// Usage tells size and free bytes of the file system that holds dir.
func (OS) Usage(dir string) (total, free uint64, err error) {
	total, free, err = usage(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("usage of %s: %w", filepath.Clean(dir), err)
	}
	return total, free, nil
}

type osLock struct {
	f      *os.File
	unlock func()
}

func (l *osLock) Close() error {
	l.unlock()
	return l.f.Close()
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Map(length int) (Mapping, bool, error) {
	size, err := f.Size()
	if err != nil {
		return nil, false, err
	}
	if length <= 0 || int64(length) > size {
		return nil, false, fmt.Errorf("map %s: length %d, the file has %d bytes", f.Name(), length, size)
	}
	m, ok, err := mapFile(f.File, length)
	if err != nil {
		return nil, false, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return m, ok, nil
}

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// TreeFS is a file system that may be able to make everything below a directory durable in one go, which for thousands of files is much
// less work than file by file.
type TreeFS interface {
	// OpenTree opens a directory for that. ok is false where it cannot be done, or would not tell of every error.
	OpenTree(dir string) (t Tree, ok bool, err error)
}

// Tree is an open directory.
type Tree interface {
	// Sync makes everything durable that was written, made, renamed or removed below it before the call. It fails also for errors that
	// happened since the tree was opened or last synced.
	Sync() error
	// Look tells size and time of the last change, ns since 1970, of a file below it, more cheaply than FS.Stat.
	Look(name string) (size, modified int64, err error)
	io.Closer
}

// OpenTree opens a directory, which must exist. Linux has syncfs, which tells of errors from 5.8 on, and on file systems that are not
// made of others; elsewhere ok is false. It makes the whole file system durable, whoever has written to it.
func (OS) OpenTree(dir string) (t Tree, ok bool, err error) { return openTree(dir) }

// OpenTree opens a directory.
func (m *Mem) OpenTree(dir string) (t Tree, ok bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d, err := m.dirLocked(dir)
	if err != nil {
		return nil, false, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return &memTree{m, d, dir}, true, nil
}

type memTree struct {
	m    *Mem
	d    *memDir
	name string
}

func (t *memTree) Look(name string) (size, modified int64, err error) {
	return look(t.m, filepath.Join(t.name, name))
}

func look(fsys FS, path string) (size, modified int64, err error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.ModTime().UnixNano(), nil
}

func (t *memTree) Sync() error {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.d.syncAll()
	return nil
}

func (t *memTree) Close() error { return nil }

func (d *memDir) syncAll() {
	d.sync()
	for _, node := range d.entries {
		switch node := node.(type) {
		case *memDir:
			node.syncAll()
		case *memFile:
			node.sync()
		}
	}
}

// OpenTree opens a directory of the inner file system.
func (f *Fault) OpenTree(dir string) (t Tree, ok bool, err error) {
	inner, ok := f.inner.(TreeFS)
	if !ok {
		return nil, false, nil
	}
	if _, err := f.before(Call{Op: OpOpen, Path: dir}); err != nil {
		return nil, false, err
	}
	if t, ok, err = inner.OpenTree(dir); err != nil || !ok {
		return nil, false, err
	}
	return &faultTree{t, f, filepath.Clean(dir)}, true, nil
}

// faultTree fails as a sync of the directory would.
type faultTree struct {
	Tree
	fault *Fault
	dir   string
}

func (t *faultTree) Look(name string) (size, modified int64, err error) {
	if _, err := t.fault.before(Call{Op: OpStat, Path: filepath.Join(t.dir, name)}); err != nil {
		return 0, 0, err
	}
	return t.Tree.Look(name)
}

func (t *faultTree) Sync() error {
	if _, err := t.fault.before(Call{Op: OpSync, Path: t.dir}); err != nil {
		return err
	}
	return t.Tree.Sync()
}

// atLeast tells whether a release of a system, such as "6.1.0-rc3", is at least major.minor.
func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	second, _, _ := strings.Cut(rest, ".")
	have, err := number(first)
	if err != nil || have != major {
		return err == nil && have > major
	}
	have, err = number(second)
	return err == nil && have >= minor
}

var errNoNumber = errors.New("no number")

// number reads the digits at the beginning.
func number(s string) (n int, err error) {
	err = errNoNumber
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<20 {
			break
		}
		n, err = n*10+int(c-'0'), nil
	}
	return n, err
}

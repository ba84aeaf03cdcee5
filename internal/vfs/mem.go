package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory. A sparse file costs what was written to it, in pages of 4 KiB; nothing can be mapped. It keeps
// apart what was synced and what was not, so that CrashClone can show what a crash of the machine leaves. Safe for concurrent
// use.
type Mem struct {
	mu    sync.RWMutex
	root  *memDir          // guarded by mu, with all directories below
	now   func() time.Time // guarded by mu
	total uint64           // guarded by mu
	free  uint64           // guarded by mu
}

// memSpace is the size Mem claims to have unless told otherwise.
const memSpace = 1 << 40

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{root: newMemDir(time.Now()), now: time.Now, total: memSpace, free: memSpace}
}

// SetNow gives the clock modification times are taken from.
func (m *Mem) SetNow(now func() time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
}

// SetUsage sets what Usage tells. It limits nothing: use Fault to let writes fail.
func (m *Mem) SetUsage(total, free uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total, m.free = total, free
}

// Clone returns a file system with the same content and no locks: what the kill of a process leaves.
func (m *Mem) Clone() *Mem { return m.clone(keepAll{}) }

// CrashClone returns what a crash of the machine leaves, chosen by seed: everything that was synced; of what was not, each page of
// 4 KiB and each file's size is kept or lost on its own, and each directory keeps a random number of its first unsynced
// changes. A file is only found again if SyncDir was called on its directory, and on the directories above if they are new.
func (m *Mem) CrashClone(seed uint64) *Mem {
	return m.clone(keepSome{rand.New(rand.NewPCG(seed, seed))})
}

// survival decides what of the unsynced survives.
type survival interface {
	page() bool
	changes(pending int) int
}

type keepAll struct{}

func (keepAll) page() bool        { return true }
func (keepAll) changes(n int) int { return n }

type keepSome struct{ r *rand.Rand }

func (k keepSome) page() bool        { return k.r.Uint64()&1 == 0 }
func (k keepSome) changes(n int) int { return k.r.IntN(n + 1) }

func (m *Mem) clone(s survival) *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &Mem{root: m.root.clone(s), now: m.now, total: m.total, free: m.free}
}

// OpenFile opens a file as os.OpenFile does.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.openLocked(name, flag)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	h := &memHandle{name: name, node: node, now: m.now, writable: flag&(os.O_WRONLY|os.O_RDWR) != 0}
	if flag&os.O_TRUNC != 0 {
		node.truncate(0, m.now())
	}
	return h, nil
}

func (m *Mem) openLocked(name string, flag int) (*memFile, error) {
	dir, base, err := m.parentLocked(name)
	if err != nil {
		return nil, err
	}
	switch node := dir.entries[base].(type) {
	case *memFile:
		if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
			return nil, fs.ErrExist
		}
		return node, nil
	case *memDir:
		return nil, syscall.EISDIR
	}
	if base == "" {
		return nil, syscall.EISDIR
	}
	if flag&os.O_CREATE == 0 {
		return nil, fs.ErrNotExist
	}
	node := &memFile{modified: m.now()}
	dir.change(m.now(), memChange{base, node})
	return node, nil
}

// MkdirAll creates dir and its parents.
func (m *Mem) MkdirAll(dir string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.root
	for _, part := range splitPath(dir) {
		switch node := at.entries[part].(type) {
		case *memDir:
			at = node
		case *memFile:
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		default:
			made := newMemDir(m.now())
			at.change(m.now(), memChange{part, made})
			at = made
		}
	}
	return nil
}

// Remove removes a file or an empty directory. Open files stay usable.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parentLocked(name)
	if err == nil {
		switch node := dir.entries[base].(type) {
		case *memFile:
		case *memDir:
			if len(node.entries) > 0 {
				err = syscall.ENOTEMPTY
			}
		default:
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	dir.change(m.now(), memChange{base, nil})
	return nil
}

// RemoveAll removes path and all below it.
func (m *Mem) RemoveAll(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parentLocked(path)
	if err != nil || dir.entries[base] == nil {
		return nil // as os.RemoveAll: what is not there is removed
	}
	dir.change(m.now(), memChange{base, nil})
	return nil
}

// Rename replaces newName, which is not a directory, by oldName.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.renameLocked(oldName, newName); err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: err}
	}
	return nil
}

func (m *Mem) renameLocked(oldName, newName string) error {
	from, oldBase, err := m.parentLocked(oldName)
	if err != nil {
		return err
	}
	to, newBase, err := m.parentLocked(newName)
	if err != nil {
		return err
	}
	node := from.entries[oldBase]
	if node == nil || newBase == "" {
		return fs.ErrNotExist
	}
	if _, ok := to.entries[newBase].(*memDir); ok {
		return fs.ErrExist
	}
	if from == to {
		if oldBase != newBase {
			from.change(m.now(), memChange{oldBase, nil}, memChange{newBase, node})
		}
		return nil
	}
	to.change(m.now(), memChange{newBase, node})
	from.change(m.now(), memChange{oldBase, nil})
	return nil
}

// ReadDir lists dir sorted by name.
func (m *Mem) ReadDir(dir string) ([]fs.DirEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d, err := m.dirLocked(dir)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: err}
	}
	var list []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(d.entries)) {
		list = append(list, fs.FileInfoToDirEntry(d.entries[name].info(name)))
	}
	return list, nil
}

// Stat describes a file.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	dir, base, err := m.parentLocked(name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if base == "" {
		return m.root.info(name), nil
	}
	node := dir.entries[base]
	if node == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return node.info(base), nil
}

// SyncDir makes creations, removals and renames in dir durable.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.dirLocked(dir)
	if err != nil {
		return &fs.PathError{Op: "syncdir", Path: dir, Err: err}
	}
	d.sync()
	return nil
}

// Lock creates the file if it is missing and locks it within this file system.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.openLocked(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if !node.locked.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	return &memLock{node: node}, nil
}

type memLock struct {
	once sync.Once
	node *memFile
}

func (l *memLock) Close() error {
	l.once.Do(func() { l.node.locked.Store(false) })
	return nil
}

// Usage tells what SetUsage set.
func (m *Mem) Usage(string) (total, free uint64, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.total, m.free, nil
}

// parentLocked finds the directory name lies in and its last part, which is "" for the root.
func (m *Mem) parentLocked(name string) (dir *memDir, base string, err error) {
	parts := splitPath(name)
	if len(parts) == 0 {
		return m.root, "", nil
	}
	dir, err = m.walkLocked(parts[:len(parts)-1])
	return dir, parts[len(parts)-1], err
}

func (m *Mem) dirLocked(name string) (*memDir, error) { return m.walkLocked(splitPath(name)) }

func (m *Mem) walkLocked(parts []string) (*memDir, error) {
	at := m.root
	for _, part := range parts {
		switch node := at.entries[part].(type) {
		case *memDir:
			at = node
		case *memFile:
			return nil, syscall.ENOTDIR
		default:
			return nil, fs.ErrNotExist
		}
	}
	return at, nil
}

// splitPath takes "" and "." for the root, as the working directory would be.
func splitPath(name string) []string {
	name = filepath.ToSlash(filepath.Clean(name))
	if name == "." {
		return nil
	}
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

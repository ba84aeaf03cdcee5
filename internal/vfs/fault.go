package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// ErrCrashed is what every operation fails with after a crash.
var ErrCrashed = errors.New("file system has crashed")

// Op is a kind of operation.
type Op uint8

// The operations. Those up to OpSyncDir change what is on disk.
const (
	OpCreate Op = iota + 1 // OpenFile that makes or empties a file
	OpWrite
	OpTruncate
	OpSync
	OpMkdir
	OpRemove
	OpRename
	OpSyncDir
	OpOpen
	OpRead
	OpMap
	OpSize
	OpReadDir
	OpStat
	OpLock
	OpUsage
)

// String returns the name in errors.
func (o Op) String() string {
	names := [...]string{"", "create", "write", "truncate", "sync", "mkdir", "remove", "rename", "syncdir", "open", "read", "map", "size", "readdir", "stat", "lock", "usage"}
	if int(o) >= len(names) {
		return "unknown"
	}
	return names[o]
}

// Changes tells whether the operation changes what is on disk.
func (o Op) Changes() bool { return o >= OpCreate && o <= OpSyncDir }

// Call is one operation about to happen.
type Call struct {
	// N counts the operations that change something, from 1; for others it is the number of those before.
	N    int64
	Op   Op
	Path string
	// Offset and Size are those of a read, write, truncation or mapping.
	Offset int64
	Size   int
}

// Action is what a Rule lets happen to a Call. The zero Action is nothing.
type Action struct {
	// Before runs first, without a lock held: to delay the operation, or to hold it until a channel closes.
	Before func()
	// Err is what the operation fails with, inside a *fs.PathError, without having happened.
	Err error
	// Keep is how many bytes of a write that fails or crashes are written all the same.
	Keep int
	// Crash lets this operation and all after it fail with ErrCrashed.
	Crash bool
}

// Rule decides about a call. It may be called by several goroutines at once.
type Rule func(Call) Action

// CrashAt crashes at the k-th operation that changes something; of a write half is kept.
func CrashAt(k int64) Rule {
	return func(c Call) Action {
		return Action{Crash: c.N == k && c.Op.Changes(), Keep: c.Size / 2}
	}
}

// FailAt lets the k-th operation that changes something fail with err, once.
func FailAt(k int64, err error) Rule {
	return func(c Call) Action {
		if c.N == k && c.Op.Changes() {
			return Action{Err: err}
		}
		return Action{}
	}
}

// FailOn lets each op on a path that contains part fail with err.
func FailOn(op Op, part string, err error) Rule {
	return func(c Call) Action {
		if c.Op == op && strings.Contains(c.Path, part) {
			return Action{Err: err}
		}
		return Action{}
	}
}

// Fault is a file system that fails, delays or crashes as its rule says, and counts. Closing is never counted and never fails, so
// that a test can clean up. Safe for concurrent use.
type Fault struct {
	inner   FS
	mu      sync.Mutex
	rule    Rule  // guarded by mu
	count   int64 // guarded by mu
	crashed bool  // guarded by mu
}

// NewFault wraps inner. Without a rule everything works.
func NewFault(inner FS) *Fault { return &Fault{inner: inner} }

// SetRule replaces the rule; nil lets everything work.
func (f *Fault) SetRule(rule Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = rule
}

// Count is how many operations changed something, or tried to.
func (f *Fault) Count() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Crash lets every operation from now on fail.
func (f *Fault) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = true
}

// Crashed tells whether a crash happened.
func (f *Fault) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// before counts the call and applies the rule to it. keep is valid with an error.
func (f *Fault) before(c Call) (keep int, err error) {
	f.mu.Lock()
	if f.crashed {
		f.mu.Unlock()
		return 0, &fs.PathError{Op: c.Op.String(), Path: c.Path, Err: ErrCrashed}
	}
	if c.Op.Changes() {
		f.count++
	}
	c.N = f.count
	rule := f.rule
	f.mu.Unlock()
	if rule == nil {
		return 0, nil
	}
	a := rule(c)
	if a.Before != nil {
		a.Before()
	}
	if a.Crash {
		f.Crash()
		a.Err = ErrCrashed
	}
	if a.Err == nil {
		return 0, nil
	}
	return a.Keep, &fs.PathError{Op: c.Op.String(), Path: c.Path, Err: a.Err}
}

// OpenFile opens a file.
func (f *Fault) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	c := Call{Op: OpOpen, Path: name}
	if flag&os.O_TRUNC != 0 {
		c.Op = OpCreate
	} else if flag&os.O_CREATE != 0 {
		if _, err := f.inner.Stat(name); errors.Is(err, fs.ErrNotExist) {
			c.Op = OpCreate
		}
	}
	if _, err := f.before(c); err != nil {
		return nil, err
	}
	file, err := f.inner.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return faultFile{file, f}, nil
}

// MkdirAll creates dir and its parents; it counts as one operation.
func (f *Fault) MkdirAll(dir string, perm fs.FileMode) error {
	if _, err := f.before(Call{Op: OpMkdir, Path: dir}); err != nil {
		return err
	}
	return f.inner.MkdirAll(dir, perm)
}

// Remove removes a file or an empty directory.
func (f *Fault) Remove(name string) error {
	if _, err := f.before(Call{Op: OpRemove, Path: name}); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll removes path and all below it; it counts as one operation.
func (f *Fault) RemoveAll(path string) error {
	if _, err := f.before(Call{Op: OpRemove, Path: path}); err != nil {
		return err
	}
	return f.inner.RemoveAll(path)
}

// Rename replaces newName by oldName. The rule sees newName.
func (f *Fault) Rename(oldName, newName string) error {
	if _, err := f.before(Call{Op: OpRename, Path: newName}); err != nil {
		return err
	}
	return f.inner.Rename(oldName, newName)
}

// ReadDir lists dir.
func (f *Fault) ReadDir(dir string) ([]fs.DirEntry, error) {
	if _, err := f.before(Call{Op: OpReadDir, Path: dir}); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(dir)
}

// Stat describes a file.
func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	if _, err := f.before(Call{Op: OpStat, Path: name}); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SyncDir makes changes in dir durable.
func (f *Fault) SyncDir(dir string) error {
	if _, err := f.before(Call{Op: OpSyncDir, Path: dir}); err != nil {
		return err
	}
	return f.inner.SyncDir(dir)
}

// Lock locks a file.
func (f *Fault) Lock(name string) (io.Closer, error) {
	if _, err := f.before(Call{Op: OpLock, Path: name}); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// Usage tells size and free bytes.
func (f *Fault) Usage(dir string) (total, free uint64, err error) {
	if _, err := f.before(Call{Op: OpUsage, Path: dir}); err != nil {
		return 0, 0, err
	}
	return f.inner.Usage(dir)
}

type faultFile struct {
	File
	fault *Fault
}

func (f faultFile) ReadAt(b []byte, off int64) (int, error) {
	if _, err := f.fault.before(Call{Op: OpRead, Path: f.Name(), Offset: off, Size: len(b)}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f faultFile) WriteAt(b []byte, off int64) (int, error) {
	keep, err := f.fault.before(Call{Op: OpWrite, Path: f.Name(), Offset: off, Size: len(b)})
	if err == nil {
		return f.File.WriteAt(b, off)
	}
	keep = min(keep, len(b))
	if keep <= 0 {
		return 0, err
	}
	n, inner := f.File.WriteAt(b[:keep], off)
	return n, errors.Join(err, inner)
}

func (f faultFile) Truncate(size int64) error {
	if _, err := f.fault.before(Call{Op: OpTruncate, Path: f.Name(), Offset: size}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f faultFile) Size() (int64, error) {
	if _, err := f.fault.before(Call{Op: OpSize, Path: f.Name()}); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f faultFile) Sync() error {
	if _, err := f.fault.before(Call{Op: OpSync, Path: f.Name()}); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultFile) nextData(off int64) (int64, error) {
	if _, err := f.fault.before(Call{Op: OpRead, Path: f.Name(), Offset: off}); err != nil {
		return off, err
	}
	return NextData(f.File, off)
}

func (f faultFile) Map(length int) (Mapping, bool, error) {
	if _, err := f.fault.before(Call{Op: OpMap, Path: f.Name(), Size: length}); err != nil {
		return nil, false, err
	}
	return f.File.Map(length)
}

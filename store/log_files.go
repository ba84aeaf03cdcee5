package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rocketd/rocketd/internal/vfs"
)

// Flags of os.OpenFile, from where they come: this package must not import os, since files go through the seam.
const (
	osRead   = syscall.O_RDONLY
	osUpdate = syscall.O_RDWR
	osCreate = syscall.O_CREAT
	osTrunc  = syscall.O_TRUNC
)

const (
	filePerm     = 0o644
	dirPerm      = 0o755
	offsetDigits = 20
)

// offsetName is the name of a file that begins at offset.
func offsetName(offset int64) string { return string(appendOffsetName(nil, offset)) }

func appendOffsetName(dst []byte, offset int64) []byte {
	var digits [offsetDigits]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + offset%10)
		offset /= 10
	}
	return append(dst, digits[:]...)
}

// parseOffsetName undoes offsetName.
func parseOffsetName(name string) (int64, bool) {
	if len(name) != offsetDigits {
		return 0, false
	}
	offset, err := strconv.ParseInt(name, 10, 64)
	return offset, err == nil && offset >= 0
}

// logFile is one file of the commit log.
type logFile struct {
	fs   vfs.FS
	path string
	base int64
	size int64

	current atomic.Pointer[view]
	used    atomic.Bool  // read since the janitor looked
	lastUse atomic.Int64 // the janitor's tick when it found it used

	mu      sync.Mutex
	f       vfs.File // open for writing; nil until it is needed; guarded by mu
	removed bool     // guarded by mu
	closed  bool     // the store is; guarded by mu
}

// openableLocked is the error of opening a file that is gone or of a store that is closed.
func (f *logFile) openableLocked() error {
	switch {
	case f.removed:
		return fmt.Errorf("%s: %w", f.path, fs.ErrNotExist)
	case f.closed:
		return ErrClosed
	}
	return nil
}

func (f *logFile) end() int64 { return f.base + f.size }

// view returns the file's view with one holder more.
func (f *logFile) view() (*view, error) {
	if !f.used.Load() {
		f.used.Store(true)
	}
	if v := f.current.Load(); v != nil && v.acquire() {
		return v, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.current.Load(); v != nil && v.acquire() {
		return v, nil
	}
	if err := f.openableLocked(); err != nil {
		return nil, err
	}
	v, err := newView(f.fs, f.path, f.size)
	if err != nil {
		return nil, err
	}
	v.refs.Add(1)
	f.current.Store(v)
	return v, nil
}

// writer returns the file opened for writing.
func (f *logFile) writer() (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.openableLocked(); err != nil {
		return nil, err
	}
	if f.f == nil {
		w, err := f.fs.OpenFile(f.path, osUpdate, filePerm)
		if err != nil {
			return nil, err
		}
		f.f = w
	}
	return f.f, nil
}

// closeWriter closes the file for writing; it is opened again when needed.
func (f *logFile) closeWriter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// dropView lets the view go once nobody reads it any more.
func (f *logFile) dropView() {
	f.mu.Lock()
	v := f.current.Swap(nil)
	f.mu.Unlock()
	if v != nil {
		v.release()
	}
}

// remove deletes the file. Readers that hold its view go on reading.
func (f *logFile) remove() error {
	f.mu.Lock()
	f.removed = true
	f.mu.Unlock()
	f.dropView()
	if err := f.closeWriter(); err != nil {
		return err
	}
	return f.fs.Remove(f.path)
}

// readPlain reads from an offset of the log that lies in this file, not through a mapping: what was never written must not be touched there,
// because some file systems then need room for it.
func (f *logFile) readPlain(p []byte, offset int64) error {
	r, err := f.fs.OpenFile(f.path, osRead, 0)
	if err != nil {
		return err
	}
	n, err := r.ReadAt(p, offset-f.base)
	if n == len(p) {
		err = nil
	} else {
		err = fmt.Errorf("read %s at %d: %w", f.path, offset-f.base, noEOF(err))
	}
	return errors.Join(err, r.Close())
}

// noEOF makes an unexpected end of an end.
func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// logFiles is the set of the commit log's files. The list is replaced, never changed, so it is read without a lock.
type logFiles struct {
	fs   vfs.FS
	dirs []string // new files go round them; the first is the directory of a single-path log
	size int64

	list   atomic.Pointer[[]*logFile]
	listMu sync.Mutex // one replaces the list at a time

	createMu sync.Mutex // one makes files at a time
}

func newLogFiles(fsys vfs.FS, dirs []string, size int64) *logFiles {
	l := &logFiles{fs: fsys, dirs: dirs, size: size}
	l.list.Store(&[]*logFile{})
	return l
}

func (l *logFiles) all() []*logFile { return *l.list.Load() }

// find returns the file that holds an offset, or nil.
func (l *logFiles) find(offset int64) *logFile {
	files := l.all()
	if n := len(files); n > 0 {
		if last := files[n-1]; offset >= last.base {
			if offset < last.end() {
				return last
			}
			return nil
		}
	}
	i, ok := slices.BinarySearchFunc(files, offset, func(f *logFile, o int64) int {
		switch {
		case o < f.base:
			return 1
		case o >= f.end():
			return -1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return files[i]
}

// first is the beginning of the first file, 0 when there is none.
func (l *logFiles) first() int64 {
	if files := l.all(); len(files) > 0 {
		return files[0].base
	}
	return 0
}

func (l *logFiles) last() *logFile {
	if files := l.all(); len(files) > 0 {
		return files[len(files)-1]
	}
	return nil
}

// pathOf is where the file that begins at base is created (MultiPathMappedFileQueue).
func (l *logFiles) pathOf(base int64) string {
	dir := l.dirs[int(base/l.size)%len(l.dirs)]
	return filepath.Join(dir, offsetName(base))
}

// create makes the file that begins at base, at its full length, all zeros, and its directory entry durable. If it exists it is returned.
func (l *logFiles) create(base int64) (*logFile, error) {
	l.createMu.Lock()
	defer l.createMu.Unlock()
	if f := l.find(base); f != nil {
		return f, nil
	}
	path := l.pathOf(base)
	w, err := createSized(l.fs, path, l.size)
	if err != nil {
		return nil, err
	}
	f := &logFile{fs: l.fs, path: path, base: base, size: l.size, f: w}
	l.listMu.Lock()
	defer l.listMu.Unlock()
	files := append(slices.Clone(l.all()), f)
	l.list.Store(&files)
	return f, nil
}

// drop takes files out of the list without touching them.
func (l *logFiles) drop(gone ...*logFile) {
	l.listMu.Lock()
	defer l.listMu.Unlock()
	files := slices.DeleteFunc(slices.Clone(l.all()), func(f *logFile) bool { return slices.Contains(gone, f) })
	l.list.Store(&files)
}

// createSized makes a file of size zero bytes, none of them allocated, and makes its directory entry durable.
func createSized(fsys vfs.FS, path string, size int64) (vfs.File, error) {
	f, err := fsys.OpenFile(path, osUpdate|osCreate, filePerm)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", path, err), f.Close(), fsys.Remove(path))
	}
	return f, nil
}

// logDirs takes storePathCommitLog and readOnlyCommitLogStorePaths apart.
func logDirs(root, paths, readOnly string) (writable, all []string) {
	split := func(s string) []string {
		var out []string
		for _, p := range strings.Split(s, ",") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, filepath.Clean(p))
			}
		}
		return out
	}
	all = split(paths)
	if len(all) == 0 {
		all = []string{filepath.Join(root, "commitlog")}
	}
	frozen := split(readOnly)
	for _, p := range all {
		if !slices.Contains(frozen, p) {
			writable = append(writable, p)
		}
	}
	for _, p := range frozen {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return writable, all
}

// load lists the files that exist in dirs. It changes nothing on disk: an empty last file and a short one are in the
// result with their real lengths, for the caller to decide about.
func (l *logFiles) load(dirs []string) (lengths []int64, err error) {
	type found struct {
		f      *logFile
		length int64
	}
	var list []found
	for _, dir := range dirs {
		entries, err := l.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			path := filepath.Join(dir, e.Name())
			base, ok := parseOffsetName(e.Name())
			if !ok {
				return nil, fmt.Errorf("%w: %s: a file of the commit log is named by %d digits", ErrLayout, path, offsetDigits)
			}
			if base%l.size != 0 {
				return nil, fmt.Errorf("%w: %s: its offset is no multiple of mappedFileSizeCommitLog = %d", ErrLayout, path, l.size)
			}
			info, err := e.Info()
			if err != nil {
				return nil, err
			}
			list = append(list, found{&logFile{fs: l.fs, path: path, base: base, size: l.size}, info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		if a.f.base < b.f.base {
			return -1
		}
		return 1
	})
	files := make([]*logFile, 0, len(list))
	for i, e := range list {
		if e.length > l.size {
			return nil, fmt.Errorf("%w: %s has %d bytes, mappedFileSizeCommitLog is %d", ErrLayout, e.f.path, e.length, l.size)
		}
		if i > 0 && list[i-1].f.base == e.f.base {
			return nil, fmt.Errorf("%w: %s and %s begin at the same offset", ErrLayout, list[i-1].f.path, e.f.path)
		}
		files = append(files, e.f)
		lengths = append(lengths, e.length)
	}
	l.list.Store(&files)
	return lengths, nil
}

// closeAll lets all views and files go for good.
func (l *logFiles) closeAll() error {
	var err error
	for _, f := range l.all() {
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.dropView()
		err = errors.Join(err, f.closeWriter())
	}
	return err
}

package timer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/rocketd/rocketd/internal/vfs"
)

// How files are opened: as os.OpenFile's flags.
const (
	openRead   = syscall.O_RDONLY
	openUpdate = syscall.O_RDWR
	openOrMake = syscall.O_RDWR | syscall.O_CREAT
	openNew    = syscall.O_RDWR | syscall.O_CREAT | syscall.O_TRUNC
)

// maxOpenFiles is how many files of the log stay open while nobody uses them.
const maxOpenFiles = 16

// timerLog is the files of the timer log. stage, write and the like belong to the worker; reading is safe for concurrent use.
type timerLog struct {
	fsys     vfs.FS
	dir      string
	fileSize int64

	mu    sync.Mutex
	files []*logFile // guarded by mu; by base
	idle  int        // guarded by mu; open files that nobody uses
	grown bool       // guarded by mu; a file was made since the directory was synced

	// Worker only:
	end    int64  // where the next unit goes
	staged []byte // bytes to be written at stagedAt
	at     int64  // position of staged
}

// logFile is one file of the log.
type logFile struct {
	base int64
	f    vfs.File // guarded by timerLog.mu; nil while closed
	refs int      // guarded by timerLog.mu
}

func newTimerLog(fsys vfs.FS, dir string, fileSize int64) *timerLog {
	return &timerLog{fsys: fsys, dir: dir, fileSize: fileSize}
}

// load lists the files. Files that do not fit the configured length are an error.
func (l *timerLog) load() error {
	entries, err := l.fsys.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list timer log %s: %w", l.dir, err)
	}
	for _, e := range entries {
		base, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || len(e.Name()) != nameDigits || base < 0 {
			continue
		}
		if base%l.fileSize != 0 {
			return fmt.Errorf("timer log %s: file %s does not begin at a multiple of mappedFileSizeTimerLog = %d", l.dir, e.Name(), l.fileSize)
		}
		l.files = append(l.files, &logFile{base: base})
	}
	slices.SortFunc(l.files, func(a, b *logFile) int { return compare(a.base, b.base) })
	for _, file := range l.files {
		if err := l.checkLength(file); err != nil {
			return err
		}
	}
	return l.fillGaps()
}

// fillGaps makes files of zeros where files are missing between others: their units are found to be damaged later.
func (l *timerLog) fillGaps() error {
	var missing []int64
	for i := 1; i < len(l.files); i++ {
		for base := l.files[i-1].base + l.fileSize; base < l.files[i].base; base += l.fileSize {
			missing = append(missing, base)
		}
	}
	if len(missing) > maxGaps {
		return fmt.Errorf("timer log %s: %d files are missing between %d and %d", l.dir, len(missing), l.files[0].base, l.files[len(l.files)-1].base)
	}
	for _, base := range missing {
		f, err := l.fsys.OpenFile(l.path(base), openNew, 0o644)
		if err == nil {
			err = errors.Join(f.Truncate(l.fileSize), f.Close())
		}
		if err != nil {
			return fmt.Errorf("create timer log: %w", err)
		}
		l.files = append(l.files, &logFile{base: base})
	}
	slices.SortFunc(l.files, func(a, b *logFile) int { return compare(a.base, b.base) })
	return nil
}

// maxGaps bounds the files that may be missing between others.
const maxGaps = 1000

const nameDigits = 20

func (l *timerLog) path(base int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%0*d", nameDigits, base))
}

// checkLength fails for a file that is longer than configured. A crash may have left one short.
func (l *timerLog) checkLength(file *logFile) error {
	info, err := l.fsys.Stat(l.path(file.base))
	if err != nil {
		return fmt.Errorf("timer log: %w", err)
	}
	switch size := info.Size(); {
	case size == l.fileSize:
		return nil
	case size < l.fileSize:
		f, err := l.open(file.base)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(l.fileSize), f.Close())
	default:
		return fmt.Errorf("timer log: %s has %d bytes, mappedFileSizeTimerLog is %d", l.path(file.base), size, l.fileSize)
	}
}

func (l *timerLog) open(base int64) (vfs.File, error) {
	f, err := l.fsys.OpenFile(l.path(base), openUpdate, 0)
	if err != nil {
		return nil, fmt.Errorf("open timer log: %w", err)
	}
	return f, nil
}

// begin is where the log begins.
func (l *timerLog) begin() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) == 0 {
		return 0
	}
	return l.files[0].base
}

// acquire returns the open file that holds pos; release it after use.
func (l *timerLog) acquire(pos int64) (*logFile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base := pos - pos%l.fileSize
	i, ok := slices.BinarySearchFunc(l.files, base, func(f *logFile, b int64) int { return compare(f.base, b) })
	if !ok || pos < 0 {
		return nil, fmt.Errorf("timer log %s: no file holds position %d: %w", l.dir, pos, fs.ErrNotExist)
	}
	file := l.files[i]
	if file.f == nil {
		f, err := l.open(base)
		if err != nil {
			return nil, err
		}
		file.f = f
	} else if file.refs == 0 {
		l.idle--
	}
	file.refs++
	return file, nil
}

func (l *timerLog) release(file *logFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file.refs--
	if file.refs > 0 {
		return
	}
	l.idle++
	if l.idle <= maxOpenFiles {
		return
	}
	for _, f := range l.files { // the oldest ones are needed least
		if f.f != nil && f.refs == 0 {
			_ = f.f.Close() // was only read, or is synced through another handle
			f.f = nil
			l.idle--
			return
		}
	}
}

// readAt fills p from position pos on. It stays within one file and may read less at its end.
func (l *timerLog) readAt(p []byte, pos int64) (int, error) {
	file, err := l.acquire(pos)
	if err != nil {
		return 0, err
	}
	defer l.release(file)
	p = p[:min(int64(len(p)), file.base+l.fileSize-pos)]
	n, err := file.f.ReadAt(p, pos-file.base)
	if n == len(p) || errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read timer log at %d: %w", pos, err)
	}
	return n, err
}

// stage gives u the next position and notes its bytes for write. It fails only when a new file cannot be made.
func (l *timerLog) stage(u *unit) (int64, error) {
	if l.end%l.fileSize == 0 {
		if err := l.create(l.end); err != nil {
			return 0, err
		}
	}
	if len(l.staged) == 0 {
		l.at = l.end
	}
	pos := l.end
	l.staged = slices.Grow(l.staged, unitSize)[:len(l.staged)+unitSize]
	u.put(l.staged[len(l.staged)-unitSize:])
	l.end += unitSize
	if left := l.fileSize - l.end%l.fileSize; left < unitSize+blankSize {
		if err := l.finishFile(left); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

// finishFile writes what is staged and a filler of left bytes, and moves on to the next file.
func (l *timerLog) finishFile(left int64) error {
	l.staged = slices.Grow(l.staged, blankSize)[:len(l.staged)+blankSize]
	putBlank(l.staged[len(l.staged)-blankSize:], left)
	if err := l.write(); err != nil {
		return err
	}
	l.end += left
	return nil
}

func (l *timerLog) hasFile(pos int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.files)
	return n > 0 && l.files[n-1].base == pos-pos%l.fileSize
}

// create makes the file that begins at base, if it is not there.
func (l *timerLog) create(base int64) error {
	if l.hasFile(base) {
		return nil
	}
	if err := l.fsys.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("create timer log: %w", err)
	}
	f, err := l.fsys.OpenFile(l.path(base), openNew, 0o644)
	if err != nil {
		return fmt.Errorf("create timer log: %w", err)
	}
	if err := f.Truncate(l.fileSize); err != nil {
		return fmt.Errorf("create timer log %s: %w", l.path(base), errors.Join(err, f.Close()))
	}
	l.mu.Lock()
	l.files = append(l.files, &logFile{base: base, f: f})
	l.idle++
	l.grown = true
	l.mu.Unlock()
	return nil
}

// write writes what is staged. After an error it is still staged: go back with rollback.
func (l *timerLog) write() error {
	if len(l.staged) == 0 {
		return nil
	}
	if err := l.writeAt(l.staged, l.at); err != nil {
		return err
	}
	l.staged = l.staged[:0]
	return nil
}

// rollback forgets what was staged and goes back to end.
func (l *timerLog) rollback(end int64) {
	l.staged = l.staged[:0]
	l.end = end
}

func (l *timerLog) writeAt(p []byte, pos int64) error {
	if len(p) == 0 {
		return nil
	}
	file, err := l.acquire(pos)
	if err != nil {
		return err
	}
	defer l.release(file)
	if _, err := file.f.WriteAt(p, pos-file.base); err != nil {
		return fmt.Errorf("write timer log at %d: %w", pos, err)
	}
	return nil
}

// sync makes everything between from and to durable.
func (l *timerLog) sync(from, to int64) error {
	for base := from - from%l.fileSize; base < to; base += l.fileSize {
		file, err := l.acquire(base)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = file.f.Sync()
		l.release(file)
		if err != nil {
			return fmt.Errorf("sync timer log %s: %w", l.path(base), err)
		}
	}
	l.mu.Lock()
	grown := l.grown
	l.grown = false
	l.mu.Unlock()
	if !grown {
		return nil
	}
	return errors.Join(l.fsys.SyncDir(l.dir), l.fsys.SyncDir(filepath.Dir(l.dir)))
}

// cut ends the log at end: what lies behind is removed, so that it can never be taken for units again.
func (l *timerLog) cut(end int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = end
	before := len(l.files)
	for n := len(l.files); n > 0 && l.files[n-1].base >= end && l.files[n-1].base > 0; n-- {
		last := l.files[n-1]
		if last.base == end && n == 1 {
			break
		}
		if err := l.removeLocked(last); err != nil {
			return err
		}
		l.files = l.files[:n-1]
	}
	n := len(l.files)
	if n < before {
		// Or the old file may come back in the place of a new one.
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return fmt.Errorf("cut timer log at %d: %w", end, err)
		}
	}
	if n == 0 || end-l.files[n-1].base >= l.fileSize {
		return nil
	}
	f, err := l.open(l.files[n-1].base)
	if err != nil {
		return err
	}
	err = errors.Join(f.Truncate(max(0, end-l.files[n-1].base)), f.Truncate(l.fileSize), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("cut timer log %s at %d: %w", l.path(l.files[n-1].base), end, err)
	}
	return nil
}

// removeBefore removes the files that lie wholly before pos, but never the last one.
func (l *timerLog) removeBefore(pos int64) (removed int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.files) > 1 && l.files[0].base+l.fileSize <= pos && l.files[0].refs == 0 {
		if err := l.removeLocked(l.files[0]); err != nil {
			return removed, err
		}
		l.files = slices.Delete(l.files, 0, 1)
		removed++
	}
	return removed, nil
}

func (l *timerLog) removeLocked(file *logFile) error {
	if file.f != nil {
		_ = file.f.Close() // the file goes
		file.f = nil
		l.idle--
	}
	if err := l.fsys.Remove(l.path(file.base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove timer log: %w", err)
	}
	return nil
}

func (l *timerLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all error
	for _, file := range l.files {
		if file.f != nil {
			all = errors.Join(all, file.f.Close())
			file.f = nil
		}
	}
	return all
}

// next is the position of the unit behind the one at pos: the next file's first one at the end of a file.
func (l *timerLog) next(pos int64) int64 {
	pos += unitSize
	if left := l.fileSize - pos%l.fileSize; left < unitSize+blankSize {
		return pos + left
	}
	return pos
}

// aligned tells whether a unit can lie at pos.
func (l *timerLog) aligned(pos int64) bool {
	in := pos % l.fileSize
	return pos >= 0 && in%unitSize == 0 && l.fileSize-in >= unitSize+blankSize
}

// before is the position of the unit before the one at pos, or noUnit at the log's beginning.
func (l *timerLog) before(pos int64) int64 {
	if pos <= l.begin() {
		return noUnit
	}
	if pos%l.fileSize == 0 {
		units := (l.fileSize - blankSize) / unitSize
		return pos - l.fileSize + (units-1)*unitSize
	}
	return pos - unitSize
}

// holds tells whether there is a file for pos.
func (l *timerLog) holds(pos int64) bool {
	file, err := l.acquire(pos)
	if err != nil {
		return false
	}
	l.release(file)
	return true
}

// dirtyBehind tells whether something was written behind end.
func (l *timerLog) dirtyBehind(end int64) (bool, error) {
	l.mu.Lock()
	files := slices.Clone(l.files)
	l.mu.Unlock()
	if n := len(files); n == 0 || end-files[n-1].base >= l.fileSize {
		return false, nil
	} else if files[n-1].base > end || files[n-1].base == end && n > 1 && files[n-1].base > 0 {
		return true, nil
	}
	buf := make([]byte, 64<<10)
	for pos := end; pos%l.fileSize != 0 || pos == end; {
		n, err := l.readAt(buf, pos)
		if err != nil {
			return false, err
		}
		if n == 0 {
			break
		}
		if !isZero(buf[:n]) {
			return true, nil
		}
		pos += int64(n)
	}
	return false, nil
}

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
)

// Store is an open store. Its methods are safe for concurrent use unless they say otherwise.
type Store struct {
	options Options
	dir     string
	fs      vfs.FS
	clock   clock.Clock
	logger  *logrus.Entry
	warn    *warnings

	settings   atomic.Pointer[settings]
	allLogDirs []string
	lock       io.Closer
	report     *RecoveryReport
	startEnd   int64 // where the log ended when it was opened

	files   *logFiles
	log     commitLog
	queues  *queueTable
	index   *index
	flusher *flusher
	disk    diskState
	keepers []keeper

	arrivals []func(Arrival)

	checkpointMu sync.Mutex
	indexUnsafe  bool         // a sync of the index failed; guarded by checkpointMu
	lastPoint    atomic.Int64 // log offset of the last checkpoint
	expireSoon   atomic.Int32 // rounds of manual deletion left

	started atomic.Bool
	stop    chan struct{}
	running sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

// keeper is somebody who needs the log from an offset on.
type keeper struct {
	name string
	from func() int64
}

// Open locks the directory, loads and recovers what is there. The store's own goroutines run from Start on.
func Open(o Options) (*Store, error) {
	if o.FS == nil || o.Clock == nil || o.Log == nil || o.Dir == "" {
		return nil, errors.New("open store: Dir, FS, Clock and Log must be given")
	}
	if o.Config == nil {
		o.Config = &conf.Default().Store
	}
	c := o.Config
	if err := checkSizes(c); err != nil {
		return nil, err
	}
	s := &Store{
		options: o,
		dir:     filepath.Clean(o.Dir),
		fs:      o.FS,
		clock:   o.Clock,
		logger:  o.Log,
		warn:    newWarnings(o.Log, o.Clock),
		stop:    make(chan struct{}),
	}
	s.settings.Store(o.settings(c))
	writable, all := logDirs(s.dir, c.StorePathCommitLog, c.ReadOnlyCommitLogStorePaths)
	if len(writable) == 0 {
		return nil, fmt.Errorf("%w: every path of storePathCommitLog is in readOnlyCommitLogStorePaths", ErrLayout)
	}
	s.allLogDirs = all
	s.files = newLogFiles(s.fs, writable, int64(c.MappedFileSizeCommitLog))
	s.queues = newQueueTable(s.fs, s.dir, c)
	if o.QueueKind != nil {
		s.queues.kind = o.QueueKind
	}
	s.queues.storeTime = s.storeTime
	s.index = newIndex(s.fs, s.dir, indexShape{slots: c.MaxHashSlotNum, entries: c.MaxIndexNum}, s.files, s.clock, s.logger)
	s.index.settings = s.settings.Load
	s.index.visible = s.log.dispatched.Load
	s.index.storeTime = s.storeTime
	s.log.files, s.log.queue, s.log.clock = s.files, s.queues, s.clock
	s.log.measure, s.log.writeFailed = s.measure, s.writeFailed
	s.log.sync = c.FlushDiskType == "SYNC_FLUSH"
	s.log.dispatch = s.dispatch
	s.flusher = newFlusher(&s.log, s.clock, s.settings.Load)
	s.log.wakeFlusher = s.flusher.notify
	if err := s.acquire(); err != nil {
		return nil, err
	}
	if err := s.openRecovered(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", s.dir, err), s.giveUp())
	}
	s.lastPoint.Store(s.log.end.Load())
	s.measure()
	return s, nil
}

func (s *Store) openRecovered() error {
	if err := s.queues.openTree(); err != nil {
		return err
	}
	return s.recover()
}

const lockName = "lock"

// acquire makes the directories and locks the store.
func (s *Store) acquire() error {
	for _, dir := range append([]string{s.dir, s.queues.files.dir}, s.files.dirs...) {
		if err := makeDir(s.fs, dir); err != nil {
			return fmt.Errorf("open store %s: %w", s.dir, err)
		}
	}
	path := filepath.Join(s.dir, lockName)
	if err := writeLockText(s.fs, path); err != nil {
		return fmt.Errorf("open store %s: %w", s.dir, err)
	}
	lock, err := s.fs.Lock(path)
	if err != nil {
		return fmt.Errorf("open store %s: %w", s.dir, err)
	}
	s.lock = lock
	return nil
}

// writeLockText gives the lock file the text that the reference writes into it; before locking, because closing any descriptor of the file
// would give the lock back on some systems.
func writeLockText(fsys vfs.FS, path string) error {
	f, err := fsys.OpenFile(path, osUpdate|osCreate, filePerm)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size == 0 {
		_, err = f.WriteAt([]byte("lock"), 0)
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a directory and its parents, durably, if it is missing.
func makeDir(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, dirPerm); err != nil {
		return err
	}
	if err := fsys.SyncDir(parent); err != nil {
		// It must not be found next time and taken for durable.
		return errors.Join(err, fsys.Remove(dir))
	}
	return nil
}

// giveUp closes everything without writing anything.
func (s *Store) giveUp() error {
	return errors.Join(s.index.stop(), s.queues.close(), s.files.closeAll(), s.lock.Close())
}

// Start begins flushing, indexing and cleaning. Callbacks must be registered before it.
func (s *Store) Start() {
	if !s.started.CompareAndSwap(false, true) {
		return
	}
	s.running.Go(func() { s.flusher.run(s.stop) })
	s.running.Go(func() { s.index.run(s.stop) })
	s.running.Go(func() { s.runWriter() })
	s.running.Go(func() { s.runJanitor() })
}

// Close flushes everything, writes the checkpoint, removes the abort file if all went well, and frees the directory. Calling it again
// does nothing.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.log.closed.Store(true)
	s.log.commitMu.Lock()
	err := s.log.commitPending(true)
	s.log.commitMu.Unlock()
	close(s.stop)
	s.running.Wait()
	err = errors.Join(err, s.flusher.flush())
	s.flusher.close(ErrClosed)
	err = errors.Join(err, s.index.finish(), s.checkpointNow(true))
	err = errors.Join(err, s.index.stop(), s.queues.close(), s.files.closeAll())
	if err == nil {
		err = errors.Join(s.fs.Remove(filepath.Join(s.dir, abortName)), s.fs.SyncDir(s.dir))
	}
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}

// Configure replaces the configuration: sizes and paths of files and flushDiskType stay those of Open.
func (s *Store) Configure(c *conf.Store) { s.settings.Store(s.options.settings(c)) }

// Recovery tells what Open found and did.
func (s *Store) Recovery() *RecoveryReport { return s.report }

// SyncFlush tells whether answers wait for the flusher (flushDiskType SYNC_FLUSH).
func (s *Store) SyncFlush() bool { return s.log.sync }

// Queue returns a queue that exists, or nil.
func (s *Store) Queue(topic string, queueID int32) *ConsumeQueue { return s.queues.get(topic, queueID) }

// Queues calls fn for every queue, in no order, until it returns false.
func (s *Store) Queues(fn func(*ConsumeQueue) bool) {
	for _, q := range s.queues.all() {
		if !fn(q) {
			return
		}
	}
}

// Keep adds a keeper: records at or above from() are still needed, for what name says. Cleaning by age leaves them; cleaning because
// the disk is full removes them as the last resort and says so. from returns math.MaxInt64 when nothing is needed. Before Start only.
func (s *Store) Keep(name string, from func() int64) {
	s.keepers = append(s.keepers, keeper{name, from})
}

// kept is the lowest offset that somebody needs, and who.
func (s *Store) kept() (offset int64, name string) {
	offset = math.MaxInt64
	for _, k := range s.keepers {
		if from := k.from(); from < offset {
			offset, name = from, k.name
		}
	}
	return offset, name
}

// MinPhysicalOffset is where the log begins.
func (s *Store) MinPhysicalOffset() int64 { return s.files.first() }

// MaxPhysicalOffset is where the log ends: everything below is written.
func (s *Store) MaxPhysicalOffset() int64 { return s.log.end.Load() }

// FlushedOffset is the offset below which everything is on disk.
func (s *Store) FlushedOffset() int64 { return s.log.flushed.Load() }

// DispatchedOffset is the offset below which everything is visible in its queue.
func (s *Store) DispatchedOffset() int64 { return s.log.dispatched.Load() }

// IndexedOffset is the offset below which the keys of everything are indexed.
func (s *Store) IndexedOffset() int64 { return s.index.position.Load() }

// EarliestTime is the store time, ms, of the first record, -1 when there is none.
func (s *Store) EarliestTime() int64 {
	ms, ok := s.storeTime(s.files.first())
	if !ok {
		return -1
	}
	return ms
}

// Writable is nil, or why messages are refused now: ErrDiskFull, ErrWriteFailed, ErrFlushFailed or ErrClosed with the details.
func (s *Store) Writable() error { return s.log.refusal() }

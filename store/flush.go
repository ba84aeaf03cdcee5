package store

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

// pageSize is the unit of flushCommitLogLeastPages and flushConsumeQueueLeastPages.
const pageSize = 4096

// flusher makes the log durable: with ASYNC_FLUSH every flushIntervalCommitLog, with SYNC_FLUSH as soon as there is something. One
// fsync serves all who wait.
type flusher struct {
	log      *commitLog
	clock    clock.Clock
	settings func() *settings
	times    flushTimes
	recent   atomic.Int64 // ns that the slowest of the last fsyncs took, less an eighth for each one since

	idle atomic.Bool // parked, nothing is dirty
	wake chan struct{}

	flushMu sync.Mutex // flushes dispatch in order
	syncMu  sync.Mutex // one fsync at a time
	mu      sync.Mutex
	waiters []waiter // by end; guarded by mu
	closed  error    // answers of those who come after the end; guarded by mu
}

type waiter struct {
	end      int64
	deadline int64 // ms
	done     func(error)
}

func newFlusher(l *commitLog, c clock.Clock, settings func() *settings) *flusher {
	return &flusher{log: l, clock: c, settings: settings, wake: make(chan struct{}, 1)}
}

// notify tells the flusher that something was written.
func (f *flusher) notify() {
	if f.idle.CompareAndSwap(true, false) {
		f.wake <- struct{}{} // there is room: only one can have seen idle
	}
}

// run flushes until stop is closed.
func (f *flusher) run(stop <-chan struct{}) {
	timer := f.clock.NewTimer(time.Hour)
	defer timer.Stop()
	var lastFull int64
	for {
		f.idle.Store(true)
		if f.dirty() && f.idle.CompareAndSwap(true, false) {
			// Something came between the last flush and being idle.
		} else {
			select {
			case <-f.wake:
			case <-stop:
				return
			}
		}
		if !f.log.sync {
			set := f.settings().conf
			timer.Reset(time.Duration(set.FlushIntervalCommitLog) * time.Millisecond)
			select {
			case <-timer.C():
			case <-stop:
				return
			}
			now := f.clock.NowMs()
			dirty := f.log.end.Load() - f.log.flushed.Load()
			if dirty < int64(set.FlushCommitLogLeastPages)*pageSize && now-lastFull < int64(set.FlushCommitLogThoroughInterval) {
				continue
			}
			lastFull = now
		}
		// The error is the log's from now on, and the answer of everybody who waits.
		_ = f.flush()
	}
}

// dirty tells whether there is something to flush or, with SYNC_FLUSH, to dispatch, and a flush can succeed. A batch that is written may have
// been flushed before it was handed over: nobody wakes the flusher for it again.
func (f *flusher) dirty() bool {
	done := f.log.flushed.Load()
	if f.log.sync {
		done = f.log.dispatched.Load()
	}
	return f.log.end.Load() > done && f.log.broken.Load() == nil
}

// flush makes durable what is written, dispatches it with SYNC_FLUSH and answers those who wait for it.
func (f *flusher) flush() error {
	f.flushMu.Lock()
	defer f.flushMu.Unlock()
	return f.flushLocked()
}

func (f *flusher) flushLocked() error {
	err := f.syncTo(f.log.end.Load())
	if err == nil && f.log.sync {
		f.log.dispatchFlushed()
	}
	f.answer(err)
	return err
}

// syncTo makes everything below target durable. After an error nothing is written any more until heal succeeds: what the system had in
// memory may be lost, and the next fsync would not say so.
func (f *flusher) syncTo(target int64) error {
	f.syncMu.Lock()
	defer f.syncMu.Unlock()
	l := f.log
	if err := l.broken.Load(); err != nil && l.flushed.Load() < target {
		return *err
	}
	l.unsafe.end()
	for at := l.flushed.Load(); at < target; {
		file := l.files.find(at)
		if file == nil {
			// Deleted before it was flushed: retention of a store that writes faster than it flushes.
			at = at - at%l.files.size + l.files.size
			continue
		}
		w, err := file.writer()
		if err == nil {
			begun := f.clock.Now()
			err = w.Sync()
			f.took(f.clock.Now().Sub(begun))
		}
		if err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrFlushFailed, file.path, err)
			l.breakDown(err)
			return err
		}
		at = min(target, file.end())
		l.flushed.Store(at)
		l.unsafe.drop(at)
		if at == file.end() {
			if err := file.closeWriter(); err != nil {
				return fmt.Errorf("close %s: %w", file.path, err)
			}
		}
	}
	return nil
}

// quickFlush is what an fsync may take for CommitAndFlush.
const quickFlush = time.Millisecond

func (f *flusher) took(d time.Duration) {
	f.times.add(d)
	f.recent.Store(max(d.Nanoseconds(), f.recent.Load()*7/8))
}

// CommitAndFlush is Commit for a caller who would be the only one to wait for the flusher: with SYNC_FLUSH, when nobody flushes just now and the
// disk was quick of late, it flushes by itself, which saves two changes of threads. The wait for the disk has no bound, as that of a write has none:
// syncFlushTimeout is for those who ask OnFlushed. flushed tells that it did, and that what t covers is on disk and dispatched; else OnFlushed is
// to be asked as after Commit.
func (s *Store) CommitAndFlush(t Ticket) (flushed bool, err error) {
	f := s.flusher
	if !s.log.sync || f.recent.Load() > quickFlush.Nanoseconds() || !f.flushMu.TryLock() {
		return false, s.Commit(t)
	}
	defer f.flushMu.Unlock()
	if err := s.log.commit(t, false); err != nil {
		return false, err
	}
	// An error is the log's from now on, and what OnFlushed answers.
	_ = f.flushLocked()
	if s.log.dispatched.Load() < t.end {
		s.log.wakeFlusher() // what the flush left undone is its business: nothing else tells it of this commit
		return false, nil
	}
	return true, nil
}

// dispatchFlushed dispatches the batches that have been flushed.
func (l *commitLog) dispatchFlushed() {
	flushed := l.flushed.Load()
	for {
		l.mu.Lock()
		if len(l.unflushed) == 0 || l.unflushed[0].end > flushed {
			l.mu.Unlock()
			return
		}
		b := l.unflushed[0]
		l.unflushed = slices.Delete(l.unflushed, 0, 1)
		l.mu.Unlock()
		l.makeVisible(b)
		b.reset()
		l.mu.Lock()
		if len(l.spare) < 4 {
			l.spare = append(l.spare, b)
		}
		l.mu.Unlock()
	}
}

// OnFlushed calls done once, when what t covers is flushed to disk and dispatched, or with the error: ErrFlushFailed,
// ErrFlushTimeout, ErrClosed, or what Commit says about t. With ASYNC_FLUSH nothing waits: done is called at once. Otherwise done
// runs on whoever flushes, which is the flusher or a caller of CommitAndFlush (or the janitor, when it comes too late), and must not block. t must
// have been committed.
func (s *Store) OnFlushed(t Ticket, done func(error)) {
	l := &s.log
	if settled, err := l.settled(t); !settled {
		done(fmt.Errorf("%w: not committed", ErrWriteFailed))
		return
	} else if err != nil || !l.sync {
		done(err)
		return
	}
	s.flusher.await(t.end, done)
}

func (f *flusher) await(end int64, done func(error)) {
	if f.log.dispatched.Load() >= end {
		done(nil)
		return
	}
	timeout := int64(f.settings().conf.SyncFlushTimeout)
	f.mu.Lock()
	if f.closed != nil {
		err := f.closed
		f.mu.Unlock()
		done(err)
		return
	}
	w := waiter{end: end, deadline: f.clock.NowMs() + timeout, done: done}
	i := len(f.waiters)
	for i > 0 && f.waiters[i-1].end > end {
		i--
	}
	f.waiters = slices.Insert(f.waiters, i, w)
	f.mu.Unlock()
	// It may have been flushed before it was in the list.
	if f.log.dispatched.Load() >= end || f.log.broken.Load() != nil {
		f.answer(nil)
	}
}

// answer answers those whose messages are flushed and dispatched, and all of them when err says that no flush will succeed.
func (f *flusher) answer(err error) {
	if err == nil {
		if broken := f.log.broken.Load(); broken != nil {
			err = *broken
		}
	}
	visible := f.log.dispatched.Load()
	f.mu.Lock()
	n := 0
	for n < len(f.waiters) && f.waiters[n].end <= visible {
		n++
	}
	ready := slices.Clone(f.waiters[:n])
	f.waiters = slices.Delete(f.waiters, 0, n)
	var failed []waiter
	if err != nil {
		failed, f.waiters = f.waiters, nil
	}
	f.mu.Unlock()
	for _, w := range ready {
		w.done(nil)
	}
	for _, w := range failed {
		w.done(err)
	}
}

// expire answers those who have waited too long.
func (f *flusher) expire() {
	now := f.clock.NowMs()
	var late []waiter
	f.mu.Lock()
	f.waiters = slices.DeleteFunc(f.waiters, func(w waiter) bool {
		if now < w.deadline {
			return false
		}
		late = append(late, w)
		return true
	})
	f.mu.Unlock()
	for _, w := range late {
		w.done(fmt.Errorf("%w: syncFlushTimeout is %d ms", ErrFlushTimeout, f.settings().conf.SyncFlushTimeout))
	}
}

// close answers everybody who still waits and all who come.
func (f *flusher) close(err error) {
	f.mu.Lock()
	f.closed = err
	rest := f.waiters
	f.waiters = nil
	f.mu.Unlock()
	for _, w := range rest {
		w.done(err)
	}
}

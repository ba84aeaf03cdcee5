package store

import (
	"errors"
	"fmt"
	"syscall"
)

// Commit writes everything staged up to t and, with ASYNC_FLUSH, dispatches it. An error means that the messages of t are not stored and
// their offsets are free again: ErrDiskFull, ErrWriteFailed, ErrFlushFailed or ErrClosed.
func (s *Store) Commit(t Ticket) error { return s.log.commit(t, true) }

// commit is Commit. wake tells that the flusher is to flush; else the caller does.
func (l *commitLog) commit(t Ticket, wake bool) error {
	if t.epoch == l.epoch.Load() && t.end <= l.end.Load() && t.end <= l.visible() {
		return nil
	}
	l.commitMu.Lock()
	defer l.commitMu.Unlock()
	if done, err := l.settled(t); done {
		return err
	}
	return l.commitPending(wake)
}

// visible is how far a commit has to wait for dispatch: with sync not at all.
func (l *commitLog) visible() int64 {
	if l.sync {
		return l.end.Load()
	}
	return l.dispatched.Load()
}

// settled tells whether what t stands for has been written or taken back already.
func (l *commitLog) settled(t Ticket) (bool, error) {
	if t.epoch == l.epoch.Load() {
		return t.end <= l.end.Load(), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.failures {
		if f.epoch != t.epoch {
			continue
		}
		if t.end <= f.good {
			return true, nil
		}
		return true, f.err
	}
	return true, fmt.Errorf("%w: the commit came %d failed writes too late", ErrWriteFailed, keptFailures)
}

// commitPending writes and dispatches everything staged. commitMu is held.
func (l *commitLog) commitPending(wake bool) error {
	l.mu.Lock()
	if l.pending.empty() {
		l.mu.Unlock()
		return nil
	}
	b := l.pending
	l.pending, l.writing = l.writing, b
	l.pending.start, l.pending.end = l.stagedEnd, l.stagedEnd
	err := l.broken.Load()
	l.mu.Unlock()
	if err != nil {
		return l.takeBack(*err, nil)
	}
	if written, err := l.write(b); err != nil {
		if l.writeFailed != nil {
			err = l.writeFailed(err)
		}
		return l.takeBack(err, written)
	}
	l.end.Store(b.end)
	if l.unmeasured += b.end - b.start; l.measure != nil && l.unmeasured > l.measureEvery.Load() {
		l.unmeasured = 0
		l.measure()
	}
	if l.sync {
		l.handToFlusher(b)
		if wake {
			l.wakeFlusher()
		}
		return nil
	}
	l.makeVisible(b)
	b.reset()
	l.wakeFlusher()
	return nil
}

// makeVisible dispatches a batch.
func (l *commitLog) makeVisible(b *batch) {
	l.dispatch(b)
	l.mu.Lock()
	if n := len(b.records); n > 0 {
		l.lastRecord, l.lastRecordMs = b.records[n-1].physical, b.records[n-1].storeMs
	}
	l.dispatched.Store(b.end)
	l.mu.Unlock()
}

// handToFlusher leaves b to the next flush, which dispatches it, and takes an empty batch in its stead.
func (l *commitLog) handToFlusher(b *batch) {
	l.mu.Lock()
	l.unflushed = append(l.unflushed, b)
	l.writing = nil
	if n := len(l.spare); n > 0 {
		l.writing, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	l.mu.Unlock()
	if l.writing == nil {
		l.writing = &batch{}
	}
}

// write writes a batch, one WriteAt for each file it touches. After an error written tells which parts may have changed.
func (l *commitLog) write(b *batch) (written []span, err error) {
	if err := l.clean(); err != nil {
		return nil, err
	}
	// The zeros behind the last record go along. After a blank record nothing may follow in that file.
	records := len(b.buf)
	last := b.segments[len(b.segments)-1]
	if b.end < last.at-last.at%l.files.size+l.files.size {
		b.buf = append(b.buf, make([]byte, guardSize)...)
	}
	for i, seg := range b.segments {
		to := len(b.buf)
		if i+1 < len(b.segments) {
			to = b.segments[i+1].from
		}
		n, err := l.writeSegment(seg.at, b.buf[seg.from:to])
		if n > 0 {
			written = append(written, span{seg.at, seg.at + int64(n)})
		}
		if err != nil {
			b.buf = b.buf[:records]
			return written, fmt.Errorf("%w: write %s at %d: %w", writeErrorKind(err), l.files.pathOf(seg.at-seg.at%l.files.size), seg.at%l.files.size, err)
		}
	}
	b.buf = b.buf[:records]
	for i, seg := range b.segments {
		to := records
		if i+1 < len(b.segments) {
			to = b.segments[i+1].from
		}
		l.unsafe.add(seg.at, b.buf[seg.from:to], l.files.size)
	}
	return nil, nil
}

// writeErrorKind chooses the sentinel for an error of the file system.
func writeErrorKind(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ErrDiskFull
	}
	return ErrWriteFailed
}

func (l *commitLog) writeSegment(at int64, b []byte) (int, error) {
	f := l.files.find(at)
	if f == nil {
		var err error
		if f, err = l.files.create(at - at%l.files.size); err != nil {
			return 0, err
		}
	}
	w, err := f.writer()
	if err != nil {
		return 0, err
	}
	n, err := w.WriteAt(b, at-f.base)
	if err == nil && n < len(b) {
		err = errors.New("short write")
	}
	return n, err
}

// takeBack undoes everything staged and not written, and tells the tickets of this epoch why. commitMu is held.
func (l *commitLog) takeBack(cause error, written []span) error {
	if errors.Is(cause, ErrDiskFull) {
		l.full.Store(&cause)
	}
	l.mu.Lock()
	good := l.end.Load()
	for _, b := range []*batch{l.pending, l.writing} {
		for i := len(b.records) - 1; i >= 0; i-- {
			b.records[i].undo()
		}
		b.reset()
		b.start, b.end = good, good
	}
	l.stagedEnd = good
	// Leftovers on disk have store times up to lastStoreMs: recovery tells them apart by that.
	l.lastStoreMs++
	l.failures = append(l.failures, failure{l.epoch.Load(), good, cause})
	if len(l.failures) > keptFailures {
		l.failures = append(l.failures[:0], l.failures[1:]...)
	}
	l.epoch.Add(1)
	l.mu.Unlock()

	l.garbage = append(l.garbage, written...)
	// If it fails now the next write begins with it.
	_ = l.clean()
	return cause
}

// undo gives the record's offsets back. Records are undone in the reverse of their order, pending ones first.
func (r *staged) undo() {
	if r.q != nil {
		r.q.next = r.queueOffset
	}
	for i := len(r.light) - 1; i >= 0; i-- {
		r.light[i].q.next = r.light[i].offset
	}
}

// clean overwrites what a failed write left behind with zeros. commitMu is held.
func (l *commitLog) clean() error {
	for len(l.garbage) > 0 {
		g := l.garbage[len(l.garbage)-1]
		if f := l.files.find(g.from); f != nil {
			w, err := f.writer()
			if err == nil {
				err = writeZeros(w, g.from-f.base, g.to-f.base)
			}
			if err != nil {
				return fmt.Errorf("%w: erase the rest of a failed write in %s at %d: %w", writeErrorKind(err), f.path, g.from-f.base, err)
			}
		}
		l.garbage = l.garbage[:len(l.garbage)-1]
	}
	return nil
}

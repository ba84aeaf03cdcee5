package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
)

// After a failed fsync the system may have forgotten what it was to write, and say nothing about it the next time. So the log keeps checksums
// of what is written and not flushed. When a flush failed everything since the last good one is read back, compared with them, written
// once more, which makes the system write it to the disk again, and flushed. Only then messages are taken again. What cannot be read as it
// was written is lost: then nothing is taken until the store is opened anew, which reports it.
const (
	// healEveryMs is how long after a failed flush, or a failed try to heal, the next try is made.
	healEveryMs = 2000
	// unflushedPiece is how much of the log one checksum covers at most, but for one large commit.
	unflushedPiece = 1 << 20
)

// piece is a part of the log, in one file, that is written and not known to be flushed.
type piece struct {
	from, to int64
	sum      uint32
}

// pieces are those parts, in order.
type pieces struct {
	mu   sync.Mutex
	list []piece
	cut  bool // the last one is not continued
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant

// add notes bytes that were written at an offset.
func (p *pieces) add(at int64, b []byte, fileSize int64) {
	if len(b) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.list); n > 0 && !p.cut && at%fileSize != 0 {
		if last := &p.list[n-1]; last.to == at && at-last.from < unflushedPiece {
			last.to += int64(len(b))
			last.sum = crc32.Update(last.sum, castagnoli, b)
			return
		}
	}
	p.cut = false
	p.list = append(p.list, piece{at, at + int64(len(b)), crc32.Checksum(b, castagnoli)})
}

// end lets the next bytes begin a new piece, so that a flush of what there is leaves little of it behind.
func (p *pieces) end() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
}

// drop forgets what is flushed.
func (p *pieces) drop(flushed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.list) && p.list[n].to <= flushed {
		n++
	}
	p.list = p.list[:copy(p.list, p.list[n:])]
}

func (p *pieces) all() []piece {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// heal tries to make the log whole after a failed flush, at most every healEveryMs.
func (s *Store) heal() {
	l := &s.log
	if l.broken.Load() == nil || l.forgotten.Load() {
		return
	}
	now := s.clock.NowMs()
	if l.healAt.CompareAndSwap(0, now+healEveryMs) || now < l.healAt.Load() {
		return
	}
	l.healAt.Store(now + healEveryMs)
	if err := s.flusher.heal(); err != nil {
		s.warn.report("the commit log cannot be flushed", err)
		return
	}
	l.healAt.Store(0)
	s.logger.Info("the commit log is flushed, writing goes on")
}

// heal writes and flushes again what was not flushed, and takes the failure back.
func (f *flusher) heal() error {
	f.flushMu.Lock()
	defer f.flushMu.Unlock()
	f.syncMu.Lock()
	defer f.syncMu.Unlock()
	l := f.log
	l.commitMu.Lock()
	defer l.commitMu.Unlock()
	end := l.end.Load()
	var files []*logFile
	for _, p := range l.unsafe.all() {
		file := l.files.find(p.from)
		if file == nil {
			continue // deleted meanwhile
		}
		if err := l.rewrite(file, p); err != nil {
			return err
		}
		if n := len(files); n == 0 || files[n-1] != file {
			files = append(files, file)
		}
	}
	for _, file := range files {
		w, err := file.writer()
		if err == nil {
			err = w.Sync()
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFlushFailed, file.path, err)
		}
	}
	l.unsafe.drop(end)
	l.flushed.Store(end)
	l.broken.Store(nil)
	if l.sync {
		l.dispatchFlushed()
	}
	return nil
}

// rewrite writes a piece once more if it still is what was written.
func (l *commitLog) rewrite(file *logFile, p piece) error {
	b := make([]byte, p.to-p.from)
	if err := file.readPlain(b, p.from); err != nil {
		return err
	}
	if crc32.Checksum(b, castagnoli) != p.sum {
		l.forgotten.Store(true)
		err := fmt.Errorf("%w: %s: the system has lost bytes %d to %d after that; writing stays refused until the store is opened anew", ErrFlushFailed, file.path, p.from-file.base, p.to-file.base)
		l.broken.Store(&err)
		return err
	}
	w, err := file.writer()
	if err != nil {
		return err
	}
	if n, err := w.WriteAt(b, p.from-file.base); err != nil || n < len(b) {
		return errors.Join(err, fmt.Errorf("%w: %s: write it again at %d", ErrFlushFailed, file.path, p.from-file.base))
	}
	return nil
}

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// checkpointBytes: with so much more in the log a checkpoint is due, so that a start after a crash has no more to read.
const checkpointBytes = 256 << 20

// runWriter writes consume-queue entries to their files every flushIntervalConsumeQueue, and everything with a checkpoint every
// flushConsumeQueueThoroughInterval.
func (s *Store) runWriter() {
	timer := s.clock.NewTimer(time.Hour)
	defer timer.Stop()
	last := s.clock.NowMs()
	for {
		c := s.settings.Load().conf
		timer.Reset(time.Duration(c.FlushIntervalConsumeQueue) * time.Millisecond)
		select {
		case <-timer.C():
		case <-s.stop:
			return
		}
		now := s.clock.NowMs()
		grown := s.log.dispatched.Load() - s.lastPoint.Load()
		if grown >= checkpointBytes || grown > 0 && now-last >= int64(c.FlushConsumeQueueThoroughInterval) {
			last = now
			if err := s.checkpointNow(false); err != nil {
				s.warn.report("checkpoint cannot be written", err)
			}
			continue
		}
		s.writeQueues(int64(c.FlushConsumeQueueLeastPages) * pageSize)
	}
}

// writeQueues writes entries that are only in memory. Too many of them, because their files cannot be written, stop the writing of
// messages.
func (s *Store) writeQueues(minBytes int64) {
	err := s.queues.write(minBytes)
	if err == nil {
		return
	}
	s.warn.report("consume queues cannot be written", err)
	if n := s.queues.unwritten.Load(); n >= stuckUnwrittenBytes {
		s.refuse(fmt.Errorf("%w: %d bytes of consume queues wait: %w", writeErrorKind(err), n, err))
	}
}

// Flush makes everything committed so far durable, consume queues and checkpoint included.
func (s *Store) Flush() error {
	return errors.Join(s.flusher.flush(), s.checkpointNow(false))
}

// checkpointNow makes log, consume queues and index durable, in that order, and then writes down how far they are.
func (s *Store) checkpointNow(closing bool) error {
	s.checkpointMu.Lock()
	defer s.checkpointMu.Unlock()
	l := &s.log
	l.mu.Lock()
	state := &queueState{
		logEnd:       l.dispatched.Load(),
		lastRecord:   l.lastRecord,
		lastRecordMs: l.lastRecordMs,
	}
	l.mu.Unlock()
	if err := s.flusher.syncTo(state.logEnd); err != nil {
		return err
	}
	if err := s.queues.write(0); err != nil {
		return err
	}
	if err := s.queues.sync(); err != nil {
		return err
	}
	index, indexMs, indexErr := s.index.sync()
	if indexErr != nil {
		// Keys can be read from the log again, but the next start must know, also when the next sync succeeds.
		s.warn.report("key index cannot be written", indexErr)
		s.indexUnsafe = true
	}
	state.closed = closing && !s.indexUnsafe && state.logEnd == l.end.Load()
	state.index = index
	state.logFirst = s.files.first()
	state.checkpoint = checkpoint{logMs: state.lastRecordMs, queueMs: state.lastRecordMs, indexMs: indexMs}
	if state.lastRecord >= 0 {
		state.checkpoint.confirmed, state.checkpoint.queueRecord = state.lastRecord, state.lastRecord
	}
	state.queues = s.queues.summaries()
	if state.closed {
		s.queues.stampSummaries(state.queues)
	}
	if err := writeCheckpoint(s.fs, s.dir, &state.checkpoint); err != nil {
		return err
	}
	if err := replaceFile(s.fs, filepath.Join(s.dir, queueStateName), state.append(nil)); err != nil {
		return err
	}
	s.lastPoint.Store(state.logEnd)
	if closing && s.indexUnsafe && indexErr == nil {
		indexErr = errIndexUnsafe
	}
	if closing {
		return indexErr
	}
	return nil
}

// errIndexUnsafe lets the store count as not closed, so that the next start does not trust the index.
var errIndexUnsafe = errors.New("an earlier flush of the key index failed, it is checked at the next start")

// summaries is what the queues' files hold durably.
func (t *queueTable) summaries() []queueSummary {
	list := t.all()
	out := make([]queueSummary, 0, len(list))
	for _, q := range list {
		q.mu.Lock()
		sum := queueSummary{topic: q.topic, id: q.id, batch: q.batch != nil, min: min(q.min.Load(), q.synced), max: q.synced, firstBase: q.firstBase, lastBase: q.lastBase, modified: q.modified}
		if q.synced == q.max.Load() {
			sum.lastEnd = q.lastEnd
		}
		if sum.max > 0 {
			sum.lastBase = min(sum.lastBase, q.files.base(sum.max-1))
		}
		if !q.removed && sum.max > 0 && q.lastBase >= 0 {
			out = append(out, sum)
		}
		q.mu.Unlock()
	}
	return out
}

// stampSummaries notes when the queues' files were changed last: the next start need not look into those that are as they were.
func (t *queueTable) stampSummaries(list []queueSummary) {
	// Its only error is that a file cannot be looked up: then it has no stamp.
	_ = parallel(len(list), func(i int) error {
		sum := &list[i]
		if sum.modified > 0 {
			return nil
		}
		if q := t.get(sum.topic, sum.id); q != nil {
			if _, modified, err := q.look(); err == nil {
				sum.modified = max(modified, 0)
			}
		}
		return nil
	})
}

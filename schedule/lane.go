package schedule

import (
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// lane is the state of one level's queue. Changed by the worker with Schedule.mu held.
type lane struct {
	level  int32
	offset int64 // of the next message to deliver
	// hasHead: head is the entry at offset, or the next one that is there; else the queue was empty.
	hasHead bool
	head    store.Entry
	delay   int64 // of the level, ms, when it was last looked up; never: it never existed
	keep    int64 // physical offset of the first record that is needed; never: none
	// Entries below capOffset whose own time is behind horizon, that is further off than the delay explains, are due when cap has passed
	// since cappedAt, however the clock was set: at capTime, as it looked when the round began.
	capOffset int64
	cappedAt  time.Time
	cap       time.Duration
	capTime   int64
	horizon   int64
	retryAt   int64 // ms; 0: no retry is pending
	tries     int   // failed reads of the record at offset

	safe   int64      // offset that may be written
	unsafe []progress // in order; not yet safe
}

// progress: with the log safe up to end, offset may be written.
type progress struct{ end, offset int64 }

// maxUnsafe bounds lane.unsafe.
const maxUnsafe = 64

// due is when an entry is to be delivered, ms.
func (l *lane) due(e store.Entry) int64 {
	if e.QueueOffset < l.capOffset && e.TagsCode > l.horizon {
		return min(e.TagsCode, l.capTime)
	}
	return e.TagsCode
}

// nextDue is when the lane wants to be drained, ms.
func (l *lane) nextDue() int64 {
	if !l.hasHead {
		return never
	}
	return max(l.due(l.head), l.retryAt)
}

// batch is the messages of one Put with the records they alias.
type batch struct {
	found    []store.Entry
	messages []message.Message
	sources  []store.Entry // of messages
	records  []relay.Record
	useless  []uselessEntry
	record   message.Record
	rebuild  relay.Rebuilder
}

// uselessEntry is an entry that can never be delivered, and why.
type uselessEntry struct {
	e   store.Entry
	err error
}

// entries reads up to n entries of q from an offset on. The result is valid until the next call.
func (b *batch) entries(q relay.Queue, from int64, n int) ([]store.Entry, error) {
	b.found = b.found[:0]
	err := q.Range(from, func(e store.Entry) bool {
		b.found = append(b.found, e)
		return len(b.found) < n
	})
	return b.found, err
}

// add reads the record of an entry and makes the message to put back.
func (b *batch) add(s relay.Store, e store.Entry) error {
	r, err := s.Record(e.PhysicalOffset, e.Size)
	if err != nil {
		return err
	}
	var m message.Message
	if _, err = message.DecodeRecord(r.Bytes(), &b.record, false); err == nil {
		err = b.rebuild.Real(&b.record, &m)
	}
	if err != nil {
		r.Release()
		return errors.Join(errUseless, err)
	}
	b.messages = append(b.messages, m)
	b.sources = append(b.sources, e)
	b.records = append(b.records, r)
	return nil
}

func (b *batch) clear() {
	for _, r := range b.records {
		r.Release()
	}
	clear(b.messages)
	clear(b.records)
	clear(b.useless)
	b.messages, b.sources, b.records, b.useless = b.messages[:0], b.sources[:0], b.records[:0], b.useless[:0]
}

// errUseless says that a record is there and can never be delivered.
var errUseless = errors.New("record cannot be delivered")

// drain puts back one batch of what is due. It tells whether something was done, so that another round may find more.
func (s *Schedule) drain(l *lane, now int64) bool {
	q := s.o.Store.Queue(message.TopicSchedule, l.level-1)
	if q == nil {
		return false
	}
	s.arrived[l.level-1].Store(false)
	s.fit(l, q)
	entries, err := s.batch.entries(q, l.offset, batchSize+1)
	if err != nil {
		s.fail(l, now, "reading the delay queue", err)
		return false
	}
	defer s.batch.clear()
	taken, err := s.take(l, entries, now)
	stored, end, putErr := 0, int64(0), error(nil)
	if len(s.batch.messages) > 0 {
		stored, end, putErr = s.o.Store.Put(s.batch.messages)
		s.countLateness(l, stored)
	}
	next, done := l.offset, taken
	switch {
	case putErr != nil && errors.Is(putErr, relay.ErrRefused):
		s.skip(l, s.batch.sources[stored], now, putErr)
		next = s.batch.sources[stored].QueueOffset + 1
		done = s.takenBefore(entries, next)
	case putErr != nil:
		s.fail(l, now, "putting a delayed message back", putErr)
		next = s.batch.sources[stored].QueueOffset
		done = s.takenBefore(entries, next)
	case taken > 0:
		next = entries[taken-1].QueueOffset + 1
	}
	if putErr == nil && err != nil {
		s.fail(l, now, "reading a delayed message", err)
	}
	for _, u := range s.batch.useless {
		if u.e.QueueOffset < next {
			s.skip(l, u.e, now, u.err)
		}
	}
	moved := next != l.offset
	s.mu.Lock()
	l.advance(next, end)
	if putErr == nil && err == nil {
		l.retryAt = 0
	}
	s.mu.Unlock()
	s.unsaved = s.unsaved || moved
	s.setHead(l, entries[done:], now)
	return moved
}

func (s *Schedule) takenBefore(entries []store.Entry, offset int64) int {
	n := 0
	for n < len(entries) && entries[n].QueueOffset < offset {
		n++
	}
	return n
}

// take reads the messages that are due, at most batchSize of them, and tells how many entries they and the useless ones among them are. It stops
// early at a record that cannot be read now.
func (s *Schedule) take(l *lane, entries []store.Entry, now int64) (taken int, err error) {
	for bytes := 0; taken < len(entries) && taken < batchSize && bytes < batchBytes && l.due(entries[taken]) <= now; taken++ {
		bytes += int(entries[taken].Size)
		err := s.batch.add(s.o.Store, entries[taken])
		switch {
		case err == nil:
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt), errors.Is(err, errUseless), l.tries >= readTries:
			s.batch.useless = append(s.batch.useless, uselessEntry{entries[taken], err})
		default:
			l.tries++
			return taken, err
		}
		l.tries = 0
	}
	return taken, nil
}

// advance notes that everything before next is delivered, safely so when the log is safe up to end.
func (l *lane) advance(next, end int64) {
	if next == l.offset {
		return
	}
	l.offset = next
	if n := len(l.unsafe); n == maxUnsafe {
		l.unsafe = l.unsafe[:n-1]
	}
	if n := len(l.unsafe); n > 0 {
		end = max(end, l.unsafe[n-1].end)
	}
	l.unsafe = append(l.unsafe, progress{end, next})
}

// setHead notes the first entry that waits. Without one the queue may have ended or just not be read further: then it is read again when
// something arrived since.
func (s *Schedule) setHead(l *lane, waiting []store.Entry, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.hasHead, l.keep = len(waiting) > 0, never
	if !l.hasHead {
		return
	}
	l.head, l.keep = waiting[0], waiting[0].PhysicalOffset
	if !l.tooLate() {
		return
	}
	q := s.o.Store.Queue(message.TopicSchedule, l.level-1)
	if q == nil {
		return
	}
	l.capOffset, l.cappedAt = q.MaxOffset(), s.o.Clock.Now()
	l.cap = time.Duration(s.delayMs(l)) * time.Millisecond
	l.capTime = now + s.delayMs(l)
}

// skip reports a message that is given up.
func (s *Schedule) skip(l *lane, e store.Entry, now int64, err error) {
	s.mu.Lock()
	s.failed++
	s.mu.Unlock()
	if missed, ok := s.skipLog.Allow(now); ok {
		s.o.Log.WithError(err).WithFields(logrus.Fields{
			"level": l.level, "queueOffset": e.QueueOffset, "physicalOffset": e.PhysicalOffset, "more": missed,
		}).Error("delayed message cannot be delivered and is skipped")
	}
}

// fail reports what will be tried again.
func (s *Schedule) fail(l *lane, now int64, what string, err error) {
	s.mu.Lock()
	l.retryAt = now + retryPause.Milliseconds()
	if !l.hasHead {
		l.hasHead, l.head = true, store.Entry{QueueOffset: l.offset, TagsCode: now}
	}
	s.mu.Unlock()
	if missed, ok := s.putLog.Allow(now); ok {
		s.o.Log.WithError(err).WithFields(logrus.Fields{"level": l.level, "offset": l.offset, "more": missed}).
			Warn(what + " failed, it will be tried again")
	}
}

func (s *Schedule) countLateness(l *lane, stored int) {
	now := s.o.Clock.NowMs()
	for _, e := range s.batch.sources[:stored] {
		s.lateness.Add(now - l.due(e))
	}
}

package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// rebuilder makes consume-queue entries from records that are read from the log. It trusts no queue offset that does not follow the one before:
// a record's head has no checksum.
type rebuilder struct {
	r *recovery
	// full: the log is read from its beginning, so nothing can be missing before.
	full bool
	// only, when set, are the queues that are built.
	only map[*ConsumeQueue]bool
	// marked are queues that lack entries from before; they need the whole log.
	marked map[*ConsumeQueue]bool
	// suspects are entries that do not follow the one before; the next one decides.
	suspects map[*ConsumeQueue]batchUnit
	// lost is how many bytes of the log were no records.
	lost int64
}

func newRebuilder(r *recovery, full bool, only map[*ConsumeQueue]bool) *rebuilder {
	return &rebuilder{r: r, full: full, only: only, marked: make(map[*ConsumeQueue]bool), suspects: make(map[*ConsumeQueue]batchUnit)}
}

// record makes the entries of one record.
func (b *rebuilder) record(r *message.Record) {
	switch r.TransactionType() {
	case message.TransactionPrepared, message.TransactionRollback:
		return
	}
	s := b.r.s
	if !legalDirectory(r.Topic) || r.QueueID < 0 {
		b.problem(r.PhysicalOffset, "the record names queue %d of topic %q", r.QueueID, r.Topic)
		return
	}
	set := s.settings.Load()
	e := batchUnit{Entry{QueueOffset: r.QueueOffset, PhysicalOffset: r.PhysicalOffset, Size: r.Size, TagsCode: set.recordTagsCode(r)}, 0, r.StoreTimestamp}
	q := s.queues.obtain(r.Topic, r.QueueID)
	if q.batch != nil || r.SysFlag&message.SysInnerBatch != 0 {
		if q = b.batchQueue(q, r); q == nil {
			return
		}
		e.messages = innerMessages(r)
	}
	b.place(q, e)
	if set.light {
		b.light(r, e)
	}
}

// light makes the entries in light queues.
func (b *rebuilder) light(r *message.Record, e batchUnit) {
	names, ok := r.Properties.Get(message.KeyInnerMultiDispatch)
	if !ok || !message.AllowsLMQ(r.Topic) {
		return
	}
	text, _ := r.Properties.Get(message.KeyInnerMultiQueueOffset)
	offsets := strings.Split(text, message.MultiDispatchSeparator)
	for i, name := range strings.Split(names, message.MultiDispatchSeparator) {
		if i >= len(offsets) || !message.IsLMQ(name) || !legalDirectory(name) {
			continue
		}
		offset, err := strconv.ParseInt(offsets[i], 10, 64)
		if err != nil {
			continue
		}
		e.QueueOffset, e.messages = offset, 0
		b.place(b.r.s.queues.obtain(name, 0), e)
	}
}

func (b *rebuilder) place(q *ConsumeQueue, e batchUnit) {
	if b.only != nil && !b.only[q] || b.marked[q] || b.only == nil && b.r.rebuild[q] {
		return
	}
	if e.QueueOffset < 0 || e.QueueOffset > maxQueueOffset {
		b.problem(e.PhysicalOffset, "the record's offset %d in queue %s is impossible", e.QueueOffset, q)
		return
	}
	expected := q.MaxOffset()
	s, doubtful := b.suspects[q]
	switch {
	case e.QueueOffset == expected, doubtful && e.QueueOffset == expected+1:
		// What came between did not belong there.
		if doubtful {
			b.reject(q, s)
		}
		b.add(q, e)
	case doubtful && e.QueueOffset == s.next():
		b.accept(q, s)
		b.add(q, e)
	case !b.full && !doubtful && e.QueueOffset-expected > b.mayBeLost(q):
		// Its entries up to here should have been there.
		b.mark(q, expected, e.QueueOffset)
	case doubtful && e.QueueOffset > s.QueueOffset && b.holes(q, expected, s) && b.holes(q, s.next(), e):
		// What is lost of the log explains both steps.
		b.accept(q, s)
		b.suspects[q] = e
	default:
		if doubtful {
			b.reject(q, s)
		}
		b.suspects[q] = e
	}
}

// holes tells whether the messages from expected on to e may all have been in what is lost of the log. Of a queue that is not there yet
// nothing is expected.
func (b *rebuilder) holes(q *ConsumeQueue, expected int64, e batchUnit) bool {
	return expected == 0 || e.QueueOffset > expected && e.QueueOffset-expected <= b.mayBeLost(q)
}

// mayBeLost is how many messages of a queue may have been in what is lost of the log.
func (b *rebuilder) mayBeLost(q *ConsumeQueue) int64 {
	n := b.lost / message.MinRecordSize
	if q.batch != nil {
		n = b.lost / message.MinBatchEntrySize
	}
	return n
}

func (b *rebuilder) mark(q *ConsumeQueue, expected, found int64) {
	b.marked[q] = true
	b.r.problem(Warning, q.files.queueDir(q), -1, "consume queue is built again from the log: it ended at %d, the log goes on at %d", expected, found)
}

// accept takes an entry that does not follow the one before: entries between are lost, or the queue began anew.
func (b *rebuilder) accept(q *ConsumeQueue, e batchUnit) {
	delete(b.suspects, q)
	expected := q.MaxOffset()
	switch {
	case e.QueueOffset > expected && expected > 0:
		b.problem(e.PhysicalOffset, "offsets %d to %d of queue %s are lost", expected, e.QueueOffset-1, q)
	case e.QueueOffset < expected:
		b.r.problem(Warning, q.files.queueDir(q), -1, "the queue began anew at offset %d after %d: its topic was deleted in between", e.QueueOffset, expected)
	}
	b.add(q, e)
}

// add appends an entry, over whatever may be left there.
func (b *rebuilder) add(q *ConsumeQueue, e batchUnit) {
	q.stale = true
	if q.batch == nil {
		q.append(e.Entry)
		return
	}
	q.appendUnit(e)
}

// reject leaves an entry out.
func (b *rebuilder) reject(q *ConsumeQueue, e batchUnit) {
	delete(b.suspects, q)
	b.problem(e.PhysicalOffset, "the record says it is %d of queue %s, where %d follows; it is left out", e.QueueOffset, q, q.MaxOffset())
}

// finish decides about the entries that nothing followed.
func (b *rebuilder) finish() {
	for q, e := range b.suspects {
		expected := q.MaxOffset()
		switch {
		case e.QueueOffset == 0 && b.full, b.holes(q, expected, e):
			b.accept(q, e)
		case e.QueueOffset > expected && !b.full:
			b.mark(q, expected, e.QueueOffset)
		default:
			b.reject(q, e)
		}
	}
}

func (b *rebuilder) problem(offset int64, format string, args ...any) {
	file := b.r.s.files.find(offset)
	if file == nil {
		return
	}
	b.r.report.Problems = append(b.r.report.Problems, Problem{Damage, file.path, offset - file.base, fmt.Sprintf(format, args...)})
}

// rebuildQueues builds the queues of r.rebuild again from the whole log, which ends at end.
func (r *recovery) rebuildQueues(end int64) error {
	s := r.s
	list := make([]*ConsumeQueue, 0, len(r.rebuild))
	for q := range r.rebuild {
		list = append(list, q)
	}
	r.report.RebuiltQueues = len(list)
	if err := s.queues.removeQueues(list); err != nil {
		return err
	}
	only := make(map[*ConsumeQueue]bool, len(list))
	for _, old := range list {
		only[s.queues.obtain(old.topic, old.id)] = true
	}
	b := newRebuilder(r, true, only)
	lastRecord, lastMs, records, tail := r.lastRecord, r.lastMs, r.report.Records, r.end
	r.gaps = nil
	if err := r.scan(b, s.files.first(), end, 0); err != nil {
		return err
	}
	b.finish()
	r.lastRecord, r.lastMs, r.report.Records, r.end = lastRecord, lastMs, records, tail
	if err := r.sealGaps(); err != nil {
		return err
	}
	if len(b.marked) > 0 {
		// Queues turned out to be batch queues: see batchQueue.
		r.rebuild = b.marked
		return r.rebuildQueues(end)
	}
	return r.settleQueues()
}

package broker

import (
	"fmt"
	"math"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// load finds out what is undecided, from the half topic and the op topic, as the reference does at each round of
// checks. It is called once, before the first message arrives.
func (t *transactions) load() error {
	t.b.store.Keep("transactions", t.keepFrom)
	halves, ops := t.b.store.Queue(message.TopicTransHalf, 0), t.b.store.Queue(message.TopicTransOpHalf, 0)
	if halves == nil {
		return nil
	}
	from := min(max(t.b.offsets.committed(message.GroupTransaction, message.TopicTransHalf, 0), halves.MinOffset()), halves.MaxOffset())
	done := newOffsetSet(from, halves.MaxOffset())
	if ops != nil {
		start := min(max(t.b.offsets.committed(message.GroupTransaction, message.TopicTransOpHalf, 0), ops.MinOffset()), ops.MaxOffset())
		t.op.begin = start
		err := t.eachRecord(ops, start, func(r *message.Record, e store.Entry) {
			if tags, _ := r.Properties.Get(message.KeyTags); tags != opTag {
				return
			}
			offsets := parseOp(string(r.Body))
			for _, offset := range offsets {
				done.add(offset)
			}
			t.op.restore(e.QueueOffset, offsets)
		})
		if err != nil {
			return fmt.Errorf("read op messages of transactions: %w", err)
		}
	}
	t.arrivedTo = from
	err := halves.Range(from, func(e store.Entry) bool {
		if !done.has(e.QueueOffset) {
			t.loadHalf(e)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("read half messages: %w", err)
	}
	t.arrivedTo = halves.MaxOffset()
	t.saved = transactionOffsets{half: from, op: t.op.begin}
	if n := t.pending.count(); n > 0 {
		t.b.log.WithField("pending", n).Info("undecided transactions found")
	}
	return nil
}

// keepFrom is where in the log the oldest undecided half message lies: cleaning leaves it while it can.
func (t *transactions) keepFrom() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending.first == nil {
		return math.MaxInt64
	}
	return t.pending.first.physical
}

// loadHalf takes up a half message that the op topic does not name. A kill, also one before the last clean stop, can have lost the op message
// of its commit.
func (t *transactions) loadHalf(e store.Entry) {
	record, err := t.b.store.Record(e.PhysicalOffset)
	if err != nil {
		t.b.log.WithError(err).WithField("offset", e.QueueOffset).Error("half message cannot be read")
		return
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err == nil {
		t.take(&r, e.QueueOffset, e.PhysicalOffset, true)
	}
}

// eachRecord calls fn for the records of a queue that can be read.
func (t *transactions) eachRecord(queue *store.ConsumeQueue, from int64, fn func(*message.Record, store.Entry)) error {
	return queue.Range(from, func(e store.Entry) bool {
		slice, err := t.b.store.Record(e.PhysicalOffset)
		if err != nil {
			t.b.log.WithError(err).WithField("offset", e.QueueOffset).Warn("op message cannot be read")
			return true
		}
		defer slice.Release()
		var r message.Record
		if _, err := message.DecodeRecord(slice.Bytes(), &r, false); err == nil {
			fn(&r, e)
		}
		return true
	})
}

// offsetSet is a set of offsets of one range.
type offsetSet struct {
	from int64
	bits []uint64
}

func newOffsetSet(from, to int64) *offsetSet {
	return &offsetSet{from: from, bits: make([]uint64, (max(to-from, 0)+63)/64)}
}

// add puts an offset in; one outside the range is left out.
func (s *offsetSet) add(offset int64) {
	if i := offset - s.from; i >= 0 && i/64 < int64(len(s.bits)) {
		s.bits[i/64] |= 1 << (i % 64)
	}
}

func (s *offsetSet) has(offset int64) bool {
	i := offset - s.from
	return i >= 0 && i/64 < int64(len(s.bits)) && s.bits[i/64]&(1<<(i%64)) != 0
}

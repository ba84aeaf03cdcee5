package store

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/rocketd/rocketd/message"
)

// batchUnitSize is the size of an entry of a batch queue (BatchConsumeQueue.CQ_STORE_UNIT_SIZE):
//
//	offset  size  name
//	0       20    as in an ordinary queue: physical offset, size, tags code
//	20      8     store time, ms
//	28      8     offset of the record's first message
//	36      2     number of its messages
//	38      4     -1: place in a compacted log
//	42      4     0: reserved
const batchUnitSize = 46

// MaxInnerMessages is how many messages one record of a batch queue can hold: their number has two bytes, as a Java short.
const MaxInnerMessages = 1<<15 - 1

// batchOffsets are the bounds of a batch queue in messages. Its entries stand one behind the other from file 0 on, as those of every queue; what
// they are is searched by the offset of the first message that each of them holds.
type batchOffsets struct {
	min atomic.Int64
	max atomic.Int64 // stored under ConsumeQueue.mu, behind ConsumeQueue.max
}

// batchUnit is an entry of a batch queue.
type batchUnit struct {
	Entry
	messages int32 // 0 counts as one
	storeMs  int64
}

func appendBatchUnit(dst []byte, u batchUnit) []byte {
	be := binary.BigEndian
	dst = appendEntry(dst, u.Entry)
	dst = be.AppendUint64(dst, uint64(u.storeMs))
	dst = be.AppendUint64(dst, uint64(u.QueueOffset))
	dst = be.AppendUint16(dst, uint16(u.messages))
	dst = be.AppendUint32(dst, 0xFFFFFFFF)
	return be.AppendUint32(dst, 0)
}

// decodeBatchUnit reads the entry at the start of b, which holds batchUnitSize bytes.
func decodeBatchUnit(b []byte) batchUnit {
	_ = b[batchUnitSize-1]
	be := binary.BigEndian
	return batchUnit{
		Entry:    decodeEntry(b, int64(be.Uint64(b[28:]))),
		storeMs:  int64(be.Uint64(b[20:])),
		messages: int32(int16(be.Uint16(b[36:]))),
	}
}

// written tells whether the entry was ever written (BatchConsumeQueue.recover).
func (u *batchUnit) written() bool {
	return u.Entry.written() && u.QueueOffset >= 0 && u.QueueOffset <= maxQueueOffset && u.messages > 0
}

// next is the offset behind the entry's messages.
func (u *batchUnit) next() int64 { return u.QueueOffset + int64(max(u.messages, 1)) }

// prepareInnerBatchLocked gives a record that is a batch its offsets (BatchConsumeQueue.assignQueueOffset). The returned message is a copy that
// names the first one.
func (s *Store) prepareInnerBatchLocked(m *message.Message, set *settings, r *staged) (*message.Message, error) {
	if r.q.batch == nil {
		return nil, fmt.Errorf("%w: it is an inner batch, and topic %s has no batch queues (queue.type=BatchCQ)", ErrMessageIllegal, m.Topic)
	}
	text, _ := m.Property(message.KeyInnerNum)
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || n > MaxInnerMessages {
		return nil, fmt.Errorf("%w: property %s of an inner batch is %q, it must be from 1 to %d", ErrMessageIllegal, message.KeyInnerNum, text, MaxInnerMessages)
	}
	r.messages = int32(n)
	inner := *m
	suffix := make(message.Properties, 0, len(m.Suffix)+32)
	inner.Suffix = append(suffix, m.Suffix...).Append(message.KeyInnerBase, strconv.FormatInt(r.queueOffset, 10))
	if err := message.CheckLimits(&inner, set.maxMessageSize); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessageIllegal, err)
	}
	if size := message.RecordSize(&inner); int64(size)+message.BlankSize > s.files.size {
		return nil, fmt.Errorf("%w: a record of %d bytes does not fit into a file of mappedFileSizeCommitLog = %d", ErrMessageIllegal, size, s.files.size)
	}
	return &inner, nil
}

// innerMessages is how many messages a stored record of a batch queue holds (CommitLog.setBatchSizeIfNeeded).
func innerMessages(r *message.Record) int32 {
	text, ok := r.Properties.Get(message.KeyInnerNum)
	if !ok || !r.Properties.Has(message.KeyInnerBase) {
		return 1
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || n > MaxInnerMessages {
		return 1
	}
	return int32(n)
}

// appendUnit adds an entry at the end. One with offsets that exist already begins the queue anew, because its topic was deleted in between.
func (q *ConsumeQueue) appendUnit(u batchUnit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.removed {
		return
	}
	if u.QueueOffset < q.batch.max.Load() {
		q.restartLocked(0)
		q.batch.min.Store(u.QueueOffset)
	}
	n := q.max.Load()
	if q.tail == nil {
		q.tail = make([]byte, 0, firstTailEntries*batchUnitSize)
		q.tailFrom = n
	}
	q.tail = appendBatchUnit(q.tail, u)
	q.idleFor = 0
	q.table.unwritten.Add(batchUnitSize)
	if n == q.min.Load() {
		q.batch.min.Store(u.QueueOffset)
	}
	q.max.Store(n + 1)
	q.batch.max.Store(u.next())
	q.lastEnd = u.end()
	if (n+1-q.written)*batchUnitSize >= eagerWriteBytes {
		// An error stays until the writer's next tick, which reports it.
		_ = q.writeLocked()
		q.trimLocked(keptEntriesMost)
	}
	q.activateLocked()
}

// unit reads entry n of the queue, which exists. cold tells that it would have had to read a file, which it does not do when hotOnly.
func (q *ConsumeQueue) unit(n int64, hotOnly bool) (u batchUnit, cold bool, err error) {
	var b [batchUnitSize]byte
	got, cold, err := q.read(n, b[:], hotOnly)
	if err != nil || cold {
		return u, cold, err
	}
	if u = decodeBatchUnit(b[:]); got == 0 || !u.written() {
		return u, false, fmt.Errorf("%w: batch queue %s has no entry %d", ErrCorrupt, q, n)
	}
	return u, false, nil
}

// find is the number of the entry that holds the message at an offset, or, where messages are missing, of the first one behind it. It is
// q.max when there is none.
func (q *ConsumeQueue) find(offset int64, hotOnly bool) (n int64, cold bool, err error) {
	return q.search(hotOnly, func(u batchUnit) bool { return u.next() > offset })
}

// search is the number of the first entry that is so, as are all behind it; q.max when there is none.
func (q *ConsumeQueue) search(hotOnly bool, is func(batchUnit) bool) (n int64, cold bool, err error) {
	low, high := q.min.Load(), q.max.Load()
	q.mu.Lock()
	if tail := max(q.tailFrom, low); q.tail != nil && tail < high {
		// What is in memory is looked at first: readers are mostly near the end.
		at := func(n int64) batchUnit { return decodeBatchUnit(q.tail[(n-q.tailFrom)*batchUnitSize:]) }
		first := at(tail)
		if is(first) {
			high = tail
		} else {
			low = tail + 1
			for low < high {
				mid := low + (high-low)/2
				if u := at(mid); is(u) {
					high = mid
				} else {
					low = mid + 1
				}
			}
		}
	}
	q.mu.Unlock()
	for low < high {
		mid := low + (high-low)/2
		u, cold, err := q.unit(mid, hotOnly)
		if err != nil || cold {
			return 0, cold, err
		}
		if is(u) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low, false, nil
}

// batchEntry is the entry that holds the message at an offset.
func (q *ConsumeQueue) batchEntry(offset int64) (Entry, bool) {
	if offset < q.batch.min.Load() || offset >= q.batch.max.Load() {
		return Entry{}, false
	}
	n, _, err := q.find(offset, false)
	if err != nil || n >= q.max.Load() {
		return Entry{}, false
	}
	u, _, err := q.unit(n, false)
	return u.Entry, err == nil && u.QueueOffset <= offset
}

// rangeBatch is Range.
func (q *ConsumeQueue) rangeBatch(from int64, fn func(Entry) bool) error {
	n, _, err := q.find(max(from, q.batch.min.Load()), false)
	if err != nil {
		return err
	}
	c := unitCursor{q: q, next: n}
	for {
		u, more, _, err := c.advance()
		if err != nil || !more || !fn(u.Entry) {
			return err
		}
	}
}

// batchOffsetByTime is OffsetByTime: all messages of a record have the same store time.
func (q *ConsumeQueue) batchOffsetByTime(ms int64, b Boundary) int64 {
	n, _, err := q.search(false, func(u batchUnit) bool { return u.storeMs > ms || b == Lower && u.storeMs == ms })
	if err != nil {
		return q.batch.min.Load()
	}
	if b == Upper {
		n = max(n-1, q.min.Load())
	}
	offset, err := q.batchOffset(n)
	if err != nil {
		return q.batch.min.Load()
	}
	return offset
}

// batchOffset is the offset of the first message of entry n, that of the end when there is none.
func (q *ConsumeQueue) batchOffset(n int64) (int64, error) {
	if n >= q.max.Load() {
		return q.batch.max.Load(), nil
	}
	u, _, err := q.unit(n, false)
	return u.QueueOffset, err
}

// unitCursor walks over the entries of a batch queue.
type unitCursor struct {
	q       *ConsumeQueue
	hotOnly bool
	next    int64 // number of the entry that comes next
	at, n   int   // entries of buf used and filled
	buf     [32 * batchUnitSize]byte
}

func (c *unitCursor) start(q *ConsumeQueue, first int64, hotOnly bool) {
	c.q, c.next, c.hotOnly = q, first, hotOnly
	c.at, c.n = 0, 0
}

// advance returns the next entry. more is false at the end of the queue, when the entry is cold, and after an error.
func (c *unitCursor) advance() (u batchUnit, more, cold bool, err error) {
	if c.at >= c.n {
		c.at = 0
		c.n, cold, err = c.q.read(c.next, c.buf[:], c.hotOnly)
		if err != nil || cold || c.n == 0 {
			return u, false, cold, err
		}
	}
	u = decodeBatchUnit(c.buf[c.at*batchUnitSize:])
	if !u.written() {
		return u, false, false, fmt.Errorf("%w: batch queue %s has no entry %d", ErrCorrupt, c.q, c.next)
	}
	c.at++
	c.next++
	return u, true, false, nil
}

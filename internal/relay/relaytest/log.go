// Package relaytest has a message log in memory for the tests of schedule and timer: trivially correct, with failures on demand.
package relaytest

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// Log is a relay.Store in memory. It outlives the rooms that use it, as a store on disk does. Safe for concurrent use. Set its exported
// fields before it is used, or with Lock held.
type Log struct {
	sync.Mutex
	Clock clock.Clock
	// DeliverTime gives the tags code of messages in SCHEDULE_TOPIC_XXXX.
	DeliverTime func(level int32, storeTimestamp int64) int64
	// FailPut, when set, is asked before each message is stored.
	FailPut func(m *message.Message) error
	// FailRecord, when set, is asked before each record is read.
	FailRecord func(physicalOffset int64) error
	// Lag holds SafeOffset, FlushedOffset and what queues show back until Flush, as SYNC_FLUSH does.
	Lag bool
	// FlushLag holds FlushedOffset alone back, as with ASYNC_FLUSH.
	FlushLag bool

	min, end, flushed int64
	records           []record // by offset
	queues            map[queueName]*queue
	arrivals          []func(topic string, queueID int32, tagsCode int64)
	waiting           []arrival
	keepers           map[string]func() int64
	puts              int
}

type record struct {
	offset int64
	data   []byte
}

type queueName struct {
	topic string
	id    int32
}

// New returns an empty log.
func New(c clock.Clock) *Log {
	return &Log{Clock: c, queues: make(map[queueName]*queue), keepers: make(map[string]func() int64)}
}

// Put stores a batch as relay.Store says.
func (l *Log) Put(batch []message.Message) (stored int, end int64, err error) {
	for i := range batch {
		if err := l.put(&batch[i]); err != nil {
			return i, l.MaxPhysicalOffset(), err
		}
	}
	l.Lock()
	l.puts++
	l.Unlock()
	return len(batch), l.MaxPhysicalOffset(), nil
}

// Send stores one message, as a client's send does.
func (l *Log) Send(m message.Message) error { return l.put(&m) }

func (l *Log) put(m *message.Message) error {
	l.Lock()
	if l.FailPut != nil {
		if err := l.FailPut(m); err != nil {
			l.Unlock()
			return err
		}
	}
	q := l.queueLocked(queueName{m.Topic, m.QueueID})
	now := l.Clock.NowMs()
	e := store.Entry{QueueOffset: int64(len(q.entries)), PhysicalOffset: l.end}
	data, err := message.AppendRecord(nil, m, message.Placement{PhysicalOffset: l.end, QueueOffset: e.QueueOffset, StoreTimestamp: now})
	if err != nil {
		l.Unlock()
		return fmt.Errorf("%w: %w", relay.ErrRefused, err)
	}
	e.Size = int32(len(data))
	tags, _ := m.Property(message.KeyTags)
	e.TagsCode = message.TagsHash(tags)
	if m.Topic == message.TopicSchedule && l.DeliverTime != nil {
		level, _ := m.Property(message.KeyDelayLevel)
		n := int32(0)
		_, _ = fmt.Sscan(level, &n)
		e.TagsCode = l.DeliverTime(n, now)
	}
	l.records = append(l.records, record{l.end, data})
	l.end += int64(len(data))
	q.entries = append(q.entries, e)
	arrivals := slices.Clone(l.arrivals)
	a := arrival{string([]byte(m.Topic)), m.QueueID, e.TagsCode}
	if l.Lag {
		l.waiting = append(l.waiting, a)
		arrivals = nil
	}
	l.Unlock()
	for _, fn := range arrivals {
		fn(a.topic, a.id, a.code)
	}
	return nil
}

type arrival struct {
	topic string
	id    int32
	code  int64
}

func (l *Log) queueLocked(name queueName) *queue {
	q := l.queues[name]
	if q == nil {
		q = &queue{l: l}
		name.topic = string([]byte(name.topic))
		l.queues[name] = q
	}
	return q
}

// Queue returns a queue that exists.
func (l *Log) Queue(topic string, queueID int32) relay.Queue {
	l.Lock()
	defer l.Unlock()
	if q := l.queues[queueName{topic, queueID}]; q != nil {
		return q
	}
	return nil
}

// Rest does nothing.
func (l *Log) Rest(bool) {}

// Record returns a record.
func (l *Log) Record(physicalOffset int64, size int32) (relay.Record, error) {
	l.Lock()
	defer l.Unlock()
	if l.FailRecord != nil {
		if err := l.FailRecord(physicalOffset); err != nil {
			return relay.Record{}, err
		}
	}
	i, ok := slices.BinarySearchFunc(l.records, physicalOffset, func(r record, o int64) int { return int(max(-1, min(1, r.offset-o))) })
	if !ok || physicalOffset < l.min || int(size) != len(l.records[i].data) {
		return relay.Record{}, fmt.Errorf("%w: offset %d", store.ErrNotFound, physicalOffset)
	}
	return relay.RecordOf(l.records[i].data), nil
}

// MinPhysicalOffset is where the log begins.
func (l *Log) MinPhysicalOffset() int64 {
	l.Lock()
	defer l.Unlock()
	return l.min
}

// MaxPhysicalOffset is where the log ends.
func (l *Log) MaxPhysicalOffset() int64 {
	l.Lock()
	defer l.Unlock()
	return l.end
}

// SafeOffset is the end of the log, or of the last Flush with Lag.
func (l *Log) SafeOffset() int64 {
	l.Lock()
	defer l.Unlock()
	if l.Lag {
		return l.flushed
	}
	return l.end
}

// FlushedOffset is the end of the log, or of the last Flush with Lag or FlushLag.
func (l *Log) FlushedOffset() int64 {
	l.Lock()
	defer l.Unlock()
	if l.Lag || l.FlushLag {
		return l.flushed
	}
	return l.end
}

// Flush brings FlushedOffset to the log's end.
func (l *Log) Flush() error {
	l.Lock()
	l.flushed = l.end
	arrivals, waiting := slices.Clone(l.arrivals), l.waiting
	l.waiting = nil
	l.Unlock()
	for _, a := range waiting {
		for _, fn := range arrivals {
			fn(a.topic, a.id, a.code)
		}
	}
	return nil
}

// OnArrival adds a callback.
func (l *Log) OnArrival(topic string, fn func(queueID int32, tagsCode int64)) {
	l.Lock()
	defer l.Unlock()
	l.arrivals = append(l.arrivals, func(arrived string, id int32, code int64) {
		if arrived == topic {
			fn(id, code)
		}
	})
}

// Keep remembers a keeper.
func (l *Log) Keep(name string, from func() int64) {
	l.Lock()
	defer l.Unlock()
	l.keepers[name] = from
}

// KeepFrom is the least of what the keepers need.
func (l *Log) KeepFrom() int64 {
	l.Lock()
	keepers := make([]func() int64, 0, len(l.keepers))
	for _, k := range l.keepers {
		keepers = append(keepers, k)
	}
	l.Unlock()
	from := int64(math.MaxInt64)
	for _, k := range keepers {
		from = min(from, k())
	}
	return from
}

// Detach forgets the callbacks of a room that is gone.
func (l *Log) Detach() {
	l.Lock()
	defer l.Unlock()
	l.arrivals, l.keepers = nil, make(map[string]func() int64)
}

// DropBefore removes the records before a physical offset, as retention does.
func (l *Log) DropBefore(physicalOffset int64) {
	l.Lock()
	defer l.Unlock()
	l.min = max(l.min, min(physicalOffset, l.end))
}

// DropOlder removes the records stored before a time.
func (l *Log) DropOlder(ms int64) {
	l.Lock()
	defer l.Unlock()
	for _, r := range l.records {
		if stored, ok := message.PeekStoreTimestamp(r.data); ok && stored >= ms {
			l.min = max(l.min, r.offset)
			return
		}
	}
	l.min = l.end
}

// CutBehind removes the records from a physical offset on, as a crash of the machine may.
func (l *Log) CutBehind(physicalOffset int64) {
	l.Lock()
	defer l.Unlock()
	n := len(l.records)
	for n > 0 && l.records[n-1].offset >= physicalOffset {
		l.end = l.records[n-1].offset
		n--
	}
	l.records = l.records[:n]
	for _, q := range l.queues {
		k := len(q.entries)
		for k > 0 && q.entries[k-1].PhysicalOffset >= l.end {
			k--
		}
		q.entries = q.entries[:k]
	}
	l.flushed = min(l.flushed, l.end)
	l.waiting = nil
}

// Messages returns the messages of a queue.
func (l *Log) Messages(topic string, queueID int32) []message.Record {
	l.Lock()
	defer l.Unlock()
	q := l.queues[queueName{topic, queueID}]
	if q == nil {
		return nil
	}
	out := make([]message.Record, 0, len(q.entries))
	for _, e := range q.entries {
		i, ok := slices.BinarySearchFunc(l.records, e.PhysicalOffset, func(r record, o int64) int { return int(max(-1, min(1, r.offset-o))) })
		if !ok {
			continue
		}
		var r message.Record
		if _, err := message.DecodeRecord(l.records[i].data, &r, true); err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	return out
}

// Count is the number of messages that ever came into a queue.
func (l *Log) Count(topic string, queueID int32) int {
	l.Lock()
	defer l.Unlock()
	if q := l.queues[queueName{topic, queueID}]; q != nil {
		return len(q.entries)
	}
	return 0
}

// Puts counts the batches.
func (l *Log) Puts() int {
	l.Lock()
	defer l.Unlock()
	return l.puts
}

type queue struct {
	l       *Log
	entries []store.Entry // guarded by l
}

// visible is the entries that may be read, and where the log begins.
func (q *queue) visible() (entries []store.Entry, begin int64) {
	q.l.Lock()
	defer q.l.Unlock()
	n := len(q.entries)
	for q.l.Lag && n > 0 && q.entries[n-1].PhysicalOffset >= q.l.flushed {
		n--
	}
	return q.entries[:n], q.l.min
}

func (q *queue) MinOffset() int64 {
	entries, begin := q.visible()
	for _, e := range entries {
		if e.PhysicalOffset >= begin {
			return e.QueueOffset
		}
	}
	return int64(len(entries))
}

func (q *queue) MaxOffset() int64 {
	entries, _ := q.visible()
	return int64(len(entries))
}

func (q *queue) Range(from int64, fn func(store.Entry) bool) error {
	entries, begin := q.visible()
	from = max(from, 0)
	for _, e := range entries[min(from, int64(len(entries))):] {
		if e.PhysicalOffset >= begin && !fn(e) {
			break
		}
	}
	return nil
}

package store

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
)

// Bounds of what waits in memory.
const (
	// maxStagedBytes bounds the tail buffer; a message that finds it empty always fits.
	maxStagedBytes = 64 << 20
	// maxUnflushedBytes bounds what is written and not flushed with SYNC_FLUSH.
	maxUnflushedBytes = 256 << 20
	// keptBufferBytes is how large an emptied tail buffer may be to be kept.
	keptBufferBytes = 4 << 20
	// keptFailures is how many failed commits are remembered for the tickets that were theirs.
	keptFailures = 64
)

// guardSize is how many zeros follow the last record: what lies beyond them is never taken for a record.
const guardSize = message.BlankSize

// commitLog is the writing side of the log.
type commitLog struct {
	files *logFiles
	queue *queueTable
	clock clock.Clock
	// sync: dispatch and answers wait for the flush.
	sync bool
	// dispatch makes records visible that were written (or with sync: flushed). It runs with commitMu held (with sync: flushMu).
	dispatch func(b *batch)
	// wakeFlusher tells the flusher that there is something to flush.
	wakeFlusher func()
	// measure looks how much room the disk has, and writeFailed adds that to the error of a write that found none. Both may be nil.
	measure     func()
	writeFailed func(error) error

	measureEvery atomic.Int64 // after so many written bytes the disk is measured, not waiting for the janitor

	end        atomic.Int64 // everything below is written
	flushed    atomic.Int64 // everything below is on disk
	dispatched atomic.Int64 // everything below is visible
	epoch      atomic.Uint64

	closed atomic.Bool           // nothing is staged any more
	broken atomic.Pointer[error] // no write until heal succeeds: ErrFlushFailed
	// forgotten: what was not flushed is gone, heal cannot succeed.
	forgotten atomic.Bool
	healAt    atomic.Int64          // when heal is tried next, ms; 0: nothing has failed
	unsafe    pieces                // what is written and not flushed
	full      atomic.Pointer[error] // no write until the disk has room again: ErrDiskFull or ErrWriteFailed

	commitMu   sync.Mutex
	unmeasured int64  // bytes written since the disk was measured; guarded by commitMu
	writing    *batch // empty between commits; guarded by commitMu
	garbage    []span // what a failed write may have left behind; guarded by commitMu

	mu          sync.Mutex
	pending     *batch    // staged and not being written; guarded by mu
	stagedEnd   int64     // where the next record goes; guarded by mu
	lastStoreMs int64     // guarded by mu
	failures    []failure // guarded by mu
	// lastRecord and lastRecordMs are offset and store time of the last record below dispatched; -1 when there is none. Guarded by mu.
	lastRecord, lastRecordMs int64
	// unflushed are the batches written and not yet dispatched, with sync; guarded by mu.
	unflushed []*batch
	spare     []*batch // emptied batches; guarded by mu
}

// span is a part of the log.
type span struct{ from, to int64 }

// failure tells what became of the tickets of an epoch that ended with a failed write.
type failure struct {
	epoch uint64
	good  int64 // tickets up to here were written
	err   error
}

// batch is a run of encoded records with what dispatch needs to know about them.
type batch struct {
	buf      []byte
	segments []segment
	records  []staged
	start    int64 // offset of the first byte
	end      int64 // offset behind the last byte
}

// segment is a part of a batch that lies in one file: buf from `from` to the next segment.
type segment struct {
	at   int64 // offset in the log
	from int   // in buf
}

// staged is one record of a batch.
type staged struct {
	q           *ConsumeQueue // nil: the record gets no entry
	physical    int64
	queueOffset int64
	tagsCode    int64
	storeMs     int64
	at          int // in buf
	size        int32
	properties  int32 // bytes of them, at the record's end
	messages    int32 // offsets that the record takes up; 0: one
	light       []lightEntry
}

// lightEntry is one more entry of a record, in a light queue.
type lightEntry struct {
	q      *ConsumeQueue
	offset int64
}

func (b *batch) empty() bool { return len(b.records) == 0 && len(b.buf) == 0 }

func (b *batch) reset() {
	if cap(b.buf) > keptBufferBytes {
		b.buf = nil
	}
	clear(b.records)
	b.buf, b.segments, b.records = b.buf[:0], b.segments[:0], b.records[:0]
}

// record is the stored bytes of a record of the batch.
func (b *batch) record(r *staged) []byte { return b.buf[r.at : r.at+int(r.size) : r.at+int(r.size)] }

// reset puts the log's end, before Start. lastRecord is -1 in an empty log.
func (l *commitLog) reset(end, lastRecord, lastStoreMs int64) {
	l.end.Store(end)
	l.flushed.Store(end)
	l.dispatched.Store(end)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stagedEnd, l.lastStoreMs = end, lastStoreMs
	l.lastRecord, l.lastRecordMs = lastRecord, lastStoreMs
	l.pending, l.writing = &batch{}, &batch{}
	l.pending.start, l.pending.end = end, end
}

// refusal is why nothing can be staged now, or nil.
func (l *commitLog) refusal() error {
	if l.closed.Load() {
		return ErrClosed
	}
	if err := l.broken.Load(); err != nil {
		return *err
	}
	if err := l.full.Load(); err != nil {
		return *err
	}
	return nil
}

// breakDown refuses all further writes; the first reason stays.
func (l *commitLog) breakDown(err error) { l.broken.CompareAndSwap(nil, &err) }

// admitLocked tells whether size bytes more may wait in memory.
func (l *commitLog) admitLocked(size int) error {
	if err := l.refusal(); err != nil {
		return err
	}
	if n := len(l.pending.buf); n > 0 && n+size > maxStagedBytes {
		return fmt.Errorf("%w: %d bytes are staged, the limit is %d", ErrBusy, n, maxStagedBytes)
	}
	if l.sync {
		if n := l.stagedEnd - l.flushed.Load(); n > maxUnflushedBytes {
			return fmt.Errorf("%w: %d bytes are not flushed, the limit is %d", ErrBusy, n, maxUnflushedBytes)
		}
	}
	return nil
}

// placeLocked makes sure that size bytes fit behind the staged end and into one file; what is left of a file that is too small
// becomes a blank record.
func (l *commitLog) placeLocked(size int) {
	fileSize := l.files.size
	left := fileSize - l.stagedEnd%fileSize
	b := l.pending
	switch {
	case int64(size)+message.BlankSize <= left:
		if len(b.segments) > 0 && l.stagedEnd%fileSize != 0 {
			return
		}
	case left >= message.BlankSize:
		l.openSegmentLocked()
		b.buf = binary.BigEndian.AppendUint32(b.buf, uint32(left))
		b.buf = binary.BigEndian.AppendUint32(b.buf, message.MagicBlank)
		l.stagedEnd += left
	default:
		l.stagedEnd += left
	}
	b.end = l.stagedEnd
	l.openSegmentLocked()
}

// openSegmentLocked begins a segment at the staged end unless the last one goes on there.
func (l *commitLog) openSegmentLocked() {
	b := l.pending
	if n := len(b.segments); n > 0 {
		last := b.segments[n-1]
		if last.at+int64(len(b.buf)-last.from) == l.stagedEnd && l.stagedEnd%l.files.size != 0 {
			return
		}
	}
	b.segments = append(b.segments, segment{at: l.stagedEnd, from: len(b.buf)})
}

// storeMsLocked is the store time of the next message: the clock's, but never earlier than that of the message before. The clock is asked for
// each one: what waits for the write may wait for long, and with the time of the first a delay level would end early.
func (l *commitLog) storeMsLocked() int64 {
	l.lastStoreMs = max(l.lastStoreMs, l.clock.NowMs())
	return l.lastStoreMs
}

// stageLocked encodes m behind the staged end, where size bytes fit.
func (l *commitLog) stageLocked(m *message.Message, storeMs int64, r staged) (Placed, error) {
	b := l.pending
	r.physical, r.storeMs, r.at = l.stagedEnd, storeMs, len(b.buf)
	buf, err := message.AppendRecord(b.buf, m, message.Placement{
		PhysicalOffset: r.physical,
		QueueOffset:    r.queueOffset,
		StoreTimestamp: storeMs,
	})
	if err != nil {
		return Placed{}, fmt.Errorf("%w: %w", ErrMessageIllegal, err)
	}
	r.size, r.properties = int32(len(buf)-r.at), int32(m.PropertiesSize())
	b.buf = buf
	b.records = append(b.records, r)
	l.stagedEnd += int64(r.size)
	b.end = l.stagedEnd
	if r.q != nil {
		r.q.next += int64(max(r.messages, 1))
	}
	for _, e := range r.light {
		e.q.next++
	}
	return Placed{
		PhysicalOffset: r.physical,
		QueueOffset:    r.queueOffset,
		StoreTimestamp: storeMs,
		Size:           r.size,
		Ticket:         Ticket{epoch: l.epoch.Load(), end: l.stagedEnd},
	}, nil
}

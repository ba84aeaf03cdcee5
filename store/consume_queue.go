package store

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/internal/vfs"
)

// Bounds of what a consume queue keeps in memory.
const (
	// eagerWriteBytes: with so much unwritten a queue writes at once rather than at the next tick.
	eagerWriteBytes = 64 << 10
	// firstTailEntries is the room a queue's memory begins with.
	firstTailEntries = 16
)

// ConsumeQueue is one queue of a topic: its entries, the newest ones also in memory. Its methods are safe for concurrent use.
type ConsumeQueue struct {
	table *queueTable
	files *queueFiles
	topic string
	id    int32
	keys  keyHash // of the topic, for the index

	// batch is set in queues of topics with queue.type=BatchCQ: their entries are not numbered by messages, see batch_queue.go.
	batch *batchOffsets

	// min and max number entries, which are messages but in a batch queue.
	min atomic.Int64
	max atomic.Int64 // stored under mu

	next int64 // the offset the next staged message gets; guarded by commitLog.mu

	mu sync.Mutex
	// tail holds the entries from tailFrom on, encoded. Those from written on are nowhere else.
	tail     []byte
	tailFrom int64
	written  int64
	// synced: files hold the entries below durably.
	synced int64
	// firstBase and lastBase are the first bytes of the oldest and the newest file, -1 when there is none.
	firstBase, lastBase int64
	// lastEnd is where the last entry's record ends, 0 when there is none.
	lastEnd int64
	// active: the queue is in the table's list of those the writer looks at.
	active  bool
	idleFor int // ticks of the writer without a new entry
	removed bool
	newFile bool // a file was made since the last sync
	// modified is when the last file was changed last, ns, if nothing was written since that was looked up; else 0.
	modified int64
	// stale: files may hold entries behind the end, left by a run that did not end well. Only while a store is opened.
	stale bool
	// stranger: it has a directory, and nobody knows it but perhaps the log. Only while a store is opened.
	stranger bool
}

// Topic is the topic's name.
func (q *ConsumeQueue) Topic() string { return q.topic }

// QueueID is the queue's number.
func (q *ConsumeQueue) QueueID() int32 { return q.id }

// MinOffset is the first offset whose record is still in the log, MaxOffset when there is none.
func (q *ConsumeQueue) MinOffset() int64 {
	if q.batch != nil {
		return q.batch.min.Load()
	}
	return q.min.Load()
}

// MaxOffset is the offset of the next message that becomes visible.
func (q *ConsumeQueue) MaxOffset() int64 {
	if q.batch != nil {
		return q.batch.max.Load()
	}
	return q.max.Load()
}

func (q *ConsumeQueue) String() string { return fmt.Sprintf("%s/%d", q.topic, q.id) }

// append adds an entry at the end. An offset after the end leaves holes; one that exists already begins the queue anew there,
// because its topic was deleted in between.
func (q *ConsumeQueue) append(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.removed {
		q.addLocked(e)
		q.addedLocked()
	}
}

// appendRun is append for records of this queue that come one after the other.
func (q *ConsumeQueue) appendRun(records []staged) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.removed {
		return
	}
	for i := range records {
		q.addLocked(records[i].entry())
	}
	q.addedLocked()
}

func (q *ConsumeQueue) addLocked(e Entry) {
	if end := q.max.Load(); e.QueueOffset != end {
		if end == 0 || e.QueueOffset < end {
			q.restartLocked(e.QueueOffset)
		}
		// A hole repeats the entry behind it: our readers skip it, the reference's deliver that message twice rather than none.
		for hole := q.max.Load(); hole < e.QueueOffset; hole++ {
			q.pushLocked(Entry{QueueOffset: hole, PhysicalOffset: e.PhysicalOffset, TagsCode: e.TagsCode, Size: e.Size})
		}
	}
	q.pushLocked(e)
	q.lastEnd = e.end()
}

// addedLocked is done after entries were added: many are written at once.
func (q *ConsumeQueue) addedLocked() {
	if (q.max.Load()-q.written)*entrySize >= eagerWriteBytes {
		// An error stays until the writer's next tick, which reports it.
		_ = q.writeLocked()
		q.trimLocked(keptEntriesMost)
	}
	q.activateLocked()
}

func (q *ConsumeQueue) pushLocked(e Entry) {
	if q.tail == nil {
		q.tail = make([]byte, 0, firstTailEntries*entrySize)
		q.tailFrom = e.QueueOffset
	}
	q.tail = appendEntry(q.tail, e)
	q.idleFor = 0
	q.table.unwritten.Add(entrySize)
	q.max.Store(e.QueueOffset + 1)
}

// restartLocked empties the queue so that its next entry is at offset. Its files begin anew too: what they hold before it is overwritten with
// fillers, what lies elsewhere is swept away by recovery, without which no queue with files begins anew.
func (q *ConsumeQueue) restartLocked(offset int64) {
	q.table.unwritten.Add(-(q.max.Load() - q.written) * q.files.unit)
	q.tail, q.tailFrom = nil, offset
	q.written, q.synced = offset, offset
	q.max.Store(offset)
	q.min.Store(offset)
	q.lastEnd = 0
	q.firstBase, q.lastBase = -1, -1
}

func (q *ConsumeQueue) activateLocked() {
	if !q.active {
		q.active = true
		q.table.activate(q)
	}
}

// read copies entries from an offset on into buf and returns their number: as many as buf holds or the queue has. cold tells that it might
// have had to wait for the disk, which it does not do when hotOnly.
func (q *ConsumeQueue) read(from int64, buf []byte, hotOnly bool) (n int, cold bool, err error) {
	unit := int(q.files.unit)
	buf = buf[:len(buf)/unit*unit]
	for n*unit < len(buf) {
		got, inFile := q.readTail(from+int64(n), buf[n*unit:])
		if got > 0 {
			return n + got, false, nil
		}
		if inFile == 0 {
			return n, false, nil
		}
		if hotOnly {
			if got = q.readCached(from+int64(n), inFile, buf[n*unit:]); got == 0 {
				return n, n == 0, nil
			}
			n += got
			continue
		}
		if got, err = q.readFile(from+int64(n), inFile, buf[n*unit:]); err != nil {
			return n, false, err
		}
		n += got
	}
	return n, false, nil
}

// readTail copies entries from memory. Where there are none, inFile tells up to which offset files hold them, 0 at the queue's end.
func (q *ConsumeQueue) readTail(from int64, buf []byte) (n int, inFile int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	end := q.max.Load()
	switch {
	case from >= end:
		return 0, 0
	case q.tail == nil:
		return 0, end
	case from < q.tailFrom:
		return 0, q.tailFrom
	}
	return copy(buf, q.tail[(from-q.tailFrom)*q.files.unit:]) / int(q.files.unit), 0
}

// readFile reads entries of [from, end), which are in files, as many as buf and one file hold.
func (q *ConsumeQueue) readFile(from, end int64, buf []byte) (int, error) {
	files := q.files
	base := files.base(from)
	end = min(end, (base+files.size)/files.unit)
	n := min(int64(len(buf))/files.unit, end-from)
	f, err := files.get(q, base, false)
	if err != nil {
		return 0, fmt.Errorf("consume queue %s: %w", q, err)
	}
	got, err := f.ReadAt(buf[:n*files.unit], from*files.unit-base)
	if err := files.put(f); err != nil {
		return 0, err
	}
	if int64(got) < n*files.unit {
		return 0, fmt.Errorf("consume queue %s: read %s at %d: %w", q, files.path(q, base), from*files.unit-base, noEOF(err))
	}
	return int(n), nil
}

// readCached is readFile for a file that is open and in memory; 0 when the disk might have to be waited for.
func (q *ConsumeQueue) readCached(from, end int64, buf []byte) int {
	files := q.files
	base := files.base(from)
	n := min(int64(len(buf))/files.unit, min(end, (base+files.size)/files.unit)-from)
	f := files.opened(q, base)
	if f == nil {
		return 0
	}
	r, ok := f.File.(vfs.CachedReader)
	ok = ok && r.ReadCached(buf[:n*files.unit], from*files.unit-base)
	if err := files.put(f); err != nil || !ok {
		return 0
	}
	return int(n)
}

// Entry reads the entry of a message; ok is false outside [MinOffset, MaxOffset), for a message that was lost and for one that cannot be
// read. In a batch queue the entry is that of the record that holds the message.
func (q *ConsumeQueue) Entry(offset int64) (e Entry, ok bool) {
	if q.batch != nil {
		return q.batchEntry(offset)
	}
	if offset < q.min.Load() {
		return Entry{}, false
	}
	var buf [2 * entrySize]byte
	n, _, err := q.read(offset, buf[:], false)
	if err != nil || n == 0 {
		return Entry{}, false
	}
	e = decodeEntry(buf[:], offset)
	hole := n == 2 && decodeEntry(buf[entrySize:], offset+1).PhysicalOffset == e.PhysicalOffset
	return e, e.written() && !e.filler() && !hole
}

// cursorEntries is how many entries a cursor reads at a time.
const cursorEntries = 64

// cursor walks over the entries of a queue.
type cursor struct {
	q       *ConsumeQueue
	hotOnly bool
	next    int64 // offset of the entry that comes next
	at, n   int   // entries of buf used and filled
	buf     [(cursorEntries + 1) * entrySize]byte
}

func (c *cursor) start(q *ConsumeQueue, from int64, hotOnly bool) {
	c.q, c.next, c.hotOnly, c.at, c.n = q, from, hotOnly, 0, 0
}

// advance returns the next entry; lost ones are skipped. more is false at the end of the queue, when the entry is cold, and after an error.
func (c *cursor) advance() (e Entry, more, cold bool, err error) {
	for {
		// The last entry of a full buffer is read again with the one behind it, which tells whether it is a hole.
		if c.at >= c.n || c.at == cursorEntries {
			c.at = 0
			c.n, cold, err = c.q.read(c.next, c.buf[:], c.hotOnly)
			if err != nil || cold || c.n == 0 {
				return Entry{}, false, cold, err
			}
		}
		e = decodeEntry(c.buf[c.at*entrySize:], c.next)
		c.at++
		c.next++
		hole := c.at < c.n && decodeEntry(c.buf[c.at*entrySize:], 0).PhysicalOffset == e.PhysicalOffset
		if e.written() && !e.filler() && !hole {
			return e, true, false, nil
		}
	}
}

// Range calls fn for the entries from an offset on, until fn returns false or the queue ends; lost messages are left out. It
// sees entries that come while it runs. In a batch queue it begins with the entry that holds the offset.
func (q *ConsumeQueue) Range(from int64, fn func(Entry) bool) error {
	if q.batch != nil {
		return q.rangeBatch(from, fn)
	}
	c := cursor{q: q, next: max(from, q.min.Load())}
	for {
		e, more, _, err := c.advance()
		if err != nil || !more || !fn(e) {
			return err
		}
	}
}

// writeLocked writes the entries that are only in memory to their files.
func (q *ConsumeQueue) writeLocked() error {
	files := q.files
	for max := q.max.Load(); q.written < max; {
		base := files.base(q.written)
		n := min(max, (base+files.size)/files.unit) - q.written
		f, err := files.get(q, base, true)
		if err != nil {
			return fmt.Errorf("consume queue %s: %w", q, err)
		}
		at := q.written*files.unit - base
		q.modified = 0
		if q.lastBase < 0 && at > 0 && q.batch == nil {
			err = writeFillers(f, at)
		}
		if err == nil {
			from := (q.written - q.tailFrom) * files.unit
			_, err = f.WriteAt(q.tail[from:from+n*files.unit], at)
		}
		if err = errors.Join(err, files.put(f)); err != nil {
			return fmt.Errorf("consume queue %s: write %s at %d: %w", q, files.path(q, base), at, err)
		}
		if q.firstBase < 0 {
			q.firstBase = base
		}
		if q.lastBase != base {
			q.lastBase, q.newFile = base, true
		}
		q.written += n
		q.table.unwritten.Add(-n * files.unit)
	}
	return nil
}

// writeFillers fills a file up to the byte at before the queue's first entry.
func writeFillers(f *queueFile, at int64) error {
	const chunk = 1024
	var b []byte
	for range min(chunk, at/entrySize) {
		b = appendEntry(b, Entry{Size: fillerSize})
	}
	for pos := int64(0); pos < at; {
		n := min(int64(len(b)), at-pos)
		if _, err := f.WriteAt(b[:n], pos); err != nil {
			return err
		}
		pos += n
	}
	return nil
}

// sync makes the written entries durable, without holding mu while it waits for the disk.
func (q *ConsumeQueue) sync() error {
	files := q.files
	for {
		q.mu.Lock()
		from, end, newFile := q.synced, q.written, q.newFile
		q.newFile = false
		q.mu.Unlock()
		if from >= end {
			return nil
		}
		base := files.base(from)
		f, err := files.get(q, base, false)
		if err == nil {
			err = errors.Join(f.Sync(), files.put(f))
		}
		if err == nil && newFile {
			err = q.table.fs.SyncDir(files.queueDir(q))
		}
		q.mu.Lock()
		removed := q.removed
		if err == nil {
			q.synced = max(q.synced, min(end, (base+files.size)/files.unit))
		} else {
			q.newFile = q.newFile || newFile
		}
		q.mu.Unlock()
		if err != nil && !removed {
			return fmt.Errorf("consume queue %s: sync %s: %w", q, files.path(q, base), err)
		}
		if removed {
			return nil
		}
	}
}

// trimLocked lets go of entries in memory that files hold, but for the newest keep.
func (q *ConsumeQueue) trimLocked(keep int64) {
	have := int64(len(q.tail)) / q.files.unit
	drop := min(have-keep, q.written-q.tailFrom)
	switch {
	case drop <= 0:
	case drop == have:
		q.tail = nil
		q.tailFrom = q.max.Load()
	case have > 2*keep:
		kept := q.tail[drop*q.files.unit:]
		if cap(q.tail) > 4*len(kept) {
			q.tail = append(make([]byte, 0, 2*len(kept)), kept...)
		} else {
			q.tail = q.tail[:copy(q.tail, kept)]
		}
		q.tailFrom += drop
	}
}

// raiseMin moves the minimum to the first entry whose record lies at or above minPhysical and deletes files below it, but never the last one
// (ConsumeQueue.correctMinOffset, MappedFileQueue.deleteExpiredFileByOffset).
func (q *ConsumeQueue) raiseMin(minPhysical int64) error {
	low, high := q.min.Load(), q.max.Load()
	q.mu.Lock()
	expired := q.lastEnd > 0 && q.lastEnd <= minPhysical
	q.mu.Unlock()
	if expired {
		low = high
	}
	for first := true; low < high; first = false {
		mid := low + (high-low)/2
		if first {
			mid = low // almost always nothing has changed
		}
		var buf [unitMost]byte
		n, _, err := q.read(mid, buf[:q.files.unit], false)
		if err != nil {
			return err
		}
		e := decodeEntry(buf[:], mid)
		switch {
		case n == 0 || e.PhysicalOffset < minPhysical || e.filler():
			low = mid + 1
		default:
			high = mid
		}
	}
	var offset int64
	if q.batch != nil {
		var err error
		if offset, err = q.batchOffset(low); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if low > q.max.Load() || q.removed {
		return nil
	}
	q.min.Store(low)
	if q.batch != nil {
		q.batch.min.Store(offset)
	}
	files := q.files
	for q.firstBase >= 0 && q.firstBase < q.lastBase && q.firstBase < files.base(low) {
		err := files.fs.Remove(files.path(q, q.firstBase))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err = errors.Join(err, files.forget(q, q.firstBase)); err != nil {
			return fmt.Errorf("consume queue %s: %w", q, err)
		}
		q.table.noteRemoved(files.queueDir(q))
		q.firstBase += files.size
		q.synced = max(q.synced, q.firstBase/files.unit)
	}
	return nil
}

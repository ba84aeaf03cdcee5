package store

import (
	"errors"
	"io/fs"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// GetStatus is the outcome of a Get (GetMessageStatus).
type GetStatus uint8

// Outcomes of a Get.
const (
	Found GetStatus = iota
	NoMatchedMessage
	MessageWasRemoving
	OffsetFoundNull
	OffsetOverflowBadly
	OffsetOverflowOne
	OffsetTooSmall
	NoMatchedLogicQueue
	NoMessageInQueue
	// Cold: the request was HotOnly and would have had to wait for the disk. Ours, never answered to a client.
	Cold
	// Unreadable: there are messages that cannot be read now, see GetResult.Err. NextOffset is that of the first one: what is acknowledged
	// is never passed over because the machine has no file descriptors or its disk fails. Ours.
	Unreadable
)

// String is the name that the reference puts into remarks.
func (s GetStatus) String() string {
	switch s {
	case Found:
		return "FOUND"
	case NoMatchedMessage:
		return "NO_MATCHED_MESSAGE"
	case MessageWasRemoving:
		return "MESSAGE_WAS_REMOVING"
	case OffsetFoundNull:
		return "OFFSET_FOUND_NULL"
	case OffsetOverflowBadly:
		return "OFFSET_OVERFLOW_BADLY"
	case OffsetOverflowOne:
		return "OFFSET_OVERFLOW_ONE"
	case OffsetTooSmall:
		return "OFFSET_TOO_SMALL"
	case NoMatchedLogicQueue:
		return "NO_MATCHED_LOGIC_QUEUE"
	case Unreadable:
		return "UNREADABLE"
	case NoMessageInQueue:
		return "NO_MESSAGE_IN_QUEUE"
	case Cold:
		return "COLD"
	}
	return "UNKNOWN"
}

// Filter decides which messages a Get returns.
type Filter interface {
	// MatchTagsCode sees the tags code of the consume-queue entry.
	MatchTagsCode(code int64) bool
	// MatchRecord sees the stored record of an entry whose tags code matched. It must not keep it.
	MatchRecord(record []byte) bool
}

// GetRequest asks for messages of one queue.
type GetRequest struct {
	Topic   string
	QueueID int32
	Offset  int64
	// MaxCount bounds the messages. The limits of the configuration (maxTransfer…, maxFilterMessageSize) hold besides.
	MaxCount int32
	// MaxBytes bounds the bytes; 0: 128 MiB. The first message is returned whatever its size.
	MaxBytes int32
	// Filter is nil when everything matches.
	Filter Filter
	// HotOnly: answer Cold rather than wait for the disk.
	HotOnly bool
}

// GetResult is what a Get found. It belongs to one goroutine.
type GetResult struct {
	Status     GetStatus
	NextOffset int64
	MinOffset  int64
	MaxOffset  int64
	// Count and Bytes are those of the messages found. A record of a batch queue counts with all its messages.
	Count int
	Bytes int
	// Filtered counts messages that were read and did not match.
	Filtered int
	// SuggestSlave: the offset lies so far back that a slave should serve it.
	SuggestSlave bool
	// Err is why Status is Unreadable.
	Err error
	// Parts are the stored records, one behind the other, valid until Release. Neighbours in the log share a part.
	Parts [][]byte

	// touched is the sum of a byte of each page of what was found, so that whoever writes it out need not wait for the disk, and what the disk
	// does not give is noticed before. Nobody wants the sum.
	touched byte

	held   []lease
	cursor cursor // here so that it need not be allocated
	units  *unitCursor
}

// Release gives back what the parts alias. The result can then be used for another Get.
func (r *GetResult) Release() {
	for _, l := range r.held {
		l.release()
	}
	clear(r.held)
	clear(r.Parts)
	r.held, r.Parts = r.held[:0], r.Parts[:0]
}

func (r *GetResult) reset() {
	r.Status, r.NextOffset, r.MinOffset, r.MaxOffset = Found, 0, 0, 0
	r.Count, r.Bytes, r.Filtered, r.SuggestSlave, r.Err = 0, 0, 0, false, nil
	r.Parts, r.held = r.Parts[:0], r.held[:0]
}

// Bounds of a Get.
const (
	maxGetBytes = 128 << 20
	minGetBytes = 100
	// hotWindow: what was written by this process so near to the log's end is taken to be in the page cache.
	hotWindow = 64 << 20
)

// Get reads messages of a queue as a pull does (DefaultMessageStore.getMessage). out is overwritten; Release it after use. With out
// reused nothing is allocated, but to search the files of a batch queue.
//
// Like the reference, which makes a queue when it is asked for it, an unknown queue has no messages: NoMatchedLogicQueue is never
// the outcome.
func (s *Store) Get(r *GetRequest, out *GetResult) {
	out.reset()
	q := s.queues.get(r.Topic, r.QueueID)
	if q == nil {
		out.Status = NoMessageInQueue
		return
	}
	out.MinOffset, out.MaxOffset = q.MinOffset(), q.MaxOffset()
	switch {
	case out.MaxOffset == 0:
		out.Status = NoMessageInQueue
	case r.Offset < out.MinOffset:
		out.Status, out.NextOffset = OffsetTooSmall, out.MinOffset
	case r.Offset == out.MaxOffset:
		out.Status, out.NextOffset = OffsetOverflowOne, r.Offset
	case r.Offset > out.MaxOffset:
		out.Status, out.NextOffset = OffsetOverflowBadly, out.MaxOffset
	default:
		s.read(r, q, out)
	}
}

// read fills out from an offset that exists. A page of the log that cannot be read ends it like another error of the disk.
func (s *Store) read(r *GetRequest, q *ConsumeQueue, out *GetResult) {
	defer vfs.CatchPageFault(vfs.PanicOnFault(), func(addr uintptr) bool {
		for _, l := range out.held {
			if l.v == nil {
				continue
			}
			if at, ok := l.v.holds(addr); ok {
				_ = s.ends(out, false, l.v.unreadable(at))
				return true
			}
		}
		return false
	})
	if q.batch != nil {
		s.collectBatch(r, q, out)
		return
	}
	s.collect(r, q, out)
}

// collect fills out from an offset that exists.
func (s *Store) collect(r *GetRequest, q *ConsumeQueue, out *GetResult) {
	set := s.settings.Load()
	logEnd := s.log.end.Load()
	// The distance is measured between offsets, so the product cannot overflow.
	mostExamined := max(int64(set.conf.MaxFilterMessageSize), int64(r.MaxCount)*entrySize) / entrySize
	out.Status = NoMatchedMessage
	out.NextOffset = r.Offset
	lastPhysical := int64(0)
	c := &out.cursor
	c.start(q, r.Offset, r.HotOnly)
	for out.NextOffset < out.MaxOffset {
		e, more, cold, err := c.advance()
		if err != nil {
			s.warn.report("consume queue cannot be read", err)
			// Only what is gone for good is passed over: other errors may be gone the next time.
			if !errors.Is(err, fs.ErrNotExist) {
				out.unreadable(err)
			} else if out.Count == 0 {
				out.Status = OffsetFoundNull
				out.NextOffset = (s.queues.files.base(c.next) + s.queues.files.size) / entrySize
			}
			break
		}
		if cold && out.Count == 0 {
			out.Status = Cold
		}
		if !more {
			if !cold {
				out.NextOffset = max(out.NextOffset, c.next)
			}
			break
		}
		if e.QueueOffset-r.Offset >= mostExamined || e.QueueOffset >= out.MaxOffset || s.full(r, set, out, e, logEnd) {
			out.NextOffset = e.QueueOffset
			break
		}
		cold, err = s.take(r, set, out, e, logEnd)
		if err != nil {
			out.NextOffset = e.QueueOffset
		}
		if s.ends(out, cold, err) {
			break
		}
		lastPhysical = e.PhysicalOffset
		out.NextOffset = e.QueueOffset + 1
	}
	out.SuggestSlave = logEnd-lastPhysical > set.hotBytes
}

// ends notes what take said of a record, and tells whether a Get ends with it.
func (s *Store) ends(out *GetResult, cold bool, err error) bool {
	if err != nil {
		s.warn.report(logUnreadable, err)
		out.unreadable(err)
		return true
	}
	if cold && out.Count == 0 {
		out.Status = Cold
	}
	return cold
}

// unreadable ends a Get that met an error. What was found before it counts.
func (r *GetResult) unreadable(err error) {
	if r.Count == 0 {
		r.Status, r.Err = Unreadable, err
	}
}

// full tells whether one more message is too much (DefaultMessageStore.isTheBatchFull).
func (s *Store) full(r *GetRequest, set *settings, out *GetResult, e Entry, logEnd int64) bool {
	if out.Count == 0 {
		return false
	}
	most := int64(maxGetBytes)
	if r.MaxBytes > 0 {
		most = min(max(int64(r.MaxBytes), minGetBytes), maxGetBytes)
	}
	c := set.conf
	total := int64(out.Bytes) + int64(e.Size)
	switch {
	case out.Count+1 > int(r.MaxCount), total > most, int64(out.Bytes) >= most:
		return true
	case logEnd-e.PhysicalOffset <= set.hotBytes:
		return total > int64(c.MaxTransferBytesOnMessageInMemory) || out.Count > int(c.MaxTransferCountOnMessageInMemory)-1
	default:
		return total > int64(c.MaxTransferBytesOnMessageInDisk) || out.Count > int(c.MaxTransferCountOnMessageInDisk)-1
	}
}

// take adds the record of e to out if it matches. cold tells that the disk would have had to be waited for,
// an error that it cannot be read now.
func (s *Store) take(r *GetRequest, set *settings, out *GetResult, e Entry, logEnd int64) (cold bool, err error) {
	ext := isExtAddress(e.TagsCode)
	if r.Filter != nil && !ext && !r.Filter.MatchTagsCode(e.TagsCode) {
		return false, nil
	}
	file := s.files.find(e.PhysicalOffset)
	if file == nil || e.end() > logEnd || e.end() > file.end() {
		if out.Count == 0 {
			out.Status = MessageWasRemoving
		}
		return false, nil
	}
	v, err := out.viewOf(file)
	if errors.Is(err, fs.ErrNotExist) {
		if out.Count == 0 {
			out.Status = MessageWasRemoving
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if r.HotOnly && !s.resident(v, file, e) {
		return true, nil
	}
	pos := e.PhysicalOffset - file.base
	if v.data == nil {
		buf := getBuffer(int(e.Size))
		if _, err := v.f.ReadAt(*buf, pos); err != nil {
			putBuffer(buf)
			return false, err
		}
		out.held = append(out.held, lease{buf: buf})
		out.add(s, r, set, e, *buf, -1, ext)
		return false, nil
	}
	out.add(s, r, set, e, v.data[pos:pos+int64(e.Size)], pos, ext)
	return false, nil
}

// add appends a record to the parts if it is what the entry says and matches. pos is its place in a mapping, -1 in a buffer.
func (r *GetResult) add(s *Store, req *GetRequest, set *settings, e Entry, record []byte, pos int64, ext bool) {
	if !req.belongs(record, e.PhysicalOffset) {
		s.warnDamaged(req, e)
		return
	}
	if req.Filter != nil {
		if ext && !req.Filter.MatchTagsCode(tagsCodeOf(record, set)) || !req.Filter.MatchRecord(record) {
			r.Filtered++
			return
		}
	}
	if pos >= 0 {
		r.touched += record[len(record)-1]
		if len(record) > page {
			r.touched += touch(record)
		}
	}
	r.Status = Found
	r.Count++
	r.Bytes += len(record)
	if n := len(r.Parts); pos >= 0 && n > 0 {
		last := r.Parts[n-1]
		// Neighbours in one mapping: the part before grows by this record.
		if cap(last) > len(last) && &last[:len(last)+1][len(last)] == &record[0] {
			r.Parts[n-1] = last[:len(last)+len(record)]
			return
		}
	}
	r.Parts = append(r.Parts, record)
}

// page is how long a page of a mapping is at least.
const page = 4096

// touch reads a byte of each page of a record.
func touch(record []byte) (sum byte) {
	for i := page; i < len(record); i += page {
		sum += record[i]
	}
	return sum
}

// viewOf returns the file's view, held by the result.
func (r *GetResult) viewOf(file *logFile) (*view, error) {
	current := file.current.Load()
	for i := len(r.held) - 1; i >= 0; i-- {
		if r.held[i].v != nil && r.held[i].v == current {
			return current, nil
		}
	}
	v, err := file.view()
	if err != nil {
		return nil, err
	}
	r.held = append(r.held, lease{v: v})
	return v, nil
}

// resident tells whether the record of e is surely in memory.
func (s *Store) resident(v *view, file *logFile, e Entry) bool {
	if e.PhysicalOffset >= max(s.log.end.Load()-hotWindow, s.startEnd) {
		return true
	}
	if v.data == nil {
		return false
	}
	pos := e.PhysicalOffset - file.base
	return resident(v.data, int(pos), int(pos+int64(e.Size)))
}

// warnDamaged names a record that is not what its entry says: readers get what is behind it.
func (s *Store) warnDamaged(r *GetRequest, e Entry) {
	const text = "a damaged record was left out, rocketd store check tells more"
	if !s.warn.due(text) {
		return
	}
	base := e.PhysicalOffset - e.PhysicalOffset%s.files.size
	s.logger.WithField("file", s.files.pathOf(base)).WithField("offset", e.PhysicalOffset-base).
		WithField("topic", r.Topic).WithField("queue", r.QueueID).WithField("queueOffset", e.QueueOffset).Warn(text)
}

// belongs tells whether b is a whole record that claims to be at an offset of the log and in the wanted queue. The body's checksum is
// the reader's business.
func (r *GetRequest) belongs(b []byte, physicalOffset int64) bool {
	var m message.Record
	size, err := message.DecodeRecord(b, &m, false)
	if err != nil || size != len(b) || m.PhysicalOffset != physicalOffset {
		return false
	}
	return m.QueueID == r.QueueID && m.Topic == r.Topic || message.IsLMQ(r.Topic)
}

// tagsCodeOf computes the tags code of a record whose entry holds an address instead.
func tagsCodeOf(record []byte, set *settings) int64 {
	var r message.Record
	if _, err := message.DecodeRecord(record, &r, false); err != nil {
		return 0
	}
	return set.recordTagsCode(&r)
}

package store

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
	// Count and Bytes are those of the messages found.
	Count int
	Bytes int
	// Filtered counts messages that were read and did not match.
	Filtered int
	// SuggestSlave: the offset lies so far back that a slave should serve it.
	SuggestSlave bool
	// Parts are the stored records, one behind the other, valid until Release. Neighbours in the log share a part.
	Parts [][]byte

	held []*mapping
}

// Release gives back what the parts alias. The result can then be used for another Get.
func (r *GetResult) Release() {}

// Slice is a piece of the log, valid until Release.
type Slice struct {
	b   []byte
	off int64
}

// Bytes is the record. It must not be changed, and not be used after Release.
func (s *Slice) Bytes() []byte { return s.b }

// PhysicalOffset is where the record begins.
func (s *Slice) PhysicalOffset() int64 { return s.off }

// Release gives the bytes back. It is called once.
func (s *Slice) Release() {}

type mapping struct{}

// Arrival tells that a message became visible in its queue.
type Arrival struct {
	Topic          string
	QueueID        int32
	QueueOffset    int64
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
	StoreTimestamp int64 // ms

	record []byte
}

// Record is the stored record, valid during the callback; nil if it cannot be read.
func (a *Arrival) Record() []byte { return a.record }

// Entry is one entry of a consume queue.
type Entry struct {
	QueueOffset    int64
	PhysicalOffset int64
	TagsCode       int64
	Size           int32
}

// Boundary chooses between messages with the wanted store time (BoundaryType).
type Boundary uint8

// Boundaries.
const (
	// Lower: the first message stored at or after the time.
	Lower Boundary = iota
	// Upper: the last message stored at or before the time.
	Upper
)

// ConsumeQueue is one queue of a topic. Its methods are safe for concurrent use.
type ConsumeQueue struct {
	topic string
	id    int32
}

// Topic is the topic's name.
func (q *ConsumeQueue) Topic() string { return q.topic }

// QueueID is the queue's number.
func (q *ConsumeQueue) QueueID() int32 { return q.id }

// MinOffset is the first offset whose record is still in the log, MaxOffset when there is none.
func (q *ConsumeQueue) MinOffset() int64 { return 0 }

// MaxOffset is the offset of the next message that becomes visible.
func (q *ConsumeQueue) MaxOffset() int64 { return 0 }

// Entry reads one entry; ok is false outside [MinOffset, MaxOffset) and for a message that was lost.
func (q *ConsumeQueue) Entry(offset int64) (e Entry, ok bool) { return Entry{}, false }

// Range calls fn for the entries from an offset on, until fn returns false or the queue ends; lost messages are left out.
func (q *ConsumeQueue) Range(from int64, fn func(Entry) bool) error { return nil }

// OffsetByTime finds the offset for a store time, ms: with Lower the first message at or after it, MaxOffset when there is none; with Upper
// the last one at or before it, MinOffset when there is none.
func (q *ConsumeQueue) OffsetByTime(ms int64, b Boundary) int64 { return 0 }

// StoreTime is the store time, ms, of a message, -1 when it is not there.
func (q *ConsumeQueue) StoreTime(offset int64) int64 { return -1 }

// Severity grades a problem.
type Severity string

// Severities.
const (
	// Warning: odd, harmless or healed by the next start.
	Warning Severity = "warning"
	// Damage: data or index do not fit; messages may be missing.
	Damage Severity = "damage"
)

// Problem is something wrong with a file.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Offset   int64    `json:"offset"` // in the file; -1: the whole file
	Text     string   `json:"text"`
}

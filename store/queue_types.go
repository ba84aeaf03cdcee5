package store

import "encoding/binary"

// entrySize is the size of a consume-queue entry.
const entrySize = 20

// maxQueueOffset is the largest offset taken from a record: its place in the queue can still be computed.
const maxQueueOffset = 1 << 58

// fillerSize marks an entry before the first one of a queue that does not begin at 0 (ConsumeQueue.fillPreBlank).
const fillerSize = 0x7FFFFFFF

// Entry is one entry of a consume queue. With a fifth field the compiler would keep it in memory, which pulls would feel.
type Entry struct {
	QueueOffset    int64
	PhysicalOffset int64
	TagsCode       int64
	Size           int32
}

func appendEntry(dst []byte, e Entry) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(e.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(e.Size))
	return be.AppendUint64(dst, uint64(e.TagsCode))
}

// decodeEntry reads the entry at the start of b, which holds entrySize bytes.
func decodeEntry(b []byte, queueOffset int64) Entry {
	_ = b[entrySize-1]
	be := binary.BigEndian
	return Entry{
		QueueOffset:    queueOffset,
		PhysicalOffset: int64(be.Uint64(b)),
		Size:           int32(be.Uint32(b[8:])),
		TagsCode:       int64(be.Uint64(b[12:])),
	}
}

// written tells whether an entry was ever written: the reference takes the first one that was not for the end of the queue.
func (e Entry) written() bool { return e.PhysicalOffset >= 0 && e.Size > 0 }

// filler tells whether the entry only fills the space before the first one.
func (e Entry) filler() bool { return e.Size == fillerSize && e.PhysicalOffset == 0 }

// end is where the entry's record ends.
func (e Entry) end() int64 { return e.PhysicalOffset + int64(e.Size) }

// maxExtAddress is the largest value that is an address into consumequeue_ext and not a tags code
// (ConsumeQueueExt.isExtAddr).
const maxExtAddress = -2147483649

// isExtAddress tells whether a tags code is in truth an address into consumequeue_ext.
func isExtAddress(code int64) bool { return code <= maxExtAddress }

// Boundary chooses between messages with the wanted store time (BoundaryType).
type Boundary uint8

// Boundaries.
const (
	// Lower: the first message stored at or after the time.
	Lower Boundary = iota
	// Upper: the last message stored at or before the time.
	Upper
)

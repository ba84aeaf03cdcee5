package timer

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes and marks of the timer log (TimerLog, TimerMessageStore).
const (
	unitSize  = 52
	blankSize = 16
	// blankMagic fills the end of a file.
	blankMagic uint32 = 0xCBD43194

	magicDefault int32 = 1
	magicRoll    int32 = 2
	magicDelete  int32 = 4
	magicMask    int32 = 0xF

	noUnit int64 = -1
)

// Positions in a unit.
const (
	prevPosition     = 4
	magicPosition    = 12
	writtenPosition  = 16
	delayPosition    = 24
	offsetPosition   = 28
	sizePosition     = 36
	hashPosition     = 40
	reservedPosition = 44
)

// Ours, in the upper half of the reserved field; the lower half is a CRC-32C of the unit before it. The reference writes zero and never
// reads it.
const (
	markLive uint32 = 0x524B4401 // a timer, a roll or a cancel
	markDead uint32 = 0x524B4402 // delivered or moved: the unit stands for nothing any more
	markSeal uint32 = 0x524B4403 // stands for nothing and is out of order: ends the log at a stop, or takes the place of a damaged unit
	// markAgain is a live unit of a message that was enqueued once more after others: it is out of the order of the system topic.
	markAgain uint32 = 0x524B4404
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a table

// unit is one record of the timer log.
type unit struct {
	prev    int64 // position of the unit before it in its slot, or noUnit
	magic   int32
	written int64 // when it was written, ms
	out     int64 // written + delay: the moment, ms, after which the message is due
	offset  int64 // physical offset of the message's record in the system topic
	size    int32 // of that record
	hash    int32 // Java hash of the real topic
	mark    uint32
}

func (u *unit) rolls() bool   { return u.magic&magicRoll != 0 }
func (u *unit) deletes() bool { return u.magic&magicDelete != 0 }

// cancels: the unit is a cancel for its own slot. A cancel that rolls is on its way to another one (TimerMessageStore.dequeue).
func (u *unit) cancels() bool { return u.deletes() && !u.rolls() }

// counts is what the unit adds to the number of timers.
func (u *unit) counts() int64 { return countOf(u.magic) }

// countOf is 1 for a timer; a cancel takes one off.
func countOf(magic int32) int64 {
	if magic&magicDelete != 0 {
		return -1
	}
	return 1
}

// ours: the unit was written here, so that out is exact.
func (u *unit) ours() bool { return u.mark != 0 }

// dead: the unit stands for nothing.
func (u *unit) dead() bool { return u.mark == markDead || u.mark == markSeal }

// inOrder: the units before are of messages before its own, those behind of messages behind.
func (u *unit) inOrder() bool { return u.mark != markSeal && u.mark != markAgain }

// filler: the unit takes the place of a damaged one.
func (u *unit) filler() bool { return u.mark == markSeal && u.size == fillerSize }

// fillerSize is the size of no record.
const fillerSize = 1

// kill declares the unit dead. To the reference it is a cancel of nobody then.
func (u *unit) kill() {
	u.magic = magicDelete
	if u.inOrder() {
		u.mark = markDead
	} else {
		u.mark = markSeal
	}
}

// maxUnitDelay is the longest time the format can hold between writing and out, ms.
const maxUnitDelay = 1<<31 - 1

func (u *unit) put(b []byte) {
	be := binary.BigEndian
	_ = b[unitSize-1]
	be.PutUint32(b, unitSize)
	be.PutUint64(b[prevPosition:], uint64(u.prev))
	be.PutUint32(b[magicPosition:], uint32(u.magic))
	be.PutUint64(b[writtenPosition:], uint64(u.written))
	be.PutUint32(b[delayPosition:], uint32(int32(u.out-u.written)))
	be.PutUint64(b[offsetPosition:], uint64(u.offset))
	be.PutUint32(b[sizePosition:], uint32(u.size))
	be.PutUint32(b[hashPosition:], uint32(u.hash))
	if u.mark == 0 {
		be.PutUint64(b[reservedPosition:], 0)
		return
	}
	be.PutUint32(b[reservedPosition:], u.mark)
	be.PutUint32(b[reservedPosition+4:], crc32.Checksum(b[:reservedPosition+4], castagnoli))
}

// parseUnit reads the unit at b, which holds unitSize bytes and lies at position pos of the log. ok is false for anything that is no
// unit: of ours one that fails its checksum, of the reference's one that cannot be.
func parseUnit(b []byte, pos int64) (u unit, ok bool) {
	be := binary.BigEndian
	_ = b[unitSize-1]
	if be.Uint32(b) != unitSize {
		return u, false
	}
	u.prev = int64(be.Uint64(b[prevPosition:]))
	u.magic = int32(be.Uint32(b[magicPosition:]))
	u.written = int64(be.Uint64(b[writtenPosition:]))
	delay := int64(int32(be.Uint32(b[delayPosition:])))
	u.out = u.written + delay
	u.offset = int64(be.Uint64(b[offsetPosition:]))
	u.size = int32(be.Uint32(b[sizePosition:]))
	u.hash = int32(be.Uint32(b[hashPosition:]))
	u.mark = be.Uint32(b[reservedPosition:])
	sum := be.Uint32(b[reservedPosition+4:])
	if u.magic|magicMask != magicMask || u.magic == 0 || u.prev < noUnit || u.prev >= pos ||
		u.offset < 0 || u.size <= 0 || u.out < 0 || u.written < 0 {
		return u, false
	}
	switch u.mark {
	case 0:
		return u, sum == 0
	case markLive, markDead, markSeal, markAgain:
		return u, sum == crc32.Checksum(b[:reservedPosition+4], castagnoli)
	}
	return u, false
}

// putBlank writes the filler of left bytes at the end of a file.
func putBlank(b []byte, left int64) {
	be := binary.BigEndian
	be.PutUint32(b, uint32(left))
	be.PutUint64(b[4:], 0)
	be.PutUint32(b[12:], blankMagic)
}

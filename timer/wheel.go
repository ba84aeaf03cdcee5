package timer

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// Sizes of the wheel (TimerWheel, TimerMessageStore).
const (
	slotSize  = 32
	pageSize  = 4096
	pageSlots = pageSize / slotSize
	// wheelSlots is two turns of seven days of seconds.
	wheelSlots = 2 * 7 * 86400
	// blankSlots are kept free between what is due and what comes, of half the slots.
	blankSlots = 60
)

// slot is the head of the chain of units that are due in the same step of the wheel.
type slot struct {
	key         int64 // out / precision of its units
	first, last int64 // positions of units; last is the head of the chain
	num         int32 // timers minus cancels
	magic       int32 // unused, kept
}

// used tells that the slot holds units. The zero slot is blank.
func (s slot) used() bool { return s.key > 0 || s.last > 0 || s.first > 0 || s.num != 0 }

// page is a resident piece of the wheel file.
type page struct {
	data  [pageSize]byte
	used  int  // used slots
	dirty bool // differs from the file
}

// wheel is the timer wheel. Pages without a used slot are not in memory, so that it costs as many pages as there are stretches of time with
// timers. Its methods need mu held.
type wheel struct {
	mu        sync.Mutex
	precision int64   // ms per slot
	pages     []*page // guarded by mu; nil: blank
}

func newWheel(slots, precision int64) *wheel {
	n := (slots*slotSize + pageSize - 1) / pageSize
	return &wheel{precision: precision, pages: make([]*page, n)}
}

// slots is the number of slots.
func (w *wheel) slots() int64 { return int64(len(w.pages)) * pageSlots }

// key is the slot a unit belongs to.
func (w *wheel) key(out int64) int64 { return out / w.precision }

// start is the least out of a slot.
func (w *wheel) start(key int64) int64 { return key * w.precision }

// raw reads the slot at the place of key, whatever key it has.
func (w *wheel) raw(key int64) slot {
	i := key % w.slots()
	p := w.pages[i/pageSlots]
	if p == nil {
		return slot{}
	}
	return decodeSlot(p.data[i%pageSlots*slotSize:])
}

// get reads a slot; ok is false when it is blank or stands for another turn.
func (w *wheel) get(key int64) (s slot, ok bool) {
	s = w.raw(key)
	return s, s.key == key && s.used()
}

// put writes a slot to its place; the zero slot, with the key given apart, blanks it.
func (w *wheel) put(key int64, s slot) {
	i := key % w.slots()
	p := w.pages[i/pageSlots]
	if p == nil {
		if !s.used() {
			return
		}
		p = &page{}
		w.pages[i/pageSlots] = p
	}
	b := p.data[i%pageSlots*slotSize:]
	if decodeSlot(b).used() {
		p.used--
	}
	if s.used() {
		p.used++
	}
	encodeSlot(b, s)
	p.dirty = true
}

// clear blanks a slot.
func (w *wheel) clear(key int64) {
	if s := w.raw(key); s.key == key {
		w.put(key, slot{})
	}
}

// next finds the first used slot with a key in [from, to].
func (w *wheel) next(from, to int64) (key int64, ok bool) {
	if to-from >= w.slots() {
		return w.lowest(from, to)
	}
	for key = from; key <= to; {
		i := key % w.slots()
		p := w.pages[i/pageSlots]
		if p == nil || p.used == 0 {
			key += pageSlots - i%pageSlots
			continue
		}
		if s := decodeSlot(p.data[i%pageSlots*slotSize:]); s.key == key && s.used() {
			return key, true
		}
		key++
	}
	return 0, false
}

// lowest is next for a stretch longer than the wheel.
func (w *wheel) lowest(from, to int64) (key int64, ok bool) {
	w.each(func(s slot) {
		if s.key >= from && s.key <= to && (!ok || s.key < key) {
			key, ok = s.key, true
		}
	})
	return key, ok
}

// each calls fn for every used slot, in no order of time.
func (w *wheel) each(fn func(slot)) {
	for _, p := range w.pages {
		if p == nil || p.used == 0 {
			continue
		}
		for i := range pageSlots {
			if s := decodeSlot(p.data[i*slotSize:]); s.used() {
				fn(s)
			}
		}
	}
}

// link adds a unit at pos to its slot: the reference's putSlot in doEnqueue.
func (w *wheel) link(u *unit, pos int64) {
	key := w.key(u.out)
	s, ok := w.get(key)
	if !ok {
		s = slot{key: key, first: pos}
	}
	s.last = pos
	s.num += int32(u.counts())
	w.put(key, s)
}

// add changes the number of timers of a slot.
func (w *wheel) add(key int64, n int32) {
	if s, ok := w.get(key); ok {
		s.num += n
		w.put(key, s)
	}
}

// head is the position of the newest unit of a slot, or noUnit.
func (w *wheel) head(key int64) int64 {
	if s, ok := w.get(key); ok {
		return s.last
	}
	return noUnit
}

func (w *wheel) String() string {
	return fmt.Sprintf("wheel of %d slots of %d ms", w.slots(), w.precision)
}

func decodeSlot(b []byte) slot {
	be := binary.BigEndian
	_ = b[slotSize-1]
	return slot{
		key:   int64(be.Uint64(b)),
		first: int64(be.Uint64(b[8:])),
		last:  int64(be.Uint64(b[16:])),
		num:   int32(be.Uint32(b[24:])),
		magic: int32(be.Uint32(b[28:])),
	}
}

func encodeSlot(b []byte, s slot) {
	be := binary.BigEndian
	_ = b[slotSize-1]
	be.PutUint64(b, uint64(s.key))
	be.PutUint64(b[8:], uint64(s.first))
	be.PutUint64(b[16:], uint64(s.last))
	be.PutUint32(b[24:], uint32(s.num))
	be.PutUint32(b[28:], uint32(s.magic))
}

package timer

import (
	"math"
	"slices"
)

// never is later than everything.
const never = math.MaxInt64

// entry is a timer of an open slot.
type entry struct {
	mark          // its place in the order of delivery
	offset  int64 // physical offset of the record
	written int64 // when its unit was written, ms
	due     int64 // when it is wanted, ms; out + 1 unless it came too late
	size    int32 // of the record
	magic   int32 // of the unit
	hash    int32 // of the real topic
	late    bool  // it was due when it was enqueued
}

func entryOf(u *unit, pos, due int64) entry {
	return entry{mark: mark{u.out, pos}, offset: u.offset, written: u.written, due: due, size: u.size, magic: u.magic, hash: u.hash, late: u.out < u.written}
}

// counts is what the entry adds to the number of timers.
func (e *entry) counts() int64 { return countOf(e.magic) }

// window is the open slots: those before until, and what is known of the one being opened. It belongs to the worker.
type window struct {
	timers  calendar
	until   int64 // slots before are open
	opening *opening
	partial *partial
	cancels cancels
	spare   []entry // an empty array for opening.found
}

// partial is the last open slot when it has more timers than memory may hold: those up to loaded are in the calendar.
type partial struct {
	key     int64
	loaded  mark
	waiting int // of those in the calendar
	seen    seen
}

// seen is the records of the timers of loaded's millisecond that were loaded, where there may be two units of one message.
type seen map[int64]struct{}

// opening is a slot whose chain is being read.
type opening struct {
	key    int64
	pos    int64 // of the next unit to read, or noUnit
	after  mark  // what is before or at it was loaded before
	again  bool  // the slot is partial and read again
	found  []entry
	limit  int  // of found
	over   bool // more than limit were found: found are the first ones, as a max-heap
	broken bool // the chain does not hold together
	seen   seen // of partial
}

// shrink keeps the first n timers and closes the slots behind them again.
func (w *window) shrink(n int, precision int64) {
	if w.timers.len() <= n || n < 1 {
		return
	}
	var kept calendar
	var last mark
	for range n {
		e := w.timers.pop()
		last = e.mark
		kept.push(e)
	}
	next := w.timers.first()
	w.timers = kept
	key := last.out / precision
	w.opening = nil
	if w.partial != nil && w.partial.key > key {
		w.partial = nil
	}
	if next.out/precision == key || w.partial != nil {
		w.partial = &partial{key: key, loaded: last}
		w.timers.each(func(e *entry) {
			if e.out/precision == key {
				w.partial.waiting++
			}
		})
	}
	w.until = key + 1
}

// reset closes all slots; those from key on are to be opened.
func (w *window) reset(key int64) {
	w.timers.clear(keepTimers)
	w.until = key
	w.opening, w.partial = nil, nil
	clear(w.cancels)
}

// admit takes in what was just enqueued, if its slot is open.
func (w *window) admit(key int64, e entry, r *request) {
	opening := w.opening != nil && w.opening.key == key
	open := opening || key < w.until
	switch {
	case r.u.cancels():
		if open || e.late {
			w.cancels.add(key, r.key, r.topic, r.pos)
		}
	case !open:
	case opening && w.opening.again && !w.opening.after.before(e.mark):
		w.timers.push(e) // it belongs to what was loaded before
	case opening:
		w.opening.add(e)
	case w.partial != nil && w.partial.key == key:
		if !w.partial.loaded.before(e.mark) {
			w.partial.waiting++
			w.timers.push(e)
		}
	default:
		w.timers.push(e)
	}
}

// bound is where the order is not known any more: everything before it that waits is in the calendar.
func (w *window) bound(precision int64) mark {
	b := mark{w.until * precision, 0}
	if w.partial != nil {
		b = earlier(b, mark{w.partial.loaded.out, w.partial.loaded.pos + 1})
	}
	return b
}

// nextDue is when the first waiting timer in memory is due.
func (w *window) nextDue() int64 {
	if w.timers.len() == 0 {
		return never
	}
	return w.timers.first().out + 1
}

// siftDown moves h[i] down to its place in a heap.
func siftDown[E any](h []E, i int, before func(a, b *E) bool) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && before(&h[right], &h[child]) {
			child = right
		}
		if !before(&h[child], &h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

func after(a, b *entry) bool { return b.mark.before(a.mark) }

// add takes in a timer of the slot, or not when it is behind the limit that memory sets.
func (o *opening) add(e entry) {
	if o.again && !o.after.before(e.mark) {
		return
	}
	if len(o.found) < o.limit && !o.over {
		o.found = append(o.found, e)
		return
	}
	if !o.over {
		o.over = true
		for i := len(o.found)/2 - 1; i >= 0; i-- {
			siftDown(o.found, i, after)
		}
	}
	if e.mark.before(o.found[0].mark) {
		o.found[0] = e
		siftDown(o.found, 0, after)
	}
}

// last is the last one of what was found.
func (o *opening) last() mark {
	last := o.found[0].mark
	for i := range o.found {
		if last.before(o.found[i].mark) {
			last = o.found[i].mark
		}
	}
	return last
}

// note remembers what was found in the millisecond of the last one, at most maxOpen records.
func (o *opening) note(last mark) seen {
	s := make(seen)
	if last.out == o.after.out && o.seen != nil {
		s = o.seen
	}
	for i := range o.found {
		if o.found[i].out == last.out && len(s) < maxOpen {
			s[o.found[i].offset] = struct{}{}
		}
	}
	return s
}

// dedupe drops all but the first of entries that stand for the same record, and returns what it dropped.
func (o *opening) dedupe() (dropped []entry) {
	slices.SortFunc(o.found, func(a, b entry) int {
		if a.offset != b.offset {
			return compare(a.offset, b.offset)
		}
		return compare(a.pos, b.pos)
	})
	kept := o.found[:0]
	for _, e := range o.found {
		_, loaded := o.seen[e.offset]
		if n := len(kept); n > 0 && kept[n-1].offset == e.offset || loaded && e.out == o.after.out {
			dropped = append(dropped, e)
			continue
		}
		kept = append(kept, e)
	}
	o.found = kept
	return dropped
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

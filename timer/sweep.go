package timer

import (
	"errors"
	"slices"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// The sweep goes along the timer log from its oldest unit that is still needed. It tells which files can go, from where the commit log is
// needed, and rolls timers forward whose record would be removed before they are due: their message is put into the system topic once more
// and the old unit declared dead.

const (
	// rollBatch bounds the timers rolled forward at once.
	rollBatch = 64
	// keepShare of the time the commit log is kept may pass before a timer is rolled forward.
	keepShareNum, keepShareDen = 2, 3
	// rollMargin is how far ahead a timer must be for it to be worth rolling.
	rollMargin = 60_000 // ms
)

// sweeper belongs to the worker.
type sweeper struct {
	reader *unitReader
	at     int64 // units before are done
	rolled int64 // units before were looked at for rolling; at least at
	next   int64 // when to look again, ms
	moved  map[int64]struct{}
	graves []grave
}

// grave is units whose messages were put into the system topic again: dead once the commit log is on disk up to end.
type grave struct {
	end       int64
	positions []int64
}

func (t *Timer) startSweeper(r *recovery) {
	s := &t.sweeper
	s.reader = newUnitReader(t.log)
	s.moved = make(map[int64]struct{})
	s.at = t.log.begin()
	if r.trusted && !r.lost {
		s.at = max(s.at, min(r.cp.oldest, t.log.end))
	}
	s.rolled = s.at
	t.oldest.Store(s.at)
}

// sweep looks at a piece of the log. It tells whether to go on at once.
func (t *Timer) sweep(now int64) bool {
	s := &t.sweeper
	if now < s.next && s.next <= now+sweepPause.Milliseconds() {
		return false
	}
	if err := t.bury(); err != nil {
		t.warn(now, "the timer log cannot be written, it will be tried again", err, nil)
	}
	t.o.Store.Rest(false)
	s.reader.reset()
	more, err := t.sweepDone(now)
	if err == nil && !more {
		more, err = t.rollForward(now)
	}
	if err != nil {
		t.warn(now, "the timer log cannot be swept, it will be tried again", err, nil)
	}
	t.oldest.Store(s.at)
	t.keep.Store(t.keepNow())
	if err != nil || !more {
		s.next = now + sweepPause.Milliseconds()
		return false
	}
	return true
}

// sweepDone moves at to the first unit that is not done.
func (t *Timer) sweepDone(now int64) (more bool, err error) {
	s := &t.sweeper
	for range sweepBudget {
		if s.at >= t.log.end {
			return false, nil
		}
		u, ok, err := s.reader.unit(s.at)
		if err != nil {
			return false, err
		}
		if !ok {
			if err := t.mend(now, func(*unit, int64) error { return nil }); err != nil {
				return false, err
			}
			s.reader.reset()
			continue
		}
		if !t.over(&u, s.at, &t.durable) {
			return false, nil
		}
		s.at = t.log.next(s.at)
		s.rolled = max(s.rolled, s.at)
	}
	return true, nil
}

// over tells whether a unit is needed no more. A cancel, and what the reference has written, are needed as long as their slot.
func (t *Timer) over(u *unit, pos int64, p *progress) bool {
	switch {
	case u.dead():
		return true
	case u.cancels() || !u.ours():
		return p.slotDone(t.wheel.start(t.wheel.key(u.out)+1), pos)
	}
	return p.done(u.out, pos)
}

// rollForward puts the messages of old units into the system topic again.
func (t *Timer) rollForward(now int64) (more bool, err error) {
	s := &t.sweeper
	before := now - t.limits.Load().keepMs*keepShareNum/keepShareDen
	below := t.rollTo.Load()
	var positions []int64
	b := &t.put
	defer b.clear()
	n := 0
	for ; n < sweepBudget && len(b.messages) < rollBatch && b.bytes < deliverBytes && s.rolled < t.log.end; n++ {
		u, ok, err := s.reader.unit(s.rolled)
		if err != nil || !ok {
			return false, err
		}
		if u.written >= before && u.offset >= below {
			break
		}
		if t.worthRolling(&u, s.rolled, now) {
			if err := t.prepareRoll(&u, s.rolled, now); err != nil && !useless(err) && !errors.Is(err, errMismatch) {
				return false, err
			} else if err == nil {
				positions = append(positions, s.rolled)
			}
		}
		s.rolled = t.log.next(s.rolled)
	}
	if len(b.messages) == 0 {
		return n == sweepBudget, nil
	}
	stored, end, err := t.o.Store.Put(b.messages)
	if err != nil && errors.Is(err, relay.ErrRefused) {
		t.skip(now, b.taken[b.sources[stored]].offset, err)
		stored++
		err = nil
	}
	for _, pos := range positions[:min(stored, len(positions))] {
		s.moved[pos] = struct{}{}
	}
	if stored < len(positions) {
		s.rolled = positions[stored]
	}
	t.countDelivered(min(stored, len(b.sources)))
	if stored > 0 {
		t.putEnd = max(t.putEnd, end)
		s.graves = append(s.graves, grave{end, positions[:stored]})
	}
	return err == nil, err
}

// worthRolling tells whether a unit waits for long enough and is in no open slot.
func (t *Timer) worthRolling(u *unit, pos, now int64) bool {
	_, moved := t.sweeper.moved[pos]
	return !moved && !t.over(u, pos, &t.safe) && u.out > now+rollMargin &&
		t.wheel.key(u.out) >= t.window.until && (t.window.opening == nil || t.window.opening.key != t.wheel.key(u.out))
}

// prepareRoll makes the message to put for a unit, as if it had come to a roll.
func (t *Timer) prepareRoll(u *unit, pos, now int64) error {
	e := entryOf(u, pos, u.out+1)
	e.magic |= magicRoll
	if err := t.prepare(e, now); err != nil {
		return err
	}
	t.put.taken = append(t.put.taken, e)
	return nil
}

// bury writes dead those units whose messages are on disk elsewhere.
func (t *Timer) bury() error {
	s := &t.sweeper
	flushed := t.o.Store.FlushedOffset()
	for len(s.graves) > 0 && s.graves[0].end <= flushed {
		if err := t.killAll(s.reader, s.graves[0].positions); err != nil {
			return err
		}
		for _, pos := range s.graves[0].positions {
			delete(s.moved, pos)
		}
		s.graves = s.graves[1:]
	}
	return nil
}

// killAll declares the units at positions, in rising order, dead. For the reference they are cancels of nobody then.
func (t *Timer) killAll(r *unitReader, positions []int64) error {
	var block []byte
	var at int64
	r.reset()
	defer r.reset()
	for _, pos := range positions {
		u, ok, err := r.unit(pos)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if pos != at+int64(len(block)) || len(block) >= largeBlock*unitSize {
			if err := t.log.writeAt(block, at); err != nil {
				return err
			}
			at, block = pos, block[:0]
		}
		u.kill()
		block = slices.Grow(block, unitSize)[:len(block)+unitSize]
		u.put(block[len(block)-unitSize:])
	}
	return t.log.writeAt(block, at)
}

// keepNow is the physical offset of the oldest record that is needed.
func (t *Timer) keepNow() int64 {
	from := int64(never)
	if q := t.o.Store.Queue(message.TopicTimer, 0); q != nil {
		if entries, err := t.put.entries(q, t.queueOffset, 1); err == nil && len(entries) > 0 {
			from = entries[0].PhysicalOffset
		}
	}
	if at := t.sweeper.at; at < t.log.end {
		if u, ok, err := t.sweeper.reader.unit(at); err == nil && ok {
			from = min(from, u.offset)
			if at >= t.againTo && u.ours() && u.inOrder() {
				return from // all that waits stands behind it, and so does its record
			}
		}
	}
	t.window.timers.each(func(e *entry) { from = min(from, e.offset) })
	return from
}

// KeepFrom is the physical offset of the oldest record that is still to be delivered, math.MaxInt64 when nothing waits. It may be up to a
// second old.
func (t *Timer) KeepFrom() int64 { return t.keep.Load() }

// RollBefore asks that timers whose record lies before a physical offset be rolled forward, because the commit log is to begin there.
func (t *Timer) RollBefore(physicalOffset int64) {
	t.rollTo.Store(physicalOffset)
	t.signal()
}

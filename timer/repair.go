package timer

import (
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
)

// gather reads the units of a slot out of the whole log, because its chain is broken, and repairs the log where it is damaged.
func (t *Timer) gather(o *opening, now int64) error {
	o.found, o.over = o.found[:0], false
	r := newUnitReader(t.log)
	var damaged []int64
	for pos := t.sweeper.at; pos < t.log.end; pos = t.log.next(pos) {
		u, ok, err := r.unit(pos)
		switch {
		case err != nil:
			return err
		case !ok:
			damaged = append(damaged, pos)
		case t.wheel.key(u.out) == o.key:
			if _, err := t.take(o, &u, pos); err != nil {
				return err
			}
		}
	}
	o.pos = noUnit
	for _, pos := range damaged {
		if err := t.repair(r, pos, now); err != nil {
			return err
		}
	}
	return nil
}

// repair replaces what is no unit at pos by a dead one and enqueues again the messages of the system topic that may have been there: those
// between the messages of the units before and behind.
func (t *Timer) repair(r *unitReader, pos, now int64) error {
	r.reset()
	if _, ok, err := r.unit(pos); err != nil || ok {
		return err // repaired together with another one
	}
	first, prev := t.neighbour(r, pos, t.log.before)
	last, next := t.neighbour(r, pos, t.log.next)
	from, err := t.queueOffsetOf(prev, 0)
	if err != nil {
		return err
	}
	to, err := t.queueOffsetOf(next, t.queueOffset+1)
	if err != nil {
		return err
	}
	t.suspect = true
	linked := int64(0)
	if to = min(to, t.queueOffset); from+1 < to {
		rest, err := t.enqueueAgain(from+1, to, t.lateFrom(), &linked)
		if err != nil {
			return err
		}
		if rest < to {
			return fmt.Errorf("%w: queue offset %d", errOccupied, rest)
		}
	}
	t.o.Log.WithFields(logrus.Fields{"position": pos, "from": from + 1, "to": to, "enqueued": linked}).
		Warn("a unit of the timer log is damaged, the messages around it were enqueued again")
	if err := t.log.sync(max(last, t.log.begin()), t.log.end); err != nil {
		return err
	}
	err = t.fillDead(first, last, now)
	r.reset()
	return err
}

// neighbour goes from a damaged unit to the next one that is whole and in the order of the system topic. It returns the last damaged
// position before that.
func (t *Timer) neighbour(r *unitReader, pos int64, step func(int64) int64) (edge int64, u *unit) {
	edge = pos
	whole := false
	for p := step(pos); p != noUnit && p >= t.log.begin() && p < t.log.end; p = step(p) {
		found, ok, err := r.unit(p)
		if err != nil {
			return edge, nil
		}
		if ok && found.mark != markSeal {
			return edge, &found
		}
		whole = whole || ok
		if !whole {
			edge = p
		}
	}
	return edge, nil
}

// queueOffsetOf is the queue offset of a unit's message; otherwise is for a unit or a message that is not there.
func (t *Timer) queueOffsetOf(u *unit, otherwise int64) (int64, error) {
	if u == nil {
		return otherwise, nil
	}
	rec, err := t.o.Store.Record(u.offset, u.size)
	if err != nil {
		return otherwise, notGone(err)
	}
	defer rec.Release()
	m := &t.put.record
	if _, err := message.DecodeRecord(rec.Bytes(), m, false); err != nil || m.Topic != message.TopicTimer {
		return otherwise, nil // as if it were not there
	}
	return m.QueueOffset, nil
}

// fillDead writes dead units over the damaged ones from first to last.
func (t *Timer) fillDead(first, last, now int64) error {
	u := unit{prev: noUnit, magic: magicDelete, written: now, out: now, offset: 0, size: 1, mark: markDead}
	var block []byte
	at := first
	for p := first; p <= last; p = t.log.next(p) {
		if p != at+int64(len(block)) || len(block) >= largeBlock*unitSize {
			if err := t.log.writeAt(block, at); err != nil {
				return fmt.Errorf("repair timer log at %d: %w", at, err)
			}
			at, block = p, block[:0]
		}
		block = slices.Grow(block, unitSize)[:len(block)+unitSize]
		u.put(block[len(block)-unitSize:])
	}
	if err := t.log.writeAt(block, at); err != nil {
		return fmt.Errorf("repair timer log at %d: %w", at, err)
	}
	return nil
}

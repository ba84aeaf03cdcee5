package timer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
)

// gather reads the units of a slot out of the whole log, because its chain is broken, and repairs the log where it is damaged.
func (t *Timer) gather(o *opening, now int64) error {
	o.found, o.over = o.found[:0], false
	err := t.mend(now, func(u *unit, pos int64) error {
		if t.wheel.key(u.out) != o.key {
			return nil
		}
		_, err := t.take(o, u, pos)
		return err
	})
	o.pos = noUnit
	return err
}

// mend goes through the whole log, calls whole with the units that are good and repairs where the others were.
func (t *Timer) mend(now int64, whole func(u *unit, pos int64) error) error {
	r := newUnitReader(t.log)
	damaged := make(map[int64]damage)
	var order []int64
	for pos := t.sweeper.at; pos < t.log.end; pos = t.log.next(pos) {
		u, ok, err := r.unit(pos)
		if err != nil {
			return err
		}
		if !ok {
			damaged[pos] = damage{prev: noUnit}
			order = append(order, pos)
			continue
		}
		if _, ok := damaged[u.prev]; ok {
			damaged[u.prev] = damage{prev: noUnit, key: t.wheel.key(u.out), known: true}
		}
		if err := whole(&u, pos); err != nil {
			return err
		}
	}
	if len(order) == 0 {
		return nil
	}
	if err := t.bridge(r, damaged); err != nil {
		return err
	}
	return t.repair(r, order, damaged, now)
}

// damage is a place in the log where a unit was. What takes its place goes on with the chain that led through it, or the units before it
// would be out of reach: the slot is read again when it did not fit into memory, when the clock goes back and after a restart.
type damage struct {
	prev  int64 // of the dead unit that is to come here
	key   int64 // slot of the chain that led here
	known bool  // one does
}

// bridge finds for each damaged unit that is part of a chain the one before it.
func (t *Timer) bridge(r *unitReader, damaged map[int64]damage) error {
	if len(damaged) == 0 {
		return nil
	}
	t.wheel.mu.Lock()
	t.wheel.each(func(s slot) {
		if d, ok := damaged[s.last]; ok && !d.known {
			damaged[s.last] = damage{prev: noUnit, key: s.key, known: true}
		}
	})
	t.wheel.mu.Unlock()
	newest := make(map[int64]int64) // of the slots of interest
	for _, d := range damaged {
		if d.known {
			newest[d.key] = noUnit
		}
	}
	r.reset()
	for pos := t.sweeper.at; pos < t.log.end; pos = t.log.next(pos) {
		if d, ok := damaged[pos]; ok {
			if d.known {
				d.prev = newest[d.key]
				damaged[pos] = d
			}
			continue
		}
		u, ok, err := r.unit(pos)
		if err != nil {
			return err
		}
		if _, wanted := newest[t.wheel.key(u.out)]; ok && wanted {
			newest[t.wheel.key(u.out)] = pos
		}
	}
	return nil
}

// repair replaces what is no unit at the positions by seals and enqueues again the messages of the system topic that may have been there:
// those between the messages of the units before and behind, or all where the log is out of order.
func (t *Timer) repair(r *unitReader, positions []int64, known map[int64]damage, now int64) error {
	r.reset()
	linked := int64(0)
	end := t.log.end
	for i := 0; i < len(positions); {
		pos := positions[i]
		last, from, to, err := t.between(r, pos)
		if err != nil {
			return err
		}
		for i < len(positions) && positions[i] <= last {
			i++
		}
		if pos < t.againTo && last >= t.againFrom { // it may be any message
			from, to, i = -1, t.queueOffset, len(positions)
		}
		n := linked
		if to = min(to, t.queueOffset); from+1 < to {
			rest, err := t.enqueueAgain(from+1, to, t.lateFrom(), markAgain, &linked)
			if err != nil {
				return err
			}
			if rest < to {
				return fmt.Errorf("%w: queue offset %d", errOccupied, rest)
			}
		}
		t.o.Log.WithFields(logrus.Fields{"position": pos, "from": from + 1, "to": to, "enqueued": linked - n}).
			Warn("a unit of the timer log is damaged, the messages around it were enqueued again")
	}
	if linked > 0 {
		if t.sweeper.at >= t.againTo {
			t.againFrom = end
		}
		t.suspectTo, t.againTo = t.log.end, t.log.end
	}
	// The checkpoint says from now on that the log is out of order. It may not be on disk before what was delivered.
	err := errors.Join(t.o.Store.Flush(), t.writeCheckpoint(now))
	if err == nil {
		err = t.writer.sync()
	}
	if err == nil {
		err = t.fill(positions, known, end)
	}
	r.reset()
	return err
}

// fill replaces the damaged units at the positions, which rise. The new units from end on are on disk before, and so is everything before
// them without which they would be cut off after a crash of the machine: what takes the place of damaged units last of all.
func (t *Timer) fill(positions []int64, known map[int64]damage, end int64) error {
	t.cpMu.Lock()
	flushed := min(t.wheelAt, end)
	t.cpMu.Unlock()
	n, _ := slices.BinarySearch(positions, flushed)
	err := t.fillDead(positions[n:], known)
	if err == nil {
		err = t.log.sync(flushed, t.log.end)
	}
	if err != nil {
		return err
	}
	return t.fillDead(positions[:n], known)
}

// between finds the last one of the damaged units that begin at pos, and the queue offsets of the messages before and behind them.
func (t *Timer) between(r *unitReader, pos int64) (last, from, to int64, err error) {
	_, prev := t.neighbour(r, pos, t.log.before)
	last, next := t.neighbour(r, pos, t.log.next)
	if from, err = t.queueOffsetOf(prev, -1); err != nil {
		return 0, 0, 0, err
	}
	to, err = t.queueOffsetOf(next, t.queueOffset)
	return last, from, to, err
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
		if ok && found.inOrder() {
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

// fillDead writes seals over the damaged units, whose positions rise.
func (t *Timer) fillDead(positions []int64, known map[int64]damage) error {
	u := unit{magic: magicDelete, offset: 0, size: fillerSize, mark: markSeal}
	var block []byte
	var at int64
	for _, p := range positions {
		if p != at+int64(len(block)) || len(block) >= largeBlock*unitSize {
			if err := t.log.writeAt(block, at); err != nil {
				return fmt.Errorf("repair timer log at %d: %w", at, err)
			}
			at, block = p, block[:0]
		}
		d := known[p]
		u.prev, u.out = d.prev, 0 // in no slot that counts
		if d.known {
			u.out = t.wheel.start(d.key)
		}
		u.written = u.out
		block = slices.Grow(block, unitSize)[:len(block)+unitSize]
		u.put(block[len(block)-unitSize:])
	}
	if err := t.log.writeAt(block, at); err != nil {
		return fmt.Errorf("repair timer log at %d: %w", at, err)
	}
	return nil
}

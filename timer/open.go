package timer

import (
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
)

// Step three, dequeue-get: the slots that are about to begin are opened, that is their units are read from the timer log into memory
// (TimerDequeueGetService).

// errChain says that the units of a slot do not hold together.
var errChain = errors.New("chain of a timer slot is broken")

// openSlots opens what begins before lookahead has passed, piece by piece. It tells whether there is more to do now.
func (t *Timer) openSlots(now int64) bool {
	last := t.wheel.key(now + lookahead.Milliseconds())
	w := &t.window
	for budget := t.openBudget; budget > 0; {
		if w.opening == nil && !t.beginOpening(last) {
			return false
		}
		n, err := t.readChain(w.opening, budget)
		budget -= n + 1
		switch {
		case errors.Is(err, errChain):
			t.warn(now, "a chain of the timer log is broken, its slot is gathered from the whole log", err,
				logrus.Fields{"slot": t.wheel.start(w.opening.key)})
			w.opening.broken = true
			if err := t.gather(w.opening, now); err != nil {
				t.warn(now, "the timer log cannot be read, it will be tried again", err, nil)
				w.opening = nil
				return false
			}
		case err != nil:
			t.warn(now, "the timer log cannot be read, it will be tried again", err, nil)
			return false
		}
		if w.opening == nil {
			return true // memory became full of what was enqueued again
		}
		if w.opening.pos == noUnit {
			t.finishOpening(now)
		}
	}
	return true
}

// beginOpening chooses the slot to open next: none when memory is full or the next one begins later.
func (t *Timer) beginOpening(last int64) bool {
	w := &t.window
	if w.partial != nil {
		if w.partial.waiting > 0 {
			return false
		}
		w.opening = &opening{key: w.partial.key, after: w.partial.loaded, seen: w.partial.seen, again: true, limit: t.maxOpen / 2, found: w.spare[:0]}
	} else {
		if w.timers.len() >= t.maxOpen/2 {
			return false
		}
		t.wheel.mu.Lock()
		key, ok := t.wheel.next(w.until, last)
		t.wheel.mu.Unlock()
		if !ok {
			w.until = max(w.until, last+1)
			return false
		}
		w.until = key
		w.opening = &opening{key: key, limit: t.maxOpen / 2, found: w.spare[:0]}
	}
	t.wheel.mu.Lock()
	w.opening.pos = t.wheel.head(w.opening.key)
	t.wheel.mu.Unlock()
	t.reader.reset()
	return true
}

// readChain reads up to n units of the chain, newest first.
func (t *Timer) readChain(o *opening, n int) (read int, err error) {
	begin := t.log.begin()
	for o.pos != noUnit && read < n {
		if o.pos < begin {
			o.pos = noUnit // what was in files that are removed is done
			break
		}
		u, ok, err := t.reader.unit(o.pos)
		if err != nil {
			return read, err
		}
		if !ok || t.wheel.key(u.out) != o.key || u.prev >= o.pos {
			return read, fmt.Errorf("%w: slot %d, position %d", errChain, t.wheel.start(o.key), o.pos)
		}
		cost, err := t.take(o, &u, o.pos)
		if err != nil {
			return read, err
		}
		read += cost
		o.pos = u.prev
	}
	return read, nil
}

// take notes a unit of the slot that is being opened and tells what that cost, in units read.
func (t *Timer) take(o *opening, u *unit, pos int64) (cost int, err error) {
	if _, moved := t.sweeper.moved[pos]; moved || u.dead() {
		return 1, nil
	}
	if u.cancels() {
		if o.again || t.over(u, pos, &t.progress) {
			return 1, nil
		}
		return 4, t.takeCancel(o, u, pos)
	}
	e := entryOf(u, pos, u.out+1)
	cost = 1
	if !u.ours() && u.out%t.precision == 0 && !u.rolls() {
		due, err := t.exactDue(u)
		if err != nil {
			return 0, err
		}
		e.due, e.out = due, due-1
		cost = 4
	}
	if !t.progress.done(e.out, pos) {
		o.add(e)
	}
	return cost, nil
}

// takeCancel reads whom a cancel is for. A cancel counts for its whole slot, also for what is due earlier than itself.
func (t *Timer) takeCancel(o *opening, u *unit, pos int64) error {
	rec, err := t.o.Store.Record(u.offset, u.size)
	if err != nil {
		return notGone(err)
	}
	defer rec.Release()
	if _, err := message.DecodeRecord(rec.Bytes(), &t.put.record, false); err != nil {
		return nil // what cannot be read cancels nothing
	}
	if p, err := parseTimer(&t.put.record, t.precision); err == nil && p.cancels != "" {
		t.window.cancels.add(o.key, t.cancelKey(p.cancels, t.wheel.key(p.due-1)), t.rebuild.Intern(p.realTopic), pos)
	}
	return nil
}

// exactDue reads when a timer is wanted, of which the reference has written the slot only.
func (t *Timer) exactDue(u *unit) (int64, error) {
	latest := u.out + t.precision
	rec, err := t.o.Store.Record(u.offset, u.size)
	if err != nil {
		return latest, notGone(err)
	}
	defer rec.Release()
	if _, err := message.DecodeRecord(rec.Bytes(), &t.put.record, false); err != nil {
		return latest, nil // reported when it is due
	}
	p, err := parseTimer(&t.put.record, t.precision)
	if err != nil || p.due <= u.out || p.due > latest {
		return latest, nil // reported when it is due
	}
	return p.due, nil
}

// notGone is err unless it says that the record does not exist.
func notGone(err error) error {
	if useless(err) {
		return nil
	}
	return err
}

// finishOpening takes what was found into the calendar.
func (t *Timer) finishOpening(now int64) {
	w := &t.window
	o := w.opening
	w.opening, w.partial = nil, nil
	suspect := t.suspect() || o.broken
	if o.over {
		w.partial = &partial{key: o.key, loaded: o.last()}
	}
	if suspect {
		for _, e := range o.dedupe() {
			if topic, ok := t.names.topic(e.hash); ok {
				t.count(topic, e.pos, -e.counts(), now)
			}
		}
	}
	if w.partial != nil {
		w.partial.waiting = len(o.found)
		if suspect {
			w.partial.seen = o.note(w.partial.loaded)
		}
	}
	for i := range o.found {
		w.timers.push(o.found[i])
	}
	w.spare = nil
	if cap(o.found) <= keepTimers {
		w.spare = o.found[:0]
	}
	w.until = max(w.until, o.key+1)
}

// suspect tells that a slot may hold two units of one message.
func (t *Timer) suspect() bool { return t.sweeper.at < t.suspectTo }

// frontier is the place in the order of delivery before which nothing waits.
func (t *Timer) frontier() mark {
	b := t.window.bound(t.precision)
	if t.window.timers.len() > 0 {
		b = earlier(b, t.window.timers.first())
	}
	return b
}

// closeSlots blanks the slots whose timers are all delivered, and the put messages on disk.
func (t *Timer) closeSlots(now int64) {
	last := t.wheel.key(t.durable.mark.out) - 1
	t.closeCancels(last, now)
	if last < t.closed {
		return
	}
	t.wheel.mu.Lock()
	for {
		key, ok := t.wheel.next(t.closed, last)
		if !ok {
			break
		}
		t.wheel.clear(key)
		t.closed = key + 1
	}
	t.wheel.mu.Unlock()
	t.closed = last + 1
	if t.window.timers.len() == 0 {
		t.window.timers.clear(keepTimers)
	}
}

// keepTimers is for how many timers memory is kept while there are fewer.
const keepTimers = 1 << 15

package timer

import (
	"errors"
	"fmt"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// handOver is the last thing before the files are closed. It makes the slots of which a part is delivered hold the other part only, because
// the reference knows no smaller step than a slot, and ends the log with a unit of the last message of the system topic that was enqueued,
// because the reference looks there for where to go on. Then everything is made durable.
func (t *Timer) handOver() error {
	relay.AwaitSafe(t.o.Store, t.putEnd, closePatience)
	now := t.o.Clock.NowMs()
	t.collectSafe()
	t.forgetCancels(now)
	err := errors.Join(t.bury(), t.writeCheckpoint(now)) // what follows is not in the order of the system topic
	err = errors.Join(err, t.rewriteSlots(now))
	err = errors.Join(err, t.seal(now))
	err = errors.Join(err, t.flush())
	err = errors.Join(err, t.metrics.save(t.o.FS, t.configPath("timermetrics"), relay.Synced))
	t.cpMu.Lock()
	defer t.cpMu.Unlock()
	t.fillLocked(now)
	t.cp.clean = err == nil
	return errors.Join(err, t.writer.write(&t.cp), t.writer.sync())
}

// rewriteSlots writes the waiting units of half-delivered slots again, as a chain of their own.
func (t *Timer) rewriteSlots(now int64) error {
	first, last := t.wheel.key(t.safe.mark.out), t.wheel.key(t.safe.horizon().out)
	for key := first; key <= last; key++ {
		t.wheel.mu.Lock()
		found, ok := t.wheel.next(key, last)
		t.wheel.mu.Unlock()
		if !ok {
			return nil
		}
		key = found
		if err := t.rewriteSlot(key, now); err != nil {
			return fmt.Errorf("rewrite timer slot %d: %w", t.wheel.start(key), err)
		}
	}
	return nil
}

// rewriteSlot does that for one slot. When nothing waits in it a seal takes the place of the chain, so that a scan of the log does not find
// the delivered units again.
func (t *Timer) rewriteSlot(key, now int64) error {
	units, positions, mixed, err := t.waiting(key)
	if err != nil || !mixed {
		return err
	}
	if len(units) == 0 {
		seal, ok, err := t.sealUnit(key, now)
		if err != nil {
			return err
		}
		if ok {
			units = append(units, seal)
		}
	}
	for i := range units {
		if units[i].mark != markSeal {
			units[i].mark = markCopy
		}
	}
	if err := t.chain(key, units); err != nil {
		return err
	}
	for _, pos := range positions {
		if err := t.kill(t.reader, pos); err != nil {
			return err
		}
	}
	return nil
}

// chain makes units the only ones of a slot.
func (t *Timer) chain(key int64, units []unit) (err error) {
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	old := t.wheel.raw(key)
	t.wheel.clear(key)
	end := t.log.end
	for i := range units {
		var pos int64
		units[i].prev = t.wheel.head(key)
		if pos, err = t.log.stage(&units[i]); err != nil {
			break
		}
		t.linkLocked(&units[i], pos)
	}
	if err == nil {
		err = t.log.write()
	}
	if err != nil {
		t.wheel.put(key, old)
		t.log.rollback(end)
	}
	return err
}

// linkLocked links a unit; a seal does not count.
func (t *Timer) linkLocked(u *unit, pos int64) {
	t.wheel.link(u, pos)
	if u.mark == markSeal {
		key := t.wheel.key(u.out)
		s := t.wheel.raw(key)
		s.num++
		t.wheel.put(key, s)
	}
}

// waiting returns the units of a slot that are not done, oldest first, with their positions. mixed tells that others are among them.
func (t *Timer) waiting(key int64) (units []unit, positions []int64, mixed bool, err error) {
	t.wheel.mu.Lock()
	pos := t.wheel.head(key)
	t.wheel.mu.Unlock()
	t.reader.reset()
	begin := t.log.begin()
	for pos != noUnit && pos >= begin {
		u, ok, err := t.reader.unit(pos)
		if err != nil {
			return nil, nil, false, err
		}
		if !ok {
			return nil, nil, false, nil // the next start gathers the slot
		}
		out := u.out
		if !u.ours() && u.out%t.precision == 0 && !u.rolls() && !u.cancels() {
			due, err := t.exactDue(&u)
			if err != nil {
				return nil, nil, false, err
			}
			out = due - 1
		}
		if u.dead() || !u.cancels() && t.safe.done(out, pos) {
			mixed = true
		} else {
			units, positions = append(units, u), append(positions, pos)
		}
		pos = u.prev
	}
	for i, j := 0, len(units)-1; i < j; i, j = i+1, j-1 {
		units[i], units[j] = units[j], units[i]
	}
	return units, positions, mixed, nil
}

// seal ends the log with a unit of the last enqueued message, unless it does so already.
func (t *Timer) seal(now int64) error {
	if t.log.end == 0 {
		return nil
	}
	key := t.wheel.key(t.safe.mark.out)
	u, ok, err := t.sealUnit(key, now)
	if err != nil || !ok {
		return err
	}
	t.reader.reset()
	if prev := t.log.before(t.log.end); prev != noUnit {
		if last, ok, err := t.reader.unit(prev); err != nil || ok && last.offset == u.offset {
			return err
		}
	}
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	end, old := t.log.end, t.wheel.raw(key)
	u.prev = t.wheel.head(key)
	pos, err := t.log.stage(&u)
	if err == nil {
		t.linkLocked(&u, pos)
		err = t.log.write()
	}
	if err != nil {
		t.wheel.put(key, old)
		t.log.rollback(end)
	}
	return err
}

// sealUnit is a unit of the last enqueued message that stands for nothing: to the reference it is a cancel of nobody. ok is false when
// there is no such message; the reference takes the queue offset of the checkpoint then.
func (t *Timer) sealUnit(key, now int64) (u unit, ok bool, err error) {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	if q == nil || t.queueOffset == 0 {
		return u, false, nil
	}
	entries, err := t.put.entries(q, t.queueOffset-1, 1)
	if err != nil || len(entries) == 0 || entries[0].QueueOffset != t.queueOffset-1 {
		return u, false, err
	}
	e := entries[0]
	return unit{
		magic: magicDelete, written: now, out: max(t.wheel.start(key), min(t.safe.mark.out, t.wheel.start(key+1)-1)),
		offset: e.PhysicalOffset, size: e.Size, mark: markSeal,
	}, true, nil
}

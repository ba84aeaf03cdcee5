package timer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// handOver is the last thing before the files are closed. It declares dead what is delivered of slots of which another part waits, because
// the reference knows no smaller step than a slot, and ends the log with a unit of the last message of the system topic that was enqueued,
// because the reference looks there for where to go on. Then everything is made durable.
func (t *Timer) handOver() error {
	now := t.o.Clock.NowMs()
	err := t.o.Store.Flush()
	relay.AwaitSafe(t.o.Store, t.putEnd, closePatience)
	t.collectSafe()
	t.forgetCancels(now)
	err = errors.Join(err, t.bury(), t.writeCheckpoint(now))
	err = errors.Join(err, t.killDelivered())
	err = errors.Join(err, t.seal(now))
	err = errors.Join(err, t.flush())
	err = errors.Join(err, t.metrics.save(t.o.FS, t.configPath("timermetrics"), relay.Synced))
	t.cpMu.Lock()
	defer t.cpMu.Unlock()
	t.fillLocked(now)
	t.cp.clean = err == nil
	return errors.Join(err, t.writer.write(&t.cp), t.writer.sync())
}

// killDelivered declares dead the delivered units of slots that may hold waiting ones too.
func (t *Timer) killDelivered() error {
	first, last := t.wheel.key(t.safe.mark.out), t.wheel.key(t.safe.horizon().out)
	var done []int64
	for key := first; key <= last; key++ {
		t.wheel.mu.Lock()
		found, ok := t.wheel.next(key, last)
		t.wheel.mu.Unlock()
		if !ok {
			break
		}
		key = found
		positions, err := t.deliveredOf(key)
		if err != nil {
			return fmt.Errorf("hand over timer slot %d: %w", t.wheel.start(key), err)
		}
		done = append(done, positions...)
	}
	slices.Sort(done)
	return t.killAll(t.reader, done)
}

// deliveredOf returns the positions of the units of a slot that are done and do not say so.
func (t *Timer) deliveredOf(key int64) (positions []int64, err error) {
	t.wheel.mu.Lock()
	pos := t.wheel.head(key)
	t.wheel.mu.Unlock()
	t.reader.reset()
	begin := t.log.begin()
	for pos != noUnit && pos >= begin {
		u, ok, err := t.reader.unit(pos)
		if err != nil {
			return nil, err
		}
		if !ok {
			return positions, nil // the next start gathers the slot
		}
		if !u.dead() && !u.cancels() {
			out := u.out
			if !u.ours() && u.out%t.precision == 0 && !u.rolls() {
				due, err := t.exactDue(&u)
				if err != nil {
					return nil, err
				}
				out = due - 1
			}
			if t.safe.done(out, pos) {
				positions = append(positions, pos)
			}
		}
		pos = u.prev
	}
	return positions, nil
}

// seal ends the log with a unit of the last enqueued message that stands for nothing, unless it ends with that message already. To the
// reference the seal is a cancel of nobody. When the message is gone the reference takes the queue offset of the checkpoint.
func (t *Timer) seal(now int64) error {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	if q == nil || t.queueOffset == 0 || t.log.end == 0 {
		return nil
	}
	entries, err := t.put.entries(q, t.queueOffset-1, 1)
	if err != nil || len(entries) == 0 || entries[0].QueueOffset != t.queueOffset-1 {
		return err
	}
	e := entries[0]
	t.reader.reset()
	if prev := t.log.before(t.log.end); prev != noUnit {
		if last, ok, err := t.reader.unit(prev); err != nil || ok && last.offset == e.PhysicalOffset {
			return err
		}
	}
	u := unit{magic: magicDelete, written: now, out: t.safe.mark.out, offset: e.PhysicalOffset, size: e.Size, mark: markSeal}
	key := t.wheel.key(u.out)
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	end, old := t.log.end, t.wheel.raw(key)
	if old.used() && old.key != key {
		return nil // what was due a turn of the wheel earlier is not delivered yet
	}
	u.prev = t.wheel.head(key)
	pos, err := t.log.stage(&u)
	if err == nil {
		t.wheel.link(&u, pos)
		t.wheel.add(key, 1) // a seal does not count
		err = t.log.write()
	}
	if err != nil {
		t.wheel.put(key, old)
		t.log.rollback(end)
	}
	return err
}

package timer

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// Steps one and two, enqueue-get and enqueue-put: the messages of the system topic get their units in the timer log and in the wheel
// (TimerEnqueueGetService, TimerEnqueuePutService).

// request is a message on its way from the system topic into the wheel.
type request struct {
	u           unit
	pos         int64
	queueOffset int64
	stored      int64     // when its record was stored, ms
	due         int64     // when it is wanted, ms
	topic       string    // real topic; does not alias the record
	key         cancelKey // of a cancel
	id          rollID
}

// errNoTimer says that a record in the system topic is none of a timer.
var errNoTimer = errors.New("record is no timer message")

// errOccupied says that the slot still holds what was due a turn of the wheel earlier.
var errOccupied = errors.New("slot is occupied")

// enqueue takes the next messages from the system topic. It tells whether there may be more.
func (t *Timer) enqueue(now int64) bool {
	t.arrived.Store(false)
	t.backlog = false
	q := t.o.Store.Queue(message.TopicTimer, 0)
	if q == nil {
		return false
	}
	t.fitQueue(q)
	last := t.queueOffset
	t.requests = t.requests[:0]
	var failed error
	entries, err := t.put.entries(q, t.queueOffset, enqueueBatch)
	if err != nil {
		t.warn(now, "the timer queue cannot be read", err, nil)
		return false
	}
	for _, e := range entries {
		r, err := t.read(e, now)
		if err != nil && !useless(err) {
			failed = err
			break
		}
		if err != nil {
			t.skip(now, e.PhysicalOffset, err)
		} else {
			t.requests = append(t.requests, r)
		}
		last = e.QueueOffset + 1
	}
	if failed != nil {
		t.warn(now, "a timer message cannot be read, it will be tried again", failed, nil)
	}
	taken, err := t.link(t.requests, now)
	if err != nil {
		if !errors.Is(err, errOccupied) {
			t.warn(now, "the timer log cannot be written, it will be tried again", err, nil)
		}
		last = t.queueOffset
		if taken > 0 {
			last = t.requests[taken-1].queueOffset + 1
		}
	}
	t.changed = t.changed || last != t.queueOffset
	moved := last != t.queueOffset
	t.queueOffset = last
	t.backlog = last < q.MaxOffset()
	t.counts.enqueued.Add(int64(taken))
	for i := range t.requests[:taken] {
		r := &t.requests[i]
		t.count(r.topic, r.pos, r.u.counts(), now)
	}
	t.noteLate(t.requests[:taken])
	t.admit(t.requests[:taken])
	return moved && len(entries) == enqueueBatch
}

// fitQueue brings the queue offset into what the queue has.
func (t *Timer) fitQueue(q relay.Queue) {
	lowest, highest := q.MinOffset(), q.MaxOffset()
	offset := min(max(t.queueOffset, lowest), highest)
	if offset == t.queueOffset {
		return
	}
	t.o.Log.WithFields(logrus.Fields{"offset": t.queueOffset, "min": lowest, "max": highest}).
		Warn("timer queue offset lies outside its queue and is corrected")
	t.queueOffset = offset
	t.changed = true
}

// useless tells that trying again does not help.
func useless(err error) bool {
	return errors.Is(err, errNoTimer) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt)
}

// read makes a request of an entry of the system topic.
func (t *Timer) read(e store.Entry, now int64) (request, error) {
	r := request{queueOffset: e.QueueOffset}
	rec, err := t.o.Store.Record(e.PhysicalOffset, e.Size)
	if err != nil {
		return r, err
	}
	defer rec.Release()
	m := &t.put.record
	if _, err := message.DecodeRecord(rec.Bytes(), m, false); err != nil {
		return r, errors.Join(errNoTimer, err)
	}
	p, err := parseTimer(m, t.precision)
	if err != nil {
		return r, err
	}
	r.topic = t.rebuild.Intern(p.realTopic)
	r.due, r.stored = p.due, m.StoreTimestamp
	if t.identify {
		r.id = t.rollIDOf(m, &p)
	}
	r.u = unit{
		magic: magicDefault, written: now, out: p.due - 1,
		offset: e.PhysicalOffset, size: e.Size, hash: t.names.note(r.topic), mark: markLive,
	}
	if r.u.out < t.progress.mark.out && p.due <= now {
		r.u.out = now - 1 // its place is gone by
	}
	if p.cancels != "" {
		r.u.magic |= magicDelete
		r.key = t.cancelKey(p.cancels, t.wheel.key(p.due-1))
	}
	if out, roll := t.rollPoint(now, r.u.out); roll {
		r.u.magic |= magicRoll
		r.u.out = out
	}
	return r, nil
}

// timerProperties are what a record in the system topic says.
type timerProperties struct {
	out       int64 // TIMER_OUT_MS
	due       int64 // when the message is wanted, ms
	realTopic string
	unique    string
	cancels   string // TIMER_DEL_UNIQKEY
	rollTimes int32
}

// parseTimer reads a record of the system topic. What was sent to this broker has its time less one in TIMER_OUT_MS. What the reference has
// written is rounded down there: the exact time is found again from the time the client asked for, and is never before it.
func parseTimer(m *message.Record, precision int64) (timerProperties, error) {
	var p timerProperties
	out := ""
	var asked wish
	m.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyTimerOutMs:
			out = value
		case message.KeyRealTopic:
			p.realTopic = value
		case message.KeyTimerDelUniqueKey:
			p.cancels = value
		case message.KeyTimerDelaySec:
			asked.delaySec = value
		case message.KeyTimerDelayMs:
			asked.delayMs = value
		case message.KeyTimerDeliverMs:
			asked.deliverMs = value
		case message.KeyUniqueKey:
			p.unique = value
		case message.KeyTimerRollTimes:
			times, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				times = 1
			}
			p.rollTimes = int32(times)
		}
		return true
	})
	ms, err := strconv.ParseInt(out, 10, 64)
	switch {
	case m.Topic != message.TopicTimer:
		return p, fmt.Errorf("%w: topic %s", errNoTimer, m.Topic)
	case err != nil || ms < 0 || ms > never-precision:
		return p, fmt.Errorf("%w: property %s is %q", errNoTimer, message.KeyTimerOutMs, out)
	case p.realTopic == "":
		return p, fmt.Errorf("%w: no property %s", errNoTimer, message.KeyRealTopic)
	}
	p.out, p.due = ms, ms+1
	if ms%precision == 0 {
		p.due = asked.exact(ms, precision, m.StoreTimestamp, p.rollTimes != 0)
	}
	return p, nil
}

// exact is the time asked for, of which only the slot is known for sure: in (out, out+precision].
func (w *wish) exact(out, precision, storeTimestamp int64, rolled bool) int64 {
	latest := out + precision
	value, unit, base := w.deliverMs, int64(1), int64(0)
	switch {
	case w.delaySec != "":
		value, unit, base = w.delaySec, 1000, storeTimestamp
	case w.delayMs != "":
		value, base = w.delayMs, storeTimestamp
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || base > 0 && rolled || n > (never-base)/unit || n < -never/unit {
		return latest
	}
	if due := base + n*unit; due > out {
		return min(due, latest)
	}
	return latest
}

// rollPoint tells whether a timer is too far ahead for the wheel, and where it waits meanwhile (TimerMessageStore.doEnqueue). Other than
// there that is always a slot before its own, so that a cancel that rolls too meets it in time.
func (t *Timer) rollPoint(now, out int64) (int64, bool) {
	window := t.rollWindow * t.precision
	left := out - now
	if left < window {
		return out, false
	}
	point := now + window
	if left-window < t.rollWindow/3*t.precision {
		point = now + t.rollWindow/2*t.precision
	}
	return min(point, t.wheel.start(t.wheel.key(out))-t.precision), true
}

// undoSlot is a slot as it was.
type undoSlot struct {
	key int64
	s   slot
}

// link appends units for the requests to the log and to their slots, all or none, but for those from the first on whose slot is occupied: the
// error is errOccupied then. It returns how many it took.
func (t *Timer) link(requests []request, now int64) (taken int, err error) {
	if len(requests) == 0 {
		return 0, nil
	}
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	end := t.log.end
	t.undo = t.undo[:0]
	for i := range requests {
		if err = t.linkOneLocked(&requests[i], now); err != nil {
			break
		}
		taken++
	}
	if err == nil || errors.Is(err, errOccupied) {
		if werr := t.log.write(); werr != nil {
			err = werr
		}
	}
	if err != nil && !errors.Is(err, errOccupied) {
		for i := len(t.undo) - 1; i >= 0; i-- {
			t.wheel.put(t.undo[i].key, t.undo[i].s)
		}
		t.log.rollback(end)
		return 0, err
	}
	return taken, err
}

func (t *Timer) linkOneLocked(r *request, now int64) error {
	key := t.wheel.key(r.u.out)
	old := t.wheel.raw(key)
	if old.used() && old.key != key && old.key >= t.closed {
		if old.key <= t.wheel.key(now) {
			return errOccupied // and due: it will be free soon
		}
		free, ok := t.freeSlotLocked(key, now)
		if !ok {
			return errOccupied
		}
		// The clock went back by more than a turn of the wheel.
		key, r.u.magic, r.u.out = free, r.u.magic|magicRoll, t.wheel.start(free)
		old = t.wheel.raw(key)
	}
	r.u.prev = noUnit
	if old.used() && old.key == key {
		r.u.prev = old.last
	}
	pos, err := t.log.stage(&r.u)
	if err != nil {
		return err
	}
	r.pos = pos
	t.undo = append(t.undo, undoSlot{key, old})
	t.wheel.link(&r.u, pos)
	return nil
}

// freeSlotLocked finds a slot between now and key that is not occupied by another turn.
func (t *Timer) freeSlotLocked(key, now int64) (int64, bool) {
	for k := key - 1; k > t.wheel.key(now) && k > key-t.wheel.slots(); k-- {
		if s := t.wheel.raw(k); !s.used() || s.key == k || s.key < t.closed {
			return k, true
		}
	}
	return 0, false
}

// admit takes the units that belong to open slots into memory.
func (t *Timer) admit(requests []request) {
	for i := range requests {
		r := &requests[i]
		t.window.admit(t.wheel.key(r.u.out), entryOf(&r.u, r.pos, r.due), r)
	}
	if t.window.timers.len() > t.maxOpen {
		t.window.shrink(t.maxOpen/2, t.precision)
	}
}

// skip counts and reports a message that is given up.
func (t *Timer) skip(now, offset int64, err error) {
	t.counts.skipped.Add(1)
	t.warn(now, "a timer message cannot be delivered and is skipped", err, logrus.Fields{"physicalOffset": offset})
}

// checkCongestion refuses a timer for a slot that holds too many (TimerMessageStore.isReject; there at random between once and twice the
// limit).
func (t *Timer) checkCongestion(out, limit int64) error {
	const none = 1<<31 - 1
	if limit >= none {
		return nil
	}
	t.wheel.mu.Lock()
	s, _ := t.wheel.get(t.wheel.key(out))
	t.wheel.mu.Unlock()
	if int64(s.num) < limit {
		return nil
	}
	return fmt.Errorf("%w, %d timers are due in the same %d ms, timerCongestNumEachSlot is %d", ErrFlowControl, s.num, t.precision, limit)
}

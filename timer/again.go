package timer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// rollID names a timer that rolls: it is the same for each of its messages in the system topic but for times.
type rollID struct {
	hash  [2]uint64
	times int32 // how often it had rolled
}

// rollIDOf is the rollID of a record in the system topic.
func (t *Timer) rollIDOf(m *message.Record, p *timerProperties) rollID {
	id := rollID{times: p.rollTimes}
	var digits [40]byte
	numbers := strconv.AppendInt(append(strconv.AppendInt(digits[:0], p.out, 10), ' '), m.BornTimestamp, 10)
	for i := range id.hash {
		var h maphash.Hash
		h.SetSeed(t.seeds[i])
		_, _ = h.WriteString(p.realTopic) // never fails
		_ = h.WriteByte(0)                // never fails
		_, _ = h.WriteString(p.unique)    // never fails
		_ = h.WriteByte(0)                // never fails
		_, _ = h.WriteString(p.cancels)   // never fails
		_ = h.WriteByte(0)                // never fails
		_, _ = h.Write(numbers)           // never fails
		id.hash[i] = h.Sum64()
	}
	return id
}

// enqueueAgain goes through messages of the system topic that were enqueued once, from one queue offset to another. Those that are not done
// and have no unit any more get a new one with the given mark; linked counts them. Before the queue offset lateFrom those are done whose place in the order is
// gone by. It returns to, or the offset of the first one whose slot is occupied.
func (t *Timer) enqueueAgain(from, to, lateFrom int64, mark uint32, linked *int64) (rest int64, err error) {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	if q == nil {
		return to, nil
	}
	for _, p := range t.allProgress() {
		p.forget(lateFrom)
	}
	t.identify = true
	defer func() { t.identify = false }()
	now := t.o.Clock.NowMs()
	rolled, err := t.rolledSince(from)
	if err != nil {
		return from, err
	}
	for from < to {
		entries, err := t.put.entries(q, from, int(min(enqueueBatch, to-from)))
		if err != nil {
			return from, fmt.Errorf("read the timer queue at %d: %w", from, err)
		}
		if len(entries) == 0 {
			break
		}
		t.requests = t.requests[:0]
		for _, e := range entries {
			from = e.QueueOffset + 1
			if e.QueueOffset >= to {
				break
			}
			r, err := t.read(e, now)
			switch {
			case useless(err):
				t.skip(now, e.PhysicalOffset, err)
			case err != nil:
				return e.QueueOffset, fmt.Errorf("read timer message at %d: %w", e.PhysicalOffset, err)
			case !t.doneOnce(&r, rolled, lateFrom):
				r.u.mark = mark
				t.requests = append(t.requests, r)
			}
		}
		taken, err := t.link(t.requests, now)
		if err != nil && !errors.Is(err, errOccupied) {
			return t.requests[0].queueOffset, err
		}
		t.noteLate(t.requests[:taken])
		for i := range t.requests[:taken] {
			t.recount.note(t.requests[i].topic, t.requests[i].pos, t.requests[i].u.counts())
		}
		t.admit(t.requests[:taken])
		*linked += int64(taken)
		t.counts.repaired.Add(int64(taken))
		if taken < len(t.requests) {
			return t.requests[taken].queueOffset, nil
		}
	}
	return to, nil
}

// rolledSince counts, from a queue offset on, the messages that come from a roll.
func (t *Timer) rolledSince(from int64) (map[rollID]int, error) {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	rolled := make(map[rollID]int)
	for {
		entries, err := t.put.entries(q, from, enqueueBatch)
		if err != nil {
			return nil, fmt.Errorf("read the timer queue at %d: %w", from, err)
		}
		if len(entries) == 0 {
			return rolled, nil
		}
		for _, e := range entries {
			from = e.QueueOffset + 1
			rec, err := t.o.Store.Record(e.PhysicalOffset, e.Size)
			if err != nil {
				continue
			}
			m := &t.put.record
			if _, err := message.DecodeRecord(rec.Bytes(), m, false); err == nil {
				if p, err := parseTimer(m, t.precision); err == nil && p.rollTimes > 0 {
					rolled[t.rollIDOf(m, &p)]++
				}
			}
			rec.Release()
		}
	}
}

// doneOnce tells whether a message that was enqueued once is done: delivered, or rolled on into a newer message.
func (t *Timer) doneOnce(r *request, rolled map[rollID]int, lateFrom int64) bool {
	r.u.written = max(r.stored, r.u.out-maxUnitDelay)
	switch {
	case r.due-1 >= t.progress.mark.out:
		if !r.u.deletes() && t.progress.messageDone(r.due-1, r.queueOffset) {
			return true
		}
	case r.queueOffset >= lateFrom:
		r.u.out = max(r.u.out, t.progress.mark.out)
		return false
	case r.u.deletes() && t.wheel.key(r.due-1) == t.wheel.key(t.progress.mark.out):
		r.u.out = r.due - 1 // a cancel is needed as long as its slot
		return false
	default:
		return true
	}
	next := r.id
	next.times++
	if rolled[next] == 0 {
		return false
	}
	rolled[next]--
	return true
}

// rolledOn is what noteRolled found.
type rolledOn struct {
	rolled map[rollID]int
	end    int64 // of the log then
	at     int64 // ms
}

// rolledBefore tells whether the timer, whose record was just decoded, had rolled on before the kill.
func (t *Timer) rolledBefore(e entry) bool {
	o := &t.rolledOn
	if len(o.rolled) == 0 || e.pos >= o.end {
		return false
	}
	p, err := parseTimer(&t.put.record, t.precision)
	if err != nil {
		return false
	}
	id := t.rollIDOf(&t.put.record, &p)
	id.times++
	if o.rolled[id] == 0 {
		return false
	}
	o.rolled[id]--
	return true
}

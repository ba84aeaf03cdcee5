package timer

import (
	"context"
	"fmt"
)

const (
	// MaxListed bounds the timers of one page.
	MaxListed = 1000
	// maxListRead bounds the units read for one page.
	maxListRead = 1 << 20
)

// ListQuery asks for pending timers in order of their time.
type ListQuery struct {
	// After is the place of the last timer of the page before; zero: from the first one.
	After ListPlace
	// FromMs leaves out what is due before; 0: nothing.
	FromMs int64
	// Limit is how many timers are wanted, at most MaxListed; 0: 100.
	Limit int
	// Hash is the Java hash of a real topic, with HasHash: others are left out.
	Hash    int32
	HasHash bool
}

// ListPlace is a place in the order of timers: by the time at which they leave their slot, then by their position in the log.
type ListPlace struct{ OutMs, Pos int64 }

// PendingTimer is one unit of the timer log that is not done. What it is for stands in the record of the system topic that it points to.
type PendingTimer struct {
	ListPlace
	// DueMs is when it leaves its slot, ms. What Apache's broker has written says only in which step of timerPrecisionMs it is due: it is
	// the end of that step then.
	DueMs int64
	// EnqueuedMs is when it was put into the wheel, or last rolled.
	EnqueuedMs     int64
	PhysicalOffset int64
	Size           int32 // of the record
	TopicHash      int32
	Rolls          bool // it is put into the system topic again at DueMs, since it is wanted later
	Cancels        bool // it is a cancel
}

// List returns pending timers and cancels, those that leave first first. More tells that there are others behind: ask again After the last one.
// A slot with more than a million timers ends the list with an error that says so. Safe for concurrent use; it reads the timer log.
func (t *Timer) List(ctx context.Context, q ListQuery) (list []PendingTimer, more bool, err error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	q.Limit = min(q.Limit, MaxListed)
	t.cpMu.Lock()
	p := t.cp.progress.clone()
	t.cpMu.Unlock()
	from := max(t.wheel.key(p.mark.out), t.wheel.key(q.FromMs), t.wheel.key(q.After.OutMs))
	r := newUnitReader(t.log)
	read := 0
	for to := from + t.wheel.slots() - 1; len(list) < q.Limit; from++ {
		t.wheel.mu.Lock()
		key, ok := t.wheel.next(from, to)
		head := noUnit
		if ok {
			head = t.wheel.head(key)
		}
		t.wheel.mu.Unlock()
		if !ok {
			return list, false, nil
		}
		from = key
		o := opening{key: key, limit: q.Limit - len(list) + 1, again: true, after: mark{q.After.OutMs, q.After.Pos}}
		if q.After == (ListPlace{}) {
			o.after = mark{-1, -1}
		}
		found, err := t.listSlot(ctx, r, &o, head, &p, &q, &read)
		if err != nil {
			return list, true, err
		}
		list = append(list, found...)
	}
	return list[:q.Limit], true, nil
}

// listSlot returns the first timers of a slot, in order.
func (t *Timer) listSlot(ctx context.Context, r *unitReader, o *opening, head int64, p *progress, q *ListQuery, read *int) ([]PendingTimer, error) {
	begin := t.log.begin()
	r.reset()
	for pos := head; pos != noUnit && pos >= begin; {
		if *read++; *read > maxListRead {
			return nil, fmt.Errorf("more than %d timers are to be read for one page, those of %d ms among them", maxListRead, t.wheel.start(o.key))
		}
		if *read%4096 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("list pending timers: %w", ctx.Err())
		}
		u, ok, err := r.unit(pos)
		if err != nil {
			return nil, fmt.Errorf("list pending timers: %w", err)
		}
		if !ok || t.wheel.key(u.out) != o.key {
			break // it is repaired when the slot begins
		}
		if !t.over(&u, pos, p) && u.out+1 >= q.FromMs && (!q.HasHash || u.hash == q.Hash) {
			o.add(entryOf(&u, pos, t.latest(&u)))
		}
		pos = u.prev
	}
	var found calendar
	for i := range o.found {
		found.push(o.found[i])
	}
	list := make([]PendingTimer, 0, found.len())
	for found.len() > 0 {
		e := found.pop()
		list = append(list, PendingTimer{
			ListPlace: ListPlace{e.out, e.pos}, DueMs: e.due, EnqueuedMs: e.written, PhysicalOffset: e.offset, Size: e.size, TopicHash: e.hash,
			Rolls: e.magic&magicRoll != 0, Cancels: e.magic&magicDelete != 0,
		})
	}
	return list, nil
}

// latest is when a unit is due at the latest.
func (t *Timer) latest(u *unit) int64 {
	if !u.ours() && u.out%t.precision == 0 && !u.rolls() {
		return u.out + t.precision
	}
	return u.out + 1
}

package timer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// Steps four and five, dequeue-get-message and dequeue-put: the records of timers that are due are read again, and what was not cancelled is
// put into the log (TimerDequeueGetMessageService, TimerDequeuePutMessageService).

// readTries bounds how often a record that is there but cannot be read is tried.
const readTries = 50

// errMismatch says that a unit points at something else than the record it was written for.
var errMismatch = errors.New("record is not the one the timer was made for")

// putBatch is the messages of one Put with the records they alias.
type putBatch struct {
	found    []store.Entry
	taken    []entry // taken from the calendar, in order
	messages []message.Message
	sources  []int // of messages: index into taken
	topics   []string
	records  []relay.Record
	record   message.Record
	suffixes []byte
	cancels  int // rolling cancels among messages
	bytes    int // of the records
}

// entries reads up to n entries of q from an offset on. The result is valid until the next call.
func (b *putBatch) entries(q relay.Queue, from int64, n int) ([]store.Entry, error) {
	b.found = b.found[:0]
	err := q.Range(from, func(e store.Entry) bool {
		b.found = append(b.found, e)
		return len(b.found) < n
	})
	return b.found, err
}

func (b *putBatch) clear() {
	for _, r := range b.records {
		r.Release()
	}
	clear(b.messages)
	clear(b.records)
	b.taken, b.messages, b.sources = b.taken[:0], b.messages[:0], b.sources[:0]
	b.topics, b.records, b.suffixes = b.topics[:0], b.records[:0], b.suffixes[:0]
	b.cancels, b.bytes = 0, 0
}

// deliver puts back one batch of what is due. It tells whether there may be more.
func (t *Timer) deliver(now int64) bool {
	w := &t.window
	t.rolling = false
	if t.retryAt > now && t.retryAt <= now+retryPause.Milliseconds() {
		return false
	}
	if w.nextDue() > now {
		return false
	}
	b := &t.put
	defer b.clear()
	var readErr error
	for len(b.taken) < deliverBatch && b.bytes < deliverBytes && w.nextDue() <= now {
		e := w.timers.pop()
		if e.magic&magicRoll == 0 && b.cancels > 0 {
			w.timers.push(e) // one of the cancels that roll may be for it: they are to be enqueued first
			break
		}
		if err := t.prepare(e, now); err != nil {
			if !useless(err) && !errors.Is(err, errMismatch) && !errors.Is(err, relay.ErrNoTarget) && t.retries < readTries {
				w.timers.push(e)
				readErr = err
				break
			}
			t.giveUp(e, now, err)
		}
		if w.partial != nil && t.wheel.key(e.out) == w.partial.key {
			w.partial.waiting--
		}
		b.taken = append(b.taken, e)
	}
	stored, end, putErr := 0, int64(0), error(nil)
	if len(b.messages) > 0 {
		stored, end, putErr = t.o.Store.Put(b.messages)
		t.countDelivered(stored)
	}
	if putErr != nil {
		if errors.Is(putErr, relay.ErrRefused) {
			t.giveUp(b.taken[b.sources[stored]], now, putErr)
			stored++
		}
		t.takeBack(stored)
	}
	if stored > 0 || putErr == nil {
		t.delivered = true
	}
	if end > 0 {
		t.noteUnsafe(now, end)
	}
	return t.heldUp(now, readErr, putErr)
}

// giveUp drops a timer.
func (t *Timer) giveUp(e entry, now int64, err error) {
	t.skip(now, e.offset, err)
	t.wheel.mu.Lock()
	t.wheel.add(t.wheel.key(e.out), int32(-e.counts()))
	t.wheel.mu.Unlock()
	if topic, ok := t.names.topic(e.hash); ok {
		t.count(topic, e.pos, -e.counts(), now)
	}
}

// heldUp notes a failure that is to be tried again, and tells whether to go on at once.
func (t *Timer) heldUp(now int64, readErr, putErr error) bool {
	t.retryAt = 0
	switch {
	case putErr != nil && !errors.Is(putErr, relay.ErrRefused):
		t.warn(now, "timer messages cannot be put back, it will be tried again", putErr, nil)
	case readErr != nil:
		t.retries++
		t.warn(now, "a timer message cannot be read, it will be tried again", readErr, nil)
	default:
		t.retries = 0
		return true
	}
	t.counts.retried.Add(1)
	t.retryAt = now + retryPause.Milliseconds()
	return false
}

// takeBack returns to the calendar what was taken from it from the first message not stored on.
func (t *Timer) takeBack(stored int) {
	b, w := &t.put, &t.window
	for _, i := range slices.Backward(b.sources[stored:]) { // so that each goes before the first of its millisecond
		e := b.taken[i]
		if w.partial != nil && t.wheel.key(e.out) == w.partial.key {
			w.partial.waiting++
		}
		w.timers.push(e)
	}
}

// prepare reads the record of a timer and makes the message to put, unless the timer was cancelled.
func (t *Timer) prepare(e entry, now int64) error {
	rec, err := t.o.Store.Record(e.offset, e.size)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			rec.Release()
		}
	}()
	b := &t.put
	r := &b.record
	if _, err := message.DecodeRecord(rec.Bytes(), r, false); err != nil {
		return errors.Join(store.ErrCorrupt, err)
	}
	if r.Topic != message.TopicTimer || r.Size != e.size || r.PhysicalOffset != e.offset {
		return fmt.Errorf("%w: topic %s, size %d, want size %d", errMismatch, r.Topic, r.Size, e.size)
	}
	p := traceOf(r.Properties)
	topic := t.rebuild.Intern(p.to.Topic)
	rolls := e.magic&magicRoll != 0
	if !rolls && t.cancelled(e, topic, &p, now) {
		return nil
	}
	if rolls && t.rolledBefore(e) {
		t.count(topic, e.pos, -e.counts(), now)
		return nil
	}
	var m message.Message
	if rolls {
		t.rolling = true
		if e.magic&magicDelete != 0 {
			b.cancels++
		}
		t.rebuild.Again(r, &m)
	} else if err := t.rebuild.RealTo(r, &m, &p.to); err != nil {
		return err
	}
	t.trace(&m, e, &p, now)
	b.messages = append(b.messages, m)
	b.sources = append(b.sources, len(b.taken))
	b.topics = append(b.topics, topic)
	b.records = append(b.records, rec)
	b.bytes += int(e.size)
	kept = true
	return nil
}

// cancelled tells whether a cancel meets the timer, and counts that.
func (t *Timer) cancelled(e entry, topic string, p *traced, now int64) bool {
	if p.cancels {
		return true // a cancel whose unit is damaged
	}
	if len(t.window.cancels) == 0 || p.unique == "" {
		return false
	}
	slot := t.wheel.key(e.out)
	if p.out != e.out { // it may be in another slot than it was wanted in
		own, err := parseTimer(&t.put.record, t.precision)
		if err != nil {
			return false
		}
		slot = t.wheel.key(own.due - 1)
	}
	c := t.window.cancels.find(t.cancelKey(p.unique, slot), t.cancelKeyLong(topic, p.unique, slot))
	if c == nil {
		return false
	}
	t.count(topic, e.pos, -1, now)
	if c.hits++; c.hits <= len(c.units) {
		t.count(c.topic, c.units[c.hits-1], 1, now)
	}
	t.counts.cancelled.Add(1)
	return true
}

// traced is what a record of a timer says.
type traced struct {
	out       int64 // TIMER_OUT_MS
	to        relay.Target
	unique    string
	rollTimes string
	cancels   bool
	marked    bool // it was rolled: it has the properties that trace sets
}

func traceOf(properties message.Properties) traced {
	var p traced
	properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyTimerOutMs:
			ms, err := strconv.ParseInt(value, 10, 64)
			if err == nil {
				p.out = ms
			}
		case message.KeyUniqueKey:
			p.unique = value
		case message.KeyTimerRollTimes:
			p.rollTimes, p.marked = value, true
		case message.KeyTimerEnqueueMs, message.KeyTimerDequeueMs:
			p.marked = true
		case message.KeyTimerDelUniqueKey:
			p.cancels = true
		default:
			p.to.Note(key, value)
		}
		return true
	})
	return p
}

// trace adds when the timer was enqueued and dequeued and how often it rolled (TimerMessageStore.convert), as far as there is room.
func (t *Timer) trace(m *message.Message, e entry, p *traced, now int64) {
	b := &t.put
	if p.marked {
		m.Properties = m.Properties.Without(message.KeyTimerEnqueueMs, message.KeyTimerDequeueMs)
	}
	var digits [20]byte
	at := len(b.suffixes)
	s := message.Properties(b.suffixes[at:])
	enqueued := e.written
	if e.late {
		enqueued = never // "never enqueued"
	}
	s = appendNumber(s, message.KeyTimerEnqueueMs, enqueued, digits[:0])
	s = appendNumber(s, message.KeyTimerDequeueMs, now, digits[:0])
	if e.magic&magicRoll != 0 {
		times, err := strconv.ParseInt(p.rollTimes, 10, 32)
		if err != nil {
			times = 0
		}
		m.Properties = m.Properties.Without(message.KeyTimerRollTimes)
		s = appendNumber(s, message.KeyTimerRollTimes, times+1, digits[:0])
	}
	b.suffixes = append(b.suffixes[:at], s...)
	if len(m.Properties)+len(s)+1+crcTail > message.MaxProperties {
		return
	}
	m.Suffix = s
}

// crcTail is what the setting enabledAppendPropCRC adds to properties.
const crcTail = 20 + 1

// countDelivered counts the first messages of the batch, which are stored.
func (t *Timer) countDelivered(stored int) {
	b := &t.put
	now := t.o.Clock.NowMs()
	t.wheel.mu.Lock()
	for _, i := range b.sources[:stored] {
		e := &b.taken[i]
		t.wheel.add(t.wheel.key(e.out), int32(-e.counts()))
	}
	t.wheel.mu.Unlock()
	for from := 0; from < stored; {
		to := from + 1
		for to < stored && b.topics[to] == b.topics[from] {
			to++
		}
		t.countRun(b.topics[from], b.sources[from:to], now)
		from = to
	}
}

// countRun counts delivered messages of one topic, given by their places in taken.
func (t *Timer) countRun(topic string, sources []int, now int64) {
	pending, rolled := int64(0), int64(0)
	for _, i := range sources {
		e := &t.put.taken[i]
		pending -= e.counts()
		t.recount.note(topic, e.pos, -e.counts())
		if e.magic&magicRoll != 0 {
			rolled++
			continue
		}
		t.lateness.Add(now - e.due)
	}
	t.metrics.add(topic, pending, now)
	t.counts.rolled.Add(rolled)
	delivered := int64(len(sources)) - rolled
	t.counts.delivered.Add(delivered)
	if t.o.OnDelivered != nil && delivered > 0 {
		t.o.OnDelivered(topic, delivered)
	}
}

// count changes the metrics for the unit at pos.
func (t *Timer) count(topic string, pos, n, now int64) {
	t.metrics.add(topic, n, now)
	t.recount.note(topic, pos, n)
}

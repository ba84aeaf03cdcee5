package timer

import (
	"github.com/rocketd/rocketd/message"
)

// recountBudget bounds the units counted in one round.
const recountBudget = 2048

// recount counts the pending timers of each topic anew, after a stop that left the metrics behind (TimerMessageStore.checkAndReviseMetrics).
// It goes along the timer log while everything else goes on: what happens to units it has passed, or that came after it began, is counted as
// it happens. It belongs to the worker.
type recount struct {
	reader *unitReader
	at     int64 // units before are counted
	end    int64 // units from here on are counted when they are enqueued
	counts map[string]int64
}

func (t *Timer) newRecount() *recount {
	return &recount{reader: newUnitReader(t.log), at: t.sweeper.at, end: t.log.end, counts: make(map[string]int64)}
}

// note counts what happened to the unit at pos.
func (r *recount) note(topic string, pos, n int64) {
	if r != nil && n != 0 && (pos < r.at || pos >= r.end) {
		r.counts[topic] += n
	}
}

// recountSome counts a piece. It tells whether there is more.
func (t *Timer) recountSome(now int64) bool {
	r := t.recount
	if r == nil {
		return false
	}
	r.reader.reset()
	held := t.window.cancels.held()
	for range recountBudget {
		if r.at >= r.end {
			t.metrics.replace(r.counts, now)
			t.recount = nil
			return false
		}
		u, ok, err := r.reader.unit(r.at)
		if err != nil {
			t.warn(now, "pending timers cannot be counted", err, nil)
			t.recount = nil
			return false
		}
		if ok && (!t.over(&u, r.at, &t.progress) || held[r.at]) {
			t.recountUnit(&u)
		}
		r.at = t.log.next(r.at)
	}
	return true
}

func (t *Timer) recountUnit(u *unit) {
	topic, ok := t.names.topic(u.hash)
	if !ok {
		if topic = t.topicOf(u); topic == "" {
			return
		}
	}
	t.recount.counts[topic] += u.counts()
}

// topicOf reads the real topic of a unit's message.
func (t *Timer) topicOf(u *unit) string {
	rec, err := t.o.Store.Record(u.offset, u.size)
	if err != nil {
		return ""
	}
	defer rec.Release()
	if _, err := message.DecodeRecord(rec.Bytes(), &t.put.record, false); err != nil {
		return ""
	}
	topic, _ := t.put.record.Properties.Get(message.KeyRealTopic)
	topic = t.rebuild.Intern(topic)
	t.names.note(topic)
	return topic
}

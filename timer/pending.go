package timer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// maxBuckets bounds the answer to a PendingQuery.
const maxBuckets = 100_000

// PendingQuery asks what is pending.
type PendingQuery struct {
	// Bucket is the width of the stretches of time to count by, at least timerPrecisionMs: a minute, an hour, a day. 0: an hour.
	Bucket time.Duration
	// Topic restricts the answer to one real topic. That reads the timer log, where an empty one takes the counts of the wheel.
	Topic string
}

// PendingBucket counts the timers due in one stretch of time. Timers that are further ahead than the roll window count where they roll.
type PendingBucket struct {
	StartMs int64 `json:"startMs"`
	Count   int64 `json:"count"`
}

// PendingReport is what is pending. Counts are those of timers less their cancels, never below zero.
type PendingReport struct {
	Total   int64           `json:"total"`
	Buckets []PendingBucket `json:"buckets"` // in order of time, empty ones left out
	Topics  []TopicCount    `json:"topics"`  // most timers first; only without a topic in the query
	// NextDue is when the next timer is due, exact when that is soon, else the begin of its slot; 0: none is pending.
	NextDue int64 `json:"nextDue"`
	// OldestMs is when the oldest pending timer was enqueued or last rolled; 0: none is pending.
	OldestMs int64 `json:"oldestMs"`
	// Behind counts messages of the system topic that are not enqueued yet.
	Behind int64 `json:"behind"`
}

// TopicCount counts the pending timers of one topic.
type TopicCount struct {
	Topic string `json:"topic"`
	Count int64  `json:"count"`
}

// Pending tells what is pending. With a topic it reads the whole timer log; ctx ends that early.
func (t *Timer) Pending(ctx context.Context, q PendingQuery) (PendingReport, error) {
	if q.Bucket == 0 {
		q.Bucket = time.Hour
	}
	width := max(q.Bucket.Milliseconds(), t.precision)
	t.cpMu.Lock()
	p, queueOffset := t.cp.progress.clone(), t.cp.queueOffset
	t.cpMu.Unlock()
	r := PendingReport{NextDue: t.next(&p)}
	buckets := make(map[int64]int64)
	var err error
	if q.Topic == "" {
		t.countSlots(&p, width, buckets)
		r.Topics = t.TopicCounts()
	} else {
		err = t.countUnits(ctx, &p, q.Topic, width, buckets)
	}
	for start, n := range buckets {
		if n > 0 {
			r.Total += n
			r.Buckets = append(r.Buckets, PendingBucket{start, n})
		}
	}
	slices.SortFunc(r.Buckets, func(a, b PendingBucket) int { return compare(a.StartMs, b.StartMs) })
	if len(r.Buckets) > maxBuckets {
		r.Buckets = r.Buckets[:maxBuckets]
	}
	if u, ok, uerr := newUnitReader(t.log).unit(t.oldest.Load()); uerr == nil && ok && r.Total > 0 {
		r.OldestMs = u.written
	}
	if queue := t.o.Store.Queue(message.TopicTimer, 0); queue != nil {
		r.Behind = max(0, queue.MaxOffset()-queueOffset)
	}
	return r, err
}

// NextDue is when the next timer that Behind does not count is due, ms: exact when that is soon, else the begin of its slot; 0: none is
// pending.
func (t *Timer) NextDue() int64 {
	t.cpMu.Lock()
	p := t.cp.progress.clone()
	t.cpMu.Unlock()
	return t.next(&p)
}

// Behind counts the messages of the system topic that the worker has not enqueued yet.
func (t *Timer) Behind() int64 {
	queue := t.o.Store.Queue(message.TopicTimer, 0)
	if queue == nil {
		return 0
	}
	return max(0, queue.MaxOffset()-t.enqueuedTo.Load())
}

// next is when the next timer is due: known to the millisecond for open slots.
func (t *Timer) next(p *progress) int64 {
	if due := t.nextDue.Load(); due != never {
		return due
	}
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	from := t.wheel.key(p.mark.out)
	for to := from + t.wheel.slots() - 1; ; from++ {
		key, ok := t.wheel.next(from, to)
		if !ok {
			return 0
		}
		// A slot whose timers are all delivered or cancelled is there until it is cleared.
		if s, ok := t.wheel.get(key); ok && s.num > 0 {
			return t.wheel.start(key)
		}
		from = key
	}
}

// countSlots counts by the wheel.
func (t *Timer) countSlots(p *progress, width int64, buckets map[int64]int64) {
	from := t.wheel.key(p.mark.out)
	t.wheel.mu.Lock()
	defer t.wheel.mu.Unlock()
	t.wheel.each(func(s slot) {
		if s.key >= from {
			start := t.wheel.start(s.key)
			buckets[start-start%width] += int64(s.num)
		}
	})
}

// countUnits counts by the units of the log.
func (t *Timer) countUnits(ctx context.Context, p *progress, topic string, width int64, buckets map[int64]int64) error {
	t.wheel.mu.Lock()
	end := t.log.end
	t.wheel.mu.Unlock()
	hash := message.JavaHash(topic)
	r := newUnitReader(t.log)
	n := 0
	for pos := t.oldest.Load(); pos < end; pos = t.log.next(pos) {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("count pending timers of %s: %w", topic, ctx.Err())
		}
		u, ok, err := r.unit(pos)
		if err != nil {
			return fmt.Errorf("count pending timers of %s: %w", topic, err)
		}
		if !ok || u.hash != hash || t.over(&u, pos, p) {
			continue
		}
		buckets[u.out-u.out%width] += u.counts()
	}
	return nil
}

// TopicCounts counts the pending timers of all topics, most timers first.
func (t *Timer) TopicCounts() []TopicCount {
	var out []TopicCount
	for topic, c := range t.metrics.snapshot(shown).TimingCount {
		out = append(out, TopicCount{topic, c.Count})
	}
	slices.SortFunc(out, func(a, b TopicCount) int {
		if a.Count != b.Count {
			return compare(b.Count, a.Count)
		}
		if a.Topic < b.Topic {
			return -1
		}
		return 1
	})
	return out
}

// MetricsJSON is the body of GET_TIMER_METRICS.
func (t *Timer) MetricsJSON() []byte { return t.metrics.encode(shown) }

// ForgetTopics drops the counts of the topics that drop names, when they are deleted (TimerMetrics.removeTimingCount).
func (t *Timer) ForgetTopics(drop func(topic string) bool) { t.metrics.forget(drop) }

// Checkpoint is the body of GET_TIMER_CHECK_POINT (TimerCheckpoint.encode).
func (t *Timer) Checkpoint() []byte {
	t.cpMu.Lock()
	defer t.cpMu.Unlock()
	return t.cp.append(make([]byte, 0, headerSize))
}

// Stats are counters since the start.
type Stats struct {
	Enqueued  int64 `json:"enqueued"`
	Delivered int64 `json:"delivered"`
	Rolled    int64 `json:"rolled"`
	Cancelled int64 `json:"cancelled"`
	// Skipped messages could not be delivered: their record was gone or damaged, or the store refuses it for good.
	Skipped int64 `json:"skipped"`
	// Retried counts pauses after a failure.
	Retried int64 `json:"retried"`
	// Repaired counts messages that were enqueued again because their unit was lost.
	Repaired int64                 `json:"repaired"`
	Lateness []relay.LatenessClass `json:"lateness"`
	// MaxLateness in ms.
	MaxLateness int64 `json:"maxLateness"`
}

// Stats returns the counters.
func (t *Timer) Stats() Stats {
	c := &t.counts
	return Stats{
		Enqueued: c.enqueued.Load(), Delivered: c.delivered.Load(), Rolled: c.rolled.Load(), Cancelled: c.cancelled.Load(),
		Skipped: c.skipped.Load(), Retried: c.retried.Load(), Repaired: c.repaired.Load(),
		Lateness: t.lateness.Classes(), MaxLateness: t.lateness.Max(),
	}
}

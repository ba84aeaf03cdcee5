package store

import (
	"sync/atomic"
	"time"
)

// flushBounds are the upper ends, µs, of the classes that fsyncs of the log are counted in; one more class has none.
var flushBounds = [...]int64{100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000}

// flushTimes counts how long fsyncs of the log took.
type flushTimes struct {
	classes [len(flushBounds) + 1]atomic.Int64
	sumUs   atomic.Int64
}

func (t *flushTimes) add(took time.Duration) {
	us := max(0, took.Microseconds())
	i := 0
	for i < len(flushBounds) && us > flushBounds[i] {
		i++
	}
	t.classes[i].Add(1)
	t.sumUs.Add(us)
}

// FlushClass counts the fsyncs that took at most Us microseconds, and longer than the class before.
type FlushClass struct {
	Us    int64 // 0 for the last class, which has no end
	Count int64
}

// FlushTimes tells how long the fsyncs of the commit log took since the store was opened: classes, and the sum in µs.
func (s *Store) FlushTimes() (classes []FlushClass, sumUs int64) {
	t := &s.flusher.times
	for i := range t.classes {
		c := FlushClass{Count: t.classes[i].Load()}
		if i < len(flushBounds) {
			c.Us = flushBounds[i]
		}
		classes = append(classes, c)
	}
	return classes, t.sumUs.Load()
}

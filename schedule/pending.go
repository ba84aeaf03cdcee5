package schedule

import (
	"math"
	"time"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// LevelOffset tells how far a level is delivered.
type LevelOffset struct {
	Level     int32 `json:"level"`
	Offset    int64 `json:"offset"`    // of the next message to deliver
	MaxOffset int64 `json:"maxOffset"` // of the next message that comes in
}

// Offsets tells how far every level is delivered: level n at index n-1.
func (s *Schedule) Offsets() []LevelOffset {
	s.mu.Lock()
	out := make([]LevelOffset, len(s.lanes))
	for i, l := range s.lanes {
		out[i] = LevelOffset{Level: l.level, Offset: l.offset}
	}
	s.mu.Unlock()
	for i := range out {
		if q := s.o.Store.Queue(message.TopicSchedule, out[i].Level-1); q != nil {
			out[i].MaxOffset = q.MaxOffset()
		}
	}
	return out
}

// LevelPending is what waits in one level.
type LevelPending struct {
	Level   int32         `json:"level"`
	Delay   time.Duration `json:"delay"` // of messages stored now
	Count   int64         `json:"count"`
	NextDue int64         `json:"nextDue"` // ms since the epoch; 0: nothing waits
}

// Pending tells what waits in every level: level n at index n-1.
func (s *Schedule) Pending() []LevelPending {
	s.mu.Lock()
	out := make([]LevelPending, len(s.lanes))
	for i, l := range s.lanes {
		out[i] = LevelPending{Level: l.level, Delay: s.levels.Delay(l.level)}
		if l.hasHead {
			out[i].NextDue = l.due(l.head)
		}
	}
	s.mu.Unlock()
	for i, o := range s.Offsets() {
		if i < len(out) {
			out[i].Count = max(0, o.MaxOffset-o.Offset)
		}
	}
	return out
}

// Stats are counters since the start.
type Stats struct {
	// Skipped messages could not be delivered: their record was gone or damaged, or the store refuses it for good.
	Skipped int64 `json:"skipped"`
	// Lateness of what was delivered.
	Lateness []relay.LatenessClass `json:"lateness"`
	// MaxLateness in ms.
	MaxLateness int64 `json:"maxLateness"`
}

// Stats returns the counters.
func (s *Schedule) Stats() Stats {
	s.mu.Lock()
	skipped := s.failed
	s.mu.Unlock()
	return Stats{Skipped: skipped, Lateness: s.lateness.Classes(), MaxLateness: s.lateness.Max()}
}

// KeepFrom is the physical offset of the oldest record that is still to be delivered, math.MaxInt64 when nothing waits.
func (s *Schedule) KeepFrom() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := int64(math.MaxInt64)
	for _, l := range s.lanes {
		from = min(from, l.keep)
	}
	return from
}

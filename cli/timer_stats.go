package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/console"
	"github.com/rocketd/rocketd/internal/view"
)

// TimerStats is the answer of timer stats.
type TimerStats struct {
	NowMs     int64             `json:"nowMs"`
	Pending   int64             `json:"pending"`
	Behind    int64             `json:"behind"`    // stored and not in the wheel yet
	NextDueMs int64             `json:"nextDueMs"` // 0: none is pending
	OldestMs  int64             `json:"oldestMs"`  // when the oldest was enqueued or last rolled; 0: none is pending
	BucketMs  int64             `json:"bucketMs"`
	Slots     []view.Slot       `json:"slots"`
	Topics    []view.TopicCount `json:"topics"`
	// Lateness of what was delivered since the broker started; only the console tells it.
	Lateness      []view.Lateness `json:"lateness"`
	DelayLateness []view.Lateness `json:"delayLateness"`
	MaxLatenessMs int64           `json:"maxLatenessMs"`
	Delivered     int64           `json:"delivered"`
	Cancelled     int64           `json:"cancelled"`
	// Console: the console answered, so that all is known.
	Console bool `json:"console"`
	// Partial: not all messages of the system topic were read, so that slots, nextDueMs and oldestMs do not hold all timers.
	Partial bool `json:"partial"`
}

// buckets are the values of --by.
var buckets = map[string]int64{"minute": 60_000, "hour": 3_600_000, "day": 86_400_000} //nolint:gochecknoglobals // a table

func timerStats(t *timerCommand) *cobra.Command {
	by := "hour"
	c := &cobra.Command{
		Use: "stats", Short: "Count pending timers by time and by topic, and show how late timers were", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if buckets[by] == 0 || t.read < 1 {
				return &failure{code: ExitUsage, sentence: fmt.Sprintf("--by %q is none of minute, hour, day, or --read %d is less than 1", by, t.read)}
			}
			return t.ask(func(ctx context.Context, a *admin.Admin) error {
				s, err := t.stats(ctx, a, by)
				if err != nil {
					return err
				}
				return t.show(s, func(w *table) { printTimerStats(w, &s) })
			})
		},
	}
	c.Flags().StringVar(&by, "by", by, "count by minute, hour or day")
	return c
}

func (t *timerCommand) stats(ctx context.Context, a *admin.Admin, by string) (TimerStats, error) {
	if t.http == "" {
		return t.statsOfBrokers(ctx, a, by)
	}
	q := url.Values{"bucket": {by}}
	if t.topic != "" {
		q.Set("topic", t.topic)
	}
	var v console.TimersAnswer
	err := t.get(ctx, "timers", q, &v)
	return TimerStats{
		Console: true,
		NowMs:   v.NowMs, Pending: v.Timers, Behind: v.Behind, NextDueMs: v.NextDueMs, OldestMs: v.OldestMs, BucketMs: v.BucketMs, Slots: v.Slots, Topics: v.Topics,
		Lateness: v.TimerLateness, DelayLateness: v.DelayLateness, MaxLatenessMs: v.Stats.MaxLateness, Delivered: v.Stats.Delivered, Cancelled: v.Stats.Cancelled,
	}, err
}

func (t *timerCommand) statsOfBrokers(ctx context.Context, a *admin.Admin, by string) (TimerStats, error) {
	s := TimerStats{NowMs: a.NowMs(), BucketMs: buckets[by], Slots: []view.Slot{}, Topics: []view.TopicCount{}, Lateness: []view.Lateness{}, DelayLateness: []view.Lateness{}}
	states, err := a.TimerStates(ctx)
	if err != nil {
		return s, err
	}
	topics := map[string]int64{}
	for _, state := range states {
		s.Behind += state.Behind
		for _, c := range state.Topics {
			if t.topic == "" || c.Topic == t.topic {
				s.Pending += c.Count
				topics[c.Topic] += c.Count
			}
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		s.Topics = append(s.Topics, view.TopicCount{Topic: topic, Count: topics[topic]})
	}
	slices.SortStableFunc(s.Topics, func(x, y view.TopicCount) int { return cmp.Compare(y.Count, x.Count) })
	waiting, err := a.WaitingTimers(ctx, t.read, t.progress("brokers"))
	if err != nil {
		return s, err
	}
	s.Partial = waiting.Read < waiting.Of
	slots := map[int64]int64{}
	for i := range waiting.Timers {
		m := &waiting.Timers[i]
		if t.topic != "" && m.RealTopic != t.topic {
			continue
		}
		slots[m.DueMs-m.DueMs%s.BucketMs]++
		if s.NextDueMs == 0 {
			s.NextDueMs = m.DueMs
		}
		if s.OldestMs == 0 || m.StoreMs < s.OldestMs {
			s.OldestMs = m.StoreMs
		}
	}
	for _, start := range slices.Sorted(maps.Keys(slots)) {
		s.Slots = append(s.Slots, view.Slot{StartMs: start, Timers: slots[start]})
	}
	return s, nil
}

func printTimerStats(w *table, s *TimerStats) {
	w.row("pending", s.Pending)
	w.row("not in the wheel yet", s.Behind)
	w.row("next due", stampOf(s.NextDueMs), "in "+age(s.NextDueMs-s.NowMs))
	w.row("oldest", stampOf(s.OldestMs), age(s.NowMs-s.OldestMs)+" ago")
	if s.Console {
		w.row("delivered", s.Delivered)
		w.row("cancelled", s.Cancelled)
		w.row("latest", fmt.Sprint(s.MaxLatenessMs, " ms"))
	}
	w.line("")
	w.row("DUE FROM", "TIMERS", "DELAYS")
	for _, slot := range s.Slots {
		w.row(strings.TrimSuffix(stampOf(slot.StartMs), ":00.000"), slot.Timers, slot.Delays)
	}
	w.line("")
	w.row("TOPIC", "PENDING")
	for _, c := range s.Topics {
		w.row(c.Topic, c.Count)
	}
	if len(s.Lateness) > 0 {
		w.line("")
		w.row("LATE BY AT MOST, MS", "TIMERS", "DELAYS")
		for i, class := range s.Lateness {
			late, delays := fmt.Sprint(class.Ms), int64(0)
			if class.Ms < 0 {
				late = "more"
			}
			if i < len(s.DelayLateness) {
				delays = s.DelayLateness[i].Count
			}
			w.row(late, class.Count, delays)
		}
	}
	if s.Partial {
		w.line("")
		w.line("Not all messages of the system topic were read: --read N reads more, --http knows all.")
	}
}

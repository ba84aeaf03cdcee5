package admin

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// TimerState is what a broker tells of its timers (GET_TIMER_METRICS, GET_TIMER_CHECK_POINT).
type TimerState struct {
	Broker  string            `json:"broker"`
	Pending int64             `json:"pending"`
	Topics  []view.TopicCount `json:"topics"` // most timers first
	// DoneMs: what is due before is delivered.
	DoneMs int64 `json:"doneMs"`
	Behind int64 `json:"behind"` // stored and not in the wheel yet
}

// timerCheckpoint is the size of the body of GET_TIMER_CHECK_POINT (TimerCheckpoint.encode).
const timerCheckpoint = 56

// TimerStates asks each master for its timers.
func (a *Admin) TimerStates(ctx context.Context) ([]TimerState, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]TimerState, len(masters))
	return list, each(ctx, masters, func(ctx context.Context, i int, s server) error {
		list[i], err = a.timerState(ctx, s)
		return err
	})
}

func (a *Admin) timerState(ctx context.Context, s server) (TimerState, error) {
	t := TimerState{Broker: s.broker, Topics: []view.TopicCount{}}
	resp, err := a.call(ctx, s, remoting.GetTimerMetrics, nil, nil)
	if err != nil {
		return t, err
	}
	var metrics struct {
		TimingCount map[string]struct {
			Count int64 `json:"count"`
		} `json:"timingCount"`
	}
	if err := json.Unmarshal(resp.Body, &metrics); err != nil {
		return t, fmt.Errorf("the timer metrics of %s cannot be read: %w", s, err)
	}
	for topic, c := range metrics.TimingCount {
		if c.Count > 0 {
			t.Pending += c.Count
			t.Topics = append(t.Topics, view.TopicCount{Topic: topic, Count: c.Count})
		}
	}
	slices.SortFunc(t.Topics, func(x, y view.TopicCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.Topic, y.Topic))
	})
	if resp, err = a.call(ctx, s, remoting.GetTimerCheckPoint, nil, nil); err != nil {
		return t, err
	}
	if len(resp.Body) < timerCheckpoint {
		return t, fmt.Errorf("the timer checkpoint of %s has %d bytes, want %d", s, len(resp.Body), timerCheckpoint)
	}
	t.DoneMs = int64(binary.BigEndian.Uint64(resp.Body))
	queue, err := a.timerQueue(ctx, s)
	t.Behind = max(0, queue.Max-int64(binary.BigEndian.Uint64(resp.Body[16:])))
	return t, err
}

// timerQueue is the queue of the system topic of timers.
func (a *Admin) timerQueue(ctx context.Context, s server) (Queue, error) {
	q := Queue{Broker: s.broker}
	for _, end := range []struct {
		code int32
		h    remoting.Header
		to   *int64
	}{
		{remoting.GetMinOffset, &remoting.GetMinOffsetRequestHeader{Topic: message.TopicTimer}, &q.Min},
		{remoting.GetMaxOffset, &remoting.GetMaxOffsetRequestHeader{Topic: message.TopicTimer}, &q.Max},
	} {
		resp, err := a.call(ctx, s, end.code, end.h, nil)
		if err != nil {
			return q, err
		}
		var answer remoting.GetMaxOffsetResponseHeader
		if err := resp.Decode(&answer); err != nil {
			return q, err
		}
		*end.to = max(0, answer.Offset)
	}
	return q, nil
}

// WaitingTimers are the timers found in the system topic.
type WaitingTimers struct {
	Timers []Message `json:"timers"` // in order of time
	Read   int64     `json:"read"`   // messages of the system topic that were read, the newest ones
	Of     int64     `json:"of"`     // that are there
}

// WaitingTimers reads up to most of the newest messages of each broker's system topic of timers, and returns those that are due later than now: so
// it works with any broker, but does not know what was cancelled. A timer that rolled is there once for each time: the newest counts.
func (a *Admin) WaitingTimers(ctx context.Context, most int, p Progress) (WaitingTimers, error) {
	out := WaitingTimers{Timers: []Message{}}
	masters, err := a.masters(ctx)
	if err != nil {
		return out, err
	}
	step := p.counter(len(masters))
	lists := make([][]Message, len(masters))
	queues := make([]Queue, len(masters))
	err = each(ctx, masters, func(ctx context.Context, i int, s server) (err error) {
		defer step()
		if queues[i], err = a.timerQueue(ctx, s); err != nil {
			return err
		}
		q := queues[i]
		lists[i], err = a.readRange(ctx, s, q, message.TopicTimer, max(q.Min, q.Max-int64(most)), most, 0, a.NowMs()+int64(1)<<40)
		return err
	})
	now := a.NowMs()
	for i, list := range lists {
		out.Read, out.Of = out.Read+int64(len(list)), out.Of+queues[i].Max-queues[i].Min
		seen := make(map[string]bool, len(list))
		for _, m := range slices.Backward(list) {
			id := fmt.Sprint(m.RealTopic, " ", m.UniqueKey, " ", m.Properties[message.KeyTimerDelUniqueKey], " ", m.DueMs)
			if m.DueMs > now && (m.UniqueKey == "" || !seen[id]) {
				out.Timers = append(out.Timers, m)
			}
			seen[id] = true
		}
	}
	slices.SortStableFunc(out.Timers, func(x, y Message) int { return cmp.Or(cmp.Compare(x.DueMs, y.DueMs), cmp.Compare(x.Offset, y.Offset)) })
	return out, err
}

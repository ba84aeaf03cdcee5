package brokertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/schedule"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// Offset tells how far a group has consumed one queue.
type Offset struct {
	Topic     string
	QueueID   int32
	Committed int64 // offset of the next message; -1: none is committed
	Min, Max  int64 // of the queue
}

// Lag is how many messages of the queue are not consumed.
func (o Offset) Lag() int64 { return o.Max - max(o.Committed, o.Min) }

// Offsets tells how far a group has consumed, for each queue of the topics that it subscribes or has committed offsets of, its retry topic
// included, sorted. Groups that consume by broadcasting keep their offsets to themselves.
func (b *Broker) Offsets(group string) ([]Offset, error) {
	now := b.now()
	if now == nil {
		return nil, ErrStopped
	}
	committed := now.CommittedOffsets(group)
	topics := map[string]struct{}{}
	for topic := range committed {
		topics[topic] = struct{}{}
	}
	for _, topic := range now.Subscriptions(group) {
		topics[topic] = struct{}{}
	}
	var list []Offset
	for topic := range topics {
		queues := map[int32]struct{}{}
		if t := now.Topic(topic); t != nil {
			for id := range t.ReadQueueNums {
				queues[id] = struct{}{}
			}
		}
		for id := range committed[topic] {
			queues[id] = struct{}{}
		}
		for id := range queues {
			o := Offset{Topic: topic, QueueID: id, Committed: -1}
			if offset, ok := committed[topic][id]; ok {
				o.Committed = offset
			}
			if q := now.Store().Queue(topic, id); q != nil {
				o.Min, o.Max = q.MinOffset(), q.MaxOffset()
			}
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b Offset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.QueueID, b.QueueID))
	})
	return list, nil
}

// Lag is how many messages a group has not consumed, over all queues that Offsets gives. It is -1 while the group is unknown: it has
// neither members nor offsets.
func (b *Broker) Lag(group string) (int64, error) {
	offsets, err := b.Offsets(group)
	if err != nil || len(offsets) == 0 {
		return -1, err
	}
	lag := int64(0)
	for _, o := range offsets {
		lag += o.Lag()
	}
	return lag, nil
}

// Members lists the connections of a consumer group.
func (b *Broker) Members(group string) ([]broker.Member, error) {
	now := b.now()
	if now == nil {
		return nil, ErrStopped
	}
	return now.Consumers(group), nil
}

// Delayed is a message that waits for its delay level.
type Delayed struct {
	Message // with its real topic and queue
	Level   int32
	Due     time.Time
}

// Delayed lists the messages that wait for their delay level, soonest first. Messages of a retry ladder are among them.
func (b *Broker) Delayed() ([]Delayed, error) {
	now := b.now()
	if now == nil {
		return nil, ErrStopped
	}
	var list []Delayed
	var failed error
	for _, level := range now.Schedule().Offsets() {
		q := now.Store().Queue(message.TopicSchedule, level.Level-1)
		if q == nil {
			continue
		}
		err := q.Range(max(level.Offset, q.MinOffset()), func(e store.Entry) bool {
			var m Message
			if m, failed = readMessage(now.Store(), q, e); failed != nil {
				return false
			}
			m.Topic, m.QueueID = realPlace(m)
			list = append(list, Delayed{Message: m, Level: level.Level, Due: time.UnixMilli(e.TagsCode)})
			return true
		})
		if failed == nil {
			failed = err
		}
		if failed != nil {
			return nil, wrap("delayed messages", failed)
		}
	}
	slices.SortStableFunc(list, func(a, b Delayed) int { return a.Due.Compare(b.Due) })
	return list, nil
}

// realPlace is where a message in a system topic belongs.
func realPlace(m Message) (topic string, queueID int32) {
	topic = m.Properties[message.KeyRealTopic]
	var id int32
	if _, err := fmt.Sscan(m.Properties[message.KeyRealQueueID], &id); err != nil {
		id = 0
	}
	return topic, id
}

// Pending is what waits inside the broker.
type Pending struct {
	// Levels are the delay levels at which messages wait.
	Levels []schedule.LevelPending
	// Timers are the messages with a time of delivery.
	Timers timer.PendingReport
	// Transactions are the half messages that are neither committed nor rolled back.
	Transactions []broker.UndecidedTransaction
	// HeldPulls is how many pulls wait for messages.
	HeldPulls int64
}

// Pending tells what waits inside the broker.
func (b *Broker) Pending(ctx context.Context) (Pending, error) {
	now := b.now()
	if now == nil {
		return Pending{}, ErrStopped
	}
	timers, err := now.Timer().Pending(ctx, timer.PendingQuery{})
	if err != nil {
		return Pending{}, wrap("pending timers", err)
	}
	p := Pending{Timers: timers, Transactions: now.UndecidedTransactions(), HeldPulls: now.HeldPulls()}
	for _, level := range now.Schedule().Pending() {
		if level.Count > 0 {
			p.Levels = append(p.Levels, level)
		}
	}
	return p, nil
}

// seenExchanges is how many of the last exchanges Seen shows.
const seenExchanges = 25

// Seen is a text about the broker for failures: topics, groups, what waits, and the last exchanges.
func (b *Broker) Seen() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s, clock %s\n", b, b.clk.Now().Format(time.RFC3339Nano))
	if now := b.now(); now == nil {
		s.WriteString("the broker is stopped\n")
	} else {
		b.describeTopics(&s, now)
		b.describeGroups(&s, now)
		b.describePending(&s, now)
	}
	exchanges := b.Journal()
	if n := len(exchanges); n > seenExchanges {
		fmt.Fprintf(&s, "last %d of %d exchanges:\n", seenExchanges, n)
		exchanges = exchanges[n-seenExchanges:]
	} else {
		fmt.Fprintf(&s, "%d exchanges:\n", n)
	}
	for _, e := range exchanges {
		fmt.Fprintf(&s, "  %s\n", e)
	}
	return s.String()
}

func (b *Broker) describeTopics(s *strings.Builder, now *broker.Broker) {
	counts := map[string]int64{}
	now.Store().Queues(func(q *store.ConsumeQueue) bool {
		counts[q.Topic()] += q.MaxOffset() - q.MinOffset()
		return true
	})
	for _, topic := range now.Topics() {
		if n := counts[topic]; n > 0 || !message.IsSystemTopic(topic) {
			fmt.Fprintf(s, "topic %s: %d messages\n", topic, n)
		}
	}
}

func (b *Broker) describeGroups(s *strings.Builder, now *broker.Broker) {
	for _, group := range now.ConsumerGroups() {
		var ids []string
		for _, m := range now.Consumers(group) {
			ids = append(ids, fmt.Sprintf("%s (%s %s)", m.ClientID, m.Language, m.RemoteAddr))
		}
		fmt.Fprintf(s, "group %s: %s\n", group, strings.Join(ids, ", "))
		offsets, err := b.Offsets(group)
		if err != nil {
			continue
		}
		for _, o := range offsets {
			if o.Max > 0 {
				fmt.Fprintf(s, "  %s/%d committed %d of %d\n", o.Topic, o.QueueID, o.Committed, o.Max)
			}
		}
	}
}

func (b *Broker) describePending(s *strings.Builder, now *broker.Broker) {
	for _, level := range now.Schedule().Pending() {
		if level.Count > 0 {
			fmt.Fprintf(s, "delay level %d: %d wait, next due %s\n", level.Level, level.Count, time.UnixMilli(level.NextDue).Format(time.RFC3339Nano))
		}
	}
	if due := now.Timer().NextDue(); due > 0 {
		fmt.Fprintf(s, "timers: next due about %s\n", time.UnixMilli(due).Format(time.RFC3339Nano))
	}
	for _, half := range now.UndecidedTransactions() {
		fmt.Fprintf(s, "undecided transaction %s of %s to %s: asked %d times, next at %s\n",
			half.UniqueKey, half.ProducerGroup, half.Topic, half.Checks, time.UnixMilli(half.DueMs).Format(time.RFC3339Nano))
	}
	if n := now.HeldPulls(); n > 0 {
		fmt.Fprintf(s, "%d pulls are held\n", n)
	}
}

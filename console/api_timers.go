package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// Bounds of the timeline.
const (
	maxDelaysRead = 20_000
	maxUpcoming   = 50
	maxSlots      = 2000
)

// Level is what waits in a delay level.
type Level struct {
	Level     int32 `json:"level"`
	DelayMs   int64 `json:"delayMs"`
	Count     int64 `json:"count"`
	NextDueMs int64 `json:"nextDueMs"` // 0: nothing waits
}

// TimersAnswer is the timeline of timers and delays.
type TimersAnswer struct {
	NowMs     int64        `json:"nowMs"`
	BucketMs  int64        `json:"bucketMs"`
	Topic     string       `json:"topic"` // empty: all
	Timers    int64        `json:"timers"`
	Delays    int64        `json:"delays"`
	Behind    int64        `json:"behind"` // timers stored and not in the wheel yet
	NextDueMs int64        `json:"nextDueMs"`
	OldestMs  int64        `json:"oldestMs"` // when the oldest timer was enqueued or last rolled; 0: none is pending
	Slots     []Slot       `json:"slots"`    // in order of time, empty ones left out
	Topics    []TopicCount `json:"topics"`
	Levels    []Level      `json:"levels"`
	// Upcoming are the next messages with a delay level, at most 50.
	Upcoming []Message `json:"upcoming"`
	// Cut: not all delays are in slots, topics and upcoming: only the first 20000 are read.
	Cut           bool        `json:"cut"`
	Stats         timer.Stats `json:"stats"`
	TimerLateness []Lateness  `json:"timerLateness"`
	DelayLateness []Lateness  `json:"delayLateness"`
}

func (c *Console) timers(r *http.Request) (TimersAnswer, error) {
	width, ok := map[string]time.Duration{"": time.Minute, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[r.URL.Query().Get("bucket")]
	if !ok {
		return TimersAnswer{}, bad("parameter bucket is second, minute, hour or day")
	}
	topic := r.URL.Query().Get("topic")
	b := c.o.Broker
	report, err := b.Timer().Pending(r.Context(), timer.PendingQuery{Bucket: width, Topic: topic})
	if err != nil {
		return TimersAnswer{}, err
	}
	out := TimersAnswer{
		NowMs: c.o.Clock.NowMs(), BucketMs: width.Milliseconds(), Topic: topic, Timers: report.Total, Behind: report.Behind, NextDueMs: report.NextDue, OldestMs: report.OldestMs,
		Slots: []Slot{}, Topics: []TopicCount{}, Levels: []Level{}, Upcoming: []Message{}, Stats: b.Timer().Stats(),
		TimerLateness: latenessOf(b.Timer().Stats().Lateness), DelayLateness: latenessOf(b.Schedule().Stats().Lateness),
	}
	for _, level := range b.Schedule().Pending() {
		out.Levels = append(out.Levels, Level{level.Level, level.Delay.Milliseconds(), level.Count, level.NextDue})
	}
	slots := map[int64]*Slot{}
	at := func(ms int64) *Slot {
		start := ms - ms%out.BucketMs
		if slots[start] == nil {
			slots[start] = &Slot{StartMs: start}
		}
		return slots[start]
	}
	for _, bucket := range report.Buckets {
		at(bucket.StartMs).Timers += bucket.Count
	}
	topics := map[string]int64{}
	for _, t := range b.Timer().TopicCounts() {
		topics[t.Topic] += t.Count
	}
	c.delays(&out, topic, at, topics)
	for _, s := range slots {
		out.Slots = append(out.Slots, *s)
	}
	slices.SortFunc(out.Slots, func(a, b Slot) int { return cmp.Compare(a.StartMs, b.StartMs) })
	out.Slots = out.Slots[:min(len(out.Slots), maxSlots)]
	for _, name := range sortedKeys(topics) {
		if topics[name] > 0 {
			out.Topics = append(out.Topics, TopicCount{Topic: name, Count: topics[name]})
		}
	}
	slices.SortStableFunc(out.Topics, func(a, b TopicCount) int { return cmp.Compare(b.Count, a.Count) })
	out.Topics = out.Topics[:min(len(out.Topics), maxNames)]
	return out, nil
}

// waiting is one message with a delay level.
type waiting struct{ due, physical int64 }

// delays adds messages with a delay level that wait. Their topic stands in the record.
func (c *Console) delays(out *TimersAnswer, topic string, at func(int64) *Slot, topics map[string]int64) {
	b := c.o.Broker
	var list []waiting
	for _, level := range b.Schedule().Offsets() {
		queue := b.Store().Queue(message.TopicSchedule, level.Level-1)
		if queue == nil || level.Offset >= queue.MaxOffset() {
			continue
		}
		err := queue.Range(level.Offset, func(e store.Entry) bool {
			if len(list) >= maxDelaysRead {
				out.Cut = true
				return false
			}
			list = append(list, waiting{e.TagsCode, e.PhysicalOffset})
			return true
		})
		if err != nil {
			out.Cut = true
		}
	}
	slices.SortFunc(list, func(a, b waiting) int { return cmp.Compare(a.due, b.due) })
	for _, w := range list {
		m, ok := c.waitingMessage(w, topic, len(out.Upcoming) < maxUpcoming)
		if !ok {
			continue
		}
		out.Delays++
		at(w.due).Delays++
		topics[m.RealTopic]++
		if out.NextDueMs == 0 || w.due < out.NextDueMs {
			out.NextDueMs = w.due
		}
		if len(out.Upcoming) < maxUpcoming {
			out.Upcoming = append(out.Upcoming, m)
		}
	}
}

// waitingMessage reads a message that waits, all of it or only its topic; false when it is gone, or for another topic than the wanted one.
func (c *Console) waitingMessage(w waiting, topic string, whole bool) (Message, bool) {
	record, err := c.o.Broker.Store().Record(w.physical)
	if err != nil {
		return Message{}, false
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil {
		return Message{}, false
	}
	name, _ := r.Properties.Get(message.KeyRealTopic)
	if topic != "" && name != topic {
		return Message{}, false
	}
	if !whole {
		return Message{RealTopic: strings.Clone(name)}, true
	}
	m := c.describeMessage(&r, 0)
	m.DueMs = w.due
	return m, true
}

func latenessOf(classes []relay.LatenessClass) []Lateness {
	out := make([]Lateness, 0, len(classes))
	for _, class := range classes {
		if class.Ms == math.MaxInt64 {
			class.Ms = -1
		}
		out = append(out, Lateness{Ms: class.Ms, Count: class.Count})
	}
	return out
}

// Half is a half message that nobody has decided yet.
type Half struct {
	Topic     string   `json:"topic"`
	Group     string   `json:"producerGroup"`
	UniqueKey string   `json:"uniqueKey"`
	Offset    int64    `json:"offset"` // in the half topic
	Checks    int32    `json:"checks"`
	SinceMs   int64    `json:"sinceMs"`
	NextAskMs int64    `json:"nextAskMs"`
	Askable   []Client `json:"askable"` // the connections of its producer group, one of which is asked
}

// TransactionsAnswer lists half messages, oldest first.
type TransactionsAnswer struct {
	Total        int            `json:"total"`
	Transactions []Half         `json:"transactions"`
	Decided      []DecidedTopic `json:"decided"`
}

// DecidedTopic is what became of the transactions of a topic since the start.
type DecidedTopic struct {
	Topic     string `json:"topic"`
	Commits   int64  `json:"commits"`
	Rollbacks int64  `json:"rollbacks"`
}

func (c *Console) transactions(*http.Request) (TransactionsAnswer, error) {
	list := c.o.Broker.UndecidedTransactions()
	out := TransactionsAnswer{Total: len(list), Transactions: []Half{}, Decided: []DecidedTopic{}}
	askable := map[string][]Client{}
	for _, t := range list[:min(len(list), maxNames)] {
		if _, known := askable[t.ProducerGroup]; !known {
			askable[t.ProducerGroup] = []Client{}
			for _, m := range c.o.Broker.Producers(t.ProducerGroup) {
				askable[t.ProducerGroup] = append(askable[t.ProducerGroup], clientOf(&m))
			}
		}
		out.Transactions = append(out.Transactions, Half{t.Topic, t.ProducerGroup, t.UniqueKey, t.QueueOffset, t.Checks, t.SinceMs, t.DueMs, askable[t.ProducerGroup]})
	}
	for _, d := range c.o.Broker.Traffic().Transactions {
		out.Decided = append(out.Decided, DecidedTopic{d.Topic, d.Commits, d.Rollbacks})
	}
	return out, nil
}

// DeadLettersAnswer lists groups with dead letters or, of one group, its newest ones.
type DeadLettersAnswer struct {
	Groups   []TopicCount `json:"groups"`
	Group    string       `json:"group"`
	Messages []Message    `json:"messages"`
}

func (c *Console) deadLetters(r *http.Request) (DeadLettersAnswer, error) {
	out := DeadLettersAnswer{Groups: []TopicCount{}, Group: r.URL.Query().Get("group"), Messages: []Message{}}
	for _, d := range c.o.Broker.DeadLetters() {
		if len(out.Groups) < maxNames {
			out.Groups = append(out.Groups, TopicCount{Topic: d.Topic, Count: d.Count})
		}
	}
	if out.Group == "" {
		return out, nil
	}
	name := message.DLQTopic(out.Group)
	if c.o.Broker.Topic(name) == nil {
		return out, missing("group " + quoted(out.Group) + " has no dead letters")
	}
	s := search{c: c, topic: name, queue: 0, count: maxMessages, shown: defaultBodyBytes}
	found, err := s.newest()
	out.Messages = found.Messages
	return out, err
}

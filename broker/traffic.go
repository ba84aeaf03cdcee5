package broker

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/message"
)

// kind is the type of a message as the metrics count it (BrokerMetricsManager#getMessageType).
type kind uint8

const (
	kindNormal kind = iota
	kindTransaction
	kindFIFO
	kindDelay
	kinds
)

// String is the metrics' word for it (TopicMessageType#getMetricsValue).
func (k kind) String() string {
	return [kinds]string{"normal", "transaction", "fifo", "delay"}[k]
}

// kind is the kind of the message that the properties belong to.
func (p *sendProperties) kind() kind {
	switch {
	case p.prepared:
		return kindTransaction
	case p.sharded:
		return kindFIFO
	case p.delay != "" || p.timer:
		return kindDelay
	}
	return kindNormal
}

// sizeBounds and the others are the upper bounds of the reference's histograms (BrokerMetricsManager#registerMetricsView,
// DefaultStoreMetricsManager#getMetricsView): bytes, and seconds that it calls milliseconds for finished transactions.
var (
	sizeBounds   = [...]int64{1 << 10, 4 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20}
	finishBounds = [...]int64{5, 60, 600, 3600, 43200, 86400}
	timedBounds  = [...]int64{60, 600, 3600, 43200, 86400, 259200}
)

// histogram counts values by the first of six bounds that they do not exceed.
type histogram struct {
	buckets [7]atomic.Int64
	sum     atomic.Int64
}

func (h *histogram) add(bounds *[6]int64, value int64) {
	h.buckets[bucketOf(bounds, value)].Add(1)
	h.sum.Add(value)
}

// bucketOf is the first bound that value does not exceed, 6 when it exceeds all.
func bucketOf(bounds *[6]int64, value int64) int {
	i := 0
	for i < len(bounds) && value > bounds[i] {
		i++
	}
	return i
}

func (h *histogram) snapshot(bounds *[6]int64) Histogram {
	out := Histogram{Bounds: bounds[:], Sum: h.sum.Load()}
	for i := range h.buckets {
		out.Count += h.buckets[i].Load()
		if i < len(bounds) {
			out.AtMost = append(out.AtMost, out.Count)
		}
	}
	return out
}

// Histogram counts values: AtMost[i] of them do not exceed Bounds[i].
type Histogram struct {
	Bounds, AtMost []int64
	Count, Sum     int64
}

// inflow is what producers sent to a topic, of one kind.
type inflow struct {
	messages, bytes atomic.Int64
	size            histogram
}

// decided is what became of the transactions of a topic.
type decided struct {
	commits, rollbacks atomic.Int64
	latency            histogram
}

// topicTraffic are the counters of a topic that live as long as the process, unlike the sliding windows.
type topicTraffic struct {
	in      [kinds]atomic.Pointer[inflow]
	decided atomic.Pointer[decided]
	timed   atomic.Pointer[histogram]
	// delivered are its timers that were delivered.
	delivered atomic.Int64
}

func ensure[T any](p *atomic.Pointer[T]) *T {
	if v := p.Load(); v != nil {
		return v
	}
	p.CompareAndSwap(nil, new(T))
	return p.Load()
}

// sent counts stored messages of one kind.
func (t *topicTraffic) sent(r *sentRun) {
	in := ensure(&t.in[r.kind])
	in.messages.Add(r.messages)
	in.bytes.Add(r.bytes)
	in.size.buckets[r.bucket].Add(r.requests)
	in.size.sum.Add(r.averages)
}

// outKey is what the messages given out are counted by. Pops are counted apart, and by whether they were of the retry topic, which counts
// as its origin then (PopMessageProcessor).
type outKey struct {
	topic, group string
	pop, retry   bool
}

// groupTraffic is the same for what a group gets of a topic.
type groupTraffic struct {
	messages, bytes, deadLetters atomic.Int64
}

// traffic holds the counters of what the sliding windows have forgotten: topics and groups come back to theirs.
type traffic struct {
	mu     sync.RWMutex
	topics map[string]*topicTraffic // guarded by mu
	groups map[outKey]*groupTraffic // guarded by mu
}

func (t *traffic) topic(name string) *topicTraffic {
	t.mu.RLock()
	found := t.topics[name]
	t.mu.RUnlock()
	if found != nil {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found = t.topics[name]; found != nil {
		return found
	}
	found = new(topicTraffic)
	if t.topics == nil {
		t.topics = map[string]*topicTraffic{}
	}
	if len(t.topics) < maxStatItems {
		t.topics[strings.Clone(name)] = found
	}
	return found
}

func (t *traffic) group(key outKey) *groupTraffic {
	t.mu.RLock()
	found := t.groups[key]
	t.mu.RUnlock()
	if found != nil {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found = t.groups[key]; found != nil {
		return found
	}
	found = new(groupTraffic)
	if t.groups == nil {
		t.groups = map[outKey]*groupTraffic{}
	}
	if len(t.groups) < maxStatItems {
		key.topic, key.group = strings.Clone(key.topic), strings.Clone(key.group)
		t.groups[key] = found
	}
	return found
}

// forgetTopic and forgetGroup drop the counters of what is deleted.
func (t *traffic) forgetTopic(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.topics, topic)
	for key := range t.groups {
		if key.topic == topic {
			delete(t.groups, key)
		}
	}
}

func (t *traffic) forgetGroup(group string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.groups {
		if key.group == group {
			delete(t.groups, key)
		}
	}
}

// retryOrDLQ tells the topics that the reference's metrics leave out (BrokerMetricsManager#isRetryOrDlqTopic).
func retryOrDLQ(topic string) bool { return message.IsRetryTopic(topic) || message.IsDLQTopic(topic) }

// TopicInflow is what producers have sent to a topic since the start, of one message type.
type TopicInflow struct {
	Topic           string
	Type            string // normal, fifo, delay or transaction
	System          bool
	Messages, Bytes int64
	Size            Histogram // bytes
}

// GroupOutflow is what a group has been given of a topic since the start.
type GroupOutflow struct {
	Topic, Group                 string
	System                       bool
	Pop, Retry                   bool // by pops; of the retry topic
	Messages, Bytes, DeadLetters int64
}

// TopicTransactions is what became of the transactions of a topic since the start.
type TopicTransactions struct {
	Topic              string
	Commits, Rollbacks int64
	Latency            Histogram // seconds from birth to commit
}

// TopicTimed is how far ahead the timers of a topic were set since the start, and how many were delivered.
type TopicTimed struct {
	Topic     string
	Ahead     Histogram // seconds
	Delivered int64
}

// Traffic is what went through the broker since its start, in order of the names. Retry and dead-letter topics are left out as in the
// reference's metrics.
type Traffic struct {
	In           []TopicInflow
	Out          []GroupOutflow
	Transactions []TopicTransactions
	Timed        []TopicTimed
}

// Traffic counts what went through since the start.
func (b *Broker) Traffic() Traffic {
	t := &b.stats.traffic
	var out Traffic
	t.mu.RLock()
	defer t.mu.RUnlock()
	for name, topic := range t.topics {
		for k := range topic.in {
			if in := topic.in[k].Load(); in != nil && (!retryOrDLQ(name) || kind(k) == kindDelay) { // delay levels count for retry topics too (ScheduleMessageService#onSuccess)
				out.In = append(out.In, TopicInflow{
					Topic: name, Type: kind(k).String(), System: message.IsSystemTopic(name),
					Messages: in.messages.Load(), Bytes: in.bytes.Load(), Size: in.size.snapshot(&sizeBounds),
				})
			}
		}
		if d := topic.decided.Load(); d != nil {
			out.Transactions = append(out.Transactions, TopicTransactions{
				Topic: name, Commits: d.commits.Load(), Rollbacks: d.rollbacks.Load(), Latency: d.latency.snapshot(&finishBounds),
			})
		}
		if h, delivered := topic.timed.Load(), topic.delivered.Load(); h != nil || delivered > 0 {
			timed := TopicTimed{Topic: name, Delivered: delivered}
			if h != nil {
				timed.Ahead = h.snapshot(&timedBounds)
			}
			out.Timed = append(out.Timed, timed)
		}
	}
	for key, g := range t.groups {
		if retryOrDLQ(key.topic) {
			continue
		}
		out.Out = append(out.Out, GroupOutflow{
			Topic: key.topic, Group: key.group, Pop: key.pop, Retry: key.retry, System: message.IsSystemTopic(key.topic) || message.IsSystemGroup(key.group),
			Messages: g.messages.Load(), Bytes: g.bytes.Load(), DeadLetters: g.deadLetters.Load(),
		})
	}
	slices.SortFunc(out.In, func(a, b TopicInflow) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Type, b.Type))
	})
	slices.SortFunc(out.Out, func(a, b GroupOutflow) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Group, b.Group))
	})
	slices.SortFunc(out.Transactions, func(a, b TopicTransactions) int { return strings.Compare(a.Topic, b.Topic) })
	slices.SortFunc(out.Timed, func(a, b TopicTimed) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

package broker

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/message"
)

// scanBounds and createBounds are upper bounds of the reference's histograms, ms (PopMetricsManager#getMetricsView,
// BrokerMetricsManager#registerMetricsView).
var (
	scanBounds   = [...]int64{1, 10, 100, 1000, 2000, 3000}
	createBounds = [...]int64{10, 100, 1000, 3000, 5000, 1 << 62} // the last stands for none
)

// popCountKey is what messages of the revive topic are counted by.
type popCountKey struct {
	kind         popCount
	topic, group string
	ack, failed  bool
	queueID      int32
}

// popCount is one of the counters of pop (PopMetricsConstant).
type popCount uint8

const (
	popPut   popCount = iota // into the revive topic
	popTaken                 // out of it
	popRetry                 // into a retry topic
)

// popCounters count what goes through the revive topic. Safe for concurrent use.
type popCounters struct {
	mu    sync.RWMutex
	table map[popCountKey]*atomic.Int64 // guarded by mu
	scan  histogram                     // rounds of the reviver, ms
}

func (c *popCounters) add(key popCountKey) {
	c.mu.RLock()
	n := c.table[key]
	c.mu.RUnlock()
	if n == nil {
		n = c.addNew(key)
	}
	n.Add(1)
}

func (c *popCounters) addNew(key popCountKey) *atomic.Int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.table[key]; n != nil {
		return n
	}
	n := new(atomic.Int64)
	if c.table == nil {
		c.table = map[popCountKey]*atomic.Int64{}
	}
	if len(c.table) < maxStatItems {
		key.topic, key.group = strings.Clone(key.topic), strings.Clone(key.group)
		c.table[key] = n
	}
	return n
}

// PopCount is a counter of checkpoints and acks, or of messages that came back.
type PopCount struct {
	Topic, Group string
	Ack, Failed  bool
	QueueID      int32
	N            int64
}

// ReviveLag is how far the reviver is in one queue of the revive topic.
type ReviveLag struct {
	QueueID       int32
	Behind        int64 // messages
	BehindSinceMs int64 // store time of the first of them; 0: there is none
}

// PopMetrics is what pop does, since the start and now.
type PopMetrics struct {
	Put, Taken, Retried []PopCount
	Scan                Histogram // ms
	InFlight            int       // checkpoints whose messages are invisible
	Revive              []ReviveLag
}

// PopMetrics counts what went through the revive topic.
func (b *Broker) PopMetrics() PopMetrics {
	c := &b.stats.pop
	out := PopMetrics{Scan: c.scan.snapshot(&scanBounds), InFlight: b.pop.flight.count()}
	lists := [...]*[]PopCount{popPut: &out.Put, popTaken: &out.Taken, popRetry: &out.Retried}
	c.mu.RLock()
	for key, n := range c.table {
		*lists[key.kind] = append(*lists[key.kind], PopCount{Topic: key.topic, Group: key.group, Ack: key.ack, Failed: key.failed, QueueID: key.queueID, N: n.Load()})
	}
	c.mu.RUnlock()
	for _, list := range lists {
		slices.SortFunc(*list, func(a, b PopCount) int {
			return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Group, b.Group), cmp.Compare(a.QueueID, b.QueueID))
		})
	}
	topic := message.ReviveTopic(b.config().Broker.BrokerClusterName)
	for id := range b.reviveQueues() {
		lag := ReviveLag{QueueID: id}
		if queue := b.store.Queue(topic, id); queue != nil {
			next := max(b.offsets.committed(message.GroupRevive, topic, id)+1, queue.MinOffset())
			if lag.Behind = max(0, queue.MaxOffset()-next); lag.Behind > 0 {
				lag.BehindSinceMs = max(0, queue.StoreTime(next))
			}
		}
		out.Revive = append(out.Revive, lag)
	}
	return out
}

func (f *popFlights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.table)
}

// creations count how long it took to create topics and groups, by outcome.
type creations struct {
	topics [2][2]histogram // by failed, system
	groups [2]histogram    // by failed
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Creation is how long it took to create topics or groups, ms.
type Creation struct {
	Failed, System bool
	Took           Histogram
}

// Creations tells how long it took to create or change topics and groups since the start, by outcome; what never happened is left out.
func (b *Broker) Creations() (topics, groups []Creation) {
	add := func(list []Creation, h *histogram, failed, system bool) []Creation {
		took := h.snapshot(&createBounds)
		if took.Count == 0 {
			return list
		}
		took.Bounds, took.AtMost = took.Bounds[:len(took.Bounds)-1], took.AtMost[:len(took.AtMost)-1]
		return append(list, Creation{Failed: failed, System: system, Took: took})
	}
	c := &b.stats.creations
	for _, failed := range []bool{false, true} {
		for _, system := range []bool{false, true} {
			topics = add(topics, &c.topics[index(failed)][index(system)], failed, system)
		}
		groups = add(groups, &c.groups[index(failed)], failed, false)
	}
	return topics, groups
}

func (b *Broker) countTopicCreation(begunMs int64, system bool, err error) {
	b.stats.creations.topics[index(err != nil)][index(system)].add(&createBounds, max(0, b.clock.NowMs()-begunMs))
}

func (b *Broker) countGroupCreation(begunMs int64, err error) {
	b.stats.creations.groups[index(err != nil)].add(&createBounds, max(0, b.clock.NowMs()-begunMs))
}

package broker

import (
	"time"

	"github.com/rocketd/rocketd/remoting/body"
)

// transactionMetrics counts the undecided half messages of each topic: config/transactionMetrics in the reference's form
// (TransactionMetrics). The counts come from what is pending, not from the file.
type transactionMetrics struct {
	b    *Broker
	t    *transactions
	file *stateFile

	counts  map[int32]body.Metric // by number of the topic; guarded by transactions.mu, like version and changed
	version body.DataVersion
	changed bool

	stop chan struct{}
	done chan struct{}
}

func (m *transactionMetrics) init(b *Broker, t *transactions) {
	m.b, m.t, m.counts = b, t, map[int32]body.Metric{}
	m.stop, m.done = make(chan struct{}), make(chan struct{})
	m.file = b.files.file("transactionMetrics", m.encode)
}

// countLocked adds to the count of a topic. transactions.mu is held.
func (m *transactionMetrics) countLocked(topic int32, n int64) {
	now := m.b.clock.NowMs()
	metric := m.counts[topic]
	metric.Count += n
	metric.Timestamp = now
	m.counts[topic] = metric
	m.version.NextVersion(now, 0)
	m.changed = true
}

// removeTopic forgets the count of a deleted topic.
func (t *transactions) removeTopic(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.pending.names.numbers[topic]; ok && t.metrics.counts[n].Count == 0 {
		delete(t.metrics.counts, n)
		t.metrics.changed = true
	}
}

// pendingByTopic is how many half messages of each topic are undecided.
func (t *transactions) pendingByTopic() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make(map[string]int64, len(t.metrics.counts))
	for topic, metric := range t.metrics.counts {
		counts[t.pending.names.name(topic)] += metric.Count
	}
	return counts
}

func (m *transactionMetrics) encode() []byte {
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	table := body.TransactionMetrics{TransactionCount: map[string]body.Metric{}, DataVersion: m.version}
	for topic, metric := range m.counts {
		if name := m.t.pending.names.name(topic); name != "" {
			table.TransactionCount[name] = metric
		}
	}
	return body.Encode(&table)
}

// start saves the file in the background until close.
func (m *transactionMetrics) start() { go m.run() }

func (m *transactionMetrics) close() error {
	close(m.stop)
	<-m.done
	return m.save()
}

func (m *transactionMetrics) run() {
	defer close(m.done)
	timer := m.b.clock.NewTimer(m.interval())
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-timer.C():
		}
		if err := m.save(); err != nil && m.b.warnings.allow("transaction metrics") {
			m.b.log.WithError(err).Warn("transactionMetrics cannot be saved, trying again")
		}
		timer.Reset(m.interval())
	}
}

func (m *transactionMetrics) interval() time.Duration {
	return max(time.Duration(m.b.config().Broker.TransactionMetricFlushInterval)*time.Millisecond, 100*time.Millisecond)
}

// save writes the file if a count has changed.
func (m *transactionMetrics) save() error {
	m.t.mu.Lock()
	changed := m.changed
	m.changed = false
	m.t.mu.Unlock()
	if !changed {
		return nil
	}
	return m.file.save()
}

// maxRecentDecisions bounds how many decisions are remembered.
const maxRecentDecisions = 16_384

// recentDecisions remembers the newest decisions by the hash of their unique key.
type recentDecisions struct {
	table map[uint64]bool // true: committed
	ring  []uint64
	next  int
}

func (r *recentDecisions) get(key uint64) (committed, known bool) {
	committed, known = r.table[key]
	return committed, known
}

func (r *recentDecisions) put(key uint64, committed bool) {
	if r.table == nil {
		r.table = map[uint64]bool{}
	}
	if _, known := r.table[key]; known {
		r.table[key] = committed
		return
	}
	if len(r.ring) < maxRecentDecisions {
		r.ring = append(r.ring, key)
	} else {
		delete(r.table, r.ring[r.next])
		r.ring[r.next] = key
		r.next = (r.next + 1) % maxRecentDecisions
	}
	r.table[key] = committed
}

package timer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// metrics count the pending timers of each topic (TimerMetrics). Cancels count -1 until they met their target, so that a sum can go below
// zero for a while; what is shown never does. Safe for concurrent use.
type metrics struct {
	mu      sync.Mutex
	counts  map[string]*topicCount // guarded by mu
	version dataVersion            // guarded by mu
	saved   int64                  // guarded by mu; version.Counter of what is in the file
}

type topicCount struct {
	count   int64
	changed int64 // ms
}

// metricsFile is config/timermetrics (TimerMetricsSerializeWrapper) and the body of GET_TIMER_METRICS.
type metricsFile struct {
	DataVersion dataVersion             `json:"dataVersion"`
	TimingCount map[string]metricsCount `json:"timingCount"`
}

type metricsCount struct {
	Count     int64 `json:"count"`
	TimeStamp int64 `json:"timeStamp"`
}

// dataVersion is the reference's DataVersion.
type dataVersion struct {
	Counter      int64 `json:"counter"`
	StateVersion int64 `json:"stateVersion"`
	Timestamp    int64 `json:"timestamp"`
}

func newMetrics() *metrics { return &metrics{counts: make(map[string]*topicCount)} }

// load reads the file or its .bak. A problem is told and costs the counts only.
func (m *metrics) load(fsys vfs.FS, path string) (problem error) {
	for _, name := range [...]string{path, path + ".bak"} {
		data, err := vfs.ReadFile(fsys, name, relay.MaxStateFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var f metricsFile
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			problem = errors.Join(problem, fmt.Errorf("timer metrics in %s: %w", name, err))
			continue
		}
		m.version = f.DataVersion
		m.saved = f.DataVersion.Counter
		for topic, c := range f.TimingCount {
			m.counts[topic] = &topicCount{c.Count, c.TimeStamp}
		}
		return problem
	}
	return problem
}

// add changes the count of a topic, whose name must not alias a record.
func (m *metrics) add(topic string, n, nowMs int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts[topic]
	if c == nil {
		c = &topicCount{}
		m.counts[topic] = c
	}
	c.count += n
	c.changed = nowMs
	m.version.Counter++
	m.version.Timestamp = nowMs
}

// replace sets all counts.
func (m *metrics) replace(counts map[string]int64, nowMs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := false
	for topic, c := range m.counts {
		if n := counts[topic]; n != c.count {
			c.count, changed = n, true
		}
	}
	for topic, n := range counts {
		if m.counts[topic] == nil && n != 0 {
			m.counts[topic], changed = &topicCount{n, nowMs}, true
		}
	}
	if changed {
		m.version.Counter++
		m.version.Timestamp = nowMs
	}
}

// forget drops the topics that drop names.
func (m *metrics) forget(drop func(topic string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for topic := range m.counts {
		if drop(topic) {
			delete(m.counts, topic)
			m.version.Counter++
		}
	}
}

// snapshot returns the counts, as they are shown or as they are.
func (m *metrics) snapshot(v view) metricsFile {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := metricsFile{DataVersion: m.version, TimingCount: make(map[string]metricsCount, len(m.counts))}
	for topic, c := range m.counts {
		n := c.count
		if v == shown {
			n = max(0, n)
		}
		f.TimingCount[topic] = metricsCount{n, c.changed}
	}
	return f
}

// view chooses between counts.
type view bool

const (
	shown view = false // never below zero
	raw   view = true
)

func (m *metrics) encode(v view) []byte {
	data, err := json.Marshal(m.snapshot(v))
	if err != nil {
		panic("timer: counts cannot be encoded: " + err.Error())
	}
	return data
}

// save writes the file if something changed since. Synced keeps the last content as .bak.
func (m *metrics) save(fsys vfs.FS, path string, d relay.Durability) error {
	m.mu.Lock()
	version := m.version.Counter
	changed := version != m.saved
	m.mu.Unlock()
	if !changed {
		return nil
	}
	data := m.encode(raw)
	if err := relay.ReplaceFile(fsys, path, data, d); err != nil {
		return err
	}
	if d == relay.Synced {
		if err := relay.ReplaceFile(fsys, path+".bak", data, d); err != nil {
			return err
		}
	}
	m.mu.Lock()
	m.saved = version
	m.mu.Unlock()
	return nil
}

// names maps hashes of topics, as units hold them, to topics. It belongs to one goroutine.
type names struct {
	byHash map[int32]string
	clash  map[int32]bool // two topics have that hash
}

func newNames() *names { return &names{byHash: make(map[int32]string), clash: make(map[int32]bool)} }

// note remembers a topic, whose name must not alias a record, and returns its hash.
func (n *names) note(topic string) int32 {
	hash := message.JavaHash(topic)
	if known, ok := n.byHash[hash]; !ok {
		n.byHash[hash] = topic
	} else if known != topic {
		n.clash[hash] = true
	}
	return hash
}

// topic returns the only known topic with that hash.
func (n *names) topic(hash int32) (string, bool) {
	if n.clash[hash] {
		return "", false
	}
	topic, ok := n.byHash[hash]
	return topic, ok
}

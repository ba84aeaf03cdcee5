package broker

import (
	"strings"
	"sync"
	"sync/atomic"
)

// maxAnew bounds the queues noted in an anewTable. Over it none is noted: members go on where the old queue was, as with Apache.
const maxAnew = 100_000

// anewTable knows which groups read a queue that is gone with its topic, and have not asked since. Their members still hold offsets of the
// old queue: the first pull is led to the beginning of the new one, and commits of the old offsets have no effect until then. Apache takes
// them for offsets of the new queue and passes over its messages. It lives in memory, and forgets groups whose last member leaves: new members
// hold nothing. Safe for concurrent use.
type anewTable struct {
	count atomic.Int64 // queues in groups: most pulls ask nothing more

	mu     sync.RWMutex
	groups map[groupKey]map[int32]struct{} // guarded by mu
}

func newAnewTable() *anewTable { return &anewTable{groups: map[groupKey]map[int32]struct{}{}} }

// note says that a group has read queues of a topic that is deleted now.
func (t *anewTable) note(group, topic string, queues []int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := groupKey{topic: strings.Clone(topic), group: strings.Clone(group)}
	set := t.groups[key] // of a deletion before, not asked for since
	for _, queueID := range queues {
		if _, ok := set[queueID]; ok {
			continue
		}
		if t.count.Load() >= maxAnew {
			return
		}
		if set == nil {
			set = make(map[int32]struct{}, len(queues))
			t.groups[key] = set
		}
		set[queueID] = struct{}{}
		t.count.Add(1)
	}
}

// has tells whether a group has not asked for the queue since the old one went.
func (t *anewTable) has(group, topic string, queueID int32) bool {
	if t.count.Load() == 0 {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.groups[groupKey{topic: topic, group: group}][queueID]
	return ok
}

// take is has, once.
func (t *anewTable) take(group, topic string, queueID int32) bool {
	if !t.has(group, topic, queueID) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := groupKey{topic: topic, group: group}
	queues := t.groups[key]
	if _, ok := queues[queueID]; !ok {
		return false
	}
	delete(queues, queueID)
	t.count.Add(-1)
	if len(queues) == 0 {
		delete(t.groups, key)
	}
	return true
}

// forget drops what is noted of a group.
func (t *anewTable) forget(group string) {
	if t.count.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.groups {
		if key.group == group {
			t.count.Add(-int64(len(t.groups[key])))
			delete(t.groups, key)
		}
	}
}

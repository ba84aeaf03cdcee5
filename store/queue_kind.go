package store

import (
	"path/filepath"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// QueueKind is of which kind the consume queues of a topic are (attribute queue.type, CQType).
type QueueKind uint8

// Queue kinds.
const (
	// AnyQueue: nobody knows. Then the queues that are there tell, and else the records: with an inner batch a topic is one of batch queues.
	AnyQueue QueueKind = iota
	// SimpleQueue: one entry for each message.
	SimpleQueue
	// BatchQueue: one entry for each record, which can be a whole batch.
	BatchQueue
)

// KindOf is the kind that the value of a topic's attribute queue.type asks for (QueueTypeUtils.getCQType).
func KindOf(queueType string) QueueKind {
	if queueType == message.QueueTypeBatch {
		return BatchQueue
	}
	return SimpleQueue
}

// Directories of the kinds, below the store's.
const (
	queueDir      = "consumequeue"
	batchQueueDir = "batchconsumequeue"
)

// directory is where queues of a kind are, below the store's directory.
func (k QueueKind) directory() string {
	if k == BatchQueue {
		return batchQueueDir
	}
	return queueDir
}

// unitMost is the size of the largest entry of any kind.
const unitMost = batchUnitSize

// Kind is SimpleQueue or BatchQueue.
func (q *ConsumeQueue) Kind() QueueKind {
	if q.batch != nil {
		return BatchQueue
	}
	return SimpleQueue
}

// isBatchLocked tells whether a new queue of a topic is a batch queue.
func (t *queueTable) isBatchLocked(topic string) bool {
	switch t.kind(topic) {
	case BatchQueue:
		return true
	case SimpleQueue:
		return false
	case AnyQueue:
	}
	return t.batchTopics[topic]
}

// foundBatch notes that a topic has batch queues.
func (t *queueTable) foundBatch(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.batchTopics == nil {
		t.batchTopics = make(map[string]bool)
	}
	t.batchTopics[topic] = true
}

// splitKinds parts batch queues from ordinary ones.
func splitKinds(list []*ConsumeQueue) (batches, ordinary []*ConsumeQueue) {
	for _, q := range list {
		if q.batch != nil {
			batches = append(batches, q)
		} else {
			ordinary = append(ordinary, q)
		}
	}
	return batches, ordinary
}

// below are those of some directories that belong to queues of the kind.
func (c *queueFiles) below(dirs map[string]bool) map[string]bool {
	own := make(map[string]bool)
	for dir := range dirs {
		if dir == c.dir || strings.HasPrefix(dir, c.dir+string(filepath.Separator)) {
			own[dir] = true
		}
	}
	return own
}

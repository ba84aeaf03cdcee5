package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
)

// obtainKind returns a queue, and makes it of a kind when it does not exist.
func (t *queueTable) obtainKind(key queueKey, batch bool) *ConsumeQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[key]; q != nil {
		return q
	}
	return t.makeLocked(key, batch)
}

// setting is the key that files of this kind get their size by.
func (c *queueFiles) setting() string {
	if c.unit == batchUnitSize {
		return "mapperFileSizeBatchConsumeQueue"
	}
	return "mappedFileSizeConsumeQueue"
}

// queueDirectory is the directory of a queue.
type queueDirectory struct {
	path string
	key  queueKey
}

// keys lists the queues of the kind that have directories.
func (c *queueFiles) keys() ([]queueKey, error) {
	topics, err := c.fs.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	topics = slices.DeleteFunc(topics, func(t fs.DirEntry) bool { return !t.IsDir() })
	found := make([][]queueKey, len(topics))
	err = parallel(len(topics), func(i int) error {
		topic := topics[i].Name()
		ids, err := c.fs.ReadDir(filepath.Join(c.dir, topic))
		for _, d := range ids {
			id, err := strconv.ParseInt(d.Name(), 10, 32)
			if err != nil || id < 0 || !d.IsDir() || strconv.FormatInt(id, 10) != d.Name() {
				continue
			}
			found[i] = append(found[i], queueKey{topic, int32(id)})
		}
		return err
	})
	return slices.Concat(found...), err
}

// directory is that of a queue of the last checkpoint.
func (t *queueTable) directory(sum *queueSummary) queueDirectory {
	files := t.files
	if sum.batch {
		files = t.batchFiles
	}
	return files.directory(queueKey{sum.topic, sum.id})
}

func (c *queueFiles) directory(key queueKey) queueDirectory {
	return queueDirectory{filepath.Join(c.dir, key.topic, strconv.Itoa(int(key.id))), key}
}

// listQueues makes the queues that have directories and are not known yet, and returns them. Where the topic is of the other kind now, because it
// was deleted and made again, the directory goes and the queue is built again: the reference does not start then.
func (r *recovery) listQueues() ([]*ConsumeQueue, error) {
	t := r.s.queues
	var list []*ConsumeQueue
	var foreign []queueDirectory
	for _, files := range []*queueFiles{t.batchFiles, t.files} {
		keys, err := files.keys()
		if err != nil {
			return nil, err
		}
		batch := files == t.batchFiles
		for _, key := range keys {
			known := t.get(key.topic, key.id)
			switch {
			case t.otherKind(key.topic, batch), known != nil && known.files != files:
				foreign = append(foreign, files.directory(key))
			case known == nil:
				if batch {
					t.foundBatch(key.topic)
				}
				list = append(list, t.obtainKind(key, batch))
			}
		}
	}
	return list, r.replaceForeign(foreign)
}

// otherKind tells whether a topic is known not to have queues of a kind.
func (t *queueTable) otherKind(topic string, batch bool) bool {
	kind := t.kind(topic)
	return kind == BatchQueue && !batch || kind == SimpleQueue && batch
}

// replaceForeign removes directories of queues that are of the other kind now. Queues that have no directory of their kind are built again.
func (r *recovery) replaceForeign(foreign []queueDirectory) error {
	t := r.s.queues
	for _, d := range foreign {
		if err := r.s.fs.RemoveAll(d.path); err != nil {
			return err
		}
		t.noteRemoved(filepath.Dir(d.path))
		q := t.get(d.key.topic, d.key.id)
		if q == nil {
			q = t.obtain(d.key.topic, d.key.id)
			r.rebuild[q] = true
		}
		r.problem(Warning, d.path, -1, "the topic has %s queues now: the directory was removed, queue %s is read from %s", q.kindText(), q, q.files.queueDir(q))
	}
	return nil
}

func (q *ConsumeQueue) kindText() string {
	if q.batch != nil {
		return "batch"
	}
	return "ordinary"
}

// loadBatchOffsets reads the bounds of a batch queue from its first and its last entry. reason tells why they cannot be known.
func (q *ConsumeQueue) loadBatchOffsets() (reason string) {
	if q.batch == nil || q.max.Load() == 0 {
		return ""
	}
	q.table.foundBatch(q.topic)
	last, _, err := q.unit(q.max.Load()-1, false)
	if err != nil {
		return err.Error()
	}
	q.batch.max.Store(last.next())
	first, err := q.batchOffset(q.min.Load())
	if err != nil {
		return err.Error()
	}
	if first > last.next() {
		return fmt.Sprintf("its first entry begins at %d, its last one ends at %d", first, last.next())
	}
	q.batch.min.Store(first)
	return ""
}

// cutBatchOffsets sets the bounds of a batch queue that is about to end at entry n.
func (q *ConsumeQueue) cutBatchOffsets(n int64) error {
	end := q.batch.max.Load()
	switch {
	case n > q.min.Load():
		last, _, err := q.unit(n-1, false)
		if err != nil {
			return err
		}
		end = last.next()
	case n < q.max.Load():
		first, _, err := q.unit(n, false)
		if err != nil {
			return err
		}
		end = first.QueueOffset
	}
	q.batch.max.Store(end)
	q.batch.min.Store(min(q.batch.min.Load(), end))
	return nil
}

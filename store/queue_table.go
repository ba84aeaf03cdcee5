package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// Bounds of the memory of all consume queues together.
const (
	// maxUnwrittenBytes: with so much only in memory every queue is written at the next tick, however little it has.
	maxUnwrittenBytes = 16 << 20
	// stuckUnwrittenBytes: with so much only in memory, because the files cannot be written, messages are refused.
	stuckUnwrittenBytes = 256 << 20
	// keptEntriesBudget is how many entries in all are kept in memory for readers although files hold them.
	keptEntriesBudget = 1 << 19
	// keptEntriesMost and keptEntriesLeast bound that for one queue.
	keptEntriesMost  = 8192
	keptEntriesLeast = 32
	// idleTicks: after so many ticks of the writer without a message a queue keeps nothing in memory.
	idleTicks = 60
)

type queueKey struct {
	topic string
	id    int32
}

// queueTable holds the consume queues.
type queueTable struct {
	fs    vfs.FS
	files *queueFiles
	// batchFiles are those of batch queues, and kind tells which queues are: see queue_kind.go.
	batchFiles *queueFiles
	kind       func(topic string) QueueKind
	// storeTime reads the store time of a record.
	storeTime func(physicalOffset int64) (ms int64, ok bool)

	unwritten atomic.Int64 // bytes that are only in memory

	// unsafe is the first error of sync: what was to be synced then may be lost, and the next sync would not say so.
	unsafe atomic.Pointer[error]

	tree     vfs.Tree // nil where the file system cannot sync a tree
	treeFrom int      // treeSyncQueues, fewer in tests

	mu     sync.RWMutex
	queues map[queueKey]*ConsumeQueue // guarded by mu
	light  int                        // light queues among them; guarded by mu
	// batchTopics are those that have or had batch queues, for topics that kind does not know; guarded by mu.
	batchTopics map[string]bool

	writeMu   sync.Mutex // one writes the queues at a time: who comes second must not find nothing to do
	removedMu sync.Mutex
	// removedIn are directories in which something was removed since the last sync: a crash must not bring it back into a store that was closed.
	removedIn map[string]bool // guarded by removedMu

	activeMu sync.Mutex
	active   []*ConsumeQueue // queues with something in memory; guarded by activeMu
}

func newQueueTable(fsys vfs.FS, dir string, c *conf.Store) *queueTable {
	return &queueTable{
		fs:         fsys,
		files:      newQueueFiles(fsys, filepath.Join(dir, queueDir), queueFileSize(c), entrySize),
		batchFiles: newQueueFiles(fsys, filepath.Join(dir, batchQueueDir), int64(c.MapperFileSizeBatchConsumeQueue), batchUnitSize),
		kind:       func(string) QueueKind { return AnyQueue },
		queues:     make(map[queueKey]*ConsumeQueue),

		removedIn: make(map[string]bool),

		treeFrom: treeSyncQueues,
	}
}

func (t *queueTable) get(topic string, id int32) *ConsumeQueue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.queues[queueKey{topic, id}]
}

// obtain returns a queue and makes it when it does not exist. topic may alias a buffer.
func (t *queueTable) obtain(topic string, id int32) *ConsumeQueue {
	if q := t.get(topic, id); q != nil {
		return q
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := queueKey{topic, id}
	if q := t.queues[key]; q != nil {
		return q
	}
	key.topic = strings.Clone(topic)
	return t.makeLocked(key, t.isBatchLocked(key.topic))
}

// makeLocked makes a queue.
func (t *queueTable) makeLocked(key queueKey, batch bool) *ConsumeQueue {
	q := &ConsumeQueue{table: t, files: t.files, topic: key.topic, id: key.id, keys: newKeyHash(key.topic), firstBase: -1, lastBase: -1}
	if batch {
		q.batch, q.files = &batchOffsets{}, t.batchFiles
	}
	t.queues[key] = q
	if message.IsLMQ(key.topic) {
		t.light++
	}
	return q
}

// expect makes room for n queues, before the first one.
func (t *queueTable) expect(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queues) == 0 {
		t.queues = make(map[queueKey]*ConsumeQueue, n)
	}
}

func (t *queueTable) lightQueues() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.light
}

// all returns the queues, in no order.
func (t *queueTable) all() []*ConsumeQueue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*ConsumeQueue, 0, len(t.queues))
	for _, q := range t.queues {
		list = append(list, q)
	}
	return list
}

func (t *queueTable) activate(q *ConsumeQueue) {
	t.activeMu.Lock()
	t.active = append(t.active, q)
	t.activeMu.Unlock()
}

// write writes entries that are only in memory: of every queue, or of those with at least minBytes. Queues that are idle give their
// memory back. Errors do not stop it.
func (t *queueTable) write(minBytes int64) error {
	t.writeMu.Lock()
	defer t.writeMu.Unlock()
	if t.unwritten.Load() >= maxUnwrittenBytes {
		minBytes = 0
	}
	t.activeMu.Lock()
	list := t.active
	t.active = nil
	t.activeMu.Unlock()
	if len(list) == 0 {
		return nil
	}
	keep := min(max(int64(keptEntriesBudget/len(list)), keptEntriesLeast), keptEntriesMost)
	active := make([]bool, len(list))
	err := parallel(len(list), func(i int) (err error) {
		active[i], err = list[i].tick(minBytes, keep)
		return err
	})
	still := list[:0]
	for i, q := range list {
		if active[i] {
			still = append(still, q)
		}
	}
	t.activeMu.Lock()
	t.active = append(still, t.active...)
	t.activeMu.Unlock()
	return err
}

// tick writes the entries that are only in memory if they are at least minBytes, and lets go of those in memory but for the newest keep. It
// tells whether the queue is still to be looked at.
func (q *ConsumeQueue) tick(minBytes, keep int64) (active bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if (q.max.Load()-q.written)*q.files.unit >= max(minBytes, 1) {
		err = q.writeLocked()
	}
	if q.idleFor++; q.idleFor > idleTicks {
		q.trimLocked(0)
	} else {
		q.trimLocked(keep)
	}
	q.active = q.tail != nil && !q.removed
	return q.active, err
}

const (
	// syncParallel is how many queue files are synced at a time: a journal commits them together.
	syncParallel = 16
	// treeSyncQueues: with so many queues to be synced the whole tree is, where the file system can do that.
	treeSyncQueues = 128
)

// sync makes everything written durable. After an error it fails always: the entries are built again from the log at the next start.
func (t *queueTable) sync() error {
	if err := t.unsafe.Load(); err != nil {
		return *err
	}
	err := t.syncDue()
	if err != nil {
		t.unsafe.Store(&err)
	}
	return err
}

func (t *queueTable) syncDue() error {
	var due []*ConsumeQueue
	for _, q := range t.all() {
		q.mu.Lock()
		if q.synced < q.written && !q.removed {
			due = append(due, q)
		}
		q.mu.Unlock()
	}
	t.removedMu.Lock()
	removed := t.removedIn
	t.removedIn = make(map[string]bool)
	t.removedMu.Unlock()
	if t.tree == nil || len(due)+len(removed) < t.treeFrom {
		return t.syncFiles(due, removed)
	}
	// The tree is that of the ordinary queues.
	batches, ordinary := splitKinds(due)
	return errors.Join(t.syncTree(ordinary), t.syncFiles(batches, t.batchFiles.below(removed)))
}

// noteRemoved lets the next sync make a removal in a directory durable. After one that failed there is none.
func (t *queueTable) noteRemoved(dir string) {
	if t.unsafe.Load() != nil {
		return
	}
	t.removedMu.Lock()
	t.removedIn[dir] = true
	t.removedMu.Unlock()
}

// syncTree makes the queues durable with everything else below their directory.
func (t *queueTable) syncTree(due []*ConsumeQueue) error {
	type mark struct {
		end     int64
		newFile bool
	}
	marks := make([]mark, len(due))
	for i, q := range due {
		q.mu.Lock()
		marks[i] = mark{q.written, q.newFile}
		q.newFile = false
		q.mu.Unlock()
	}
	err := t.tree.Sync()
	for i, q := range due {
		q.mu.Lock()
		switch {
		case err != nil:
			q.newFile = q.newFile || marks[i].newFile
		case marks[i].end <= q.written: // else it began anew
			q.synced = max(q.synced, marks[i].end)
		}
		q.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("consume queues: sync %s: %w", t.files.dir, err)
	}
	return nil
}

// syncFiles makes the queues durable one by one, with the directories of new files and those in which something was removed.
func (t *queueTable) syncFiles(due []*ConsumeQueue, parents map[string]bool) error {
	for _, q := range due {
		q.mu.Lock()
		if q.newFile {
			parents[filepath.Join(q.files.dir, q.topic)] = true
			parents[q.files.dir] = true
			parents[filepath.Dir(q.files.dir)] = true
		}
		q.mu.Unlock()
	}
	err := parallelBy(syncParallel, 1, len(due), func(i int) error { return due[i].sync() })
	for dir := range parents {
		// A topic that was deleted meanwhile needs no directory.
		if e := t.fs.SyncDir(dir); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// openTree opens the queues' directory for syncTree, if the file system can do that. Not being able to costs time only.
func (t *queueTable) openTree() error {
	if fsys, ok := t.fs.(vfs.TreeFS); ok {
		tree, ok, err := fsys.OpenTree(t.files.dir)
		if err != nil {
			return err
		}
		if ok {
			t.tree = tree
		}
	}
	return nil
}

func (t *queueTable) close() error {
	err := errors.Join(t.files.closeAll(), t.batchFiles.closeAll())
	if t.tree != nil {
		err = errors.Join(err, t.tree.Close())
	}
	return err
}

// detach takes queues out of the table: the next message for one of them begins a new one at offset 0.
func (t *queueTable) detach(list []*ConsumeQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range list {
		if t.queues[queueKey{q.topic, q.id}] != q {
			continue
		}
		delete(t.queues, queueKey{q.topic, q.id})
		if message.IsLMQ(q.topic) {
			t.light--
		}
	}
}

// removeQueues takes queues out of the table and deletes their files and directories.
func (t *queueTable) removeQueues(list []*ConsumeQueue) error {
	t.detach(list)
	var err error
	for _, q := range list {
		q.mu.Lock()
		q.removed = true
		t.unwritten.Add(-(q.max.Load() - q.written) * q.files.unit)
		q.written, q.synced = q.max.Load(), q.max.Load()
		q.tail = nil
		q.mu.Unlock()
		err = errors.Join(err, q.files.forget(q, -1))
		if fresh := t.get(q.topic, q.id); fresh != nil && fresh.files == q.files {
			// It came back while it was going: its files are its own from the first entry on. One of the other kind has its own directory.
			fresh.mu.Lock()
			err = errors.Join(err, t.removeDir(q), fresh.files.forget(fresh, -1))
			t.unwritten.Add((fresh.written - fresh.tailFrom) * fresh.files.unit)
			fresh.written, fresh.synced = fresh.tailFrom, fresh.tailFrom
			fresh.firstBase, fresh.lastBase = -1, -1
			fresh.mu.Unlock()
			continue
		}
		err = errors.Join(err, t.removeDir(q))
	}
	if err != nil {
		return fmt.Errorf("remove consume queues: %w", err)
	}
	return nil
}

// removeDir removes a queue's directory and, with the last one, its topic's.
func (t *queueTable) removeDir(q *ConsumeQueue) error {
	if err := t.fs.RemoveAll(q.files.queueDir(q)); err != nil {
		return err
	}
	topicDir := filepath.Join(q.files.dir, q.topic)
	t.noteRemoved(topicDir)
	t.noteRemoved(q.files.dir)
	if left, err := t.fs.ReadDir(topicDir); err != nil || len(left) > 0 {
		return nil //nolint:nilerr // a directory that is not there, or not empty, stays as it is
	}
	return t.fs.Remove(topicDir)
}

// raiseMin moves the queues' minimum to the beginning of the log and deletes files below it.
func (t *queueTable) raiseMin(minPhysical int64) error {
	var err error
	for _, q := range t.all() {
		err = errors.Join(err, q.raiseMin(minPhysical))
	}
	return err
}

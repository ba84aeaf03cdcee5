package store

import (
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
)

// Store is an open store. Its methods are safe for concurrent use unless they say otherwise.
type Store struct {
	options Options
}

// Open locks the directory, loads and recovers what is there. Nothing is written by the store's own goroutines before Start.
func Open(o Options) (*Store, error) { return &Store{options: o}, nil }

// Start begins flushing, indexing and cleaning. Callbacks must be registered before it.
func (s *Store) Start() {}

// Close flushes everything, writes the checkpoint, removes the abort file if all went well, and frees the directory. Calling it again
// does nothing.
func (s *Store) Close() error { return nil }

// Configure replaces the configuration: sizes and paths of files stay those of Open.
func (s *Store) Configure(c *conf.Store) {}

// Recovery tells what Open found and did.
func (s *Store) Recovery() *RecoveryReport { return &RecoveryReport{} }

// RecoveryReport is what Open found and did. It never changes.
type RecoveryReport struct {
	// Clean: the store had been closed properly.
	Clean bool
	// ScannedFrom and LogEnd are physical offsets: the part of the log that was read.
	ScannedFrom, LogEnd int64
	Records             int64
	Problems            []Problem
}

// Stage gives m its place in the log and in its queue and encodes it into the tail buffer. Nothing is written and nothing visible
// before Commit. m may alias buffers that are reused after the call. Errors: ErrMessageIllegal, ErrDiskFull, ErrFlushFailed, ErrBusy,
// ErrClosed, ErrTooManyQueues.
func (s *Store) Stage(m *message.Message) (Placed, error) { return Placed{}, ErrClosed }

// StageBatch stages ms, all of one queue, with consecutive offsets and in one file: all of them or none.
func (s *Store) StageBatch(ms []message.Message) ([]Placed, error) { return nil, ErrClosed }

// Commit writes everything staged up to t and, with ASYNC_FLUSH, dispatches it. An error means that the messages of t are not stored and
// their offsets are free again: ErrDiskFull, ErrWriteFailed, ErrFlushFailed or ErrClosed.
func (s *Store) Commit(t Ticket) error { return ErrClosed }

// OnFlushed calls done once, when what t covers is flushed to disk and dispatched, or with the error: ErrFlushFailed,
// ErrFlushTimeout, ErrClosed, or what Commit says about t. With ASYNC_FLUSH nothing waits: done is called at once. Otherwise done
// runs on the flusher and must not block. t must have been committed.
func (s *Store) OnFlushed(t Ticket, done func(error)) { done(ErrClosed) }

// Put stages and commits m and, with SYNC_FLUSH and m.WaitStored, waits until it is flushed. Not for event loops.
func (s *Store) Put(m *message.Message) (Placed, error) { return Placed{}, ErrClosed }

// Placed is where a message went.
type Placed struct {
	PhysicalOffset int64
	QueueOffset    int64
	StoreTimestamp int64 // ms
	Size           int32 // bytes of the record
	Ticket         Ticket
}

// Ticket stands for everything staged up to a place in the log.
type Ticket struct {
	epoch uint64
	end   int64
}

// SyncFlush tells whether answers wait for the flusher (flushDiskType SYNC_FLUSH).
func (s *Store) SyncFlush() bool { return false }

// Get reads messages of a queue as a pull does (DefaultMessageStore.getMessage). out is overwritten; Release it after use. With out
// reused nothing is allocated.
func (s *Store) Get(r *GetRequest, out *GetResult) {}

// Record returns the record at a physical offset, or ErrNotFound, ErrCorrupt. Release it after use.
func (s *Store) Record(physicalOffset int64) (*Slice, error) { return nil, ErrNotFound }

// Queue returns a queue that exists, or nil.
func (s *Store) Queue(topic string, queueID int32) *ConsumeQueue { return nil }

// Queues calls fn for every queue, in no order, until it returns false.
func (s *Store) Queues(fn func(*ConsumeQueue) bool) {}

// Query finds up to limit records of topic with that key among KEYS or as UNIQ_KEY, stored in [begin, end] ms, the newest ones, in
// log order. The found records' topic and key are compared, so equal hashes do no harm. Release the slices.
func (s *Store) Query(topic, key string, limit int, begin, end int64) ([]*Slice, error) {
	return nil, nil
}

// QueryTag is Query for the value of TAGS (index type T).
func (s *Store) QueryTag(topic, tags string, limit int, begin, end int64) ([]*Slice, error) {
	return nil, nil
}

// OnArrival adds a callback for every message that became visible, in log order. Before Start only. It runs inside Commit or on the flusher
// and must neither block nor call Commit, Put or Close.
func (s *Store) OnArrival(fn func(Arrival)) {}

// Keep adds a keeper: cleaning reports what it would remove at or above from() on behalf of name, and does not remove it while there is
// another way. from returns math.MaxInt64 when nothing is needed. Before Start only.
func (s *Store) Keep(name string, from func() int64) {}

// MinPhysicalOffset is where the log begins.
func (s *Store) MinPhysicalOffset() int64 { return 0 }

// MaxPhysicalOffset is where the log ends: everything below is written.
func (s *Store) MaxPhysicalOffset() int64 { return 0 }

// FlushedOffset: everything below is on disk.
func (s *Store) FlushedOffset() int64 { return 0 }

// DispatchedOffset: everything below is visible in its queue.
func (s *Store) DispatchedOffset() int64 { return 0 }

// IndexedOffset: the keys of everything below are indexed.
func (s *Store) IndexedOffset() int64 { return 0 }

// EarliestTime is the store time, ms, of the first record, -1 when there is none.
func (s *Store) EarliestTime() int64 { return -1 }

// Writable is nil, or why messages are refused now: ErrDiskFull, ErrFlushFailed or ErrClosed with the details.
func (s *Store) Writable() error { return nil }

// DiskUsage is the last measured state of the file system that holds the commit log.
func (s *Store) DiskUsage() DiskUsage { return DiskUsage{} }

// DiskUsage is a measurement of a file system.
type DiskUsage struct {
	Path        string
	Total, Free uint64  // bytes
	Ratio       float64 // used share, 0 to 1; -1 when it could not be measured
	QueueRatio  float64 // the same for the consume queues' file system
}

// Flush makes everything committed so far durable, consume queues and checkpoint included.
func (s *Store) Flush() error { return nil }

// DeleteTopic removes the queues of topic and their files. Its records stay in the log.
func (s *Store) DeleteTopic(topic string) error { return nil }

// CleanExpired starts the reference's manual deletion (DELETE_EXPIRED_COMMITLOG): expired files go in the next rounds of the janitor
// whatever deleteWhen says.
func (s *Store) CleanExpired() {}

// CleanExpiredQueues removes queues whose last entry is below the log's beginning (CLEAN_EXPIRED_CONSUMEQUEUE) and returns their number.
func (s *Store) CleanExpiredQueues() int { return 0 }

// CleanUnusedTopics removes the queues of every topic that keep does not want, system topics and light queues aside
// (CLEAN_UNUSED_TOPIC), and returns the number of topics.
func (s *Store) CleanUnusedTopics(keep func(topic string) bool) int { return 0 }

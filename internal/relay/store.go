package relay

import (
	"errors"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// ErrRefused says that a message can never be stored as it is: trying again is of no use.
var ErrRefused = errors.New("message is refused")

// Store is what a relay needs of the message store.
type Store interface {
	// Put stores the messages of a batch in order. It returns how many of them are stored, from the first one on, and where the log ends
	// behind the last of these; err is about the first that is not stored and wraps ErrRefused when it never can be. A message may alias
	// records that are held until Put returns. One goroutine at a time.
	Put(batch []message.Message) (stored int, end int64, err error)
	// Queue returns a queue, or nil while it does not exist.
	Queue(topic string, queueID int32) Queue
	// Record returns the record of size bytes at a physical offset, to be released after use. The error wraps store.ErrNotFound when there
	// is none. One goroutine at a time, the releases too.
	Record(physicalOffset int64, size int32) (Record, error)
	// Rest is called now and then by the same goroutine, so that removed files are not held open, and with all when it ends.
	Rest(all bool)
	// MinPhysicalOffset and MaxPhysicalOffset are the ends of the log.
	MinPhysicalOffset() int64
	MaxPhysicalOffset() int64
	// SafeOffset is the end of what survives as the flush setting promises: the log's end with ASYNC_FLUSH, what is on disk with SYNC_FLUSH.
	SafeOffset() int64
	// FlushedOffset is the end of what is on disk.
	FlushedOffset() int64
	// Flush makes everything that is stored durable.
	Flush() error
	// OnArrival calls fn for every message that becomes visible in a queue of topic. fn runs inside Put and must only leave a note. To be
	// called before the store starts.
	OnArrival(topic string, fn func(queueID int32, tagsCode int64))
	// Keep asks that the log be kept from an offset on, as store.Store.Keep. To be called before the store starts.
	Keep(name string, from func() int64)
}

// Queue is a consume queue; *store.ConsumeQueue is one.
type Queue interface {
	MinOffset() int64
	MaxOffset() int64
	// Range calls fn for the entries from an offset on, until fn returns false or the queue ends; lost messages are left out.
	Range(from int64, fn func(store.Entry) bool) error
}

// Record is the bytes of a stored record.
type Record struct {
	data  []byte
	block *Block
}

// RecordOf is a record that needs no release.
func RecordOf(data []byte) Record { return Record{data: data} }

// Bytes is the record. It must not be changed, and not be used after Release.
func (r Record) Bytes() []byte { return r.data }

// Release gives the bytes back. It is called once.
func (r Record) Release() {
	if r.block != nil {
		r.block.release()
	}
}

// FromStore adapts a store for one relay, whose goroutine calls Put, Record and Rest.
func FromStore(s *store.Store) Store { return &adapter{s: s, reader: reader{log: s}} }

type adapter struct {
	s      *store.Store
	placed []store.Placed // of the last Put
	reader reader
}

func (a *adapter) Put(batch []message.Message) (stored int, end int64, err error) {
	placed := a.placed[:0]
	var stageErr error
	for i := range batch {
		p, err := a.s.Stage(&batch[i])
		if err != nil {
			stageErr = err
			break
		}
		placed = append(placed, p)
	}
	a.placed = placed
	if len(placed) > 0 {
		err = a.s.Commit(placed[len(placed)-1].Ticket)
	}
	if err != nil {
		// Somebody else's Commit may have stored the first ones.
		for stored < len(placed) && a.s.Commit(placed[stored].Ticket) == nil {
			stored++
		}
	} else {
		stored, err = len(placed), stageErr
	}
	if stored > 0 {
		last := placed[stored-1]
		end = last.PhysicalOffset + int64(last.Size)
	}
	if errors.Is(err, store.ErrMessageIllegal) || errors.Is(err, store.ErrTooManyQueues) {
		err = errors.Join(ErrRefused, err)
	}
	return stored, end, err
}

func (a *adapter) Queue(topic string, queueID int32) Queue {
	if q := a.s.Queue(topic, queueID); q != nil {
		return q
	}
	return nil
}

func (a *adapter) Record(physicalOffset int64, size int32) (Record, error) {
	return a.reader.record(physicalOffset, size)
}

func (a *adapter) Rest(all bool) { a.reader.rest(all) }

func (a *adapter) MinPhysicalOffset() int64 { return a.s.MinPhysicalOffset() }

func (a *adapter) MaxPhysicalOffset() int64 { return a.s.MaxPhysicalOffset() }

func (a *adapter) SafeOffset() int64 {
	if a.s.SyncFlush() {
		return a.s.FlushedOffset()
	}
	return a.s.MaxPhysicalOffset()
}

func (a *adapter) FlushedOffset() int64 { return a.s.FlushedOffset() }

func (a *adapter) Flush() error { return a.s.Flush() }

func (a *adapter) OnArrival(topic string, fn func(queueID int32, tagsCode int64)) {
	a.s.OnArrival(func(arrival store.Arrival) {
		if arrival.Topic == topic {
			fn(arrival.QueueID, arrival.TagsCode)
		}
	})
}

func (a *adapter) Keep(name string, from func() int64) { a.s.Keep(name, from) }

// AwaitSafe waits until the store is safe up to end (SYNC_FLUSH), at most patience of real time.
func AwaitSafe(s Store, end int64, patience time.Duration) {
	give := time.NewTimer(patience)
	defer give.Stop()
	look := time.NewTicker(safePause)
	defer look.Stop()
	for s.SafeOffset() < end {
		select {
		case <-look.C:
		case <-give.C:
			return
		}
	}
}

// safePause passes between looks at how far the disk is.
const safePause = time.Millisecond

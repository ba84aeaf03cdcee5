package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

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

// Stage gives m its place in the log and in its queue and encodes it into the tail buffer. Nothing is written and nothing visible
// before Commit. m may alias buffers that are reused after the call. Errors: ErrMessageIllegal, ErrDiskFull, ErrWriteFailed,
// ErrFlushFailed, ErrBusy, ErrClosed, ErrTooManyQueues.
func (s *Store) Stage(m *message.Message) (Placed, error) {
	set := s.settings.Load()
	m, size, err := s.checked(m, set)
	if err != nil {
		return Placed{}, err
	}
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admitLocked(size); err != nil {
		return Placed{}, err
	}
	var r staged
	given := m
	if m, err = s.prepareLocked(m, set, &r); err != nil {
		return Placed{}, err
	}
	if m != given {
		size = message.RecordSize(m)
	}
	storeMs := l.storeMsLocked()
	r.tagsCode = s.tagsCode(m, set, storeMs)
	l.placeLocked(size)
	return l.stageLocked(m, storeMs, r)
}

// StageBatch stages ms, all of one queue, with consecutive offsets and in one file: all of them or none.
func (s *Store) StageBatch(ms []message.Message) ([]Placed, error) { return s.StageBatchTo(nil, ms) }

// StageBatchTo is StageBatch that puts the places behind those of dst, for callers who use it again.
func (s *Store) StageBatchTo(dst []Placed, ms []message.Message) ([]Placed, error) {
	set := s.settings.Load()
	total := 0
	for i := range ms {
		m, size, err := s.checked(&ms[i], set)
		if err != nil {
			return nil, fmt.Errorf("message %d of the batch: %w", i, err)
		}
		if m.Topic != ms[0].Topic || m.QueueID != ms[0].QueueID {
			return nil, fmt.Errorf("%w: message %d of the batch is for %s/%d, the first for %s/%d", ErrMessageIllegal, i, m.Topic, m.QueueID, ms[0].Topic, ms[0].QueueID)
		}
		total += size
	}
	if int64(total)+message.BlankSize > s.files.size {
		return nil, fmt.Errorf("%w: a batch of %d bytes does not fit into a file of mappedFileSizeCommitLog = %d", ErrMessageIllegal, total, s.files.size)
	}
	placed := slices.Grow(dst, len(ms))
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admitLocked(total); err != nil || len(ms) == 0 {
		return nil, err
	}
	storeMs := l.storeMsLocked()
	l.placeLocked(total)
	q := s.queues.obtain(ms[0].Topic, ms[0].QueueID)
	for i := range ms {
		m := &ms[i]
		if set.propertyCRC {
			withCRC := *m
			withCRC.PropertyCRC = true
			m = &withCRC
		}
		r := staged{q: q, queueOffset: q.next}
		r.tagsCode = s.tagsCode(m, set, storeMs)
		p, err := l.stageLocked(m, storeMs, r)
		if err != nil {
			// checked has seen every limit of the encoder.
			panic(fmt.Sprintf("store: a checked message cannot be encoded: %v", err))
		}
		placed = append(placed, p)
	}
	return placed, nil
}

// Put stages and commits m and, with SYNC_FLUSH and m.WaitStored, waits until it is flushed. Not for event loops.
func (s *Store) Put(m *message.Message) (Placed, error) {
	p, err := s.Stage(m)
	if err != nil {
		return Placed{}, err
	}
	if err := s.Commit(p.Ticket); err != nil {
		return Placed{}, err
	}
	if !s.log.sync || !m.WaitStored {
		return p, nil
	}
	flushed := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { flushed <- err })
	return p, <-flushed
}

// checked checks m against the limits and returns the message to encode with its record's size.
func (s *Store) checked(m *message.Message, set *settings) (*message.Message, int, error) {
	if set.propertyCRC {
		withCRC := *m
		withCRC.PropertyCRC = true
		m = &withCRC
	}
	if err := message.CheckLimits(m, set.maxMessageSize); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrMessageIllegal, err)
	}
	if m.QueueID < 0 {
		return nil, 0, fmt.Errorf("%w: queue id %d is negative", ErrMessageIllegal, m.QueueID)
	}
	if !legalDirectory(m.Topic) {
		return nil, 0, fmt.Errorf("%w: topic %q cannot be the name of a directory", ErrMessageIllegal, m.Topic)
	}
	size := message.RecordSize(m)
	if int64(size)+message.BlankSize > s.files.size {
		return nil, 0, fmt.Errorf("%w: a record of %d bytes does not fit into a file of mappedFileSizeCommitLog = %d", ErrMessageIllegal, size, s.files.size)
	}
	return m, size, nil
}

// legalDirectory tells whether a topic can be a directory below consumequeue: the store takes names from logs and configurations it has
// not checked, and none may lead elsewhere.
func legalDirectory(topic string) bool {
	for i := range len(topic) {
		if c := topic[i]; c == '/' || c == '\\' || c == 0 {
			return false
		}
	}
	return topic != "" && topic != "." && topic != ".."
}

// prepareLocked fills in the record's queue and offset. The returned message is m, or a copy that names its places in light queues or
// its place in a batch queue.
func (s *Store) prepareLocked(m *message.Message, set *settings, r *staged) (*message.Message, error) {
	if t := m.TransactionType(); t == message.TransactionPrepared || t == message.TransactionRollback {
		return m, nil
	}
	r.q = s.queues.obtain(m.Topic, m.QueueID)
	r.queueOffset = r.q.next
	if m.SysFlag&message.SysInnerBatch != 0 {
		return s.prepareInnerBatchLocked(m, set, r)
	}
	if !set.light || !message.AllowsLMQ(m.Topic) {
		return m, nil
	}
	names, ok := m.Property(message.KeyInnerMultiDispatch)
	if !ok {
		return m, nil
	}
	return s.prepareLightLocked(m, set, r, names)
}

// prepareLightLocked gives m its places in light queues (LmqDispatch, MessageExtEncoder).
func (s *Store) prepareLightLocked(m *message.Message, set *settings, r *staged, names string) (*message.Message, error) {
	var offsets []byte
	for i, name := range strings.Split(names, message.MultiDispatchSeparator) {
		if !message.IsLMQ(name) || !legalDirectory(name) {
			return nil, fmt.Errorf("%w: %s names %q, which is no light queue", ErrMessageIllegal, message.KeyInnerMultiDispatch, name)
		}
		if s.queues.get(name, 0) == nil && s.queues.lightQueues() >= set.maxLightQueues {
			return nil, fmt.Errorf("%w: maxLmqConsumeQueueNum is %d", ErrTooManyQueues, set.maxLightQueues)
		}
		e := lightEntry{q: s.queues.obtain(name, 0)}
		e.offset = e.q.next
		for _, other := range r.light {
			if other.q == e.q {
				e.offset++
			}
		}
		r.light = append(r.light, e)
		if i > 0 {
			offsets = append(offsets, message.MultiDispatchSeparator...)
		}
		offsets = strconv.AppendInt(offsets, e.offset, 10)
	}
	light := *m
	light.Properties = m.Properties.Without(message.KeyWait).With(message.KeyInnerMultiQueueOffset, string(offsets))
	if err := message.CheckLimits(&light, set.maxMessageSize); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessageIllegal, err)
	}
	return &light, nil
}

// tagsCode is what the consume-queue entry of m holds besides its place.
func (s *Store) tagsCode(m *message.Message, set *settings, storeMs int64) int64 {
	if m.Topic == message.TopicSchedule {
		if text, ok := m.Property(message.KeyDelayLevel); ok {
			if due, ok := set.dueAt(text, storeMs); ok {
				return due
			}
		}
	}
	tags, _ := m.Property(message.KeyTags)
	return message.TagsHash(tags)
}

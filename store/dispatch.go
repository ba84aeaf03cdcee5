package store

// Arrival tells that a message became visible in its queue.
type Arrival struct {
	Topic          string
	QueueID        int32
	QueueOffset    int64
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
	StoreTimestamp int64 // ms

	record []byte
}

// Record is the stored record, valid during the callback.
func (a *Arrival) Record() []byte { return a.record }

// OnArrival adds a callback for every message that became visible, in log order. Before Start only. It runs inside Commit or on the flusher
// and must neither block nor call Commit, Put or Close.
func (s *Store) OnArrival(fn func(Arrival)) { s.arrivals = append(s.arrivals, fn) }

// dispatch makes the records of a batch visible: entries first, then the callbacks, in log order.
func (s *Store) dispatch(b *batch) {
	for i := range b.records {
		r := &b.records[i]
		if r.q == nil {
			continue
		}
		s.arrive(b, r, r.q, r.queueOffset)
		for _, e := range r.light {
			s.arrive(b, r, e.q, e.offset)
		}
	}
	if s.index.enabled() && s.index.feed.push(b) {
		s.index.hurryUp()
	}
	s.index.wakeUp()
}

func (s *Store) arrive(b *batch, r *staged, q *ConsumeQueue, queueOffset int64) {
	e := Entry{QueueOffset: queueOffset, PhysicalOffset: r.physical, Size: r.size, TagsCode: r.tagsCode}
	if q.batch == nil {
		q.append(e)
	} else {
		q.appendUnit(batchUnit{e, max(r.messages, 1), r.storeMs})
	}
	if len(s.arrivals) == 0 {
		return
	}
	a := Arrival{
		Topic:          q.topic,
		QueueID:        q.id,
		QueueOffset:    queueOffset,
		PhysicalOffset: r.physical,
		Size:           r.size,
		TagsCode:       r.tagsCode,
		StoreTimestamp: r.storeMs,
		record:         b.record(r),
	}
	for _, fn := range s.arrivals {
		fn(a)
	}
}

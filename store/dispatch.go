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
	for i := 0; i < len(b.records); {
		run := runOf(b.records[i:])
		if len(run) > 0 {
			run[0].q.appendRun(run)
			for j := range run {
				s.tell(b, &run[j], run[j].q, run[j].queueOffset)
			}
			i += len(run)
			continue
		}
		if r := &b.records[i]; r.q != nil {
			s.arrive(b, r, r.q, r.queueOffset)
			for _, e := range r.light {
				s.arrive(b, r, e.q, e.offset)
			}
		}
		i++
	}
	if s.index.enabled() && s.index.feed.push(b) {
		s.index.hurryUp()
	}
	s.index.wakeUp()
}

// runOf is as many of the first records as are all of one queue, an ordinary one, and of no other.
func runOf(records []staged) []staged {
	q := records[0].q
	if q == nil || q.batch != nil {
		return nil
	}
	n := 0
	for n < len(records) && records[n].q == q && len(records[n].light) == 0 {
		n++
	}
	return records[:n]
}

// entry is that of the record in its own queue.
func (r *staged) entry() Entry {
	return Entry{QueueOffset: r.queueOffset, PhysicalOffset: r.physical, Size: r.size, TagsCode: r.tagsCode}
}

// arrive makes one entry of a record visible.
func (s *Store) arrive(b *batch, r *staged, q *ConsumeQueue, queueOffset int64) {
	e := r.entry()
	e.QueueOffset = queueOffset
	if q.batch == nil {
		q.append(e)
	} else {
		q.appendUnit(batchUnit{e, max(r.messages, 1), r.storeMs})
	}
	s.tell(b, r, q, queueOffset)
}

// tell calls the callbacks for a record in a queue.
func (s *Store) tell(b *batch, r *staged, q *ConsumeQueue, queueOffset int64) {
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

package store

import "github.com/rocketd/rocketd/message"

// batchQueue chooses the queue of a record that is a batch, or whose queue is a batch queue. It is nil when the record gets no entry: it is of an
// earlier topic of that name, with queues of the other kind.
func (b *rebuilder) batchQueue(q *ConsumeQueue, r *message.Record) *ConsumeQueue {
	if q.batch != nil {
		return q
	}
	t := b.r.s.queues
	if t.kind(q.topic) == SimpleQueue {
		return nil
	}
	// Only now it turns out that this is a topic with batch queues: what was made of its records so far is not right.
	t.foundBatch(q.topic)
	var wrong []*ConsumeQueue
	for _, other := range t.all() {
		if other.topic == q.topic {
			wrong = append(wrong, other)
		}
	}
	if err := t.removeQueues(wrong); err != nil {
		b.problem(r.PhysicalOffset, "the record is a batch, but consume queue %s cannot be made anew: %v", q, err)
		return nil
	}
	for _, other := range wrong {
		delete(b.suspects, other)
		delete(b.r.rebuild, other)
		fresh := t.obtain(other.topic, other.id)
		if b.only != nil {
			b.only[fresh] = true
		}
		b.marked[fresh] = true
	}
	return t.get(r.Topic, r.QueueID)
}

package broker

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

const (
	// reviveGraceMs is how long after its time a checkpoint of before the start waits for acks that are still on their way
	// through the timer.
	reviveGraceMs = 2000
	// reviveRetry is how soon the reviver looks again when it could not go on.
	reviveRetry = 100 * time.Millisecond
	// maxReviveRead bounds what is read of one revive queue before the others have their turn.
	maxReviveRead = 10_000
)

// rePutSeconds is how long a checkpoint waits that is written anew because its messages could not be brought back
// (PopReviveService.ckRewriteIntervalsInSeconds).
var rePutSeconds = [...]int64{10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200}

// reviver brings messages back that were given out and not acknowledged (PopReviveService): it reads the revive topic, where
// checkpoints come when they are nearly due and acks when they are, and puts what is left into the groups' retry
// topics.
type reviver struct {
	p      *pop
	topic  string
	queues []*reviveQueue

	// timerDelivered is how far the timer is, asked at most once a round.
	timerKnown     bool
	timerDelivered int64

	wake chan struct{}
	stop chan struct{}
	done chan struct{}
}

// reviveQueue is one queue of the revive topic. Only the reviver uses it.
type reviveQueue struct {
	id        int32
	next      int64 // offset to read next
	committed int64 // as in the offset table: the last one done with
	pending   []*revivePoint
	byKey     map[popKey]*revivePoint
}

// revivePoint is a checkpoint that is not done with.
type revivePoint struct {
	ck      *popCheckpoint
	offset  int64  // in the revive topic
	acked   uint32 // bit i: message i is done with
	retryAt int64  // ms; not before, because it failed
	done    bool
}

func newReviver(p *pop) *reviver {
	return &reviver{
		p: p, topic: message.ReviveTopic(p.b.config().Broker.BrokerClusterName), wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// start reads and revives until close.
func (r *reviver) start() {
	b := r.p.b
	for id := range b.reviveQueues() {
		committed := b.offsets.committed(message.GroupRevive, r.topic, id)
		r.queues = append(r.queues, &reviveQueue{id: id, next: committed + 1, committed: committed, byKey: map[popKey]*revivePoint{}})
	}
	go r.run()
}

func (r *reviver) close() {
	close(r.stop)
	<-r.done
}

// arrived wakes the reviver. It runs on the dispatch path.
func (r *reviver) arrived(a *store.Arrival) {
	if a.Topic == r.topic {
		signal(r.wake)
	}
}

func (r *reviver) run() {
	defer close(r.done)
	timer := r.p.b.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-r.wake:
		case <-timer.C():
		}
		timer.Reset(r.round())
	}
}

// round reads what is new, brings back what is due, and tells when the next is.
func (r *reviver) round() time.Duration {
	wait := time.Hour
	if !r.p.b.serving.Load() {
		return awaitServing
	}
	if r.p.b.isSlave() {
		return wait
	}
	r.timerKnown = false
	begun := r.p.b.clock.NowMs()
	for _, q := range r.queues {
		more, again := r.read(q)
		switch {
		case more:
			wait = 0
		case again:
			wait = min(wait, reviveRetry)
		}
		if next := r.reviveDue(q); next > 0 {
			wait = min(wait, clock.Until(r.p.b.clock, next))
		}
		r.commit(q)
	}
	r.p.b.stats.pop.scan.add(&scanBounds, max(0, r.p.b.clock.NowMs()-begun))
	if wait == 0 {
		signal(r.wake)
	}
	return max(wait, time.Millisecond)
}

// read takes up checkpoints and acks. more: there are more; again: one cannot be read now.
func (r *reviver) read(q *reviveQueue) (more, again bool) {
	b := r.p.b
	queue := b.store.Queue(r.topic, q.id)
	if queue == nil {
		return false, false
	}
	q.next = max(q.next, queue.MinOffset())
	if end := queue.MaxOffset(); q.next > end {
		q.next = end // the topic is a younger one than the offset
	}
	left := maxReviveRead
	err := queue.Range(q.next, func(e store.Entry) bool {
		if left == 0 {
			more = true
			return false
		}
		left--
		slice, err := b.store.Record(e.PhysicalOffset)
		if store.Unread(err) { // what is passed over would never be brought back
			again = true
			if b.warnings.allow("revive") {
				b.log.WithError(err).WithField("offset", e.QueueOffset).Warn("a message of the revive topic cannot be read, trying again later")
			}
			return false
		}
		q.next = e.QueueOffset + 1
		if err != nil {
			b.log.WithError(err).WithField("offset", e.QueueOffset).Warn("a message of the revive topic cannot be read")
			return true
		}
		defer slice.Release()
		r.take(q, slice.Bytes(), e.QueueOffset)
		return true
	})
	if err != nil && b.warnings.allow("revive") {
		b.log.WithError(err).Warn("the revive topic cannot be read")
	}
	return more, again
}

// take takes up one message of the revive topic.
func (r *reviver) take(q *reviveQueue, record []byte, offset int64) {
	var m message.Record
	if _, err := message.DecodeRecord(record, &m, false); err != nil {
		return
	}
	tag, _ := m.Properties.Get(message.KeyTags)
	var err error
	switch tag {
	case popCheckpointTag:
		var ck *popCheckpoint
		if ck, err = decodePopCheckpoint(m.Body); err == nil {
			r.p.b.stats.pop.add(popCountKey{kind: popTaken, topic: ck.Topic, group: ck.Group, queueID: q.id})
			point := &revivePoint{ck: ck, offset: offset, acked: uint32(ck.BitMap)}
			q.pending = append(q.pending, point)
			q.byKey[ck.key()] = point
		}
	case popAckTag, popBatchAckTag:
		var ack *popAck
		if ack, err = decodePopAck(m.Body, tag == popBatchAckTag); err == nil {
			r.p.b.stats.pop.add(popCountKey{kind: popTaken, topic: ack.Topic, group: ack.Group, ack: true, queueID: q.id})
			if ack.BrokerName == "" {
				ack.BrokerName = r.p.b.config().Broker.BrokerName
			}
			if point := q.byKey[ack.key()]; point != nil {
				for _, acked := range ack.all() {
					if i := point.ck.index(acked); i >= 0 {
						point.acked |= 1 << i
					}
				}
			}
		}
	}
	if err != nil && r.p.b.warnings.allow("revive message") {
		r.p.b.log.WithError(err).WithField("offset", offset).Warn("a message of the revive topic is not what it should be")
	}
}

// reviveDue brings back what is due, and tells when the next is, ms; 0 when nothing is pending.
func (r *reviver) reviveDue(q *reviveQueue) (next int64) {
	b := r.p.b
	now := b.clock.NowMs()
	for _, point := range q.pending {
		if point.done {
			continue
		}
		due := max(point.ck.reviveTime(), point.retryAt)
		if !r.p.flight.known(point.ck.key()) {
			due += reviveGraceMs
			if now >= due && !r.timerIsBeyond(point.ck.reviveTime()) {
				due = now + reviveRetry.Milliseconds()
			}
		}
		if due > now {
			if next == 0 || due < next {
				next = due
			}
			continue
		}
		if point.done = r.revive(q, point); !point.done {
			point.retryAt = now + reviveRetry.Milliseconds()
			if next == 0 || point.retryAt < next {
				next = point.retryAt
			}
		}
	}
	return next
}

// timerIsBeyond tells whether the timer, which hands over acks, has delivered everything that was due at a time. It looks
// once a round.
func (r *reviver) timerIsBeyond(ms int64) bool {
	if !r.timerKnown {
		r.timerKnown, r.timerDelivered = true, r.p.b.timerDelivered()
	}
	return r.timerDelivered >= ms
}

// commit moves the group's offset on behind what is done with.
func (r *reviver) commit(q *reviveQueue) {
	n := 0
	for n < len(q.pending) && q.pending[n].done {
		delete(q.byKey, q.pending[n].ck.key())
		n++
	}
	q.pending = append(q.pending[:0], q.pending[n:]...)
	done := q.next - 1
	if len(q.pending) > 0 {
		done = q.pending[0].offset - 1
	}
	if done > q.committed {
		q.committed = done
		r.p.b.offsets.commit(message.GroupRevive, r.topic, q.id, done, "")
	}
}

// revive brings back the messages of a checkpoint that were not acknowledged; false when one of them has to be tried again.
func (r *reviver) revive(q *reviveQueue, point *revivePoint) bool {
	b, ck := r.p.b, point.ck
	point.acked |= r.p.flight.revive(ck, point.acked)
	if b.topics.get(message.PopRetryOrigin(ck.Topic, ck.Group)) == nil || b.groups.getOrCreate(ck.Group) == nil {
		return true // the topic or the group has been deleted
	}
	all := true
	for i := range ck.count() {
		if point.acked&(1<<i) != 0 {
			continue
		}
		if err := r.reviveOne(ck, ck.offset(i)); err != nil {
			if b.warnings.allow("revive@" + ck.Topic) {
				b.log.WithError(err).WithFields(logrus.Fields{"topic": ck.Topic, "group": ck.Group, "offset": ck.offset(i)}).
					Warn("a message that was not acknowledged cannot be brought back, trying again later")
			}
			if !r.later(ck, ck.offset(i), q.id) {
				all = false
				continue
			}
		}
		point.acked |= 1 << i // done with, whatever becomes of the others
	}
	return all
}

// reviveOne puts a message into the group's retry topic (PopReviveService#reviveRetry). One that is gone from the log is
// let go.
func (r *reviver) reviveOne(ck *popCheckpoint, offset int64) error {
	b := r.p.b
	queue := b.store.Queue(ck.Topic, ck.QueueID)
	if queue == nil {
		return nil
	}
	entry, ok := queue.Entry(offset)
	if !ok {
		return nil
	}
	slice, err := b.store.Record(entry.PhysicalOffset)
	if err != nil {
		return err
	}
	defer slice.Release()
	var record message.Record
	if _, err := message.DecodeRecord(slice.Bytes(), &record, false); err != nil {
		return err
	}
	topic, err := r.retryTopic(ck)
	if topic == nil {
		return err
	}
	properties := record.Properties
	if record.ReconsumeTimes == 0 || !properties.Has(message.KeyFirstPopTime) {
		properties = properties.With(message.KeyFirstPopTime, decimal(ck.PopTime))
	}
	m := message.Message{
		Topic: topic.TopicName, QueueID: 0, Flag: record.Flag, SysFlag: record.SysFlag, BornTimestamp: record.BornTimestamp,
		BornHost: b.identity.storeHost, StoreHost: b.identity.storeHost, ReconsumeTimes: record.ReconsumeTimes + 1, Body: record.Body,
		Properties: properties.With(message.KeyOriginGroup, ck.Group),
	}
	if ck.Suspend {
		m.ReconsumeTimes = record.ReconsumeTimes
	}
	if b.config().Broker.UseSeparateRetryQueue && record.QueueID < topic.WriteQueueNums {
		m.QueueID = record.QueueID
	}
	// A delay or a time that the message had is over: it goes straight to the retry topic.
	placed, err := b.store.Put(&m)
	b.stats.pop.add(popCountKey{kind: popRetry, topic: ck.Topic, group: ck.Group, failed: err != nil})
	if err != nil {
		return err
	}
	b.stats.putInternal(m.Topic, int(placed.Size))
	return nil
}

// retryTopic is the topic that a checkpoint's messages come back through, created when missing
// (PopReviveService#addRetryTopicIfNotExist).
func (r *reviver) retryTopic(ck *popCheckpoint) (*body.TopicConfig, error) {
	b, c := r.p.b, &r.p.b.config().Broker
	if message.IsRetryTopic(ck.Topic) {
		return b.topics.get(ck.Topic), nil
	}
	name := message.PopRetryTopic(ck.Topic, ck.Group, c.EnableRetryTopicV2)
	if topic := b.topics.get(name); topic != nil {
		return topic, nil
	}
	config := body.NewTopicConfig(name)
	config.ReadQueueNums, config.WriteQueueNums, config.Perm = 1, 1, permBoth
	if origin := b.topics.get(ck.Topic); c.UseSeparateRetryQueue && origin != nil {
		config.ReadQueueNums, config.WriteQueueNums = origin.WriteQueueNums, origin.WriteQueueNums
	}
	topic, err := b.topics.createIfAbsent(config)
	if topic == nil {
		return nil, err
	}
	for id := range topic.ReadQueueNums {
		if b.offsets.committed(ck.Group, name, id) < 0 {
			b.offsets.commit(ck.Group, name, id, 0, "")
		}
	}
	return topic, nil
}

// later writes a checkpoint of one message anew, to be tried again after a growing time (PopReviveService#rePutCK); false when
// that cannot be stored either.
func (r *reviver) later(old *popCheckpoint, offset int64, queueID int32) bool {
	b := r.p.b
	times := old.rePuts()
	if times >= len(rePutSeconds) && b.config().Broker.SkipWhenCKRePutReachMaxTimes {
		b.log.WithFields(logrus.Fields{"topic": old.Topic, "group": old.Group, "offset": offset}).Error("a message could not be brought back in all tries and is let go")
		return true
	}
	ck := &popCheckpoint{
		BrokerName: old.BrokerName, Group: old.Group, Diffs: []int32{0}, Num: 1, PopTime: old.PopTime, QueueID: old.QueueID,
		RePutTimes: decimal(int64(times + 1)), StartOffset: offset, Suspend: old.Suspend, Topic: old.Topic,
	}
	after := rePutSeconds[min(times, len(rePutSeconds)-1)]
	ck.InvisibleTime = b.clock.NowMs() + after*1000 - old.PopTime
	content, err := ck.encode()
	if err == nil {
		err = b.putRevive(content, popCheckpointTag, ck.uniqueKey(), ck.reviveTime()-popCheckpointLead, queueID)
		b.stats.pop.add(popCountKey{kind: popPut, topic: ck.Topic, group: ck.Group, failed: err != nil})
	}
	if err != nil && b.warnings.allow("later@"+old.Topic) {
		b.log.WithError(err).WithFields(logrus.Fields{"topic": old.Topic, "group": old.Group, "offset": offset}).
			Error("a message could not be brought back, nor be kept for another try")
	}
	return err == nil
}

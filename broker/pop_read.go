package broker

import (
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// readQueue gives messages of one queue out (PopMessageProcessor#popMsgFromQueue).
func (p *popRound) readQueue(topic string, retry bool, queueID int32) {
	b, h := p.b, &p.r.header
	key := orderKey{topic: topic, group: h.ConsumerGroup, queueID: queueID}
	if !b.pop.locks.tryLock(key) {
		if !p.r.ordered() {
			p.rest += max(b.maxOffset(topic, queueID)-b.popOffset(key, h.InitMode, false), 0)
		}
		return
	}
	defer b.pop.locks.unlock(key)
	if reset := b.offsets.takeReset(key.group, topic, queueID); reset != noOffset {
		b.pop.order.clear(key)
		b.offsets.commit(key.group, topic, queueID, reset, "")
	}
	offset := b.popOffset(key, h.InitMode, true)
	if p.r.ordered() && b.pop.order.blocked(key, h.AttemptID, h.InvisibleTime) {
		return // not counted as rest: an ack wakes whoever waits
	}
	wanted := int(h.MaxMsgNums) - p.count
	if wanted <= 0 {
		p.rest += max(b.maxOffset(topic, queueID)-offset, 0)
		return
	}
	result := new(store.GetResult)
	get := store.GetRequest{Topic: topic, QueueID: queueID, Offset: offset, MaxCount: int32(wanted), Filter: filterOf(p.r.sub)}
	if retry {
		get.Filter = nil // the message passed the filter when it was given out first
	}
	b.store.Get(&get, result)
	switch result.Status {
	case store.OffsetTooSmall, store.OffsetOverflowBadly, store.OffsetFoundNull:
		offset = result.NextOffset
		b.offsets.commit(key.group, topic, queueID, offset, "")
		result.Release()
		get.Offset = offset
		b.store.Get(&get, result)
	default:
	}
	if result.Status != store.Found {
		if result.NextOffset > offset {
			b.offsets.commit(key.group, topic, queueID, result.NextOffset, "")
		}
		p.rest += max(result.MaxOffset-result.NextOffset, 0)
		result.Release()
		return
	}
	p.giveOut(key, retry, offset, result)
}

// giveOut notes the messages of a queue as given out and adds them to the answer. When that cannot be noted they stay.
func (p *popRound) giveOut(key orderKey, retry bool, start int64, result *store.GetResult) {
	b, h := p.b, &p.r.header
	offsets, err := foundOffsets(result)
	if err != nil {
		if b.warnings.allow("pop unreadable") {
			b.log.WithError(err).WithFields(logrus.Fields{"topic": key.topic, "queue": key.queueID, "offset": start}).Warn("messages are not given out: they cannot be read any more")
		}
		result.Release()
		p.rest += max(result.MaxOffset-start, 0)
		return
	}
	if p.r.ordered() {
		freeAt := b.pop.order.update(key, h.AttemptID, p.popTime, h.InvisibleTime, offsets, &p.offsets)
		b.offsets.commit(key.group, key.topic, key.queueID, start, "")
		b.pop.waits.wakeAt(key, freeAt)
	} else {
		ck := p.checkpoint(key, start, offsets)
		if err := b.putCheckpoint(ck, p.revive); err != nil {
			if b.warnings.allow("pop checkpoint") {
				b.log.WithError(err).WithFields(logrus.Fields{"topic": key.topic, "group": key.group}).Warn("messages are not given out: the checkpoint cannot be stored")
			}
			result.Release()
			p.rest += int64(len(offsets))
			return
		}
		b.offsets.commit(key.group, key.topic, key.queueID, result.NextOffset, "")
	}
	b.offsets.pulled(key.group, key.topic, key.queueID, result.NextOffset)
	took := time.Duration(b.clock.NowMs()-p.r.begunMs) * time.Millisecond
	as := outKey{topic: h.Topic, group: key.group, pop: true, retry: retry}
	b.stats.given(as, key.group, key.topic, key.queueID, result.Count, result.Bytes, took)
	p.offsets.add(key.topic, key.queueID, start, offsets)
	p.count += len(offsets)
	p.rest += max(result.MaxOffset-result.NextOffset, 0)
	if retry && !p.config.Broker.PopResponseReturnActualRetryTopic {
		p.addRetried(key, start, result)
		return
	}
	p.parts = append(p.parts, result.Parts...)
	p.releases = append(p.releases, result.Release)
}

func (p *popRound) checkpoint(key orderKey, start int64, offsets []int64) *popCheckpoint {
	ck := &popCheckpoint{
		BrokerName: p.config.Broker.BrokerName, Group: key.group, InvisibleTime: p.r.header.InvisibleTime, Num: int8(len(offsets)),
		PopTime: p.popTime, QueueID: key.queueID, StartOffset: start, Topic: key.topic,
	}
	for _, offset := range offsets {
		ck.Diffs = append(ck.Diffs, int32(offset-start))
	}
	return ck
}

// addRetried adds messages of a retry topic as messages of the topic they came from, with their handle in POP_CK.
func (p *popRound) addRetried(key orderKey, start int64, result *store.GetResult) {
	defer result.Release()
	var content []byte
	// What cannot be read any more is brought back when its time is over.
	_ = eachRecord(result.Parts, func(record []byte) {
		var r message.Record
		if _, err := message.DecodeRecord(record, &r, false); err != nil {
			return
		}
		m := r.Message
		if !m.Properties.Has(message.KeyPopCheckpoint) {
			handle := popHandle{
				startOffset: start, popTime: p.popTime, invisibleTime: p.r.header.InvisibleTime, reviveQueue: p.revive,
				retryFlag: retryFlag(key.topic), brokerName: p.config.Broker.BrokerName, queueID: key.queueID, queueOffset: r.QueueOffset,
			}
			m.Properties = m.Properties.With(message.KeyPopCheckpoint, handle.String())
		}
		m.Topic = p.r.topic.TopicName
		grown, err := message.AppendRecord(content, &m, message.Placement{
			PhysicalOffset: r.PhysicalOffset, QueueOffset: r.QueueOffset, StoreTimestamp: r.StoreTimestamp,
		})
		if err != nil {
			// The handle does not fit into the properties: the client makes one itself from the offset lists.
			m.Properties = r.Properties
			grown, err = message.AppendRecord(content, &m, message.Placement{
				PhysicalOffset: r.PhysicalOffset, QueueOffset: r.QueueOffset, StoreTimestamp: r.StoreTimestamp,
			})
		}
		if err == nil {
			content = grown
		}
	})
	p.parts = append(p.parts, content)
}

// foundOffsets are those of the records that were found.
func foundOffsets(result *store.GetResult) ([]int64, error) {
	offsets := make([]int64, 0, result.Count)
	err := eachRecord(result.Parts, func(record []byte) {
		var r message.Record
		if _, err := message.DecodeRecord(record, &r, false); err == nil {
			offsets = append(offsets, r.QueueOffset)
		}
	})
	return offsets, err
}

// eachRecord calls fn for the records that lie one behind the other in parts. The error is that a page of them cannot be read any more.
func eachRecord(parts [][]byte, fn func(record []byte)) (err error) {
	defer vfs.CatchPageFault(vfs.PanicOnFault(), func(uintptr) bool {
		err = vfs.ErrPage
		return true
	})
	for _, part := range parts {
		for len(part) > 0 {
			size, err := message.PeekSize(part)
			if err != nil || size > len(part) {
				return nil
			}
			fn(part[:size])
			part = part[size:]
		}
	}
	return nil
}

// popOffset is where a group pops next from a queue. A group that has none yet gets one, which init makes durable
// (PopMessageProcessor#getPopOffset).
func (b *Broker) popOffset(key orderKey, initMode int32, init bool) int64 {
	if offset := b.offsets.query(key.group, key.topic, key.queueID); offset >= 0 {
		return offset
	}
	queue := b.store.Queue(key.topic, key.queueID)
	offset := int64(0)
	const fromMin = 0
	switch {
	case queue == nil:
	case initMode == fromMin || message.IsRetryTopic(key.topic):
		offset = queue.MinOffset()
	case b.config().Broker.InitPopOffsetByCheckMsgInMem && queue.MinOffset() <= 0 && queue.MaxOffset() > 0:
		// The reference asks whether message 0 is still in memory: a young queue is read from its beginning.
		offset = 0
	default:
		offset = max(queue.MaxOffset()-1, 0) // the last one
	}
	if init {
		b.offsets.commit(key.group, key.topic, key.queueID, offset, "")
	}
	return offset
}

// putCheckpoint stores a checkpoint so that it reaches the revive topic shortly before its messages become visible again.
func (b *Broker) putCheckpoint(ck *popCheckpoint, reviveQueue int32) error {
	content, err := ck.encode()
	if err != nil {
		return err
	}
	err = b.putRevive(content, popCheckpointTag, ck.uniqueKey(), ck.reviveTime()-popCheckpointLead, reviveQueue)
	b.stats.pop.add(popCountKey{kind: popPut, topic: ck.Topic, group: ck.Group, failed: err != nil})
	if err != nil {
		return err
	}
	b.stats.checkpoint(ck.Group, ck.Topic, 1)
	b.pop.flight.add(ck)
	return nil
}

// putAck stores an ack so that it reaches the revive topic when its message would become visible again.
func (b *Broker) putAck(ack *popAck, deliverMs int64, reviveQueue int32) error {
	content, err := ack.encode()
	if err != nil {
		return err
	}
	b.stats.ack(ack.Group, ack.Topic, len(ack.all()))
	err = b.putRevive(content, ack.tag(), ack.uniqueKey(), deliverMs, reviveQueue)
	b.stats.pop.add(popCountKey{kind: popPut, topic: ack.Topic, group: ack.Group, ack: true, failed: err != nil})
	return err
}

func (b *Broker) putRevive(content []byte, tag, uniqueKey string, deliverMs int64, queueID int32) error {
	var properties message.Properties
	properties = properties.Append(message.KeyTags, tag)
	properties = properties.Append(message.KeyUniqueKey, uniqueKey)
	properties = properties.Append(message.KeyTimerDeliverMs, strconv.FormatInt(deliverMs, 10))
	host := b.identity.storeHost
	topic := message.ReviveTopic(b.config().Broker.BrokerClusterName)
	_, err := b.deliver(&message.Message{
		Topic: topic, QueueID: queueID, BornTimestamp: b.clock.NowMs(),
		BornHost: host, StoreHost: host, Body: content, Properties: properties, WaitStored: true,
	})
	ensure(&b.stats.traffic.topic(topic).timed).add(&timedBounds, max(0, deliverMs-b.clock.NowMs())/1000)
	return err
}

package broker

import (
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// ackMessage is ACK_MESSAGE (AckMessageProcessor): a message given out by pop is done with.
func (b *Broker) ackMessage(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.AckMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if err := b.checkPopped(h.Topic, h.QueueID, c); err != nil {
		return nil, err
	}
	low, high := b.minOffset(h.Topic, h.QueueID), b.maxOffset(h.Topic, h.QueueID)
	if h.Offset < low || h.Offset > high {
		return nil, remoting.Errorf(remoting.NoMessage, "offset is illegal, key:%s@%d, commit:%d, store:%d~%d", h.Topic, h.QueueID, h.Offset, low, high)
	}
	handle, err := parsePopHandle(h.ExtraInfo)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	if handle.ordered() {
		if err := b.ackOrdered(orderKey{cloned(h.Topic), cloned(h.ConsumerGroup), h.QueueID}, h.Offset, handle.popTime, c); err != nil {
			return nil, err
		}
		return success(), nil
	}
	if err := b.checkReviveQueue(handle.reviveQueue); err != nil {
		return nil, err
	}
	ack := &popAck{
		Offset: h.Offset, BrokerName: cloned(handle.brokerName), Group: cloned(h.ConsumerGroup), PopTime: handle.popTime, QueueID: h.QueueID,
		StartOffset: handle.startOffset, Topic: cloned(h.Topic),
	}
	switch b.pop.flight.settle(ack.key(), h.Offset, false) {
	case flightReplaced:
		return nil, handleReplaced(h.Offset)
	case flightAcked:
		return success(), nil // the consumer repeats itself
	case flightOpen, flightRevived, flightForeign, flightUnknown:
	}
	if err := b.putAck(ack, handle.reviveTime(), handle.reviveQueue); err != nil {
		b.pop.flight.unsettle(ack.key(), h.Offset)
		return nil, err
	}
	return success(), nil
}

// handleReplaced tells a consumer that its handle is not the newest one. The reference says nothing, and the message comes
// back all the same.
func handleReplaced(offset int64) error {
	return remoting.Errorf(remoting.NoMessage, "the handle of offset %d is an old one: its invisible time was changed, only the handle of that change counts", offset)
}

// checkPopped checks topic and queue of a message that was given out.
func (b *Broker) checkPopped(topicName string, queueID int32, c *remoting.Conn) error {
	topic := b.topics.get(topicName)
	switch {
	case topic == nil:
		return remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist, apply first please! ", topicName)
	case queueID < 0 || queueID >= topic.ReadQueueNums:
		return remoting.Errorf(remoting.MessageIllegal, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			queueID, topicName, topic.ReadQueueNums, c.RemoteAddr())
	}
	return nil
}

// checkReviveQueue checks the revive queue that a handle names, before something is written to it.
func (b *Broker) checkReviveQueue(queueID int32) error {
	if n := b.reviveQueues(); queueID < 0 || queueID >= n {
		return remoting.Errorf(remoting.MessageIllegal, "reviveQid of the handle is %d, there are queues 0 to %d", queueID, n-1)
	}
	return nil
}

// reviveQueues is the number of queues of the revive topic.
func (b *Broker) reviveQueues() int32 {
	c := b.config()
	if topic := b.topics.get(message.ReviveTopic(c.Broker.BrokerClusterName)); topic != nil {
		return max(topic.ReadQueueNums, c.Broker.ReviveQueueNum)
	}
	return c.Broker.ReviveQueueNum
}

// ackOrdered notes that a message of an ordered pop is done with; when all before it are, the group's offset moves on
// (AckMessageProcessor#ackOrderly).
func (b *Broker) ackOrdered(key orderKey, offset, popTime int64, c *remoting.Conn) error {
	if offset < b.offsets.query(key.group, key.topic, key.queueID) {
		return nil
	}
	b.pop.locks.lock(key)
	defer b.pop.locks.unlock(key)
	before := b.offsets.query(key.group, key.topic, key.queueID)
	if offset < before {
		return nil
	}
	next, freeAt := b.pop.order.commit(key, offset, popTime)
	switch next {
	case orderIllegal:
		return remoting.Errorf(remoting.MessageIllegal, "offset is illegal, key:%s@%s@%d, old:%d, commit:%d, next:%d, %s",
			key.topic, key.group, key.queueID, before, offset, next, c.RemoteAddr())
	case orderStale:
		return nil
	}
	if !b.offsets.hasReset(key.group, key.topic, key.queueID) {
		b.offsets.commit(key.group, key.topic, key.queueID, next, "")
	}
	b.stats.ack(key.group, key.topic, 1)
	b.pop.waits.wakeAt(key, freeAt)
	return nil
}

// batchAckMessage is BATCH_ACK_MESSAGE: acks of several messages of several pops. Offsets that are out of range are left
// out, as in the reference.
func (b *Broker) batchAckMessage(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if len(req.Body) == 0 {
		return remoting.NewResponse(remoting.NoMessage), nil
	}
	batch, err := body.Decode[body.BatchAckRequest](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	}
	if len(batch.Acks) == 0 {
		return remoting.NewResponse(remoting.NoMessage), nil
	}
	for i := range batch.Acks {
		if err := b.ackBatch(&batch.Acks[i], batch.BrokerName, c); err != nil {
			return nil, err
		}
	}
	return success(), nil
}

func (b *Broker) ackBatch(a *body.BatchAck, brokerName string, c *remoting.Conn) error {
	topic, err := popTopicOfFlag(a.Topic, a.ConsumerGroup, a.Retry)
	if err != nil {
		return remoting.Errorf(remoting.SystemError, "%v", err)
	}
	low, high := b.minOffset(topic, a.QueueID), b.maxOffset(topic, a.QueueID)
	if low < 0 {
		return nil // no such queue
	}
	ordered := a.ReviveQueueID == popOrderReviveQueue
	ack := &popAck{
		Offset: -1, Offsets: []int64{}, BrokerName: brokerName, Group: a.ConsumerGroup, PopTime: a.PopTime, QueueID: a.QueueID,
		StartOffset: a.StartOffset, Topic: topic,
	}
	for i := range int(min(int64(len(a.BitSet))*8, max(high-a.StartOffset, -1)+1)) {
		offset := a.StartOffset + int64(i)
		if !a.BitSet.Has(i) || offset < low || offset > high {
			continue
		}
		if ordered {
			if err := b.ackOrdered(orderKey{topic, a.ConsumerGroup, a.QueueID}, offset, a.PopTime, c); err != nil {
				return err
			}
			continue
		}
		ack.Offsets = append(ack.Offsets, offset)
	}
	if ordered || len(ack.Offsets) == 0 {
		return nil
	}
	if err := b.checkReviveQueue(a.ReviveQueueID); err != nil {
		return err
	}
	for _, offset := range ack.Offsets {
		b.pop.flight.settle(ack.key(), offset, false)
	}
	if err := b.putAck(ack, a.PopTime+a.InvisibleTime, a.ReviveQueueID); err != nil {
		for _, offset := range ack.Offsets {
			b.pop.flight.unsettle(ack.key(), offset)
		}
		return err
	}
	return nil
}

package broker

import (
	"github.com/rocketd/rocketd/remoting"
)

// changeInvisible is CHANGE_MESSAGE_INVISIBLETIME: a message given out by pop becomes visible again at another time
// (ChangeInvisibleTimeProcessor). The answer makes the new handle.
func (b *Broker) changeInvisible(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ChangeInvisibleTimeRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	h.Topic, h.ConsumerGroup = cloned(h.Topic), cloned(h.ConsumerGroup)
	if err := b.checkPopped(h.Topic, h.QueueID, c); err != nil {
		return nil, err
	}
	if low, high := b.minOffset(h.Topic, h.QueueID), b.maxOffset(h.Topic, h.QueueID); h.Offset < low || h.Offset >= high {
		return nil, remoting.Errorf(remoting.NoMessage, "offset is illegal, key:%s@%d, commit:%d, store:%d~%d", h.Topic, h.QueueID, h.Offset, low, high)
	}
	if most := int64(b.config().Store.TimerMaxDelaySec) * 1000; h.InvisibleTime < 0 || h.InvisibleTime > most {
		return nil, remoting.Errorf(remoting.InvalidParameter, "invisibleTime is %d ms, allowed are 0 to %d (timerMaxDelaySec)", h.InvisibleTime, most)
	}
	handle, err := parsePopHandle(h.ExtraInfo)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	var head *remoting.ChangeInvisibleTimeResponseHeader
	if handle.ordered() {
		head = b.changeOrdered(&h, &handle)
	} else if head, err = b.changeUnordered(&h, &handle); err != nil {
		return nil, err
	}
	resp := success()
	resp.Header = head
	return resp, nil
}

// changeOrdered sets when one message of an ordered pop becomes visible again (processChangeInvisibleTimeForOrder). Its
// handle stays good.
func (b *Broker) changeOrdered(h *remoting.ChangeInvisibleTimeRequestHeader, handle *popHandle) *remoting.ChangeInvisibleTimeResponseHeader {
	key := orderKey{h.Topic, h.ConsumerGroup, h.QueueID}
	b.pop.locks.lock(key)
	defer b.pop.locks.unlock(key)
	if h.Offset < b.offsets.query(key.group, key.topic, key.queueID) {
		return &remoting.ChangeInvisibleTimeResponseHeader{}
	}
	visibleAt := b.clock.NowMs() + h.InvisibleTime
	b.pop.waits.wakeAt(key, b.pop.order.delay(key, h.Offset, handle.popTime, visibleAt))
	return &remoting.ChangeInvisibleTimeResponseHeader{
		PopTime: handle.popTime, InvisibleTime: visibleAt - handle.popTime, ReviveQid: handle.reviveQueue,
	}
}

// changeUnordered gives the message a checkpoint of its own and acknowledges it in the old one
// (appendCheckPointThenAckOrigin).
func (b *Broker) changeUnordered(h *remoting.ChangeInvisibleTimeRequestHeader, handle *popHandle) (*remoting.ChangeInvisibleTimeResponseHeader, error) {
	if err := b.checkReviveQueue(handle.reviveQueue); err != nil {
		return nil, err
	}
	ack := &popAck{
		Offset: h.Offset, BrokerName: cloned(handle.brokerName), Group: h.ConsumerGroup, PopTime: handle.popTime, QueueID: h.QueueID,
		StartOffset: handle.startOffset, Topic: h.Topic,
	}
	switch b.pop.flight.settle(ack.key(), h.Offset, true) {
	case flightReplaced:
		return nil, handleReplaced(h.Offset)
	case flightAcked:
		return nil, remoting.Errorf(remoting.NoMessage, "offset %d is acknowledged already, its invisible time cannot be changed", h.Offset)
	case flightRevived:
		return nil, remoting.Errorf(remoting.NoMessage, "the invisible time of offset %d is over, it is delivered again", h.Offset)
	case flightOpen, flightUnknown, flightForeign:
	}
	// Not the checkpoint's own millisecond: if the message is its first one, the new checkpoint would have the same key.
	now := max(b.clock.NowMs(), handle.popTime+1)
	ck := &popCheckpoint{
		BrokerName: ack.BrokerName, Group: h.ConsumerGroup, Diffs: []int32{0}, InvisibleTime: h.InvisibleTime, Num: 1, PopTime: now,
		QueueID: h.QueueID, StartOffset: h.Offset, Suspend: h.Suspend, Topic: h.Topic,
	}
	err := b.putCheckpoint(ck, handle.reviveQueue)
	if err == nil {
		err = b.putAck(ack, handle.reviveTime(), handle.reviveQueue)
	}
	if err != nil {
		b.pop.flight.unsettle(ack.key(), h.Offset)
		return nil, err
	}
	return &remoting.ChangeInvisibleTimeResponseHeader{PopTime: now, InvisibleTime: h.InvisibleTime, ReviveQid: handle.reviveQueue}, nil
}

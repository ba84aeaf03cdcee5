package broker

import (
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

func (b *Broker) offsetRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.QueryConsumerOffset, Lane: remoting.OnLoop, Handle: b.queryOffset},
		{Code: remoting.UpdateConsumerOffset, Lane: remoting.OnLoop, Handle: b.updateOffset},
		{Code: remoting.GetMaxOffset, Lane: remoting.OnLoop, Handle: b.getMaxOffset},
		{Code: remoting.GetMinOffset, Lane: remoting.OnLoop, Handle: b.getMinOffset},
		{Code: remoting.SearchOffsetByTimestamp, Lane: laneOffset, Handle: b.searchOffset},
		{Code: remoting.GetEarliestMsgStoretime, Lane: laneOffset, Handle: b.earliestStoreTime},
	}
}

// queryOffset is QUERY_CONSUMER_OFFSET (ConsumerManageProcessor#queryConsumerOffset). For a group without an offset the reference
// answers 0 as long as the queue begins at 0 and its first message is in memory, so that even CONSUME_FROM_LAST_OFFSET gets a
// young topic whole. That is kept unless strictFirstOffset is set.
func (b *Broker) queryOffset(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryConsumerOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	resp := conn.Loop().Response(remoting.Success)
	if offset := b.offsets.query(h.ConsumerGroup, h.Topic, h.QueueID); offset >= 0 {
		resp.Header = &remoting.QueryConsumerOffsetResponseHeader{Offset: offset}
		return resp, nil
	}
	switch {
	case h.SetZeroIfNotFound.Set && !h.SetZeroIfNotFound.Value:
		resp.Code, resp.Remark = remoting.QueryNotFound, "Not found, do not set to zero, maybe this group boot first"
	case !b.config().Rocketd.StrictFirstOffset && b.beginsAtZero(h.Topic, h.QueueID):
		resp.Header = &remoting.QueryConsumerOffsetResponseHeader{Offset: 0}
	default:
		resp.Code, resp.Remark = remoting.QueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
	}
	return resp, nil
}

// beginsAtZero tells whether a queue has its message 0 and nothing of the log behind it is out of memory's reach: a
// queue that does not exist has no message 0.
func (b *Broker) beginsAtZero(topic string, queueID int32) bool {
	q := b.store.Queue(topic, queueID)
	if q == nil || q.MinOffset() > 0 {
		return false
	}
	first, ok := q.Entry(0)
	return ok && b.store.MaxPhysicalOffset()-first.PhysicalOffset <= inMemoryBytes
}

// inMemoryBytes is the distance from the log's end within which messages count as in memory, as for hot pulls.
const inMemoryBytes = 1 << 30

// updateOffset is UPDATE_CONSUMER_OFFSET (ConsumerManageProcessor#updateConsumerOffset). Unlike there a negative offset and a
// queue that the topic never had are refused.
func (b *Broker) updateOffset(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.UpdateConsumerOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if b.groups.get(h.ConsumerGroup) == nil {
		return nil, remoting.Errorf(remoting.SubscriptionGroupNotExist, "Group %s not exist!", h.ConsumerGroup)
	}
	topic := b.topics.get(h.Topic)
	switch {
	case topic == nil:
		return nil, remoting.Errorf(remoting.TopicNotExist, "Topic %s not exist!", h.Topic)
	case h.CommitOffset < 0:
		return nil, remoting.Errorf(remoting.InvalidParameter, "commitOffset[%d] of topic %s queueId[%d] is negative", h.CommitOffset, h.Topic, h.QueueID)
	case h.QueueID < 0 || h.QueueID >= max(topic.ReadQueueNums, topic.WriteQueueNums) && !b.offsets.knows(h.ConsumerGroup, h.Topic, h.QueueID):
		return nil, remoting.Errorf(remoting.InvalidParameter, "queueId[%d] is illegal, topic:[%s] has %d queues to read and %d to write",
			h.QueueID, h.Topic, topic.ReadQueueNums, topic.WriteQueueNums)
	}
	resp := conn.Loop().Response(remoting.Success)
	if b.config().Broker.UseServerSideResetOffset && b.offsets.hasReset(h.ConsumerGroup, h.Topic, h.QueueID) ||
		b.anew.has(h.ConsumerGroup, h.Topic, h.QueueID) {
		resp.Remark = "Offset has been previously reset"
		return resp, nil
	}
	b.offsets.commitFrom(conn.RemoteAddr(), h.ConsumerGroup, h.Topic, h.QueueID, h.CommitOffset)
	return resp, nil
}

// getMaxOffset is GET_MAX_OFFSET: 0 for a queue that does not exist. What is written is visible, so committed makes no
// difference.
func (b *Broker) getMaxOffset(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetMaxOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	var fields remoting.GetMaxOffsetResponseHeader
	if q := b.store.Queue(h.Topic, h.QueueID); q != nil {
		fields.Offset = q.MaxOffset()
	}
	resp := conn.Loop().Response(remoting.Success)
	resp.Header = &fields
	return resp, nil
}

// getMinOffset is GET_MIN_OFFSET: 0 for a queue that does not exist, which the reference makes when it is asked for.
func (b *Broker) getMinOffset(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetMinOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	fields := remoting.GetMinOffsetResponseHeader{}
	if q := b.store.Queue(h.Topic, h.QueueID); q != nil {
		fields.Offset = q.MinOffset()
	}
	resp := conn.Loop().Response(remoting.Success)
	resp.Header = &fields
	return resp, nil
}

// searchOffset is SEARCH_OFFSET_BY_TIMESTAMP: 0 for a queue that does not exist.
func (b *Broker) searchOffset(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.SearchOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	boundary := store.Lower
	if strings.EqualFold(h.BoundaryType, "UPPER") {
		boundary = store.Upper
	}
	var fields remoting.SearchOffsetResponseHeader
	if q := b.store.Queue(h.Topic, h.QueueID); q != nil {
		fields.Offset = q.OffsetByTime(h.Timestamp, boundary)
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.Header = &fields
	return resp, nil
}

// earliestStoreTime is GET_EARLIEST_MSG_STORETIME: -1 when there is no message.
func (b *Broker) earliestStoreTime(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetEarliestMsgStoretimeRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	fields := remoting.GetEarliestMsgStoretimeResponseHeader{Timestamp: -1}
	if q := b.store.Queue(h.Topic, h.QueueID); q != nil {
		fields.Timestamp = q.StoreTime(q.MinOffset())
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.Header = &fields
	return resp, nil
}

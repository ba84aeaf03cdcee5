package broker

import (
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

func (b *Broker) messageQueryRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.ViewMessageByID, Lane: laneQuery, Handle: b.viewMessageByID},
		{Code: remoting.QueryMessage, Lane: laneQuery, Handle: b.queryMessage},
		{Code: remoting.QueryConsumeQueue, Lane: laneAdmin, Handle: b.queryConsumeQueue},
	}
}

// viewMessageByID answers the record at a physical offset (QueryMessageProcessor#viewMessageById).
func (b *Broker) viewMessageByID(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ViewMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	slice, err := b.store.Record(h.Offset)
	if store.Unread(err) {
		return nil, remoting.Errorf(remoting.SystemError, "can not find message by the offset, %d: %s", h.Offset, err)
	}
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "can not find message by the offset, %d", h.Offset)
	}
	return slicesResponse(remoting.NewResponse(remoting.Success), []*store.Slice{slice}), nil
}

// slicesResponse gives a response records as its body. They are not released: the answer's bytes count among those that wait for slow
// readers, and what is released elsewhere would not.
func slicesResponse(resp *remoting.Command, slices []*store.Slice) *remoting.Command {
	for _, s := range slices {
		resp.BodyParts = append(resp.BodyParts, s.Bytes())
	}
	return resp
}

// queryMessage finds messages by key, unique key or tag (QueryMessageProcessor#queryMessage).
func (b *Broker) queryMessage(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	c := b.config()
	limit := h.MaxNum
	unique, _ := req.ExtValue(message.UniqueKeyQueryFlag)
	switch {
	case strings.EqualFold(unique, "true"):
		limit = c.Store.DefaultQueryMaxNum
	case h.IndexType == message.IndexUniqueType, h.IndexType == message.IndexTagType, h.IndexType == message.IndexKeyType, h.IndexType == "":
	default:
		return nil, remoting.Errorf(remoting.InvalidParameter, "indexType is %.32q, %s (key), %s (unique key) and %s (tag) are known",
			h.IndexType, message.IndexKeyType, message.IndexUniqueType, message.IndexTagType)
	}
	limit = min(limit, c.Store.MaxMsgsNumBatch)
	var found []*store.Slice
	var err error
	switch {
	case limit <= 0:
	case h.IndexType == message.IndexTagType:
		found, err = b.store.QueryTag(h.Topic, h.Key, int(limit), h.BeginTimestamp, h.EndTimestamp)
	default:
		found, err = b.store.Query(h.Topic, h.Key, int(limit), h.BeginTimestamp, h.EndTimestamp)
	}
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "query key %.128q of topic %s: %v", h.Key, h.Topic, err)
	}
	var head remoting.QueryMessageResponseHeader
	head.IndexLastUpdatePhyoffset = b.store.IndexedOffset()
	head.IndexLastUpdateTimestamp = b.clock.NowMs()
	if len(found) == 0 {
		resp := remoting.NewResponse(remoting.QueryNotFound)
		resp.Remark = "can not find message, maybe time range not correct"
		resp.Header = &head
		return resp, nil
	}
	last := found[len(found)-1]
	head.IndexLastUpdatePhyoffset = last.PhysicalOffset()
	if ms, ok := message.PeekStoreTimestamp(last.Bytes()); ok {
		head.IndexLastUpdateTimestamp = ms
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.Header = &head
	return slicesResponse(resp, found), nil
}

// maxQueueEntries bounds what one QUERY_CONSUME_QUEUE answers.
const maxQueueEntries = 10_000

// queryConsumeQueue shows entries of a consume queue (AdminBrokerProcessor#queryConsumeQueue).
func (b *Broker) queryConsumeQueue(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryConsumeQueueRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	queue := b.store.Queue(h.Topic, h.QueueID)
	if queue == nil {
		return nil, remoting.Errorf(remoting.SystemError, "%d@%s is not exist!", h.QueueID, h.Topic)
	}
	reply := body.QueryConsumeQueueReply{MinQueueIndex: queue.MinOffset(), MaxQueueIndex: queue.MaxOffset()}
	sub := b.describeSubscription(&reply, h.ConsumerGroup, h.Topic)
	if h.Index < reply.MinQueueIndex || h.Index >= reply.MaxQueueIndex {
		return nil, remoting.Errorf(remoting.SystemError, "Index %d of %d@%s is not exist!", h.Index, h.QueueID, h.Topic)
	}
	count := min(h.Count, maxQueueEntries)
	err := queue.Range(h.Index, func(e store.Entry) bool {
		if e.QueueOffset-h.Index >= int64(count) {
			return false
		}
		data := body.ConsumeQueueData{PhysicOffset: e.PhysicalOffset, PhysicSize: e.Size, TagsCode: e.TagsCode}
		if sub != nil {
			data.Eval = sub.MatchTagsCode(e.TagsCode)
		}
		reply.QueueData = append(reply.QueueData, data)
		return true
	})
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "queue %d@%s at %d: %v", h.QueueID, h.Topic, h.Index, err)
	}
	return bodyResponse(&reply), nil
}

// describeSubscription puts what a group subscribes of a topic into the reply.
func (b *Broker) describeSubscription(reply *body.QueryConsumeQueueReply, group, topic string) *subscription {
	if group == "" {
		return nil
	}
	sub, _ := b.consumers.lookup(group, topic)
	if sub == nil {
		reply.FilterData = group + "@" + topic + " is not online!"
		return nil
	}
	reply.SubscriptionData = &sub.data
	reply.FilterData = "null"
	return sub
}

// bodyResponse is a success with a JSON body.
func bodyResponse(v body.Body) *remoting.Command {
	resp := remoting.NewResponse(remoting.Success)
	resp.Body = body.Encode(v)
	return resp
}

// success is a success with nothing in it.
func success() *remoting.Command { return remoting.NewResponse(remoting.Success) }

// caller names the other end of a connection in logs.
func caller(c *remoting.Conn) string { return c.RemoteAddr().String() }

package broker

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

func (b *Broker) offsetAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.InvokeBrokerToResetOffset, Lane: laneAdmin, Handle: b.resetOffset},
		{Code: remoting.InvokeBrokerToGetConsumerStatus, Lane: laneAdmin, Handle: b.getConsumerStatus},
		{Code: remoting.CloneGroupOffset, Lane: laneAdmin, Handle: b.cloneGroupOffset},
		{Code: remoting.QueryCorrectionOffset, Lane: laneAdmin, Handle: b.queryCorrectionOffset},
		{Code: remoting.GetAllConsumerOffset, Lane: laneAdmin, Handle: b.getAllConsumerOffset},
		{Code: remoting.GetAllDelayOffset, Lane: laneAdmin, Handle: b.getAllDelayOffset},
	}
}

// latestOffset stands for the end of a queue in resets.
const latestOffset = -1

// resetOffset moves a group to another place in a topic (AdminBrokerProcessor#resetOffset): on the broker's side, or
// with useServerSideResetOffset=false by telling the group's clients.
func (b *Broker) resetOffset(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ResetOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if _, given := req.ExtValue("queueId"); !given {
		h.QueueID = -1 // all queues
	}
	h.Topic, h.Group = cloned(h.Topic), cloned(h.Group)
	b.log.WithFields(logrus.Fields{
		"topic": h.Topic, "group": h.Group, "queue": h.QueueID, "timestamp": h.Timestamp, "force": h.IsForce, "caller": caller(c),
	}).Info("offsets to be reset")
	topic := b.topics.get(h.Topic)
	if b.config().Broker.UseServerSideResetOffset {
		return b.resetOnBroker(h, topic)
	}
	if topic == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "[reset-offset] reset offset failed, no topic in this broker. topic=%s", h.Topic)
	}
	return b.resetByClients(h, topic, req.Language == remoting.CPP)
}

// resetOnBroker commits the new offsets and has the group's next pulls begin there (resetOffsetInner).
func (b *Broker) resetOnBroker(h remoting.ResetOffsetRequestHeader, topic *body.TopicConfig) (*remoting.Command, error) {
	switch {
	case b.isSlave():
		return nil, remoting.Errorf(remoting.SystemError, "Can not reset offset in slave broker")
	case topic == nil:
		return nil, remoting.Errorf(remoting.TopicNotExist, "Topic %s does not exist", h.Topic)
	case b.groups.get(h.Group) == nil:
		return nil, remoting.Errorf(remoting.SubscriptionGroupNotExist, "Group %s does not exist", h.Group)
	}
	offsets := map[body.MessageQueue]int64{}
	if h.QueueID >= 0 {
		offset, err := b.resetTarget(h)
		if err != nil {
			return nil, err
		}
		offsets[b.messageQueue(h.Topic, h.QueueID)] = offset
	} else {
		for id := range topic.ReadQueueNums {
			offsets[b.messageQueue(h.Topic, id)] = b.offsetAt(h.Topic, id, h.Timestamp)
		}
	}
	if len(offsets) == 0 {
		return nil, remoting.Errorf(remoting.SystemError, "No queues to reset.")
	}
	for queue, offset := range offsets {
		b.offsets.assignReset(h.Group, h.Topic, queue.QueueID, offset)
	}
	return bodyResponse(&body.ResetOffset{OffsetTable: offsets}), nil
}

// resetTarget is the new offset of the one queue that a reset names.
func (b *Broker) resetTarget(h remoting.ResetOffsetRequestHeader) (int64, error) {
	offset := h.Offset.Or(latestOffset)
	if offset == latestOffset {
		return b.offsetAt(h.Topic, h.QueueID, h.Timestamp), nil
	}
	low, high := b.minOffset(h.Topic, h.QueueID), b.maxOffset(h.Topic, h.QueueID)
	if low >= 0 && offset < low || offset < 0 || offset > high+1 {
		return 0, remoting.Errorf(remoting.SystemError, "Target offset %d not in consume queue range [%d-%d]", offset, low, high)
	}
	// The reference takes the offset behind the end as well, and the next pull then says that it is illegal.
	return min(offset, high), nil
}

// offsetAt is the offset of the first message stored at or after a time, the end when timestamp is negative.
func (b *Broker) offsetAt(topic string, queueID int32, timestamp int64) int64 {
	queue := b.store.Queue(topic, queueID)
	switch {
	case queue == nil:
		return 0
	case timestamp < 0:
		return queue.MaxOffset()
	default:
		return queue.OffsetByTime(timestamp, store.Lower)
	}
}

// resetByClients computes the new offsets and tells them to the group's clients, which go there by themselves
// (Broker2Client#resetOffset). Without isForce a group never moves forward.
func (b *Broker) resetByClients(h remoting.ResetOffsetRequestHeader, topic *body.TopicConfig, cpp bool) (*remoting.Command, error) {
	offsets := map[body.MessageQueue]int64{}
	for id := range topic.WriteQueueNums {
		committed := b.offsets.query(h.Group, h.Topic, id)
		if committed < 0 {
			return nil, remoting.Errorf(remoting.SystemError, "THe consumer group <%s> not exist", h.Group)
		}
		target := b.offsetAt(h.Topic, id, h.Timestamp)
		if !h.IsForce {
			target = min(target, committed)
		}
		offsets[b.messageQueue(h.Topic, id)] = target
	}
	members := b.consumers.members(h.Group)
	if len(members) == 0 {
		return nil, remoting.Errorf(remoting.ConsumerNotOnline, "Consumer not online, so can not reset offset, Group: %s Topic: %s Timestamp: %d",
			h.Group, h.Topic, h.Timestamp)
	}
	content := body.Encode(&body.ResetOffset{OffsetTable: offsets})
	if cpp {
		list := body.ResetOffsetForC{}
		for queue, offset := range offsets {
			list.OffsetTable = append(list.OffsetTable, body.MessageQueueOffset{MessageQueue: queue, Offset: offset})
		}
		content = body.Encode(&list)
	}
	for i := range members {
		if members[i].version < remoting.V307Snapshot {
			return nil, remoting.Errorf(remoting.SystemError, "the client does not support this feature. version=%s", remoting.VersionName(members[i].version))
		}
		request := remoting.NewRequest(remoting.ResetConsumerClientOffset, &remoting.ResetOffsetRequestHeader{
			Topic: h.Topic, Group: h.Group, QueueID: -1, Timestamp: h.Timestamp, IsForce: h.IsForce,
		})
		request.Body = content
		if err := members[i].conn.Oneway(request); err != nil {
			b.log.WithError(err).WithFields(logrus.Fields{"group": h.Group, "client": members[i].id}).Warn("client could not be told of its new offsets")
		}
	}
	return bodyResponse(&body.ResetOffset{OffsetTable: offsets}), nil
}

// statusTimeout is how long a client has to tell its offsets (Broker2Client#getConsumeStatus).
const statusTimeout = 5 * time.Second

// getConsumerStatus asks the members of a group, or one of them, for their offsets in a topic
// (Broker2Client#getConsumeStatus). It answers when the last has answered or its time is over.
func (b *Broker) getConsumerStatus(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumerStatusRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	h.Topic, h.Group, h.ClientAddr = cloned(h.Topic), cloned(h.Group), cloned(h.ClientAddr)
	members := b.consumers.members(h.Group)
	if len(members) == 0 {
		return nil, remoting.Errorf(remoting.SystemError, "No Any Consumer online in the consumer group: [%s]", h.Group)
	}
	var asked []client
	for _, m := range members {
		if m.version < remoting.V307Snapshot {
			return nil, remoting.Errorf(remoting.SystemError, "the client does not support this feature. version=%s", remoting.VersionName(m.version))
		}
		if strings.TrimSpace(h.ClientAddr) == "" || h.ClientAddr == m.id {
			asked = append(asked, m)
		}
	}
	if req.IsOneway() {
		return nil, nil
	}
	g := &statusGathering{broker: b, replier: c.Replier(req), waiting: len(asked), statuses: map[string]map[body.MessageQueue]int64{}}
	if len(asked) == 0 {
		g.finish()
	}
	for _, m := range asked {
		request := remoting.NewRequest(remoting.GetConsumerStatusFromClient, &remoting.GetConsumerStatusRequestHeader{Topic: h.Topic, Group: h.Group})
		m.conn.Request(request, statusTimeout, func(answer *remoting.Command, err error) { g.answered(m.id, answer, err) })
	}
	return nil, nil
}

// statusGathering collects the answers of clients.
type statusGathering struct {
	broker  *Broker
	replier remoting.Replier

	mu       sync.Mutex
	waiting  int
	statuses map[string]map[body.MessageQueue]int64 // by client id
}

func (g *statusGathering) answered(clientID string, answer *remoting.Command, err error) {
	var offsets map[body.MessageQueue]int64
	if err == nil && answer.Code == remoting.Success && len(answer.Body) > 0 {
		var status *body.ConsumerStatus
		if status, err = body.Decode[body.ConsumerStatus](answer.Body); err == nil {
			offsets = status.MessageQueueTable
		}
	}
	if err != nil {
		g.broker.log.WithError(err).WithField("client", clientID).Warn("client did not tell its offsets")
	}
	g.mu.Lock()
	if offsets != nil {
		g.statuses[clientID] = offsets
	}
	g.waiting--
	last := g.waiting == 0
	g.mu.Unlock()
	if last {
		g.finish()
	}
}

func (g *statusGathering) finish() {
	g.broker.logReply(g.replier.Reply(bodyResponse(&body.ConsumerStatus{ConsumerTable: g.statuses})), remoting.InvokeBrokerToGetConsumerStatus)
}

// cloneGroupOffset gives a group the progress of another one (AdminBrokerProcessor#cloneGroupOffset).
func (b *Broker) cloneGroupOffset(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.CloneGroupOffsetRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	topics := []string{h.Topic}
	if strings.TrimSpace(h.Topic) == "" {
		topics = b.offsets.topicsOf(h.SrcGroup)
	}
	if !h.Offline {
		topics = b.subscribedOf(h.SrcGroup, topics)
	}
	for _, topic := range topics {
		if b.topics.get(topic) != nil {
			b.offsets.clone(h.SrcGroup, h.DestGroup, topic)
		}
	}
	return success(), nil
}

// queryCorrectionOffset answers, by queue, the smallest offset of all groups of a topic but the listed ones; where the
// compared group is behind it, the largest number (AdminBrokerProcessor#queryCorrectionOffset).
func (b *Broker) queryCorrectionOffset(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryCorrectionOffsetHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for group := range strings.SplitSeq(h.FilterGroups, ",") {
		left[group] = true
	}
	smallest := map[int32]int64{}
	for _, group := range b.offsets.groupsOf(h.Topic) {
		if left[group] {
			continue
		}
		for queueID, offset := range b.offsets.offsets(group, h.Topic) {
			if b.minOffset(h.Topic, queueID) > offset {
				continue
			}
			if known, ok := smallest[queueID]; !ok || offset < known {
				smallest[queueID] = offset
			}
		}
	}
	for queueID, offset := range b.offsets.offsets(h.CompareGroup, h.Topic) {
		if known, ok := smallest[queueID]; ok && known > offset {
			smallest[queueID] = math.MaxInt64
		}
	}
	return bodyResponse(&body.CorrectionOffsets{Offsets: smallest}), nil
}

// getAllConsumerOffset answers all committed offsets, for slaves and tools (AdminBrokerProcessor#getAllConsumerOffset).
func (b *Broker) getAllConsumerOffset(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	table := b.offsets.snapshot()
	return bodyResponse(&table), nil
}

// getAllDelayOffset answers the progress of the delay levels (AdminBrokerProcessor#getAllDelayOffset).
func (b *Broker) getAllDelayOffset(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	resp := success()
	resp.Body = b.schedule.OffsetsJSON()
	return resp, nil
}

// isSlave tells whether this broker is a slave (brokerRole).
func (b *Broker) isSlave() bool { return b.config().Store.BrokerRole == "SLAVE" }

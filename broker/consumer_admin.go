package broker

import (
	"maps"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) consumerAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.GetConsumerConnectionList, Lane: laneAdmin, Handle: b.getConsumerConnections},
		{Code: remoting.GetProducerConnectionList, Lane: laneAdmin, Handle: b.getProducerConnections},
		{Code: remoting.GetAllProducerInfo, Lane: laneAdmin, Handle: b.getAllProducers},
		{Code: remoting.QueryTopicConsumeByWho, Lane: laneAdmin, Handle: b.queryTopicConsumers},
		{Code: remoting.QueryTopicsByConsumer, Lane: laneAdmin, Handle: b.queryConsumerTopics},
		{Code: remoting.QuerySubscriptionByConsumer, Lane: laneAdmin, Handle: b.querySubscription},
		{Code: remoting.QueryConsumeTimeSpan, Lane: laneAdmin, Handle: b.queryConsumeTimeSpan},
		{Code: remoting.GetConsumeStats, Lane: laneAdmin, Handle: b.getConsumeStats},
		{Code: remoting.GetBrokerConsumeStats, Lane: laneAdmin, Handle: b.getBrokerConsumeStats},
	}
}

// getConsumerConnections lists the members of a group (AdminBrokerProcessor#getConsumerConnectionList).
func (b *Broker) getConsumerConnections(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumerConnectionListRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	info, ok := b.consumers.info(h.ConsumerGroup)
	if !ok {
		return nil, remoting.Errorf(remoting.ConsumerNotOnline, "the consumer group[%s] not online", h.ConsumerGroup)
	}
	reply := body.ConsumerConnection{
		Connections: connectionsOf(info.members), SubscriptionTable: map[string]body.SubscriptionData{},
		ConsumeType: info.consumeType, MessageModel: info.messageModel,
		ConsumeFromWhere: info.fromWhere,
	}
	for topic, sub := range info.subscriptions {
		reply.SubscriptionTable[topic] = sub.data
	}
	return bodyResponse(&reply), nil
}

func connectionsOf(members []client) []body.Connection {
	connections := make([]body.Connection, 0, len(members))
	for i := range members {
		connections = append(connections, body.Connection{
			ClientID: members[i].id, ClientAddr: members[i].conn.RemoteAddr().String(),
			Language: members[i].language.String(), Version: members[i].version,
		})
	}
	return connections
}

// getProducerConnections lists the members of a producer group (AdminBrokerProcessor#getProducerConnectionList).
func (b *Broker) getProducerConnections(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetProducerConnectionListRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	members := b.producers.members(h.ProducerGroup)
	if len(members) == 0 {
		return nil, remoting.Errorf(remoting.SystemError, "the producer group[%s] not exist", h.ProducerGroup)
	}
	return bodyResponse(&body.ProducerConnection{Connections: connectionsOf(members)}), nil
}

// getAllProducers lists all producers by group (AdminBrokerProcessor#getAllProducerInfo).
func (b *Broker) getAllProducers(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	reply := body.ProducerTable{Data: map[string][]body.ProducerInfo{}}
	for group, members := range b.producers.all() {
		infos := make([]body.ProducerInfo, 0, len(members))
		for i := range members {
			infos = append(infos, body.ProducerInfo{
				ClientID: members[i].id, RemoteIP: "/" + members[i].conn.RemoteAddr().String(),
				Language: members[i].language.String(), Version: members[i].version, LastUpdateTimestamp: members[i].updatedMs,
			})
		}
		reply.Data[group] = infos
	}
	return bodyResponse(&reply), nil
}

// queryTopicConsumers lists the groups that subscribe a topic or have progress in it
// (AdminBrokerProcessor#queryTopicConsumeByWho).
func (b *Broker) queryTopicConsumers(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryTopicConsumeByWhoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	groups := append(b.consumers.groupsOf(h.Topic), b.offsets.groupsOf(h.Topic)...)
	slices.Sort(groups)
	return bodyResponse(&body.GroupList{Groups: slices.Compact(groups)}), nil
}

// queryConsumerTopics lists the topics that a group has progress in (AdminBrokerProcessor#queryTopicsByConsumer).
func (b *Broker) queryConsumerTopics(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryTopicsByConsumerRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	return bodyResponse(&body.TopicList{Topics: b.offsets.topicsOf(h.Group), BrokerAddr: b.Advertised()}), nil
}

// querySubscription answers what a group subscribes of a topic (AdminBrokerProcessor#querySubscriptionByConsumer).
func (b *Broker) querySubscription(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QuerySubscriptionByConsumerRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	reply := body.QuerySubscriptionReply{Group: h.Group, Topic: h.Topic}
	sub, _ := b.consumers.lookup(h.Group, h.Topic)
	if sub == nil {
		sub = b.compensation.lookup(h.Group, h.Topic)
	}
	if sub != nil {
		reply.SubscriptionData = &sub.data
	}
	return bodyResponse(&reply), nil
}

// storeTime is the store time of a message, -1 when it is not there.
func (b *Broker) storeTime(topic string, queueID int32, offset int64) int64 {
	queue := b.store.Queue(topic, queueID)
	if queue == nil || offset < 0 {
		return -1
	}
	return queue.StoreTime(offset)
}

// maxOffset is the offset of the next message of a queue, 0 when there is no such queue.
func (b *Broker) maxOffset(topic string, queueID int32) int64 {
	if queue := b.store.Queue(topic, queueID); queue != nil {
		return queue.MaxOffset()
	}
	return 0
}

// minOffset is the offset of the first message of a queue, -1 when there is no such queue.
func (b *Broker) minOffset(topic string, queueID int32) int64 {
	if queue := b.store.Queue(topic, queueID); queue != nil {
		return queue.MinOffset()
	}
	return -1
}

// queryConsumeTimeSpan tells how far in time a group is in each queue of a topic
// (AdminBrokerProcessor#queryConsumeTimeSpan).
func (b *Broker) queryConsumeTimeSpan(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryConsumeTimeSpanRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	topic := b.topics.get(h.Topic)
	if topic == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist", h.Topic)
	}
	var reply body.ConsumeTimeSpan
	for id := range topic.WriteQueueNums {
		end := b.maxOffset(h.Topic, id)
		span := body.QueueTimeSpan{
			MessageQueue: b.messageQueue(topic.TopicName, id),
			MinTimestamp: b.storeTime(h.Topic, id, b.minOffset(h.Topic, id)), MaxTimestamp: b.storeTime(h.Topic, id, end-1),
		}
		offset := b.offsets.query(h.Group, h.Topic, id)
		span.ConsumeTimestamp = span.MinTimestamp
		if offset > 0 {
			span.ConsumeTimestamp = b.storeTime(h.Topic, id, offset-1)
		}
		if offset < end {
			span.DelayTime = b.clock.NowMs() - b.storeTime(h.Topic, id, offset)
		}
		reply.Spans = append(reply.Spans, span)
	}
	return bodyResponse(&reply), nil
}

// getConsumeStats answers a group's progress in each queue (AdminBrokerProcessor#getConsumeStats).
func (b *Broker) getConsumeStats(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumeStatsRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	reply := body.ConsumeStats{OffsetTable: map[body.MessageQueue]body.OffsetWrapper{}}
	for _, name := range b.statsTopics(h) {
		topic := b.topics.get(name)
		if topic == nil {
			continue
		}
		b.addProgress(&reply, h.ConsumerGroup, topic, topic.ReadQueueNums)
	}
	return bodyResponse(&reply), nil
}

// statsTopics are the topics of a GET_CONSUME_STATS: the listed ones, or else the one given or those the group has
// progress in, but of an online group only the subscribed ones.
func (b *Broker) statsTopics(h remoting.GetConsumeStatsRequestHeader) []string {
	if h.TopicList != "" {
		return strings.FieldsFunc(h.TopicList, func(r rune) bool { return r == ';' })
	}
	topics := []string{h.Topic}
	if strings.TrimSpace(h.Topic) == "" {
		topics = b.offsets.topicsOf(h.ConsumerGroup)
	}
	return b.subscribedOf(h.ConsumerGroup, topics)
}

// subscribedOf leaves of topics those that a group subscribes, or all when it is offline or subscribes nothing.
func (b *Broker) subscribedOf(group string, topics []string) []string {
	info, online := b.consumers.info(group)
	if !online || len(info.subscriptions) == 0 {
		return topics
	}
	return slices.DeleteFunc(slices.Clone(topics), func(topic string) bool {
		return info.subscriptions[topic] == nil && b.compensation.lookup(group, topic) == nil
	})
}

// addProgress adds a group's progress in the queues of a topic.
func (b *Broker) addProgress(stats *body.ConsumeStats, group string, topic *body.TopicConfig, queues int32) {
	for id := range queues {
		offset := max(b.offsets.query(group, topic.TopicName, id), 0)
		wrapper := body.OffsetWrapper{BrokerOffset: max(b.maxOffset(topic.TopicName, id), 0), ConsumerOffset: offset}
		wrapper.PullOffset = max(offset, b.offsets.queryPulled(group, topic.TopicName, id))
		if at := b.storeTime(topic.TopicName, id, offset-1); at > 0 {
			wrapper.LastTimestamp = at
		}
		stats.OffsetTable[b.messageQueue(topic.TopicName, id)] = wrapper
	}
	stats.ConsumeTps += b.stats.minuteTPS(statGroupGetNums, topic.TopicName+"@"+group)
}

// getBrokerConsumeStats answers the progress of all groups (AdminBrokerProcessor#fetchAllConsumeStatsInBroker).
func (b *Broker) getBrokerConsumeStats(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumeStatsInBrokerHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	reply := body.ConsumeStatsList{BrokerAddr: b.Advertised()}
	for _, group := range b.groups.names() {
		list := []body.ConsumeStats{}
		for _, name := range b.subscribedOf(group, b.offsets.topicsOf(group)) {
			topic := b.topics.get(name)
			if topic == nil || h.IsOrder && !topic.Order {
				continue
			}
			stats := body.ConsumeStats{OffsetTable: map[body.MessageQueue]body.OffsetWrapper{}}
			b.addProgress(&stats, group, topic, topic.WriteQueueNums)
			for wrapper := range maps.Values(stats.OffsetTable) {
				reply.TotalDiff += wrapper.BrokerOffset - wrapper.ConsumerOffset
				reply.TotalInflightDiff += wrapper.PullOffset - wrapper.ConsumerOffset
			}
			list = append(list, stats)
		}
		reply.ConsumeStatsList = append(reply.ConsumeStatsList, map[string][]body.ConsumeStats{group: list})
	}
	return bodyResponse(&reply), nil
}

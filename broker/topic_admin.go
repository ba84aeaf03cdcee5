package broker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) topicAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.UpdateAndCreateTopic, Lane: laneAdmin, Handle: b.updateTopic},
		{Code: remoting.UpdateAndCreateTopicList, Lane: laneAdmin, Handle: b.updateTopicList},
		{Code: remoting.DeleteTopicInBroker, Lane: laneAdmin, Handle: b.deleteTopic},
		{Code: remoting.GetTopicConfig, Lane: laneAdmin, Handle: b.getTopicConfig},
		{Code: remoting.GetAllTopicConfig, Lane: laneAdmin, Handle: b.getAllTopicConfig},
		{Code: remoting.GetTopicStatsInfo, Lane: laneAdmin, Handle: b.getTopicStats},
		{Code: remoting.GetSystemTopicListFromBroker, Lane: laneAdmin, Handle: b.getSystemTopics},
		{Code: remoting.CleanExpiredConsumequeue, Lane: laneAdmin, Handle: b.cleanExpiredConsumeQueue},
		{Code: remoting.CleanUnusedTopic, Lane: laneAdmin, Handle: b.cleanUnusedTopic},
		{Code: remoting.DeleteExpiredCommitlog, Lane: laneAdmin, Handle: b.deleteExpiredCommitLog},
	}
}

// updateTopic creates or changes a topic (AdminBrokerProcessor#updateAndCreateTopic). When it answers, the topic is
// durable and the name servers in this process know it.
func (b *Broker) updateTopic(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.CreateTopicRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	b.log.WithFields(logrus.Fields{"topic": h.Topic, "caller": caller(c)}).Info("topic to be created or updated")
	attributes, err := parseAttributes(strings.Clone(h.Attributes))
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	topic := body.TopicConfig{
		TopicName: h.Topic, ReadQueueNums: h.ReadQueueNums, WriteQueueNums: h.WriteQueueNums, Perm: h.Perm,
		TopicFilterType: body.TopicFilterType(h.TopicFilterType), TopicSysFlag: h.TopicSysFlag.Or(0), Order: h.Order, Attributes: attributes,
	}
	begun := b.clock.NowMs()
	err = b.changeTopics(topic)
	b.countTopicCreation(begun, b.topics.isSystem(topic.TopicName), err)
	if err != nil {
		return nil, err
	}
	return success(), nil
}

// updateTopicList creates or changes topics, all or none (AdminBrokerProcessor#updateAndCreateTopicList).
func (b *Broker) updateTopicList(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	list, err := body.Decode[body.TopicConfigList](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	}
	b.log.WithFields(logrus.Fields{"topics": len(list.TopicConfigs), "caller": caller(c)}).Info("topics to be created or updated")
	begun := b.clock.NowMs()
	err = b.changeTopics(list.TopicConfigs...)
	b.countTopicCreation(begun, false, err)
	if err != nil {
		return nil, err
	}
	return success(), nil
}

// changeTopics checks topics and hands those that differ to the table.
func (b *Broker) changeTopics(topics ...body.TopicConfig) error {
	c := b.config()
	var changed []body.TopicConfig
	for i := range topics {
		topic := topics[i]
		if err := b.checkTopic(&topic, c.Broker.EnableMixedMessageType); err != nil {
			return err
		}
		if err := b.refuseOtherKind(&topic); err != nil {
			return err
		}
		if old := b.topics.get(topic.TopicName); old == nil || !sameTopic(old, &topic) {
			changed = append(changed, topic)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := b.topics.update(changed...); err != nil {
		return remoting.Errorf(remoting.SystemError, "%v", err)
	}
	return nil
}

// maxQueuesOfTopic bounds the queues of a topic: each one that is used is a directory with open files.
const maxQueuesOfTopic = 4096

func (b *Broker) checkTopic(t *body.TopicConfig, mixed bool) error {
	if err := message.ValidateTopic(t.TopicName); err != nil {
		return remoting.Errorf(remoting.InvalidParameter, "%v", err)
	}
	if err := b.refuseSystemTopic(t.TopicName); err != nil {
		return err
	}
	for _, n := range []struct {
		name  string
		value int32
	}{{"readQueueNums", t.ReadQueueNums}, {"writeQueueNums", t.WriteQueueNums}} {
		if n.value < 0 || n.value > maxQueuesOfTopic {
			return remoting.Errorf(remoting.InvalidParameter, "%s of topic %s is %d, allowed are 0 to %d", n.name, t.TopicName, n.value, maxQueuesOfTopic)
		}
	}
	if !mixed && t.Attributes["+"+attributeMessageType] == string(message.TypeMixed) {
		return remoting.Errorf(remoting.InvalidParameter, "MIXED message type is not supported.")
	}
	switch t.TopicFilterType {
	case body.SingleTag, "":
		t.TopicFilterType = body.SingleTag // not the frame's bytes
	case body.MultiTag:
		t.TopicFilterType = body.MultiTag
	default:
		return remoting.Errorf(remoting.SystemError, "topicFilterType is %.32q, %s and %s are known", string(t.TopicFilterType), body.SingleTag, body.MultiTag)
	}
	return nil
}

func (b *Broker) refuseSystemTopic(topic string) error {
	if b.config().Broker.ValidateSystemTopicWhenUpdateTopic && b.topics.isSystem(topic) {
		return remoting.Errorf(remoting.InvalidParameter, "The topic[%s] is conflict with system topic.", topic)
	}
	return nil
}

// sameTopic is TopicConfig#equals: an update that carries attributes differs from what is stored, since its keys have signs.
func sameTopic(a, b *body.TopicConfig) bool {
	return a.TopicName == b.TopicName && a.ReadQueueNums == b.ReadQueueNums && a.WriteQueueNums == b.WriteQueueNums &&
		a.Perm == b.Perm && a.TopicFilterType == b.TopicFilterType && a.TopicSysFlag == b.TopicSysFlag && a.Order == b.Order &&
		maps.Equal(a.Attributes, b.Attributes)
}

// parseAttributes reads "+key=value,-key" (AttributeParser#parseToMap). The keys keep their signs.
func parseAttributes(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	attributes := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, hasValue := strings.Cut(pair, "=")
		if hasValue {
			if !strings.Contains(key, "+") {
				return nil, fmt.Errorf("add/alter attribute format is wrong: %s", key)
			}
		} else if !strings.Contains(key, "-") {
			return nil, fmt.Errorf("delete attribute format is wrong: %s", key)
		}
		if _, twice := attributes[key]; twice {
			return nil, fmt.Errorf("key duplication: %s", key)
		}
		attributes[key] = value
	}
	return attributes, nil
}

// deleteTopic removes a topic with all that belongs to it, and its pop retry topics (AdminBrokerProcessor#deleteTopic).
func (b *Broker) deleteTopic(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.DeleteTopicRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if strings.TrimSpace(h.Topic) == "" {
		return nil, remoting.Errorf(remoting.InvalidParameter, "The specified topic is blank.")
	}
	if err := b.refuseSystemTopic(h.Topic); err != nil {
		return nil, err
	}
	topics := []string{h.Topic}
	if b.config().Broker.ClearRetryTopicWhenDeleteTopic {
		for _, group := range b.offsets.groupsOf(h.Topic) {
			for _, v2 := range []bool{true, false} {
				if retry := message.PopRetryTopic(h.Topic, group, v2); b.topics.get(retry) != nil {
					topics = append(topics, retry)
				}
			}
		}
	}
	b.log.WithFields(logrus.Fields{"topics": topics, "caller": caller(c)}).Info("topic to be deleted")
	if err := b.removeTopics(topics...); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	return success(), nil
}

// removeTopics forgets topics: configuration first, so that nothing new is written to them, then their queues, then
// every group's offsets, so that a topic made anew under the name begins at 0 for all, groups that are reading among them.
func (b *Broker) removeTopics(topics ...string) error {
	_, err := b.topics.delete(topics...)
	for _, topic := range topics {
		err = errors.Join(err, b.store.DeleteTopic(topic))
		for group, queues := range b.offsets.readers(topic) {
			b.anew.note(group, topic, queues)
			if _, online := b.consumers.info(group); !online {
				b.anew.forget(group) // asked behind note, so that a member that leaves just now takes it along
			}
		}
		b.offsets.removeTopic(topic)
		b.pop.removeTopic(topic)
		b.transactions.removeTopic(topic)
		b.timer.ForgetTopics(func(name string) bool { return name == topic })
		if b.config().Broker.AutoDeleteUnusedStats {
			b.stats.topicDeleted(topic)
		}
	}
	return errors.Join(err, b.offsets.file.save())
}

// getTopicConfig answers one topic (AdminBrokerProcessor#getTopicConfig).
func (b *Broker) getTopicConfig(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetTopicConfigRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	topic := b.topics.get(h.Topic)
	if topic == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "No topic in this broker. topic: %s", h.Topic)
	}
	return bodyResponse(&body.TopicConfigAndQueueMapping{TopicConfig: *topic}), nil
}

// getAllTopicConfig answers all topics, or a page of them to a client that asks by page
// (AdminBrokerProcessor#getAllTopicConfig). A page begins at topicSeq of the sorted names; a caller whose dataVersion is
// not that of now gets the first page.
func (b *Broker) getAllTopicConfig(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetAllTopicConfigRequestHeader
	_, paged := req.ExtValue("topicSeq")
	if paged {
		if err := req.Decode(&h); err != nil {
			return nil, err
		}
	}
	topics, version := b.topics.snapshot()
	reply := body.TopicConfigAndMappingTable{Topics: topics, DataVersion: version, MappingDataVersion: body.DataVersion{Timestamp: b.bootMs}}
	if c := b.config(); paged && c.Broker.EnableSplitMetadata {
		limit := min(c.Broker.SplitMetadataSize, h.MaxTopicNum.Or(c.Broker.SplitMetadataSize))
		reply.Topics = page(topics, pageStart(h.TopicSeq, h.DataVersion, version), limit)
	}
	resp := bodyResponse(&reply)
	resp.Header = &remoting.GetAllTopicConfigResponseHeader{TotalTopicNum: remoting.Some(int32(len(topics)))}
	return resp, nil
}

// pageStart is where a page begins: at seq, but at 0 when the table has changed since the page before.
func pageStart(seq int32, dataVersion string, version body.DataVersion) int32 {
	known, err := body.Decode[body.DataVersion]([]byte(dataVersion))
	if dataVersion == "" || err != nil || *known != version {
		return 0
	}
	return seq
}

// page is the part of a table from the start-th name on, limit entries at most.
func page[V any](table map[string]V, start, limit int32) map[string]V {
	names := slices.Sorted(maps.Keys(table))
	part := map[string]V{}
	if start < 0 || limit <= 0 || int(start) >= len(names) {
		return part
	}
	for _, name := range names[start:min(int(start)+int(limit), len(names))] {
		part[name] = table[name]
	}
	return part
}

// getTopicStats answers the range of each queue of a topic (AdminBrokerProcessor#getTopicStatsInfo).
func (b *Broker) getTopicStats(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetTopicStatsInfoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	topic := b.topics.get(h.Topic)
	if topic == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist", h.Topic)
	}
	reply := body.TopicStatsTable{OffsetTable: map[body.MessageQueue]body.TopicOffset{}, TopicPutTps: b.stats.minuteTPS(statTopicPutNums, h.Topic)}
	for id := range max(topic.ReadQueueNums, topic.WriteQueueNums) {
		var span body.TopicOffset
		if queue := b.store.Queue(h.Topic, id); queue != nil {
			span.MinOffset, span.MaxOffset = queue.MinOffset(), queue.MaxOffset()
			if span.MaxOffset > 0 {
				span.LastUpdateTimestamp = queue.StoreTime(span.MaxOffset - 1)
			}
		}
		reply.OffsetTable[b.messageQueue(topic.TopicName, id)] = span
	}
	return bodyResponse(&reply), nil
}

// messageQueue names a queue of this broker.
func (b *Broker) messageQueue(topic string, queueID int32) body.MessageQueue {
	return body.MessageQueue{Topic: topic, BrokerName: b.config().Broker.BrokerName, QueueID: queueID}
}

// getSystemTopics lists the system topics (AdminBrokerProcessor#getSystemTopicListFromBroker).
func (b *Broker) getSystemTopics(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	return bodyResponse(&body.TopicList{Topics: b.topics.systemTopics()}), nil
}

// cleanExpiredConsumeQueue drops queues whose messages are all gone (AdminBrokerProcessor#cleanExpiredConsumeQueue).
func (b *Broker) cleanExpiredConsumeQueue(c *remoting.Conn, _ *remoting.Command) (*remoting.Command, error) {
	removed := b.store.CleanExpiredQueues()
	b.log.WithFields(logrus.Fields{"queues": removed, "caller": caller(c)}).Info("expired consume queues cleaned")
	return success(), nil
}

// cleanUnusedTopic drops the queues of topics that have no configuration (AdminBrokerProcessor#cleanUnusedTopic).
func (b *Broker) cleanUnusedTopic(c *remoting.Conn, _ *remoting.Command) (*remoting.Command, error) {
	removed := b.store.CleanUnusedTopics(func(topic string) bool { return b.topics.get(topic) != nil })
	b.log.WithFields(logrus.Fields{"topics": removed, "caller": caller(c)}).Info("unused topics cleaned")
	return success(), nil
}

// deleteExpiredCommitLog has expired files deleted at once (AdminBrokerProcessor#deleteExpiredCommitLog).
func (b *Broker) deleteExpiredCommitLog(c *remoting.Conn, _ *remoting.Command) (*remoting.Command, error) {
	b.store.CleanExpired()
	b.log.WithField("caller", caller(c)).Info("deletion of expired commit log files asked for")
	return success(), nil
}

// sortedQueues orders queues as the reference's MessageQueue#compareTo.
func sortedQueues(queues []body.MessageQueue) []body.MessageQueue {
	slices.SortFunc(queues, func(a, b body.MessageQueue) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.BrokerName, b.BrokerName), cmp.Compare(a.QueueID, b.QueueID))
	})
	return queues
}

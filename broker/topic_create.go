package broker

import (
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

// createSystem makes the topics that each broker has, as TopicConfigManager#init does before the file is loaded over
// them, and remembers the names that belong to the system. Nothing is saved: the file holds them from its next save on.
func (t *topicTable) createSystem(c *conf.Config) {
	cluster, name := c.Broker.BrokerClusterName, c.Broker.BrokerName
	t.mu.Lock()
	defer t.mu.Unlock()
	make1 := func(topic string, queues, perm int32) {
		config := body.NewTopicConfig(topic)
		config.ReadQueueNums, config.WriteQueueNums, config.Perm = queues, queues, perm
		t.topics[topic] = config
		t.system[topic] = struct{}{}
	}
	make1(message.TopicSelfTest, 1, permBoth)
	if c.Broker.AutoCreateTopicEnable {
		make1(message.TopicAutoCreate, c.Broker.DefaultTopicQueueNums, permBoth|permInherit)
	}
	make1(message.TopicBenchmark, 1024, permBoth)
	make1(cluster, 16, permInherit|permIf(c.Broker.ClusterTopicEnable))
	make1(name, 1, permInherit|permIf(c.Broker.BrokerTopicEnable))
	make1(message.TopicOffsetMovedEvent, 1, permBoth)
	make1(message.TopicSchedule, int32(scheduleQueues(c)), permBoth)
	if c.Broker.TraceTopicEnable {
		make1(c.Broker.MsgTraceTopicName, 1, permBoth)
	}
	make1(message.ReplyTopic(cluster), 1, permBoth)
	make1(message.ReviveTopic(cluster), c.Broker.ReviveQueueNum, permBoth)
	make1(message.SyncMemberTopicPrefix+name, 1, permInherit)
	make1(message.TopicTransHalf, 1, permBoth)
	make1(message.TopicTransOpHalf, 1, permBoth)
	make1(message.TopicRocksDBTransHalf, 1, permBoth)
	make1(message.TopicRocksDBTransOpHalf, 1, permBoth)
	if c.Store.TimerWheelEnable {
		make1(message.TopicTimer, 1, permBoth)
	}
}

// permIf is read and write, or nothing.
func permIf(open bool) int32 {
	if open {
		return permBoth
	}
	return 0
}

// scheduleQueues is the number of queues of SCHEDULE_TOPIC_XXXX: 18 as in the reference, more when more levels are set.
func scheduleQueues(c *conf.Config) int {
	return max(18, len(strings.Fields(c.Store.MessageDelayLevel)))
}

// createForSend makes a topic that a producer sends to and that does not exist, after the pattern of its default topic
// (TopicConfigManager#createTopicInSendMessageMethod). It is nil when the pattern does not allow it, and whenever
// autoCreateTopicEnable is off: the reference still creates then for the cluster's and the broker's name.
func (t *topicTable) createForSend(name, defaultTopic string, queues, sysFlag int32, producer string) (*body.TopicConfig, error) {
	pattern := t.get(defaultTopic)
	if pattern == nil || pattern.Perm&permInherit == 0 || !t.config().Broker.AutoCreateTopicEnable {
		if t.warnings.allow("create@" + name) {
			t.log.WithFields(logrus.Fields{
				"topic": name, "defaultTopic": defaultTopic, "producer": producer, "autoCreateTopicEnable": t.config().Broker.AutoCreateTopicEnable,
			}).Warn("topic does not exist and may not be created by a send")
		}
		return nil, nil
	}
	topic := body.NewTopicConfig(strings.Clone(name))
	topic.WriteQueueNums = max(0, min(queues, pattern.WriteQueueNums))
	topic.ReadQueueNums = topic.WriteQueueNums
	topic.Perm = pattern.Perm &^ permInherit
	topic.TopicSysFlag = sysFlag
	topic.TopicFilterType = pattern.TopicFilterType
	return t.createIfAbsent(topic)
}

// restore makes topics again that topics.json has lost. queues has the number of queues that each has in the store.
func (t *topicTable) restore(queues map[string]storedTopic) error {
	var lost []body.TopicConfig
	for name, stored := range queues {
		if t.get(name) != nil || message.IsLMQ(name) || message.IsSystemTopic(name) {
			continue
		}
		topic := body.NewTopicConfig(name)
		topic.ReadQueueNums, topic.WriteQueueNums, topic.Perm = stored.queues, stored.queues, permBoth
		if stored.kind == store.BatchQueue {
			topic.Attributes = map[string]string{"+" + message.AttributeQueueType: message.QueueTypeBatch}
		}
		lost = append(lost, *topic)
	}
	return t.update(lost...)
}

// createForGroup makes a retry or dead-letter topic unless it exists; one that exists only follows order
// (TopicConfigManager#createTopicInSendMessageBackMethod).
func (t *topicTable) createForGroup(name string, queues, perm int32, order bool, sysFlag int32) (*body.TopicConfig, error) {
	old := t.get(name)
	if old != nil && old.Order == order {
		return old, nil
	}
	if old != nil {
		return t.reorder(name, order)
	}
	topic := body.NewTopicConfig(strings.Clone(name))
	topic.ReadQueueNums, topic.WriteQueueNums, topic.Perm = queues, queues, perm
	topic.Order, topic.TopicSysFlag = order, sysFlag
	return t.createIfAbsent(topic)
}

func (t *topicTable) reorder(name string, order bool) (*body.TopicConfig, error) {
	t.mu.Lock()
	old := t.topics[name]
	if old == nil || old.Order == order {
		t.mu.Unlock()
		return old, nil
	}
	topic := *old
	topic.Order = order
	t.topics[topic.TopicName] = &topic
	t.nextVersionLocked()
	t.mu.Unlock()
	return &topic, t.file.save()
}

// createIfAbsent makes a topic, or gives the one that has its name. A new one is durable and registered when it returns
// without error; with one, the topic is nil if there are too many, else it exists in memory.
func (t *topicTable) createIfAbsent(topic *body.TopicConfig) (*body.TopicConfig, error) {
	t.mu.Lock()
	if old := t.topics[topic.TopicName]; old != nil {
		t.mu.Unlock()
		return old, nil
	}
	if err := t.roomLocked(1); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.topics[topic.TopicName] = topic
	t.nextVersionLocked()
	t.mu.Unlock()
	t.log.WithField("topic", describeTopic(topic)).Info("topic created")
	err := t.file.save()
	t.register(topic)
	return topic, err
}

// createConfigured makes the topics of the configuration that are missing.
func (t *topicTable) createConfigured(c *conf.Config) error {
	for _, spec := range c.Rocketd.Topics {
		topic := body.NewTopicConfig(spec.Name)
		topic.WriteQueueNums = spec.Queues
		if spec.Queues == 0 {
			topic.WriteQueueNums = c.Broker.DefaultTopicQueueNums
		}
		topic.ReadQueueNums = topic.WriteQueueNums
		if spec.Perm != 0 {
			topic.Perm = spec.Perm
		}
		topic.Order = spec.Order
		if spec.Type != "" {
			topic.Attributes = map[string]string{attributeMessageType: spec.Type}
		}
		if _, err := t.createIfAbsent(topic); err != nil {
			return err
		}
	}
	return nil
}

package broker

import (
	"strconv"
	"sync/atomic"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

// hasBatchQueues tells whether a topic stores batches as one record (QueueTypeUtils#isBatchCq).
func hasBatchQueues(topic *body.TopicConfig) bool {
	return topic.Attributes[message.AttributeQueueType] == message.QueueTypeBatch
}

// checkInnerBatch refuses what is marked as an inner batch and is none (HookUtils#checkInnerBatch).
func (b *Broker) checkInnerBatch(m *message.Message, p *sendProperties, topic *body.TopicConfig) error {
	marked := m.SysFlag&message.SysInnerBatch != 0
	switch {
	case !marked && !p.innerNum:
		return nil
	case !marked:
		return b.illegal("it has property %s, and sysFlag bit 0x%x, which marks an inner batch, is not set", message.KeyInnerNum, message.SysInnerBatch)
	case !hasBatchQueues(topic):
		return b.illegal("sysFlag bit 0x%x marks an inner batch, and topic[%s] does not have %s=%s", message.SysInnerBatch, topic.TopicName, message.AttributeQueueType, message.QueueTypeBatch)
	}
	n, err := message.CountBatch(m.Body)
	if err != nil {
		return b.illegal("the inner batch cannot be read: %s", err)
	}
	if said, _ := m.Property(message.KeyInnerNum); said != strconv.Itoa(n) {
		return b.illegal("property %s of an inner batch is %s, the body has %d messages", message.KeyInnerNum, quoted(said), n)
	}
	return nil
}

// stageInner stages a batch as one record, which takes up the offsets of all its messages (SendMessageProcessor#sendBatchMessage with isInnerBatch).
// s.batch are its messages. Of the broker's pairs it gets the cluster alone.
func (b *Broker) stageInner(s *sender, now int64) (pendingSend, error) {
	m, p, n := &s.message, &s.properties, len(s.batch)
	if n > store.MaxInnerMessages {
		return pendingSend{}, b.illegal("the batch has %d messages, in a topic with %s=%s it may have %d", n, message.AttributeQueueType, message.QueueTypeBatch, store.MaxInnerMessages)
	}
	if p.owned || p.innerNum {
		m.Properties = m.Properties.Without(message.KeyCluster, message.KeyInnerNum, message.KeyInnerBase)
	}
	m.SysFlag |= message.SysInnerBatch | message.SysNeedUnwrap
	s.suffix = s.suffix[:0].Append(message.KeyCluster, b.config().Broker.BrokerClusterName).Append(message.KeyInnerNum, strconv.Itoa(n))
	m.Suffix = s.suffix
	begin := len(s.arena)
	s.arena = append(s.arena, p.uniqueKey...)
	out := pendingSend{
		topic: m.Topic, queueID: m.QueueID, putID: m.QueueID, count: n, inner: true,
		begunMs: now, uniqueFrom: begin, uniqueTo: len(s.arena), wait: p.waitStored,
	}
	var err error
	out.placed, err = b.store.Stage(m)
	out.size = int(out.placed.Size)
	return out, err
}

// storedTopic is what the store knows about a topic.
type storedTopic struct {
	queues int32
	kind   store.QueueKind
}

// queueKinds tells of topics which kind of queues they have. While the store is opened, before the table is loaded, that is what topics.json says;
// opened ends that.
func (t *topicTable) queueKinds() (kind func(topic string) store.QueueKind, opened func()) {
	var file atomic.Pointer[map[string]store.QueueKind]
	kinds := map[string]store.QueueKind{}
	// A broken file is reported when the table is loaded. The store then goes by the queues that it has.
	_, err := t.file.load(func(data []byte) error {
		table, err := body.Decode[body.TopicConfigTable](data)
		if err != nil {
			return err
		}
		for name, topic := range table.Topics {
			if topic != nil {
				kinds[name] = store.KindOf(topic.Attributes[message.AttributeQueueType])
			}
		}
		return nil
	})
	if err == nil {
		file.Store(&kinds)
	}
	kind = func(name string) store.QueueKind {
		if topic := t.get(name); topic != nil {
			return store.KindOf(topic.Attributes[message.AttributeQueueType])
		}
		if kinds := file.Load(); kinds != nil {
			return (*kinds)[name]
		}
		return store.AnyQueue
	}
	return kind, func() { file.Store(nil) }
}

// refuseOtherKind refuses a new topic while the store has queues of that name and the other kind: of a topic deleted before, or of messages
// that were delivered to none.
func (b *Broker) refuseOtherKind(topic *body.TopicConfig) error {
	if b.topics.get(topic.TopicName) != nil {
		return nil
	}
	want := store.KindOf(topic.Attributes["+"+message.AttributeQueueType])
	for id := range max(topic.ReadQueueNums, topic.WriteQueueNums) {
		if q := b.store.Queue(topic.TopicName, id); q != nil && q.Kind() != want {
			return remoting.Errorf(remoting.SystemError, "queue %d of an earlier topic[%s] is left, which had another %s: delete that topic first", id, topic.TopicName, message.AttributeQueueType)
		}
	}
	return nil
}

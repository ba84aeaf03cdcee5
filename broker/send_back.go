package broker

import (
	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

func (b *Broker) sendBackRoutes() []remoting.Route {
	return []remoting.Route{{Code: remoting.ConsumerSendMsgBack, Lane: laneBack, Handle: b.sendBack}}
}

// firstRetryLevel is the delay level of the first retry; each further one is a level higher.
const firstRetryLevel = 3

// sendBack is CONSUMER_SEND_MSG_BACK: a consumer gives a message back to be tried again later, or for good
// (AbstractSendMessageProcessor#consumerSendMsgBack).
func (b *Broker) sendBack(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ConsumerSendMsgBackRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	c := b.config()
	if c.Store.BrokerRole == roleSlave && !c.Broker.EnableSlaveActingMaster {
		return nil, remoting.Errorf(remoting.SystemError, "no master available along with %s", c.Broker.BrokerIP1)
	}
	group := b.groups.getOrCreate(h.Group)
	if group == nil {
		return nil, noGroup(h.Group)
	}
	if c.Broker.BrokerPermission&permWrite == 0 {
		return nil, remoting.Errorf(remoting.NoPermission, "the broker[%s] sending message is forbidden", c.Broker.BrokerIP1)
	}
	if group.RetryQueueNums <= 0 {
		return remoting.NewResponse(remoting.Success), nil
	}
	var sysFlag int32
	if h.UnitMode {
		sysFlag = topicUnitSub
	}
	topic, err := b.groupTopic(message.RetryTopic(h.Group), group.RetryQueueNums, sysFlag)
	if err != nil {
		return nil, err
	}
	if topic.Perm&permWrite == 0 {
		return nil, remoting.Errorf(remoting.NoPermission, "the topic[%s] sending message is forbidden", topic.TopicName)
	}
	stored, err := b.store.Record(h.Offset)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "look message by offset failed, %d: %s", h.Offset, err)
	}
	defer stored.Release()
	var r message.Record
	if _, err := message.DecodeRecord(stored.Bytes(), &r, false); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "look message by offset failed, %d: %s", h.Offset, err)
	}
	m, level := b.backMessage(&r, topic.TopicName, randomQueue(group.RetryQueueNums), h.DelayLevel)
	dead := r.ReconsumeTimes >= maxReconsume(group, req, h.MaxReconsumeTimes) || h.DelayLevel < 0
	if dead {
		dlq, err := b.deadLetterTopic(h.Group, true)
		if err != nil {
			return nil, err
		}
		m.Topic, m.QueueID, level = dlq.TopicName, 0, 0
	}
	m.Properties = m.Properties.With(message.KeyDelayLevel, itoa(level))
	origin := originTopic(&r)
	if err := b.putBack(&m); err != nil {
		return nil, err
	}
	b.stats.sendBack(h.Group, origin)
	if dead {
		b.stats.toDLQ(h.Group, origin)
		b.log.WithFields(logrus.Fields{
			"group": h.Group, "topic": origin, "reconsumeTimes": r.ReconsumeTimes, "queueOffset": r.QueueOffset, "offset": h.Offset,
		}).Info("message goes to the dead letters")
	}
	return remoting.NewResponse(remoting.Success), nil
}

// backMessage is what is stored of a message that is given back, and its delay level.
func (b *Broker) backMessage(r *message.Record, topic string, queueID, asked int32) (message.Message, int32) {
	level := asked
	if level == 0 {
		level = firstRetryLevel + r.ReconsumeTimes
	}
	properties := r.Properties
	if !properties.Has(message.KeyRetryTopic) {
		properties = properties.With(message.KeyRetryTopic, r.Topic)
	}
	if !properties.Has(message.KeyOriginMessageID) {
		properties = properties.With(message.KeyOriginMessageID, message.OffsetMessageID(r.StoreHost, r.PhysicalOffset))
	}
	properties = properties.With(message.KeyWait, "false")
	m := message.Message{
		Topic: topic, QueueID: queueID, Flag: r.Flag, SysFlag: r.SysFlag, BornTimestamp: r.BornTimestamp, BornHost: r.BornHost,
		StoreHost: b.identity.storeHost, ReconsumeTimes: r.ReconsumeTimes + 1, Body: r.Body, Properties: properties,
		PropertyCRC: b.config().Store.EnabledAppendPropCRC,
	}
	return m, level
}

// originTopic is the topic that a message was sent to at first.
func originTopic(r *message.Record) string {
	if origin, ok := r.Properties.Get(message.KeyRetryTopic); ok {
		return origin
	}
	return r.Topic
}

// putBack stores a message that is given back. A failure is SYSTEM_ERROR whatever its kind, as in the reference.
func (b *Broker) putBack(m *message.Message) error {
	err := b.transform(m)
	if err == nil {
		_, err = b.store.Put(m)
	}
	if err == nil {
		return nil
	}
	b.stats.putFailed()
	code, remark := b.putError(err)
	return remoting.Errorf(remoting.SystemError, "%s: %s", putStatusName(code), remark)
}

// putStatusName is the reference's name of what went wrong (PutMessageStatus), with which its remark begins.
func putStatusName(code int32) string {
	switch code {
	case remoting.MessageIllegal:
		return "MESSAGE_ILLEGAL"
	case remoting.ServiceNotAvailable:
		return "SERVICE_NOT_AVAILABLE"
	case remoting.SystemBusy:
		return "OS_PAGE_CACHE_BUSY"
	}
	return "UNKNOWN_ERROR"
}

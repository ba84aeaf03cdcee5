package broker

import (
	"strconv"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Ext fields of the answer to a heartbeat (the reference's MixAll).
const (
	extHeartbeatV2 = "IS_SUPPORT_HEART_BEAT_V2"
	extSubChange   = "IS_SUB_CHANGE"
)

func (b *Broker) heartbeatRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.HeartBeat, Lane: laneClient, Handle: b.heartbeat},
		{Code: remoting.UnregisterClient, Lane: laneClient, Handle: b.unregisterClient},
		{Code: remoting.CheckClientConfig, Lane: laneClient, Handle: b.checkClientConfig},
	}
}

// heartbeat is HEART_BEAT: a client names its groups and what they subscribe (ClientManageProcessor#heartBeat). Version 2,
// told by its fingerprint, may leave out subscriptions that have not changed.
func (b *Broker) heartbeat(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if req.Body == nil {
		return nil, remoting.Errorf(remoting.SystemError, "heartbeat has no body")
	}
	data, err := body.Decode[body.HeartbeatData](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "heartbeat cannot be read: %s", err)
	}
	if data.ClientID == "" && len(data.ConsumerDataSet)+len(data.ProducerDataSet) > 0 {
		return nil, remoting.Errorf(remoting.SystemError, "heartbeat has no clientID")
	}
	now := b.clock.NowMs()
	changed := false
	for i := range data.ConsumerDataSet {
		consumer := &data.ConsumerDataSet[i]
		if b.config().Broker.RejectPullConsumerEnable && consumer.ConsumeType == body.ConsumeActively {
			continue
		}
		fresh, err := b.consumerBeat(data, consumer, newClient(conn, req, data.ClientID, now))
		if err != nil {
			return nil, err
		}
		changed = changed || fresh
	}
	for i := range data.ProducerDataSet {
		group := data.ProducerDataSet[i].GroupName
		if group == "" || b.skipProducer(group) {
			continue
		}
		if !b.producers.register(group, newClient(conn, req, data.ClientID, now)) && b.warnings.allow("producer groups") {
			b.log.WithField("maxGroups", b.config().Rocketd.MaxGroups).Warn("too many producer groups, a new one is ignored")
		}
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.AddExt(extHeartbeatV2, "true")
	// Version 1 says so always: its clients do not look.
	resp.AddExt(extSubChange, strconv.FormatBool(changed || data.HeartbeatFingerprint == 0))
	return resp, nil
}

// consumerBeat notes one consumer group of a heartbeat. A group that may not exist is skipped without a word, as in the
// reference.
func (b *Broker) consumerBeat(data *body.HeartbeatData, consumer *body.ConsumerData, c *client) (fresh bool, err error) {
	group := b.groups.getOrCreate(consumer.GroupName)
	if group == nil {
		return false, nil
	}
	ordered := false
	for i := range consumer.SubscriptionDataSet {
		ordered = ordered || b.topics.isOrder(consumer.SubscriptionDataSet[i].Topic)
	}
	var sysFlag int32
	if consumer.UnitMode {
		sysFlag = topicUnitSub
	}
	topic, err := b.topics.createForGroup(message.RetryTopic(group.GroupName), group.RetryQueueNums, permBoth, ordered, sysFlag)
	if err != nil && b.warnings.allow("topics.json") {
		b.log.WithError(err).WithField("group", group.GroupName).Warn("a group's retry topic cannot be created or saved")
	}
	if topic == nil {
		return false, remoting.Errorf(remoting.SystemError, "retry topic of group %s cannot be created: %s", group.GroupName, err)
	}
	return b.consumers.register(joining{
		group: group.GroupName, client: c,
		consumeType: consumer.ConsumeType, messageModel: consumer.MessageModel, fromWhere: consumer.ConsumeFromWhere,
		subscriptions: consumer.SubscriptionDataSet, withoutSub: data.WithoutSub && data.HeartbeatFingerprint != 0,
		fingerprint: data.HeartbeatFingerprint, notify: group.NotifyConsumerIDsChangedEnable,
	}), nil
}

// skipProducer tells whether producers that are not known yet are not to be noted (ProducerManager#registerProducer).
func (b *Broker) skipProducer(group string) bool {
	c := &b.config().Broker
	return !c.EnableRegisterProducer && c.RejectTransactionMessage && !b.producers.online(group)
}

// unregisterClient is UNREGISTER_CLIENT: a client leaves its groups before it goes (ClientManageProcessor#unregisterClient). Its
// queue locks are free at once.
func (b *Broker) unregisterClient(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.UnregisterClientRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if h.ProducerGroup != "" {
		b.producers.unregister(h.ProducerGroup, conn)
	}
	if h.ConsumerGroup != "" {
		notify := true
		if group := b.groups.get(h.ConsumerGroup); group != nil {
			notify = group.NotifyConsumerIDsChangedEnable
		}
		b.leaveConsumer(h.ConsumerGroup, h.ClientID, conn, notify)
	}
	return remoting.NewResponse(remoting.Success), nil
}

// leaveConsumer takes a connection out of a consumer group, and the queue locks of its client unless that is there by
// another connection. The locks go first: who is notified may ask for them at once.
func (b *Broker) leaveConsumer(group, clientID string, conn *remoting.Conn, notify bool) {
	if !b.consumers.otherConn(group, clientID, conn) {
		b.locks.release(group, clientID)
	}
	b.consumers.unregister(group, conn, notify)
}

// checkClientConfig is CHECK_CLIENT_CONFIG: a consumer asks whether its expression is good before it starts
// (ClientManageProcessor#checkClientConfig).
func (b *Broker) checkClientConfig(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	config, err := body.Decode[body.CheckClientConfig](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "client config cannot be read: %s", err)
	}
	sub := config.SubscriptionData
	if sub == nil || isTagType(sub.ExpressionType) {
		return remoting.NewResponse(remoting.Success), nil
	}
	if !b.config().Broker.EnablePropertyFilter {
		return nil, remoting.Errorf(remoting.SystemError, "The broker does not support consumer to filter message by %s, enablePropertyFilter is false", sub.ExpressionType)
	}
	if _, err := compileSQL(sub.ExpressionType, sub.SubString); err != nil {
		return nil, remoting.Errorf(remoting.SubscriptionParseFailed, "%s", err)
	}
	return remoting.NewResponse(remoting.Success), nil
}

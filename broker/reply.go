package broker

import (
	"bytes"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

func (b *Broker) replyRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.SendReplyMessage, Lane: laneReply, Handle: b.sendReply},
		{Code: remoting.SendReplyMessageV2, Lane: laneReply, Handle: b.sendReply},
	}
}

// sendReply takes the answer of request-reply, stores it if configured, and pushes it to the client that asked
// (ReplyMessageProcessor). The worker is free while that client thinks.
func (b *Broker) sendReply(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	config := b.config()
	var h remoting.SendMessageRequestHeader
	if err := req.DecodeSend(&h); err != nil {
		return b.refuseSend(remoting.NewResponse(remoting.SystemError), err), nil
	}
	if until := config.Broker.StartAcceptSendRequestTimeStamp; b.clock.NowMs() < until {
		return b.refuseSend(remoting.NewResponse(remoting.SystemError),
			remoting.Errorf(remoting.SystemError, "broker unable to service, until %s", humanTime(until))), nil
	}
	topic, err := b.checkSend(c, &h, config, true)
	if err != nil {
		return b.refuseSend(remoting.NewResponse(remoting.SystemError), err), nil
	}
	queueID := h.QueueID
	if queueID < 0 {
		queueID = randomQueue(max(topic.WriteQueueNums, 1))
	}
	fields := remoting.SendMessageResponseHeader{MsgID: "0", QueueID: queueID}
	if config.Broker.StoreReplyMessageEnable {
		b.storeReply(c, req, &h, topic.TopicName, &fields)
	}
	b.pushReply(c, req, &h, fields)
	return nil, nil
}

// storeReply stores a reply; a failure is only logged, as in the reference.
func (b *Broker) storeReply(c *remoting.Conn, req *remoting.Command, h *remoting.SendMessageRequestHeader, topic string, fields *remoting.SendMessageResponseHeader) {
	content := req.Body
	if content == nil {
		content = []byte{}
	}
	placed, err := b.store.Put(&message.Message{
		Topic: topic, QueueID: fields.QueueID, Flag: h.Flag, SysFlag: message.WithTransaction(h.SysFlag, message.TransactionNone),
		BornTimestamp: h.BornTimestamp, BornHost: c.RemoteAddr(), StoreHost: b.identity.storeHost, ReconsumeTimes: h.ReconsumeTimes.Or(0),
		Body: content, Properties: message.Properties(unsafeBytes(h.Properties)), WaitStored: true,
		PropertyCRC: b.config().Store.EnabledAppendPropCRC,
	})
	if err != nil {
		b.stats.putFailed()
		if b.warnings.allow("store reply") {
			b.log.WithError(err).Warn("a reply message cannot be stored")
		}
		return
	}
	b.stats.putInternal(topic, int(placed.Size))
	fields.MsgID = message.OffsetMessageID(b.identity.storeHost, placed.PhysicalOffset)
	fields.QueueOffset = placed.QueueOffset
}

// pushReply sends a reply to the client named in it, and answers the replier when that client has answered.
func (b *Broker) pushReply(c *remoting.Conn, req *remoting.Command, h *remoting.SendMessageRequestHeader, fields remoting.SendMessageResponseHeader) {
	var replier remoting.Replier
	if !req.IsOneway() {
		replier = c.Replier(req)
	}
	answer := func(failed string) {
		if req.IsOneway() {
			return
		}
		resp := remoting.NewResponse(remoting.Success)
		resp.Ext = b.answers.Load().ext
		resp.Header = &fields
		if failed != "" {
			resp.Code, resp.Remark = remoting.SystemError, failed
		}
		b.logReply(replier.Reply(resp), remoting.SendReplyMessage)
	}
	properties := message.Properties(h.Properties)
	asker, ok := properties.Get(message.KeyReplyToClient)
	if !ok {
		answer("reply message properties[" + message.KeyReplyToClient + "] is null")
		return
	}
	asker = cloned(asker)
	to := b.producers.find(asker)
	if to == nil {
		answer("push reply message fail, channel of <" + asker + "> not found.")
		return
	}
	now := b.clock.NowMs()
	push := remoting.NewRequest(remoting.PushReplyMessageToClient, &remoting.ReplyMessageRequestHeader{
		ProducerGroup: cloned(h.ProducerGroup), Topic: cloned(h.Topic), DefaultTopic: cloned(h.DefaultTopic),
		DefaultTopicQueueNums: h.DefaultTopicQueueNums, QueueID: h.QueueID, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp,
		Flag: h.Flag, Properties: string(properties.With(message.KeyPushReplyTime, decimal(now))), ReconsumeTimes: h.ReconsumeTimes,
		UnitMode: h.UnitMode.Or(false), BornHost: c.RemoteAddr().String(), StoreHost: b.identity.storeHost.String(), StoreTimestamp: now,
	})
	push.Body = bytes.Clone(req.Body)
	to.Request(push, relayTimeout, func(got *remoting.Command, err error) {
		if err == nil && got.Code == remoting.Success {
			answer("")
			return
		}
		answer("push reply message to " + asker + "fail.")
	})
}

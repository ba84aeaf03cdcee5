package broker

import (
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/timer"
)

func (b *Broker) recallRoutes() []remoting.Route {
	return []remoting.Route{{Code: remoting.RecallMessage, Lane: laneReply, Handle: b.recallMessage}}
}

// recallMessage takes back a timer message that has not been delivered yet (RecallMessageProcessor).
func (b *Broker) recallMessage(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	resp, err := b.recall(c, req)
	if err != nil {
		code, remark := b.putError(err)
		resp = remoting.NewResponse(code)
		resp.Remark = remark
	}
	resp.Ext = append(resp.Ext, remoting.ExtField{Key: message.KeyMsgRegion, Value: b.config().Broker.RegionID})
	return resp, nil
}

func (b *Broker) recall(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	config := b.config()
	if !config.Broker.RecallMessageEnable {
		return nil, remoting.Errorf(remoting.NoPermission, "recall failed, operation is forbidden")
	}
	now := b.clock.NowMs()
	writable := config.Broker.BrokerPermission&permWrite != 0 || config.Broker.AllowRecallWhenBrokerNotWriteable
	switch {
	case b.isSlave():
		return nil, remoting.Errorf(remoting.SlaveNotAvailable, "recall failed, broker service not available")
	case now < config.Broker.StartAcceptSendRequestTimeStamp, !writable:
		return nil, remoting.Errorf(remoting.ServiceNotAvailable, "recall failed, broker service not available")
	}
	var h remoting.RecallMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if b.topics.get(h.Topic) == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "recall failed, the topic[%s] not exist", h.Topic)
	}
	handle, err := timer.ParseRecallHandle(h.RecallHandle)
	if err != nil {
		return nil, remoting.Errorf(remoting.IllegalOperation, "%v", err)
	}
	left := handle.DeliverMs - now
	switch {
	case handle.Topic != h.Topic:
		return nil, remoting.Errorf(remoting.IllegalOperation, "recall failed, topic not match")
	case handle.BrokerName != config.Broker.BrokerName:
		return nil, remoting.Errorf(remoting.IllegalOperation, "recall failed, broker service not available")
	case left <= 0 || left >= int64(config.Store.TimerMaxDelaySec)*1000:
		return nil, remoting.Errorf(remoting.IllegalOperation, "recall failed, timestamp invalid")
	}
	cancel := timer.RecallMessage(handle, timer.RecallOptions{
		ProducerGroup: h.ProducerGroup, NowMs: now, BornHost: c.RemoteAddr(), StoreHost: b.identity.storeHost,
		AppendTopic: config.Store.AppendTopicForTimerDeleteKey,
	})
	placed, err := b.deliver(&cancel)
	if err != nil {
		if b.warnings.allow("recall") {
			b.log.WithError(err).Warn("a message cannot be recalled")
		}
		return nil, remoting.Errorf(remoting.SystemError, "recall failed, execute error: %v", err)
	}
	b.stats.putInternal(message.TopicTimer, int(placed.Size))
	resp := success()
	resp.Header = &remoting.RecallMessageResponseHeader{MsgID: handle.UniqueKey}
	return resp, nil
}

package broker

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

func (b *Broker) relayRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.GetConsumerRunningInfo, Lane: laneAdmin, Handle: b.getConsumerRunningInfo},
		{Code: remoting.ConsumeMessageDirectly, Lane: laneAdmin, Handle: b.consumeMessageDirectly},
	}
}

// relayTimeout is how long a client has to answer what is relayed to it (Broker2Client#callClient).
const relayTimeout = 10 * time.Second

// getConsumerRunningInfo asks a member of a group what it does (AdminBrokerProcessor#getConsumerRunningInfo).
func (b *Broker) getConsumerRunningInfo(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumerRunningInfoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	return nil, b.relay(c, req, cloneFields(req.Ext), nil, h.ConsumerGroup, h.ClientID)
}

// consumeMessageDirectly has a member of a group consume one message (AdminBrokerProcessor#consumeMessageDirectly).
func (b *Broker) consumeMessageDirectly(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ConsumeMessageDirectlyResultRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	fields := setField(cloneFields(req.Ext), "brokerName", b.config().Broker.BrokerName)
	if topic := b.topics.get(h.Topic); topic != nil {
		fields = setField(fields, "topicSysFlag", strconv.Itoa(int(topic.TopicSysFlag)))
	}
	if h.ConsumerGroup != "" {
		if group := b.groups.getOrCreate(h.ConsumerGroup); group != nil {
			fields = setField(fields, "groupSysFlag", strconv.Itoa(int(group.GroupSysFlag)))
		}
	}
	_, offset, err := message.ParseOffsetMessageID(h.MsgID)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "msgId: %v", err)
	}
	record, err := b.store.Record(offset)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "can not find message by the offset, %d", offset)
	}
	content := append([]byte(nil), record.Bytes()...)
	record.Release()
	return nil, b.relay(c, req, fields, content, h.ConsumerGroup, h.ClientID)
}

// relay sends a request on to a member of a group and gives its answer, unchanged, to the caller
// (AdminBrokerProcessor#callConsumer). It does not wait: the worker is free while the client thinks.
func (b *Broker) relay(c *remoting.Conn, req *remoting.Command, fields []remoting.ExtField, content []byte, group, clientID string) error {
	group, clientID = cloned(group), cloned(clientID)
	to := b.consumers.find(group, clientID)
	if to == nil {
		return remoting.Errorf(remoting.SystemError, "The Consumer <%s> <%s> not online", group, clientID)
	}
	if to.version < remoting.V318Snapshot {
		return remoting.Errorf(remoting.SystemError, "The Consumer <%s> Version <%s> too low to finish, please upgrade it to V3_1_8_SNAPSHOT",
			clientID, remoting.VersionName(to.version))
	}
	if req.IsOneway() {
		return nil
	}
	code := req.Code
	replier := c.Replier(req)
	request := remoting.NewRequest(code, nil)
	request.Ext, request.Body = fields, content
	to.conn.Request(request, relayTimeout, func(answer *remoting.Command, err error) {
		b.logReply(replier.Reply(relayed(answer, err, group, clientID)), code)
	})
	return nil
}

// relayed is a client's answer as the caller gets it.
func relayed(answer *remoting.Command, err error, group, clientID string) *remoting.Command {
	switch {
	case errors.Is(err, remoting.ErrTimeout):
		resp := remoting.NewResponse(remoting.ConsumeMsgTimeout)
		resp.Remark = "consumer <" + group + "> <" + clientID + "> Timeout: no answer within " + relayTimeout.String()
		return resp
	case err != nil:
		resp := remoting.NewResponse(remoting.SystemError)
		resp.Remark = "invoke consumer <" + group + "> <" + clientID + "> Exception: " + err.Error()
		return resp
	}
	resp := remoting.NewResponse(answer.Code)
	resp.Remark = cloned(answer.Remark)
	resp.Ext = cloneFields(answer.Ext)
	resp.Body = append([]byte(nil), answer.Body...)
	return resp
}

// logReply notes that an answer given later could not be given: the caller has gone.
func (b *Broker) logReply(err error, code int32) {
	if err != nil && !errors.Is(err, remoting.ErrClosed) {
		b.log.WithError(err).WithField("code", code).Debug("answer could not be sent")
	}
}

// cloneFields copies ext fields out of the frame that they lie in.
func cloneFields(fields []remoting.ExtField) []remoting.ExtField {
	out := make([]remoting.ExtField, 0, len(fields)+3)
	for _, f := range fields {
		out = append(out, remoting.ExtField{Key: strings.Clone(f.Key), Value: strings.Clone(f.Value)})
	}
	return out
}

// setField gives a field a value, replacing the one it had.
func setField(fields []remoting.ExtField, key, value string) []remoting.ExtField {
	for i := range fields {
		if fields[i].Key == key {
			fields[i].Value = value
			return fields
		}
	}
	return append(fields, remoting.ExtField{Key: key, Value: value})
}

// cloned copies a string out of the frame that it lies in.
func cloned(s string) string { return strings.Clone(s) }

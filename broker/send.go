package broker

import (
	"bytes"
	"errors"
	"strings"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// errMustWait says that a send cannot be finished on an event loop: a topic or group must be created first.
var errMustWait = errors.New("must wait")

func (b *Broker) sendRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.SendMessage, Lane: remoting.OnLoop, Handle: b.sendMessage},
		{Code: remoting.SendMessageV2, Lane: remoting.OnLoop, Handle: b.sendMessage},
		{Code: remoting.SendBatchMessage, Lane: remoting.OnLoop, Handle: b.sendMessage},
	}
}

// sender is the memory that sends of one goroutine use over and over: that of an event loop is its Loop.Data.
type sender struct {
	header     remoting.SendMessageRequestHeader
	properties sendProperties
	message    message.Message
	suffix     message.Properties
	batch      []message.Message
	placed     []store.Placed // of batch

	nowMs   int64         // when the turn's first send came
	pending []pendingSend // of this turn
	arena   []byte        // strings of pending
	answer  remoting.Command
	fields  remoting.SendMessageResponseHeader
	id      []byte
}

// pendingSend is a staged send that waits for the end of its turn.
type pendingSend struct {
	replier remoting.Replier
	placed  store.Placed
	topic   string // as counted: the one really written to; not of the frame
	queueID int32  // as answered: that of the topic sent to
	putID   int32  // the queue really written to
	count   int    // messages
	size    int    // bytes of their records
	kind    kind
	begunMs int64
	// transaction id, in the arena: the frame is gone by the end of the turn
	uniqueFrom, uniqueTo int
	recallTo             int  // end of the recall handle, which lies behind the transaction id in the arena; 0: there is none
	idsTo                int  // end of the message ids of a batch, joined, which lie there too; 0: one record
	inner                bool // an inner batch: one record
	oneway               bool
	wait                 bool // answer when flushed as configured
}

// sendMessage is SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE (SendMessageProcessor#sendMessage). On the loop it
// stages the message; the answer is given by endTurn.
func (b *Broker) sendMessage(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	s := conn.Loop().Data.(*sender) //nolint:errcheck,forcetypeassert // set by startLoop
	p, err := b.stageSend(conn, req, s, false)
	switch {
	case errors.Is(err, errMustWait):
		return b.sendLater(conn, req)
	case err != nil:
		return b.refuseSend(conn.Loop().Response(remoting.SystemError), err), nil
	}
	if p.oneway = req.IsOneway(); !p.oneway {
		p.replier = conn.Replier(req)
	}
	s.pending = append(s.pending, p)
	return nil, nil
}

// sendLater hands a send to a worker that may wait.
func (b *Broker) sendLater(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	own := cloneRequest(req)
	later := pendingSend{oneway: req.IsOneway()}
	if !later.oneway {
		later.replier = conn.Replier(req)
	}
	task := func() {
		s := &sender{}
		p, err := b.stageSend(conn, own, s, true)
		if err != nil {
			b.answerFailed(&later, err, false)
			return
		}
		p.replier, p.oneway = later.replier, later.oneway
		s.pending = append(s.pending, p)
		b.finishSends(s, false)
	}
	if !b.slowSends.try(task) {
		b.answerFailed(&later, remoting.Errorf(remoting.SystemBusy,
			"[OVERLOAD]system busy, start flow control for a while: too many sends wait for topics to be created"), false)
	}
	return nil, nil
}

// cloneRequest copies a request out of its frame.
func cloneRequest(req *remoting.Command) *remoting.Command {
	own := &remoting.Command{
		Code: req.Code, Language: req.Language, Version: req.Version, Opaque: req.Opaque, Flag: req.Flag,
		Remark: strings.Clone(req.Remark), Serialize: req.Serialize, Body: bytes.Clone(req.Body),
		Ext: make([]remoting.ExtField, len(req.Ext)),
	}
	for i, f := range req.Ext {
		own.Ext[i] = remoting.ExtField{Key: strings.Clone(f.Key), Value: strings.Clone(f.Value)}
	}
	return own
}

// stageSend checks a send in the reference's order and stages it. mayWait permits creating topics and groups; without it
// errMustWait asks for that. Other errors are *remoting.Error or of the store, see putError.
func (b *Broker) stageSend(conn *remoting.Conn, req *remoting.Command, s *sender, mayWait bool) (pendingSend, error) {
	c := b.config()
	if c.Store.BrokerRole == roleSlave && !c.Broker.EnableSlaveActingMaster {
		return pendingSend{}, remoting.Errorf(remoting.SystemBusy, "[REJECTREQUEST]system busy, start flow control for a while: brokerRole is %s", roleSlave)
	}
	h := &s.header
	if err := req.DecodeSend(h); err != nil {
		return pendingSend{}, err
	}
	if req.Body == nil {
		return pendingSend{}, b.illegal("it has no body")
	}
	if len(s.pending) == 0 {
		s.nowMs = b.clock.NowMs()
	}
	now := s.nowMs
	if until := c.Broker.StartAcceptSendRequestTimeStamp; now < until {
		return pendingSend{}, remoting.Errorf(remoting.SystemError, "broker unable to service, until %s", humanTime(until))
	}
	topic, err := b.checkSend(conn, h, c, mayWait)
	if err != nil {
		return pendingSend{}, err
	}
	queueID := h.QueueID
	if queueID < 0 {
		if topic.WriteQueueNums <= 0 {
			return pendingSend{}, remoting.Errorf(remoting.SystemError, "topic[%s] has no queue to write to: writeQueueNums is %d", topic.TopicName, topic.WriteQueueNums)
		}
		queueID = randomQueue(topic.WriteQueueNums)
	}
	s.message = message.Message{
		Topic: topic.TopicName, QueueID: queueID, Flag: h.Flag, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp,
		BornHost: conn.RemoteAddr(), StoreHost: b.identity.storeHost, ReconsumeTimes: h.ReconsumeTimes.Or(0),
		Body: req.Body, Properties: message.Properties(unsafeBytes(h.Properties)), PropertyCRC: c.Store.EnabledAppendPropCRC,
	}
	s.properties.scan(s.message.Properties)
	s.message.WaitStored = s.properties.waitStored
	if h.Batch.Or(false) {
		return b.stageBatch(s, topic, now)
	}
	return b.stageOne(req, s, topic, now, mayWait)
}

// checkSend is AbstractSendMessageProcessor#msgCheck: it finds the topic, or creates it.
func (b *Broker) checkSend(conn *remoting.Conn, h *remoting.SendMessageRequestHeader, c *conf.Config, mayWait bool) (*body.TopicConfig, error) {
	topic := b.topics.get(h.Topic)
	if c.Broker.BrokerPermission&permWrite == 0 && topic != nil && topic.Order {
		return nil, remoting.Errorf(remoting.NoPermission, "the broker[%s] sending message is forbidden", c.Broker.BrokerIP1)
	}
	if topic == nil {
		// A topic that exists has a legal name.
		if err := message.ValidateTopic(h.Topic); err != nil {
			return nil, remoting.Errorf(remoting.InvalidParameter, "%s", err)
		}
	}
	if message.IsNotAllowedSendTopic(h.Topic) {
		return nil, remoting.Errorf(remoting.NoPermission, "Sending message to topic[%s] is forbidden.", h.Topic)
	}
	if topic == nil {
		if !mayWait {
			return nil, errMustWait
		}
		var err error
		if topic, err = b.createTopicForSend(conn, h); err != nil {
			return nil, err
		}
	}
	if h.QueueID >= max(topic.WriteQueueNums, topic.ReadQueueNums) {
		return nil, remoting.Errorf(remoting.InvalidParameter, "request queueId[%d] is illegal, %s Producer: %s", h.QueueID, describeTopic(topic), conn.RemoteAddr())
	}
	return topic, nil
}

// createTopicForSend makes a topic that a producer sends to, by its default topic or because it is a retry topic.
func (b *Broker) createTopicForSend(conn *remoting.Conn, h *remoting.SendMessageRequestHeader) (*body.TopicConfig, error) {
	retry := message.IsRetryTopic(h.Topic)
	var sysFlag int32
	if h.UnitMode.Or(false) {
		sysFlag = topicUnit
		if retry {
			sysFlag = topicUnitSub
		}
	}
	topic, err := b.topics.createForSend(h.Topic, h.DefaultTopic, h.DefaultTopicQueueNums, sysFlag, conn.RemoteAddr().String())
	if topic == nil && err == nil && retry {
		topic, err = b.topics.createForGroup(h.Topic, 1, permBoth, false, sysFlag)
	}
	switch {
	case topic != nil:
		if err != nil && b.warnings.allow("topics.json") {
			b.log.WithError(err).Warn("a new topic is not saved")
		}
		return topic, nil
	case err != nil:
		return nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist, apply first please! It cannot be created: %s", h.Topic, err)
	}
	return nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist, apply first please! autoCreateTopicEnable is %t, the default topic is %q",
		h.Topic, b.config().Broker.AutoCreateTopicEnable, h.DefaultTopic)
}

// stageOne stages a single message (SendMessageProcessor#sendMessage behind the checks).
func (b *Broker) stageOne(req *remoting.Command, s *sender, topic *body.TopicConfig, now int64, mayWait bool) (pendingSend, error) {
	m, p := &s.message, &s.properties
	queueID := m.QueueID
	level, err := p.delayLevel()
	if err != nil {
		return pendingSend{}, err
	}
	if message.IsRetryTopic(m.Topic) {
		dead, err := b.retryOrDeadLetter(req, s, &topic, mayWait)
		if err != nil {
			return pendingSend{}, err
		}
		if dead {
			level = 0
		}
	}
	if topic.TopicFilterType == body.MultiTag {
		m.SysFlag |= message.SysMultiTags
	}
	if topic.Attributes[message.AttributeCleanupPolicy] == message.CleanupPolicyCompaction && !p.keys {
		return pendingSend{}, remoting.Errorf(remoting.MessageIllegal, "Required message key is missing")
	}
	if p.innerNum || m.SysFlag&message.SysInnerBatch != 0 {
		if err := b.checkInnerBatch(m, p, topic); err != nil {
			return pendingSend{}, err
		}
	}
	if b.config().Rocketd.CheckMessageType {
		if err := checkType(m, topic); err != nil {
			return pendingSend{}, err
		}
	}
	s.suffix = append(s.suffix[:0], b.answers.Load().suffix...)
	if p.owned {
		m.Properties = withoutOwned(m.Properties)
	}
	begin := len(s.arena)
	if p.uniqueKey != "" {
		s.arena = append(s.arena, p.uniqueKey...)
	} else {
		s.arena = b.uniqueKeys.Append(s.arena, now)
		s.suffix = s.suffix.Append(message.KeyUniqueKey, unsafeString(s.arena[begin:]))
	}
	end := len(s.arena)
	if p.liteTopic != "" {
		s.suffix = s.suffix.Append(message.KeyInnerMultiDispatch, message.LMQPrefix+"$"+m.Topic+"$"+p.liteTopic)
	}
	queueID = b.applyPriority(m, p, topic, queueID)
	m.Suffix = s.suffix
	out := pendingSend{queueID: queueID, begunMs: now, count: 1, kind: p.kind(), uniqueFrom: begin, uniqueTo: end, wait: p.waitStored}
	realTopic := m.Topic
	outMs, err := b.transformSend(s, level, now)
	if err != nil {
		return pendingSend{}, err
	}
	if outMs > 0 && !message.IsRetryTopic(realTopic) {
		// SendMessageProcessor#attachRecallHandle adds 1 ms to the time that was rounded down.
		h := timer.RecallHandle{Topic: realTopic, BrokerName: b.identity.name, DeliverMs: outMs + 1, UniqueKey: unsafeString(s.arena[begin:end])}
		s.arena = h.Append(s.arena)
		out.recallTo = len(s.arena)
	}
	out.placed, err = b.store.Stage(m)
	out.topic, out.putID, out.size = m.Topic, m.QueueID, int(out.placed.Size)
	return out, err
}

// checkType refuses a message that is not of its topic's type (the proxy's DefaultTopicMessageTypeValidator). A topic without
// type, and retries, take any.
func checkType(m *message.Message, topic *body.TopicConfig) error {
	want := message.Type(topic.Attributes[attributeMessageType])
	if want == "" || want == message.TypeUnspecified || want == message.TypeMixed || message.IsRetryTopic(topic.TopicName) || message.IsDLQTopic(topic.TopicName) {
		return nil
	}
	if is := message.TypeOf(m.Properties); is != want {
		return remoting.Errorf(remoting.MessageIllegal, "TopicMessageType validate failed, the expected type is %s, but actual type is %s: topic[%s] has %s=%s, checkMessageType is true",
			want, is, topic.TopicName, attributeMessageType, want)
	}
	return nil
}

// applyPriority gives a priority message its queue, or takes the property of one that is something else besides.
func (b *Broker) applyPriority(m *message.Message, p *sendProperties, topic *body.TopicConfig, queueID int32) int32 {
	priority := p.priorityOf()
	if priority < 0 {
		return queueID
	}
	if message.TypeOf(m.Properties) != message.TypePriority {
		m.Properties = m.Properties.Without(message.KeyPriority)
		return queueID
	}
	m.QueueID = max(0, min(priority, topic.WriteQueueNums-1))
	return m.QueueID
}

// transformSend turns a half, delayed or timed message into what is stored of it. outMs is the time of a timed one, 0 for all others.
func (b *Broker) transformSend(s *sender, level int32, now int64) (outMs int64, err error) {
	m, p := &s.message, &s.properties
	// Clients before 4.6.1 give half messages back as they are.
	if p.prepared && !(m.ReconsumeTimes > 0 && level > 0) {
		if c := b.config(); c.Broker.RejectTransactionMessage {
			return 0, remoting.Errorf(remoting.NoPermission, "the broker[%s] sending transaction message is forbidden", c.Broker.BrokerIP1)
		}
		toHalf(m)
		return 0, nil
	}
	if level <= 0 && (!p.timer || p.timed) {
		return 0, nil
	}
	realTopic := m.Topic
	if outMs, err = b.delay(m, level, p.timer && !p.timed); err != nil || outMs == 0 {
		return 0, err
	}
	// How far ahead timers are set is counted.
	ensure(&b.stats.traffic.topic(realTopic).timed).add(&timedBounds, max(0, outMs-now)/1000)
	return outMs, nil
}

// endTurn answers the sends of a turn: one write for all of them, and where the answer waits for the disk, one flush.
func (b *Broker) endTurn(l *remoting.Loop) {
	if s := l.Data.(*sender); len(s.pending) > 0 { //nolint:errcheck,forcetypeassert // set by startLoop
		b.finishSends(s, true)
	}
}

// finishSends commits what s has staged and answers it. inTurn tells that this is the connection's loop.
func (b *Broker) finishSends(s *sender, inTurn bool) {
	flushed, err := b.commitSends(s, inTurn)
	if err != nil {
		for i := range s.pending {
			b.stats.putFailed()
			b.answerFailed(&s.pending[i], err, inTurn)
		}
		s.reset()
		return
	}
	now := b.clock.NowMs()
	b.countSends(s.pending, now)
	if flushed || !b.store.SyncFlush() {
		for i := range s.pending {
			s.answerSent(b, &s.pending[i], remoting.Success, inTurn)
		}
		s.reset()
		return
	}
	b.finishFlushed(s, inTurn)
}

func (s *sender) reset() {
	clear(s.pending)
	s.pending, s.arena = s.pending[:0], s.arena[:0]
	const keep = 64 << 10
	if cap(s.arena) > keep {
		s.arena = nil
	}
}

// answerSent answers a stored send. The remark is empty and the fields are those of SendMessageProcessor#handlePutMessageResult.
func (s *sender) answerSent(b *Broker, p *pendingSend, code int32, inTurn bool) {
	if p.oneway {
		return
	}
	s.fields = remoting.SendMessageResponseHeader{
		QueueID: p.queueID, QueueOffset: p.placed.QueueOffset,
		TransactionID: unsafeString(s.arena[p.uniqueFrom:p.uniqueTo]),
	}
	if p.recallTo > 0 {
		s.fields.RecallHandle = unsafeString(s.arena[p.uniqueTo:p.recallTo])
	}
	if p.inner {
		s.fields.BatchUniqID = s.fields.TransactionID
	}
	if p.idsTo > 0 {
		s.fields.MsgID = unsafeString(s.arena[p.uniqueTo:p.idsTo])
	} else {
		s.id = message.AppendOffsetMessageID(s.id[:0], b.identity.storeHost, p.placed.PhysicalOffset)
		s.fields.MsgID = unsafeString(s.id)
	}
	s.answer = remoting.Command{Code: code, Header: &s.fields, Ext: b.answers.Load().ext}
	if inTurn {
		p.replier.ReplyInTurn(&s.answer)
		return
	}
	_ = p.replier.Reply(&s.answer) // else the client is gone
}

// answerFailed answers a staged send that was not stored.
func (b *Broker) answerFailed(p *pendingSend, err error, inTurn bool) {
	if p.oneway {
		return
	}
	resp := b.refuseSend(remoting.NewResponse(remoting.SystemError), err)
	if inTurn {
		p.replier.ReplyInTurn(resp)
		return
	}
	_ = p.replier.Reply(resp) // else the client is gone
}

// refuseSend makes resp the answer to a send that failed with err.
func (b *Broker) refuseSend(resp *remoting.Command, err error) *remoting.Command {
	resp.Code, resp.Remark = b.putError(err)
	resp.Ext = b.answers.Load().ext
	return resp
}

package broker

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

// Bits of a pull's sysFlag (the reference's PullSysFlag).
const (
	pullCommitOffset int32 = 1
	pullSuspend      int32 = 2
	pullSubscription int32 = 4
)

// Values of forbiddenType (the reference's ForbiddenType).
const (
	forbiddenBroker       = "1"
	forbiddenGroup        = "2"
	forbiddenTopic        = "3"
	forbiddenBroadcast    = "4"
	forbiddenSubscription = "5"
)

// maxSuspend bounds how long a pull may ask to be held.
const maxSuspend = time.Hour

func (b *Broker) pullRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.PullMessage, Lane: remoting.OnLoop, Handle: b.pullMessage},
		{Code: remoting.LitePullMessage, Lane: remoting.OnLoop, Handle: b.pullMessage},
	}
}

// pull is one pull request on its way, from its frame to the answer. Pulls are pooled: an answered one is used again.
type pull struct {
	conn    *remoting.Conn
	replier remoting.Replier
	code    int32
	oneway  bool
	// first: nothing was held yet, so it may be, and its commit offset counts (brokerAllowSuspend in the reference).
	first   bool
	header  remoting.PullMessageRequestHeader
	begunMs int64

	topic  *body.TopicConfig
	group  *body.SubscriptionGroupConfig
	sub    *subscription
	filter store.Filter
	get    store.GetRequest
	result store.GetResult

	answer  remoting.Command
	fields  remoting.PullMessageResponseHeader
	release func() // gives result's parts and the pull itself back
	again   func() // runs it on its loop after it was held

	held heldPull
}

// newPull takes a pull from the pool.
func (b *Broker) newPull() *pull {
	if p, ok := b.pulls.Get().(*pull); ok {
		return p
	}
	p := &pull{}
	p.release = func() {
		p.result.Release()
		b.freePull(p)
	}
	p.again = func() {
		defer b.holds.woken.Done()
		b.pullWoken(p)
	}
	return p
}

// freePull gives a pull back whose answer holds nothing of it any more.
func (b *Broker) freePull(p *pull) {
	p.conn, p.topic, p.group, p.sub, p.filter = nil, nil, nil, nil, nil
	p.replier = remoting.Replier{}
	p.header = remoting.PullMessageRequestHeader{}
	p.get = store.GetRequest{}
	p.answer = remoting.Command{}
	p.held = heldPull{}
	b.pulls.Put(p)
}

// own copies what p aliases of its frame: it stays longer than its handler.
func (p *pull) own() {
	h := &p.header
	h.ConsumerGroup, h.Topic = strings.Clone(h.ConsumerGroup), strings.Clone(h.Topic)
	h.LiteTopic, h.ProxyFrowardClientID = strings.Clone(h.LiteTopic), strings.Clone(h.ProxyFrowardClientID)
	h.Subscription, h.ExpressionType = strings.Clone(h.Subscription), strings.Clone(h.ExpressionType)
}

// pullMessage is PULL_MESSAGE and LITE_PULL_MESSAGE (PullMessageProcessor#processRequest). On the loop it answers what needs
// no disk; the rest goes to the pool of cold pulls, or is held.
func (b *Broker) pullMessage(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	p := b.newPull()
	if err := req.Decode(&p.header); err != nil {
		b.freePull(p)
		return nil, err
	}
	p.conn, p.code, p.oneway, p.first, p.begunMs = conn, req.Code, req.IsOneway(), true, b.clock.NowMs()
	if p.oneway { // nobody waits for the messages
		b.freePull(p)
		return nil, nil
	}
	p.replier = conn.Replier(req)
	switch b.runPull(p, true) {
	case pullDone:
		b.answerPull(p, true)
	case pullMustWait:
		p.own()
		b.pullLater(p)
	case pullHold:
		p.own()
		b.holdPull(p)
	}
	return nil, nil
}

// pullOutcome is what runPull has made of a pull.
type pullOutcome uint8

const (
	// pullDone: p.answer is the answer.
	pullDone pullOutcome = iota
	// pullMustWait: it would have to wait for the disk.
	pullMustWait
	// pullHold: there is nothing, and the pull may wait for a message.
	pullHold
)

// runPull checks a pull in the reference's order, reads, and makes the answer. onLoop forbids waiting for the disk.
func (b *Broker) runPull(p *pull, onLoop bool) pullOutcome {
	c := b.config()
	if waiting := p.conn.OutboundBuffered(); waiting > maxUnread {
		p.refuse(remoting.SystemBusy, "", "this connection does not read its answers: %d bytes wait for it, the limit for another pull is %d", waiting, maxUnread)
		return pullDone
	}
	if waited, refused := b.checkPull(p, c, onLoop); waited {
		return pullMustWait
	} else if refused {
		return pullDone
	}
	if refused := b.subscribePull(p, c); refused {
		return pullDone
	}
	h := &p.header
	if c.Broker.UseServerSideResetOffset {
		if reset := b.offsets.takeReset(h.ConsumerGroup, h.Topic, h.QueueID); reset != noOffset {
			b.resetPull(p, reset)
			return pullDone
		}
	}
	if b.anew.take(h.ConsumerGroup, h.Topic, h.QueueID) && h.QueueOffset > 0 {
		b.resetPull(p, 0)
		return pullDone
	}
	p.get = store.GetRequest{
		Topic: p.topic.TopicName, QueueID: h.QueueID, Offset: h.QueueOffset, MaxCount: h.MaxMsgNums, Filter: p.filter, HotOnly: onLoop,
	}
	if h.LiteTopic != "" {
		p.get.Topic = message.LMQPrefix + "$" + h.Topic + "$" + h.LiteTopic
	}
	b.store.Get(&p.get, &p.result)
	if p.result.Status == store.Cold {
		p.result.Release()
		return pullMustWait
	}
	b.fillPull(p, c)
	b.noteOffsets(p)
	if p.answer.Code == remoting.PullNotFound && h.SysFlag&pullSuspend != 0 {
		if b.draining.Load() {
			p.refuse(remoting.SystemBusy, "", "%s", stoppingRemark)
			return pullDone
		}
		if p.first {
			return pullHold
		}
	}
	b.countPull(p)
	return pullDone
}

// stoppingRemark answers pulls that would wait while the broker stops: clients then wait a little before they ask again.
const stoppingRemark = "[STOPPING]the broker is stopping"

// refuse makes an error the answer. forbidden is the forbiddenType, "" when it is none of those.
func (p *pull) refuse(code int32, forbidden, format string, args ...any) {
	p.answer = remoting.Command{Code: code, Remark: fmt.Sprintf(format, args...)}
	if forbidden != "" {
		p.answer.Ext = []remoting.ExtField{{Key: "forbiddenType", Value: forbidden}}
	}
}

// checkPull finds group and topic and whether they may be read.
func (b *Broker) checkPull(p *pull, c *conf.Config, onLoop bool) (mustWait, refused bool) {
	h := &p.header
	switch {
	case c.Store.BrokerRole == roleSlave && !c.Broker.SlaveReadEnable:
		p.refuse(remoting.SystemBusy, "", "[REJECTREQUEST]system busy, start flow control for a while: brokerRole is %s, slaveReadEnable is false", roleSlave)
		return false, true
	case c.Broker.BrokerPermission&permRead == 0:
		p.refuse(remoting.NoPermission, forbiddenBroker, "the broker[%s] pulling message is forbidden", c.Broker.BrokerIP1)
		return false, true
	case p.code == remoting.LitePullMessage && !c.Broker.LitePullMessageEnable:
		p.refuse(remoting.NoPermission, forbiddenBroker, "the broker[%s] for lite pull consumer is forbidden", c.Broker.BrokerIP1)
		return false, true
	}
	p.group = b.groups.get(h.ConsumerGroup)
	if p.group == nil && b.groups.mayCreate(h.ConsumerGroup) {
		if onLoop {
			return true, false
		}
		p.group = b.groups.getOrCreate(h.ConsumerGroup)
	}
	switch {
	case p.group == nil:
		p.refuse(remoting.SubscriptionGroupNotExist, "", "subscription group [%s] does not exist, ", h.ConsumerGroup)
		return false, true
	case !p.group.ConsumeEnable:
		p.refuse(remoting.NoPermission, forbiddenGroup, "subscription group no permission, %s", h.ConsumerGroup)
		return false, true
	}
	p.topic = b.topics.get(h.Topic)
	switch {
	case p.topic == nil:
		p.refuse(remoting.TopicNotExist, "", "topic[%s] not exist, apply first please! ", h.Topic)
	case p.topic.Perm&permRead == 0:
		p.refuse(remoting.NoPermission, forbiddenTopic, "the topic[%s] pulling message is forbidden", h.Topic)
	case h.QueueID < 0 || h.QueueID >= p.topic.ReadQueueNums:
		p.refuse(remoting.InvalidParameter, "", "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			h.QueueID, h.Topic, p.topic.ReadQueueNums, p.conn.RemoteAddr())
	default:
		return false, false
	}
	return false, true
}

// subscribePull finds the subscription that decides what the pull gets, and the filter made of it.
func (b *Broker) subscribePull(p *pull, c *conf.Config) (refused bool) {
	h := &p.header
	sub, standing := b.consumers.lookup(h.ConsumerGroup, h.Topic)
	if h.SysFlag&pullSubscription != 0 {
		parsed, err := b.compensation.parse(h.ConsumerGroup, h.Topic, h.Subscription, h.ExpressionType, p.begunMs, p.begunMs)
		if err != nil {
			p.refuse(remoting.SubscriptionParseFailed, "", "parse the consumer's subscription failed: %s", err)
			return true
		}
		sub = parsed
	} else if b.refuseSubscription(p, sub, standing) {
		return true
	}
	if !sub.tag && !c.Broker.EnablePropertyFilter {
		p.refuse(remoting.SystemError, "", "The broker does not support consumer to filter message by %s, enablePropertyFilter is false", sub.data.ExpressionType)
		return true
	}
	if c.Broker.RejectPullConsumerEnable && (!standing.online || standing.consumeType == body.ConsumeActively) &&
		!b.consumers.isMember(h.ConsumerGroup, p.conn) && !mayPullUnknown(h.ConsumerGroup) {
		p.refuse(remoting.SubscriptionNotExist, "", "the consumer's group info not exist, or the pull consumer is rejected by server. rejectPullConsumerEnable is true")
		return true
	}
	p.sub = sub
	switch {
	case c.Broker.FilterSupportRetry && message.IsRetryTopic(h.Topic):
		p.filter = &retryFilter{subscription: sub, group: strings.Clone(h.ConsumerGroup), consumers: b.consumers}
	case sub.matchesAll():
		p.filter = nil
	default:
		p.filter = sub
	}
	return false
}

// refuseSubscription checks the subscription of the group's heartbeats.
func (b *Broker) refuseSubscription(p *pull, sub *subscription, g standing) bool {
	h := &p.header
	switch {
	case !g.online:
		p.refuse(remoting.SubscriptionNotExist, "", "the consumer's group info not exist")
	case g.broadcasting && !p.group.ConsumeBroadcastEnable:
		p.refuse(remoting.NoPermission, forbiddenBroadcast, "the consumer group[%s] can not consume by broadcast way", h.ConsumerGroup)
	case b.groups.isForbidden(h.ConsumerGroup, h.Topic):
		p.refuse(remoting.NoPermission, forbiddenSubscription, "the consumer group[%s] is forbidden for topic[%s]", h.ConsumerGroup, h.Topic)
	case sub == nil:
		p.refuse(remoting.SubscriptionNotExist, "", "the consumer's subscription not exist")
	case sub.data.SubVersion < h.SubVersion:
		p.refuse(remoting.SubscriptionNotLatest, "", "the consumer's subscription not latest")
		b.askSubscriptions(h.ConsumerGroup, p.conn)
	case sub.err != nil:
		p.refuse(remoting.FilterDataNotExist, "", "The broker's consumer filter data is not exist!Your expression may be wrong! %s", sub.err)
	default:
		return false
	}
	return true
}

// mayPullUnknown are the groups that pull without heartbeats (MixAll#isSysConsumerGroupPullMessage).
func mayPullUnknown(group string) bool {
	switch group {
	case message.GroupDefaultConsumer, message.GroupTools, message.GroupSchedule, message.GroupFilterServer, message.GroupMonitor,
		message.GroupSelfTestConsumer, message.GroupONSHTTPProxy, message.GroupONSAPIPermission, message.GroupONSAPIOwner,
		message.GroupONSAPIPull:
		return true
	}
	return message.IsSystemGroup(group)
}

// resetPull answers a pull whose queue was reset meanwhile.
func (b *Broker) resetPull(p *pull, offset int64) {
	h := &p.header
	p.result = store.GetResult{NextOffset: offset, MinOffset: noOffset}
	if q := b.store.Queue(p.topic.TopicName, h.QueueID); q != nil {
		p.result.MinOffset, p.result.MaxOffset = q.MinOffset(), q.MaxOffset()
	}
	b.offsets.pulled(h.ConsumerGroup, h.Topic, h.QueueID, offset)
	p.fillFields(b.config())
	p.answer = remoting.Command{Code: remoting.PullOffsetMoved, Remark: "OFFSET_RESET", Header: &p.fields}
}

// fillPull makes the answer out of what the store found (PullMessageProcessor#composeResponseHeader).
func (b *Broker) fillPull(p *pull, c *conf.Config) {
	p.fillFields(c)
	p.answer = remoting.Command{Remark: p.result.Status.String(), Header: &p.fields}
	switch p.result.Status {
	case store.Found:
		p.answer.Code = remoting.Success
	case store.NoMatchedMessage, store.MessageWasRemoving:
		p.answer.Code = remoting.PullRetryImmediately
	case store.NoMatchedLogicQueue, store.NoMessageInQueue:
		p.answer.Code = remoting.PullNotFound
		if p.header.QueueOffset != 0 {
			p.answer.Code = remoting.PullOffsetMoved
		}
	case store.OffsetFoundNull, store.OffsetOverflowOne:
		p.answer.Code = remoting.PullNotFound
	case store.OffsetOverflowBadly, store.OffsetTooSmall, store.Cold:
		p.answer.Code = remoting.PullOffsetMoved
	case store.Unreadable:
		// Clients ask again some seconds after an error, and not from elsewhere.
		p.refuse(remoting.SystemError, "", "topic[%s] queueId[%d] cannot be read at offset %d: %s", p.header.Topic, p.header.QueueID, p.header.QueueOffset, p.result.Err)
	}
	if c.Store.BrokerRole == roleSlave && !c.Store.OffsetCheckInSlave && p.answer.Code == remoting.PullOffsetMoved {
		p.fields.NextBeginOffset = p.header.QueueOffset
		p.fields.SuggestWhichBrokerID = p.group.BrokerID
		p.answer.Code = remoting.PullRetryImmediately
	}
}

func (p *pull) fillFields(c *conf.Config) {
	p.fields = remoting.PullMessageResponseHeader{
		NextBeginOffset: p.result.NextOffset, MinOffset: p.result.MinOffset, MaxOffset: p.result.MaxOffset,
		TopicSysFlag: remoting.Some(p.topic.TopicSysFlag), GroupSysFlag: remoting.Some(p.group.GroupSysFlag),
	}
	if c.Broker.SlaveReadEnable {
		p.fields.SuggestWhichBrokerID = p.group.BrokerID
		if p.result.SuggestSlave {
			p.fields.SuggestWhichBrokerID = p.group.WhichBrokerWhenConsumeSlowly
		}
	}
}

// noteOffsets keeps where the group reads next and what it commits with its pull (PullMessageProcessor#tryCommitOffset).
func (b *Broker) noteOffsets(p *pull) {
	h := &p.header
	commit := int64(noOffset)
	if p.first && h.SysFlag&pullCommitOffset != 0 && h.CommitOffset >= 0 {
		commit = h.CommitOffset
	}
	b.offsets.read(h.ConsumerGroup, h.Topic, h.QueueID, p.fields.NextBeginOffset, commit)
}

// countPull counts a pull that is answered now.
func (b *Broker) countPull(p *pull) {
	h := &p.header
	if p.answer.Code != remoting.Success {
		b.stats.miss()
		return
	}
	took := time.Duration(max(0, b.clock.NowMs()-p.begunMs)) * time.Millisecond
	b.stats.get(h.ConsumerGroup, p.topic.TopicName, h.QueueID, p.result.Count, p.result.Bytes, took)
}

// answerPull sends the answer of p and gives p back once its bytes are out. inTurn tells that this is the connection's loop.
func (b *Broker) answerPull(p *pull, inTurn bool) {
	if p.answer.Code == remoting.Success {
		p.answer.BodyParts, p.answer.Release = p.result.Parts, p.release
		b.sendAnswer(p, inTurn) // p may be in use again from here on
		return
	}
	p.result.Release()
	b.sendAnswer(p, inTurn)
	b.freePull(p)
}

// maxUnread is how many bytes may wait for a slow reader before it gets no more messages.
const maxUnread = 4 << 20

func (b *Broker) sendAnswer(p *pull, inTurn bool) {
	if inTurn {
		p.replier.ReplyInTurn(&p.answer)
		return
	}
	_ = p.replier.Reply(&p.answer) // else the client is gone
}

// pullLater hands a pull to a worker that may wait for the disk. p owns its strings.
func (b *Broker) pullLater(p *pull) {
	if b.coldPulls.try(func() { b.pullAgain(p) }) {
		return
	}
	p.refuse(remoting.SystemBusy, "", "[OVERLOAD]system busy, start flow control for a while: pullThreadPoolQueueCapacity is %d", b.config().Broker.PullThreadPoolQueueCapacity)
	b.answerPull(p, false)
}

// pullWoken runs a pull that was held, on its loop.
func (b *Broker) pullWoken(p *pull) {
	switch b.runPull(p, true) {
	case pullDone:
		b.answerPull(p, true)
	case pullMustWait:
		b.pullLater(p)
	case pullHold:
		b.holdPull(p)
	}
}

// pullAgain runs a pull that must wait for the disk, on a worker.
func (b *Broker) pullAgain(p *pull) {
	if b.runPull(p, false) == pullHold {
		b.holdPull(p)
		return
	}
	b.answerPull(p, false)
}

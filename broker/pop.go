package broker

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

func (b *Broker) popRoutes() []remoting.Route {
	return withShortCodes([]remoting.Route{
		{Code: remoting.PopMessage, Lane: lanePop, Handle: b.popMessage},
		{Code: remoting.AckMessage, Lane: lanePop, Handle: b.ackMessage},
		{Code: remoting.BatchAckMessage, Lane: lanePop, Handle: b.batchAckMessage},
		{Code: remoting.ChangeMessageInvisibletime, Lane: lanePop, Handle: b.changeInvisible},
		{Code: remoting.PeekMessage, Lane: lanePop, Handle: b.peekMessage},
		{Code: remoting.Notification, Lane: lanePop, Handle: b.notification},
		{Code: remoting.PollingInfo, Lane: lanePop, Handle: b.pollingInfo},
	})
}

// withShortCodes adds routes for what is left of codes in the binary header, which has 16 bits for them: there POP_MESSAGE, 200050,
// arrives as 3442. No other request has such a code.
func withShortCodes(routes []remoting.Route) []remoting.Route {
	for _, r := range slices.Clone(routes) {
		r.Code = int32(int16(r.Code)) //nolint:gosec // what the encoding does
		routes = append(routes, r)
	}
	return routes
}

// pop gives messages to consumers that hold no queues: each message given out is invisible to the group for a while
// and comes back through a retry topic unless it is acknowledged (PopMessageProcessor and its kin).
//
// What is invisible stands in the log, in the reference's form: a checkpoint for each pop and an ack for each answer, both
// as timer messages to the revive topic, where the reviver reads them when they are due. Memory holds the same for as
// long as the process lives (flights): it knows of acks before they get there, and of handles that have been replaced.
type pop struct {
	b      *Broker
	order  *popOrder
	flight *popFlights
	waits  *popWaits // pops that wait for a message
	notes  *popWaits // notifications that wait for one
	locks  queueLocks
	revive *reviver
	turn   atomic.Uint32 // round robin over the revive queues
}

func newPop(b *Broker) *pop {
	p := &pop{b: b, order: newPopOrder(b.clock, b.files), flight: newPopFlights(b.clock)}
	p.waits = newPopWaits(b.clock, false, b.popAgain)
	p.notes = newPopWaits(b.clock, true, b.notifyAgain)
	p.revive = newReviver(p)
	return p
}

// load reads what ordered pops gave out before the last stop.
func (p *pop) load() error { return p.order.load(p.b.log) }

// start wakes and revives from now on.
func (p *pop) start() {
	p.waits.start()
	p.notes.start()
	p.order.pending(func(key orderKey, freeAt int64) { p.waits.wakeAt(key, freeAt) })
	p.revive.start()
}

// drain answers what waits; nothing can wait afterwards.
func (p *pop) drain() {
	p.waits.close()
	p.notes.close()
}

// close ends the reviving and saves the ordered state.
func (p *pop) close() error {
	p.drain()
	p.revive.close()
	return p.saveOrder()
}

func (p *pop) saveOrder() error {
	p.order.clean(func(topic, group string) int32 {
		config := p.b.topics.get(topic)
		if config == nil || p.b.groups.get(group) == nil {
			return 0
		}
		return config.ReadQueueNums
	})
	return p.order.file.save()
}

// arrived wakes what waits for a message. It runs on the dispatch path.
func (p *pop) arrived(a store.Arrival) {
	p.revive.arrived(&a)
	if p.waits.idle() && p.notes.idle() {
		return
	}
	p.waits.arrived(&a)
	p.notes.arrived(&a)
}

// removeTopic forgets a deleted topic.
func (p *pop) removeTopic(topic string) {
	p.order.removeTopic(topic)
	p.flight.removeTopic(topic)
}

// removeGroup forgets a deleted group.
func (p *pop) removeGroup(group string) { p.order.removeGroup(group) }

// popRequest is one POP_MESSAGE on its way. It owns its strings.
type popRequest struct {
	header  remoting.PopMessageRequestHeader
	topic   *body.TopicConfig
	group   *body.SubscriptionGroupConfig
	sub     *subscription // nil: everything
	conn    *remoting.Conn
	replier remoting.Replier
	begunMs int64
}

func (r *popRequest) ordered() bool { return r.header.Order.Or(false) }

// lateMs is how much later than it wanted a pop may come before it is not worth serving (isTimeoutTooMuch).
const lateMs = 500

// popMessage is POP_MESSAGE (PopMessageProcessor#processRequest).
func (b *Broker) popMessage(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	r := &popRequest{conn: c, begunMs: b.clock.NowMs()}
	h := &r.header
	if err := req.Decode(h); err != nil {
		return nil, err
	}
	if req.IsOneway() {
		return nil, nil // nobody waits for the messages
	}
	h.ConsumerGroup, h.Topic, h.ExpType, h.Exp, h.AttemptID = cloned(h.ConsumerGroup), cloned(h.Topic), cloned(h.ExpType), cloned(h.Exp), cloned(h.AttemptID)
	if h.BornTime == 0 {
		h.BornTime = r.begunMs
	}
	if err := b.checkPop(r); err != nil {
		return nil, err
	}
	r.replier = c.Replier(req)
	b.runPop(r, true)
	return nil, nil
}

// checkPop checks a pop in the reference's order and finds topic, group and filter.
func (b *Broker) checkPop(r *popRequest) error {
	h, c := &r.header, b.config()
	ip := c.Broker.BrokerIP1
	switch {
	case r.begunMs-h.BornTime-h.PollTime > lateMs:
		return remoting.Errorf(remoting.PollingTimeout, "the broker[%s] pop message is timeout too much", ip)
	case c.Broker.BrokerPermission&permRead == 0:
		return remoting.Errorf(remoting.NoPermission, "the broker[%s] pop message is forbidden", ip)
	case h.MaxMsgNums > maxPopMessages:
		return remoting.Errorf(remoting.InvalidParameter, "the broker[%s] pop message's num is greater than 32", ip)
	case !c.Store.TimerWheelEnable:
		return remoting.Errorf(remoting.SystemError, "the broker[%s] pop message is forbidden because timerWheelEnable is false", ip)
	case h.InvisibleTime > int64(c.Store.TimerMaxDelaySec)*1000 || h.InvisibleTime < 0:
		return remoting.Errorf(remoting.InvalidParameter, "invisibleTime is %d ms, allowed are 0 to %d (timerMaxDelaySec)", h.InvisibleTime, int64(c.Store.TimerMaxDelaySec)*1000)
	}
	var err error
	if r.topic, r.group, err = b.popTopicAndGroup(h.Topic, h.ConsumerGroup, h.QueueID, r.conn); err != nil {
		return err
	}
	if h.Exp == "" {
		return nil
	}
	sub, err := b.compensation.parse(h.ConsumerGroup, h.Topic, h.Exp, h.ExpType, r.begunMs, r.begunMs)
	if err != nil {
		return remoting.Errorf(remoting.SubscriptionParseFailed, "parse the consumer's subscription failed: %v", err)
	}
	if !sub.matchesAll() {
		r.sub = sub
	}
	return nil
}

// popTopicAndGroup finds what pop, peek and their kin read, if they may.
func (b *Broker) popTopicAndGroup(topicName, groupName string, queueID int32, c *remoting.Conn) (*body.TopicConfig, *body.SubscriptionGroupConfig, error) {
	topic := b.topics.get(topicName)
	switch {
	case topic == nil:
		return nil, nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist, apply first please! ", topicName)
	case topic.Perm&permRead == 0:
		return nil, nil, remoting.Errorf(remoting.NoPermission, "the topic[%s] peeking message is forbidden", topicName)
	case queueID >= topic.ReadQueueNums:
		return nil, nil, remoting.Errorf(remoting.InvalidParameter, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			queueID, topicName, topic.ReadQueueNums, c.RemoteAddr())
	}
	group := b.groups.getOrCreate(groupName)
	switch {
	case group == nil:
		return nil, nil, remoting.Errorf(remoting.SubscriptionGroupNotExist, "subscription group [%s] does not exist, ", groupName)
	case !group.ConsumeEnable:
		return nil, nil, remoting.Errorf(remoting.NoPermission, "subscription group no permission, %s", groupName)
	}
	return topic, group, nil
}

// popAgain runs a pop that was woken.
func (b *Broker) popAgain(w *popWait) {
	if r := w.pop; !r.conn.Closed() {
		r.replier.Hold()
		b.runPop(r, !w.last)
		return
	}
	b.pop.waits.wakeOne(w.topic, w.group, w.queueID) // the message is for the next one
}

// runPop reads for a pop and answers it, or lets it wait.
func (b *Broker) runPop(r *popRequest, mayWait bool) {
	h := &r.header
	// What arrives from here on is seen by the reading below or keeps the pop from waiting.
	seen := b.pop.waits.generation(h.Topic)
	round := b.newPopRound(r)
	round.read()
	if round.count > 0 {
		resp := round.answer(remoting.Success, store.Found)
		b.logReply(r.replier.Reply(resp), remoting.PopMessage)
		if round.rest > 0 {
			b.pop.waits.wakeOne(h.Topic, h.ConsumerGroup, h.QueueID)
		}
		return
	}
	code := remoting.PollingTimeout
	if mayWait {
		switch b.pop.waits.hold(&popWait{pop: r, topic: h.Topic, group: h.ConsumerGroup, queueID: h.QueueID, filter: filterOf(r.sub)}, h.BornTime, h.PollTime, seen, b.config()) {
		case waitHeld:
			if round.rest > 0 {
				b.pop.waits.wakeOne(h.Topic, h.ConsumerGroup, h.QueueID)
			}
			return
		case waitFull:
			code = remoting.PollingFull
		case waitOver:
		}
	}
	b.logReply(r.replier.Reply(round.answer(code, store.NoMessageInQueue)), remoting.PopMessage)
}

// filterOf is a subscription as a filter, nil when everything matches.
func filterOf(s *subscription) store.Filter {
	if s == nil {
		return nil
	}
	return s
}

// popRound reads the queues for one pop.
type popRound struct {
	b       *Broker
	r       *popRequest
	config  *conf.Config
	popTime int64
	revive  int32
	offsets popOffsets

	count    int
	rest     int64 // messages that are there and were not given out
	parts    [][]byte
	releases []func()
}

func (b *Broker) newPopRound(r *popRequest) *popRound {
	round := &popRound{b: b, r: r, config: b.config(), popTime: b.clock.NowMs(), revive: popOrderReviveQueue}
	if !r.ordered() {
		round.revive = int32(b.pop.turn.Add(1)-1) % max(round.config.Broker.ReviveQueueNum, 1)
	}
	return round
}

// read visits the group's retry topic and the topic's queues in a random order, the retry topic first now and then
// (PopMessageProcessor#processRequest).
func (p *popRound) read() {
	h, c := &p.r.header, &p.config.Broker
	chance := rand.Int32N(100)
	priority := !p.r.ordered() && p.r.topic.Attributes[attributeMessageType] == string(message.TypePriority) && chance < priorityFactor(p.r.group)
	retryChance := c.PopFromRetryProbability
	if priority {
		retryChance = c.PopFromRetryProbabilityForPriority
	}
	retryFirst := chance < retryChance
	retry := message.PopRetryTopic(h.Topic, h.ConsumerGroup, c.EnableRetryTopicV2 && !(c.RetrieveMessageFromPopRetryTopicV1 && chance%2 == 0))
	first := chance
	if priority {
		first = 0
	}
	if retryFirst && !p.r.ordered() {
		p.readTopic(p.b.topics.get(retry), true, first)
	}
	if h.QueueID < 0 {
		p.readTopic(p.r.topic, false, first)
	} else {
		p.readQueue(p.r.topic.TopicName, false, h.QueueID)
	}
	if !retryFirst && p.count < int(h.MaxMsgNums) && !p.r.ordered() {
		p.readTopic(p.b.topics.get(retry), true, first)
	}
}

// priorityFactor is how often, of a hundred times, a group reads the queues of a priority topic from the highest down.
func priorityFactor(group *body.SubscriptionGroupConfig) int32 {
	return int32(atoi(group.Attributes["priority.factor"], 100))
}

// readTopic reads all queues of a topic, nil when there is none, from the first-th on.
func (p *popRound) readTopic(topic *body.TopicConfig, retry bool, first int32) {
	if topic == nil {
		return
	}
	n := topic.ReadQueueNums
	for i := range n {
		index := i
		if p.config.Broker.PriorityOrderAsc {
			index = n - 1 - i
		}
		p.readQueue(topic.TopicName, retry, (index+first)%n)
	}
}

// answer makes the answer out of what was read.
func (p *popRound) answer(code int32, status store.GetStatus) *remoting.Command {
	resp := remoting.NewResponse(code)
	resp.Remark = status.String()
	head := &remoting.PopMessageResponseHeader{
		PopTime: p.popTime, InvisibleTime: p.r.header.InvisibleTime, ReviveQid: p.revive, RestNum: p.rest,
		StartOffsetInfo: p.offsets.start.String(), MsgOffsetInfo: p.offsets.msgs.String(), OrderCountInfo: p.offsets.order.String(),
	}
	resp.Header = head
	resp.BodyParts = p.parts
	if releases := p.releases; len(releases) > 0 {
		resp.Release = func() {
			for _, release := range releases {
				release()
			}
		}
	}
	return resp
}

// queueLocks keeps two pops of a group from reading the same queue at once. The zero value is ready. Safe for concurrent
// use.
type queueLocks struct {
	mu   sync.Mutex
	held map[orderKey]chan struct{} // closed when given back
}

func (l *queueLocks) tryLock(key orderKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[orderKey]chan struct{}{}
	}
	if l.held[key] != nil {
		return false
	}
	l.held[key] = make(chan struct{})
	return true
}

func (l *queueLocks) lock(key orderKey) {
	for !l.tryLock(key) {
		l.mu.Lock()
		other := l.held[key]
		l.mu.Unlock()
		if other != nil {
			<-other
		}
	}
}

func (l *queueLocks) unlock(key orderKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[key])
	delete(l.held, key)
}

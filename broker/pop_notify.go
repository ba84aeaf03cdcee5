package broker

import (
	"math/rand/v2"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

// notificationRequest is one NOTIFICATION on its way. It owns its strings.
type notificationRequest struct {
	header  remoting.NotificationRequestHeader
	topic   *body.TopicConfig
	sub     *subscription // nil: everything
	conn    *remoting.Conn
	replier remoting.Replier
}

// notification is NOTIFICATION: it tells whether there is a message to pop, now or when one comes (NotificationProcessor).
func (b *Broker) notification(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	r := &notificationRequest{conn: c}
	h := &r.header
	if err := req.Decode(h); err != nil {
		return nil, err
	}
	if req.IsOneway() {
		return nil, nil // nobody waits for the answer
	}
	h.ConsumerGroup, h.Topic, h.ExpType, h.Exp, h.AttemptID = cloned(h.ConsumerGroup), cloned(h.Topic), cloned(h.ExpType), cloned(h.Exp), cloned(h.AttemptID)
	now, config := b.clock.NowMs(), b.config()
	if h.BornTime == 0 {
		h.BornTime = now
	}
	if config.Broker.BrokerPermission&permRead == 0 {
		return nil, remoting.Errorf(remoting.NoPermission, "the broker[%s] peeking message is forbidden", config.Broker.BrokerIP1)
	}
	var err error
	if r.topic, _, err = b.popTopicAndGroup(h.Topic, h.ConsumerGroup, h.QueueID, c); err != nil {
		return nil, err
	}
	if config.Broker.UseMessageFilterForNotification && h.Exp != "" && h.ExpType != "" {
		sub, err := b.compensation.parse(h.ConsumerGroup, h.Topic, h.Exp, h.ExpType, now, now)
		if err != nil {
			return nil, remoting.Errorf(remoting.SubscriptionParseFailed, "parse the consumer's subscription failed: %v", err)
		}
		if !sub.matchesAll() {
			r.sub = sub
		}
	}
	r.replier = c.Replier(req)
	b.runNotification(r, true)
	return nil, nil
}

// notifyAgain runs a notification that was woken. In the reference it looks again before it answers.
func (b *Broker) notifyAgain(w *popWait) {
	if r := w.note; !r.conn.Closed() {
		r.replier.Hold()
		b.runNotification(r, !w.last)
		return
	}
	b.pop.notes.wakeOne(w.topic, w.group, w.queueID)
}

func (b *Broker) runNotification(r *notificationRequest, mayWait bool) {
	h := &r.header
	seen := b.pop.notes.generation(h.Topic)
	head := &remoting.NotificationResponseHeader{HasMsg: b.hasMessage(r)}
	if !head.HasMsg && mayWait {
		w := &popWait{note: r, topic: h.Topic, group: h.ConsumerGroup, queueID: h.QueueID, filter: filterOf(r.sub)}
		switch b.pop.notes.hold(w, h.BornTime, h.PollTime, seen, b.config()) {
		case waitHeld:
			return
		case waitFull:
			head.PollingFull = true
		case waitOver:
		}
	}
	resp := success()
	resp.Header = head
	b.logReply(r.replier.Reply(resp), remoting.Notification)
}

// hasMessage tells whether a pop would find something, in the topic or else in the group's retry topics.
func (b *Broker) hasMessage(r *notificationRequest) bool {
	h, c := &r.header, &b.config().Broker
	if h.QueueID >= 0 {
		if b.hasMessageIn(r, r.topic.TopicName, h.QueueID, r.sub) {
			return true
		}
	} else if b.hasMessageInTopic(r, r.topic, r.sub) {
		return true
	}
	if b.hasMessageInTopic(r, b.topics.get(message.PopRetryTopic(h.Topic, h.ConsumerGroup, c.EnableRetryTopicV2)), nil) {
		return true
	}
	return c.EnableRetryTopicV2 && c.RetrieveMessageFromPopRetryTopicV1 &&
		b.hasMessageInTopic(r, b.topics.get(message.PopRetryTopic(h.Topic, h.ConsumerGroup, false)), nil)
}

func (b *Broker) hasMessageInTopic(r *notificationRequest, topic *body.TopicConfig, sub *subscription) bool {
	if topic == nil {
		return false
	}
	for id := range topic.ReadQueueNums {
		if b.hasMessageIn(r, topic.TopicName, id, sub) {
			return true
		}
	}
	return false
}

// hasMessageIn looks at one queue. With a filter by tags the next entries are looked at, but of a long backlog none
// (maxMessageFilterNumForNotification).
func (b *Broker) hasMessageIn(r *notificationRequest, topic string, queueID int32, sub *subscription) bool {
	h := &r.header
	if h.Order.Or(false) && b.pop.order.blocked(orderKey{h.Topic, h.ConsumerGroup, queueID}, h.AttemptID, 0) {
		return false
	}
	queue := b.store.Queue(topic, queueID)
	if queue == nil {
		return false
	}
	offset := b.offsets.query(h.ConsumerGroup, topic, queueID)
	if offset < 0 {
		offset = queue.MinOffset()
	}
	rest := queue.MaxOffset() - offset
	if sub == nil || !sub.tag || rest >= int64(b.config().Broker.MaxMessageFilterNumForNotification) {
		return rest > 0
	}
	found := false
	err := queue.Range(offset, func(e store.Entry) bool {
		found = sub.MatchTagsCode(e.TagsCode)
		return !found
	})
	return found || err != nil
}

// pollingInfo is POLLING_INFO: how many pops wait for a queue (PollingInfoProcessor).
func (b *Broker) pollingInfo(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.PollingInfoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if config := b.config(); config.Broker.BrokerPermission&permRead == 0 {
		return nil, remoting.Errorf(remoting.NoPermission, "the broker[%s] peeking message is forbidden", config.Broker.BrokerIP1)
	}
	if _, _, err := b.popTopicAndGroup(h.Topic, h.ConsumerGroup, h.QueueID, c); err != nil {
		return nil, err
	}
	resp := success()
	resp.Header = &remoting.PollingInfoResponseHeader{PollingNum: int32(b.pop.waits.polling(h.Topic, h.ConsumerGroup, h.QueueID))}
	return resp, nil
}

// peekMessage is PEEK_MESSAGE: messages a pop would get, without giving them out (PeekMessageProcessor).
func (b *Broker) peekMessage(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.PeekMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	config := b.config()
	if config.Broker.BrokerPermission&permRead == 0 {
		return nil, remoting.Errorf(remoting.NoPermission, "the broker[%s] peeking message is forbidden", config.Broker.BrokerIP1)
	}
	topic, _, err := b.popTopicAndGroup(h.Topic, h.ConsumerGroup, h.QueueID, c)
	if err != nil {
		return nil, err
	}
	chance := rand.Int32N(100)
	retry := b.topics.get(message.PopRetryTopic(h.Topic, h.ConsumerGroup, config.Broker.EnableRetryTopicV2))
	p := peekRound{b: b, group: h.ConsumerGroup, limit: int(min(h.MaxMsgNums, maxPopMessages))}
	retryFirst := chance%5 == 0
	if retryFirst {
		p.topic(retry, chance)
	}
	if h.QueueID < 0 {
		p.topic(topic, chance)
	} else {
		p.queue(topic.TopicName, h.QueueID)
	}
	if !retryFirst {
		p.topic(retry, chance)
	}
	code, status := remoting.PullNotFound, store.NoMessageInQueue
	if p.count > 0 {
		code, status = remoting.Success, store.Found
		b.stats.get(cloned(h.ConsumerGroup), topic.TopicName, max(h.QueueID, 0), p.count, p.bytes, 0)
	}
	resp := remoting.NewResponse(code)
	resp.Remark = status.String()
	resp.Header = &remoting.PopMessageResponseHeader{RestNum: p.rest}
	resp.BodyParts = p.parts
	results := p.results
	resp.Release = func() {
		for _, r := range results {
			r.Release()
		}
	}
	return resp, nil
}

// peekRound reads queues for a peek.
type peekRound struct {
	b       *Broker
	group   string
	limit   int
	count   int
	bytes   int
	rest    int64
	parts   [][]byte
	results []*store.GetResult
}

func (p *peekRound) topic(topic *body.TopicConfig, first int32) {
	if topic == nil {
		return
	}
	for i := range topic.ReadQueueNums {
		p.queue(topic.TopicName, (first+i)%topic.ReadQueueNums)
	}
}

func (p *peekRound) queue(topic string, queueID int32) {
	queue := p.b.store.Queue(topic, queueID)
	if queue == nil {
		return
	}
	offset := p.b.offsets.query(p.group, topic, queueID)
	if offset < 0 {
		offset = queue.MinOffset()
	}
	p.rest += max(queue.MaxOffset()-offset, 0)
	if p.count >= p.limit {
		return
	}
	result := new(store.GetResult)
	get := store.GetRequest{Topic: topic, QueueID: queueID, Offset: offset, MaxCount: int32(p.limit - p.count)}
	p.b.store.Get(&get, result)
	if result.Status == store.OffsetTooSmall || result.Status == store.OffsetOverflowBadly {
		get.Offset = result.NextOffset
		result.Release()
		p.b.store.Get(&get, result)
	}
	p.count += result.Count
	p.bytes += result.Bytes
	p.parts = append(p.parts, result.Parts...)
	p.results = append(p.results, result)
}

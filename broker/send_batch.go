package broker

import (
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// maxBatchMessages bounds the messages of one batch.
const maxBatchMessages = 65_536

// stageBatch stages the messages of a batch: all of them or none (SendMessageProcessor#sendBatchMessage and
// CommitLog#asyncPutMessages). Their properties are stored as they come: the broker's pairs are not added to them.
func (b *Broker) stageBatch(s *sender, topic *body.TopicConfig, now int64) (pendingSend, error) {
	m, p := &s.message, &s.properties
	switch {
	case len(m.Topic) > message.MaxTopicV1:
		return pendingSend{}, remoting.Errorf(remoting.MessageIllegal, "message topic length too long %d", len(m.Topic))
	case message.IsRetryTopic(m.Topic):
		return pendingSend{}, remoting.Errorf(remoting.MessageIllegal, "batch request does not support retry group %s", m.Topic)
	}
	level, err := p.delayLevel()
	switch {
	case err != nil:
		return pendingSend{}, err
	case level > 0 || p.timer:
		return pendingSend{}, b.illegal("a batch cannot be delayed")
	case message.Transaction(m.SysFlag) != message.TransactionNone || p.prepared:
		return pendingSend{}, b.illegal("a batch cannot be transactional")
	}
	inner := hasBatchQueues(topic) && p.uniqueKey != ""
	if !inner {
		if err := b.checkInnerBatch(m, p, topic); err != nil {
			return pendingSend{}, err
		}
	}
	if limit := int(b.config().Store.MaxMessageSize); len(m.Body) > limit {
		return pendingSend{}, b.illegal("the body of the batch has %d bytes", len(m.Body))
	}
	if topic.TopicFilterType == body.MultiTag {
		m.SysFlag |= message.SysMultiTags
	}
	if err := b.splitBatch(s); err != nil {
		return pendingSend{}, err
	}
	if inner {
		return b.stageInner(s, now)
	}
	placed, err := b.store.StageBatchTo(s.placed[:0], s.batch)
	if err != nil {
		return pendingSend{}, err
	}
	s.placed = placed
	begin := len(s.arena)
	s.arena = append(s.arena, p.uniqueKey...)
	end, size := len(s.arena), 0
	for i := range placed {
		if i > 0 {
			s.arena = append(s.arena, ',')
		}
		s.arena = message.AppendOffsetMessageID(s.arena, b.identity.storeHost, placed[i].PhysicalOffset)
		size += int(placed[i].Size)
	}
	out := pendingSend{
		placed: placed[0], topic: m.Topic, queueID: m.QueueID, putID: m.QueueID, count: len(placed), size: size,
		begunMs: now, uniqueFrom: begin, uniqueTo: end, idsTo: len(s.arena), wait: p.waitStored,
	}
	out.placed.Ticket = placed[len(placed)-1].Ticket
	return out, nil
}

// splitBatch makes s.batch of the entries in the body. Each takes over what the header says of all of them.
func (b *Broker) splitBatch(s *sender) error {
	s.batch = s.batch[:0]
	for rest := s.message.Body; len(rest) > 0; {
		entry, next, err := message.CutBatchEntry(rest)
		if err != nil {
			return b.illegal("message %d of the batch: %s", len(s.batch), err)
		}
		if len(s.batch) == maxBatchMessages {
			return b.illegal("the batch has more than %d messages", maxBatchMessages)
		}
		s.batch = append(s.batch, s.message)
		m := &s.batch[len(s.batch)-1]
		m.Flag, m.Body, m.Properties = entry.Flag, entry.Body, entry.Properties
		if m.Body == nil {
			m.Body = []byte{}
		}
		if err := b.checkBatchEntry(len(s.batch)-1, m.Properties); err != nil {
			return err
		}
		rest = next
	}
	if len(s.batch) == 0 {
		return b.illegal("the batch has no messages")
	}
	return nil
}

// checkBatchEntry refuses what the reference would store and never deliver as asked: a delay inside a batch.
func (b *Broker) checkBatchEntry(i int, properties message.Properties) error {
	var p sendProperties
	p.scan(properties)
	level, err := p.delayLevel()
	if err != nil {
		return err
	}
	if level > 0 || p.timer && !p.timed {
		return b.illegal("message %d of the batch is delayed, which a batch cannot be", i)
	}
	return nil
}

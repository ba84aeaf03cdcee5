package broker

import (
	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// retryOrDeadLetter decides about a message that a consumer sent to its group's retry topic itself, because giving it back
// had failed or it consumes in order (SendMessageProcessor#handleRetryAndDLQ). One that has been tried too often, or
// whose group holds queue locks, goes to the dead letters instead; dead tells that.
func (b *Broker) retryOrDeadLetter(req *remoting.Command, s *sender, topic **body.TopicConfig, mayWait bool) (dead bool, err error) {
	m := &s.message
	name := message.RetryGroup(m.Topic)
	group := b.groups.get(name)
	if group == nil && b.groups.mayCreate(name) {
		if !mayWait {
			return false, errMustWait
		}
		group = b.groups.getOrCreate(name)
	}
	if group == nil {
		return false, noGroup(name)
	}
	most := maxReconsume(group, req, s.header.MaxReconsumeTimes)
	if m.ReconsumeTimes <= most && !b.locks.ordered(name) {
		return false, nil
	}
	dlq, err := b.deadLetterTopic(name, mayWait)
	if err != nil {
		return false, err
	}
	b.log.WithFields(logrus.Fields{"group": name, "reconsumeTimes": m.ReconsumeTimes, "max": most}).Info("retried message goes to the dead letters")
	*topic = dlq
	m.Topic, m.QueueID = dlq.TopicName, 0
	m.Properties = m.Properties.With(message.KeyDelayLevel, "-1")
	return true, nil
}

// maxReconsume is how often a group's message may be tried: the request's limit goes before the group's.
func maxReconsume(group *body.SubscriptionGroupConfig, req *remoting.Command, asked remoting.Optional[int32]) int32 {
	if req.Version >= remoting.V349 && asked.Set {
		return asked.Value
	}
	return group.RetryMaxTimes
}

// deadLetterTopic is the dead-letter topic of a group, created when missing: errMustWait if that must not be now.
func (b *Broker) deadLetterTopic(group string, mayWait bool) (*body.TopicConfig, error) {
	name := message.DLQTopic(group)
	if topic := b.topics.get(name); topic != nil {
		return topic, nil
	}
	if !mayWait {
		return nil, errMustWait
	}
	return b.groupTopic(name, 1, 0)
}

// groupTopic is a retry or dead-letter topic, created when missing.
func (b *Broker) groupTopic(name string, queues, sysFlag int32) (*body.TopicConfig, error) {
	topic, err := b.topics.createForGroup(name, queues, permBoth, false, sysFlag)
	if topic == nil {
		return nil, remoting.Errorf(remoting.SystemError, "topic[%s] not exist: %s", name, err)
	}
	if err != nil && b.warnings.allow("topics.json") {
		b.log.WithError(err).Warn("a new topic is not saved")
	}
	return topic, nil
}

func noGroup(name string) error {
	return remoting.Errorf(remoting.SubscriptionGroupNotExist, "subscription group not exist, %s ", name)
}

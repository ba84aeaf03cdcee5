package body

import "cmp"

// MessageQueue names one queue of a topic on one broker.
type MessageQueue struct {
	Topic      string
	BrokerName string
	QueueID    int32
}

func (q *MessageQueue) members(m *members) {
	m.str("brokerName", &q.BrokerName)
	m.i32("queueId", &q.QueueID)
	m.str("topic", &q.Topic)
}

// Compare orders by topic, broker name and queue id (MessageQueue.compareTo).
func (q MessageQueue) Compare(other MessageQueue) int {
	return cmp.Or(
		cmp.Compare(q.Topic, other.Topic),
		cmp.Compare(q.BrokerName, other.BrokerName),
		cmp.Compare(q.QueueID, other.QueueID),
	)
}

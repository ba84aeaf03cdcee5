package broker

import (
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// toHalf makes m the half message that waits for the producer's decision (TransactionalMessageBridge#parseHalfMessageInner).
// Delay and timer properties stay as they are: they take effect when the message is committed. m.Suffix must be the
// caller's own memory.
func toHalf(m *message.Message) {
	uniqueKey, _ := m.Property(message.KeyUniqueKey)
	m.Properties = m.Properties.Without(message.KeyRealTopic, message.KeyRealQueueID, message.KeyTransactionID)
	m.Suffix = m.Suffix.Append(message.KeyTransactionID, uniqueKey)
	m.Suffix = m.Suffix.Append(message.KeyRealTopic, m.Topic)
	m.Suffix = m.Suffix.Append(message.KeyRealQueueID, strconv.Itoa(int(m.QueueID)))
	m.SysFlag = message.WithTransaction(m.SysFlag, message.TransactionNone)
	m.Topic, m.QueueID = message.TopicTransHalf, 0
}

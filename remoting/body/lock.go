package body

// LockBatchRequest is the body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ.
type LockBatchRequest struct {
	ConsumerGroup  string
	ClientID       string
	OnlyThisBroker bool
	MessageQueues  []MessageQueue
}

func (l *LockBatchRequest) members(m *members) {
	m.optStr("clientId", &l.ClientID)
	m.optStr("consumerGroup", &l.ConsumerGroup)
	if m.at("mqSet") {
		listOf(m.x, &l.MessageQueues, object[MessageQueue])
	}
	m.boolean("onlyThisBroker", &l.OnlyThisBroker)
}

// LockBatchReply is the reply of LOCK_BATCH_MQ: the queues the client holds.
type LockBatchReply struct {
	LockOKMessageQueues []MessageQueue
}

func (l *LockBatchReply) members(m *members) {
	if m.at("lockOKMQSet") {
		listOf(m.x, &l.LockOKMessageQueues, object[MessageQueue])
	}
}

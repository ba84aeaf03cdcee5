package body

// ResetOffset is the body of RESET_CONSUMER_CLIENT_OFFSET and the reply of INVOKE_BROKER_TO_RESET_OFFSET
// (ResetOffsetBody).
type ResetOffset struct {
	OffsetTable map[MessageQueue]int64
}

func (r *ResetOffset) members(m *members) {
	if m.at("offsetTable") {
		offsetsByMessageQueue(m.x, &r.OffsetTable)
	}
}

func offsetsByMessageQueue(x *visitor, v *map[MessageQueue]int64) {
	mapOf(x, v, queueKey{}, int64Value)
}

// ResetOffsetForC is ResetOffset as C++ clients read it (ResetOffsetBodyForC).
type ResetOffsetForC struct {
	OffsetTable []MessageQueueOffset
}

func (r *ResetOffsetForC) members(m *members) {
	if m.at("offsetTable") {
		listOf(m.x, &r.OffsetTable, object[MessageQueueOffset])
	}
}

// MessageQueueOffset is a queue with an offset (MessageQueueForC).
type MessageQueueOffset struct {
	MessageQueue
	Offset int64
}

func (q *MessageQueueOffset) members(m *members) {
	m.str("brokerName", &q.BrokerName)
	m.i64("offset", &q.Offset)
	m.i32("queueId", &q.QueueID)
	m.str("topic", &q.Topic)
}

// ConsumerStatus is the reply of GET_CONSUMER_STATUS_FROM_CLIENT, which has MessageQueueTable, and of
// INVOKE_BROKER_TO_GET_CONSUMER_STATUS, which has ConsumerTable (GetConsumerStatusBody).
type ConsumerStatus struct {
	MessageQueueTable map[MessageQueue]int64
	ConsumerTable     map[string]map[MessageQueue]int64 // by client id
}

func (c *ConsumerStatus) members(m *members) {
	if m.at("consumerTable") {
		mapOf(m.x, &c.ConsumerTable, stringKey{}, offsetsByMessageQueue)
	}
	if m.at("messageQueueTable") {
		offsetsByMessageQueue(m.x, &c.MessageQueueTable)
	}
}

package body

// QueryConsumeQueueReply is the reply of QUERY_CONSUME_QUEUE (QueryConsumeQueueResponseBody).
type QueryConsumeQueueReply struct {
	SubscriptionData *SubscriptionData
	FilterData       string
	QueueData        []ConsumeQueueData
	MaxQueueIndex    int64
	MinQueueIndex    int64
}

func (q *QueryConsumeQueueReply) members(m *members) {
	m.optStr("filterData", &q.FilterData)
	m.i64("maxQueueIndex", &q.MaxQueueIndex)
	m.i64("minQueueIndex", &q.MinQueueIndex)
	if m.at("queueData") {
		listOf(m.x, &q.QueueData, object[ConsumeQueueData])
	}
	if m.atIf(q.SubscriptionData != nil, "subscriptionData") {
		pointer(m.x, &q.SubscriptionData)
	}
}

// ConsumeQueueData is one entry of a consume queue. Msg is why it could not be evaluated.
type ConsumeQueueData struct {
	PhysicOffset   int64
	PhysicSize     int32
	TagsCode       int64
	ExtendDataJSON string
	BitMap         string
	Eval           bool
	Msg            string
}

func (c *ConsumeQueueData) members(m *members) {
	m.optStr("bitMap", &c.BitMap)
	m.boolean("eval", &c.Eval)
	m.optStr("extendDataJson", &c.ExtendDataJSON)
	m.optStr("msg", &c.Msg)
	m.i64("physicOffset", &c.PhysicOffset)
	m.i32("physicSize", &c.PhysicSize)
	m.i64("tagsCode", &c.TagsCode)
}

package body

// ConsumerFilterTable is the file consumerFilter.json (ConsumerFilterManager).
type ConsumerFilterTable struct {
	Topics map[string]TopicFilterData
}

func (t *ConsumerFilterTable) members(m *members) {
	if m.at("filterDataByTopic") {
		mapOf(m.x, &t.Topics, stringKey{}, object[TopicFilterData])
	}
}

// TopicFilterData is the SQL92 subscriptions of one topic (FilterDataMapByTopic).
type TopicFilterData struct {
	Topic  string
	Groups map[string]ConsumerFilterData
}

func (t *TopicFilterData) members(m *members) {
	if m.at("groupFilterData") {
		mapOf(m.x, &t.Groups, stringKey{}, object[ConsumerFilterData])
	}
	m.optStr("topic", &t.Topic)
}

// ConsumerFilterData is the SQL92 subscription of one group. Times are in ms since the epoch; a DeadTime that is not before
// BornTime is that of its end, else it is live.
type ConsumerFilterData struct {
	ConsumerGroup   string
	Topic           string
	Expression      string
	ExpressionType  string
	BornTime        int64
	DeadTime        int64
	BloomFilterData *BloomFilterData
	ClientVersion   int64
}

func (c *ConsumerFilterData) members(m *members) {
	if m.atIf(c.BloomFilterData != nil, "bloomFilterData") {
		pointer(m.x, &c.BloomFilterData)
	}
	m.i64("bornTime", &c.BornTime)
	m.i64("clientVersion", &c.ClientVersion)
	m.optStr("consumerGroup", &c.ConsumerGroup)
	if m.x.w != nil && m.at("dead") {
		m.x.w.boolean(c.Dead())
	}
	m.i64("deadTime", &c.DeadTime)
	m.optStr("expression", &c.Expression)
	m.optStr("expressionType", &c.ExpressionType)
	m.optStr("topic", &c.Topic)
}

// Dead tells whether the subscription has ended (ConsumerFilterData.isDead).
func (c *ConsumerFilterData) Dead() bool { return c.DeadTime >= c.BornTime }

// BloomFilterData is the bits of a group in a bloom filter of BitNum bits.
type BloomFilterData struct {
	BitPos []int32
	BitNum int32
}

func (b *BloomFilterData) members(m *members) {
	m.i32("bitNum", &b.BitNum)
	if m.at("bitPos") {
		listOf(m.x, &b.BitPos, int32Value)
	}
}

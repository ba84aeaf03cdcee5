package body

// TopicStatsTable is the reply of GET_TOPIC_STATS_INFO.
type TopicStatsTable struct {
	TopicPutTps float64
	OffsetTable map[MessageQueue]TopicOffset
}

func (t *TopicStatsTable) members(m *members) {
	if m.at("offsetTable") {
		mapOf(m.x, &t.OffsetTable, queueKey{}, object[TopicOffset])
	}
	m.double("topicPutTps", &t.TopicPutTps)
}

// TopicOffset is the range of one queue. LastUpdateTimestamp is the store time of its last message, in ms.
type TopicOffset struct {
	MinOffset           int64
	MaxOffset           int64
	LastUpdateTimestamp int64
}

func (t *TopicOffset) members(m *members) {
	m.i64("lastUpdateTimestamp", &t.LastUpdateTimestamp)
	m.i64("maxOffset", &t.MaxOffset)
	m.i64("minOffset", &t.MinOffset)
}

package body

// ConsumeStats is the reply of GET_CONSUME_STATS.
type ConsumeStats struct {
	OffsetTable map[MessageQueue]OffsetWrapper
	ConsumeTps  float64
}

func (c *ConsumeStats) members(m *members) {
	m.double("consumeTps", &c.ConsumeTps)
	if m.at("offsetTable") {
		mapOf(m.x, &c.OffsetTable, queueKey{}, object[OffsetWrapper])
	}
}

// OffsetWrapper tells how far a group is in one queue. LastTimestamp is the store time of the last message consumed, in ms.
type OffsetWrapper struct {
	BrokerOffset   int64
	ConsumerOffset int64
	PullOffset     int64
	LastTimestamp  int64
}

func (o *OffsetWrapper) members(m *members) {
	m.i64("brokerOffset", &o.BrokerOffset)
	m.i64("consumerOffset", &o.ConsumerOffset)
	m.i64("lastTimestamp", &o.LastTimestamp)
	m.i64("pullOffset", &o.PullOffset)
}

// ConsumeStatsList is the reply of GET_BROKER_CONSUME_STATS.
type ConsumeStatsList struct {
	ConsumeStatsList  []map[string][]ConsumeStats // each map has one group
	BrokerAddr        string
	TotalDiff         int64
	TotalInflightDiff int64
}

func (c *ConsumeStatsList) members(m *members) {
	m.optStr("brokerAddr", &c.BrokerAddr)
	if m.at("consumeStatsList") {
		listOf(m.x, &c.ConsumeStatsList, func(x *visitor, v *map[string][]ConsumeStats) {
			mapOf(x, v, stringKey{}, func(x *visitor, v *[]ConsumeStats) { listOf(x, v, object[ConsumeStats]) })
		})
	}
	m.i64("totalDiff", &c.TotalDiff)
	m.i64("totalInflightDiff", &c.TotalInflightDiff)
}

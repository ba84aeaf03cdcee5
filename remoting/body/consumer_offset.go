package body

// ConsumerOffsetTable is consumerOffset.json and the reply of GET_ALL_CONSUMER_OFFSET (ConsumerOffsetManager,
// ConsumerOffsetSerializeWrapper). The reference's file also has the derived groupTopicMap, which it ignores when loading.
type ConsumerOffsetTable struct {
	OffsetTable map[string]map[int32]int64 // by "topic@group", then queue id
	DataVersion DataVersion
}

func (t *ConsumerOffsetTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("offsetTable") {
		mapOf(m.x, &t.OffsetTable, stringKey{}, offsetsByQueue)
	}
}

// LMQConsumerOffsetTable is lmqConsumerOffset.json (LmqConsumerOffsetManager).
type LMQConsumerOffsetTable struct {
	LMQOffsetTable map[string]int64 // by "topic@group"
	OffsetTable    map[string]map[int32]int64
	DataVersion    DataVersion
}

func (t *LMQConsumerOffsetTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("lmqOffsetTable") {
		mapOf(m.x, &t.LMQOffsetTable, stringKey{}, int64Value)
	}
	if m.at("offsetTable") {
		mapOf(m.x, &t.OffsetTable, stringKey{}, offsetsByQueue)
	}
}

func offsetsByQueue(x *visitor, v *map[int32]int64) { mapOf(x, v, intKey[int32]{}, int64Value) }

// DelayOffsetTable is delayOffset.json and the reply of GET_ALL_DELAY_OFFSET (DelayOffsetSerializeWrapper).
type DelayOffsetTable struct {
	OffsetTable map[int32]int64 // by delay level
	DataVersion DataVersion
}

func (t *DelayOffsetTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("offsetTable") {
		offsetsByQueue(m.x, &t.OffsetTable)
	}
}

// CorrectionOffsets is the reply of QUERY_CORRECTION_OFFSET (QueryCorrectionOffsetBody).
type CorrectionOffsets struct {
	Offsets map[int32]int64 // by queue id
}

func (c *CorrectionOffsets) members(m *members) {
	if m.at("correctionOffsets") {
		offsetsByQueue(m.x, &c.Offsets)
	}
}

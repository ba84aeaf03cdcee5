package body

// ConsumerOrderTable is the file consumerOrderInfo.json: what orderly pop consumers have under way
// (QueueLevelConsumerManager).
type ConsumerOrderTable struct {
	Table map[string]map[int32]ConsumerOrder // by "topic@group", then queue id
}

func (t *ConsumerOrderTable) members(m *members) {
	if m.at("table") {
		mapOf(m.x, &t.Table, stringKey{}, func(x *visitor, v *map[int32]ConsumerOrder) {
			mapOf(x, v, intKey[int32]{}, object[ConsumerOrder])
		})
	}
}

// ConsumerOrder is one batch of an orderly pop consumer. Offsets holds the first offset and the distances of the others
// from it; bit i of CommitOffsetBit tells that the i-th is consumed. Times are in ms since the epoch, InvisibleTime is in ms and -1
// when null.
type ConsumerOrder struct {
	PopTime               int64
	InvisibleTime         int64
	Offsets               []int64
	OffsetNextVisibleTime map[int64]int64 // by offset
	OffsetConsumedCount   map[int64]int32 // by offset
	LastConsumeTimestamp  int64
	CommitOffsetBit       int64
	AttemptID             string
}

func (c *ConsumerOrder) setDefaults() { *c = ConsumerOrder{InvisibleTime: -1} }

func (c *ConsumerOrder) members(m *members) {
	m.optStr("a", &c.AttemptID, "attemptId")
	m.i64("cm", &c.CommitOffsetBit, "commitOffsetBit")
	if m.atIf(c.InvisibleTime >= 0, "i", "invisibleTime") {
		int64Value(m.x, &c.InvisibleTime)
	}
	m.i64("l", &c.LastConsumeTimestamp, "lastConsumeTimestamp")
	if m.atIf(c.Offsets != nil, "o", "offsetList") {
		listOf(m.x, &c.Offsets, int64Value)
	}
	if m.atIf(c.OffsetConsumedCount != nil, "oc", "offsetConsumedCount") {
		mapOf(m.x, &c.OffsetConsumedCount, intKey[int64]{}, int32Value)
	}
	if m.atIf(c.OffsetNextVisibleTime != nil, "ot", "offsetNextVisibleTime") {
		mapOf(m.x, &c.OffsetNextVisibleTime, intKey[int64]{}, int64Value)
	}
	m.i64("popTime", &c.PopTime)
}

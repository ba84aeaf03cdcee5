package body

// globalScope is the scope of a static topic that is not told otherwise (MixAll.METADATA_SCOPE_GLOBAL).
const globalScope = "__global__"

// TopicQueueMappingInfo tells which logical queues of a static topic one broker leads.
type TopicQueueMappingInfo struct {
	Topic       string
	Scope       string
	TotalQueues int32
	BrokerName  string
	Epoch       int64
	Dirty       bool
	CurrIDMap   map[int32]int32 // logical to physical queue id
}

func (t *TopicQueueMappingInfo) setDefaults() { *t = TopicQueueMappingInfo{Scope: globalScope} }

func (t *TopicQueueMappingInfo) members(m *members) {
	t.head(m)
	t.tail(m)
}

func (t *TopicQueueMappingInfo) head(m *members) {
	m.optStr("bname", &t.BrokerName)
	if m.at("currIdMap") {
		mapOf(m.x, &t.CurrIDMap, intKey[int32]{}, int32Value)
	}
	m.boolean("dirty", &t.Dirty)
	m.i64("epoch", &t.Epoch)
}

func (t *TopicQueueMappingInfo) tail(m *members) {
	m.optStr("scope", &t.Scope)
	m.optStr("topic", &t.Topic)
	m.i32("totalQueues", &t.TotalQueues)
}

// TopicQueueMappingDetail is a TopicQueueMappingInfo with the history of the queues the broker hosts.
type TopicQueueMappingDetail struct {
	TopicQueueMappingInfo
	HostedQueues map[int32][]LogicQueueMappingItem // by logical queue id
}

func (t *TopicQueueMappingDetail) setDefaults() {
	*t = TopicQueueMappingDetail{}
	t.TopicQueueMappingInfo.setDefaults()
}

func (t *TopicQueueMappingDetail) members(m *members) {
	t.head(m)
	if m.at("hostedQueues") {
		mapOf(m.x, &t.HostedQueues, intKey[int32]{}, func(x *visitor, v *[]LogicQueueMappingItem) {
			listOf(x, v, object[LogicQueueMappingItem])
		})
	}
	t.tail(m)
}

// LogicQueueMappingItem is one stretch of a logical queue on one physical queue. An EndOffset of -1 means open, times of
// -1 mean unknown.
type LogicQueueMappingItem struct {
	Gen         int32
	QueueID     int32
	BrokerName  string
	LogicOffset int64
	StartOffset int64
	EndOffset   int64
	TimeOfStart int64
	TimeOfEnd   int64
}

func (t *LogicQueueMappingItem) setDefaults() {
	*t = LogicQueueMappingItem{EndOffset: -1, TimeOfStart: -1, TimeOfEnd: -1}
}

func (t *LogicQueueMappingItem) members(m *members) {
	m.optStr("bname", &t.BrokerName)
	m.i64("endOffset", &t.EndOffset)
	m.i32("gen", &t.Gen)
	m.i64("logicOffset", &t.LogicOffset)
	m.i32("queueId", &t.QueueID)
	m.i64("startOffset", &t.StartOffset)
	m.i64("timeOfEnd", &t.TimeOfEnd)
	m.i64("timeOfStart", &t.TimeOfStart)
}

// TopicQueueMappingTable is the file topicQueueMapping.json (TopicQueueMappingSerializeWrapper).
type TopicQueueMappingTable struct {
	Mappings    map[string]TopicQueueMappingDetail // by topic
	DataVersion DataVersion
}

func (t *TopicQueueMappingTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.atIf(t.Mappings != nil, "topicQueueMappingInfoMap") {
		mapOf(m.x, &t.Mappings, stringKey{}, object[TopicQueueMappingDetail])
	}
}

package body

// Topic filter types (TopicFilterType).
const (
	SingleTag TopicFilterType = "SINGLE_TAG"
	MultiTag  TopicFilterType = "MULTI_TAG"
)

// TopicFilterType tells whether a message may have several tags. Brokers only store it.
type TopicFilterType string

var topicFilterTypes = []TopicFilterType{SingleTag, MultiTag}

// TopicConfig is one topic of a broker.
type TopicConfig struct {
	TopicName       string
	ReadQueueNums   int32
	WriteQueueNums  int32
	Perm            int32 // 4 read, 2 write, 1 inherit, 8 priority
	TopicFilterType TopicFilterType
	TopicSysFlag    int32 // 1 unit, 2 unit subscription
	Order           bool
	Attributes      map[string]string
}

func (t *TopicConfig) setDefaults() {
	*t = TopicConfig{ReadQueueNums: 16, WriteQueueNums: 16, Perm: 6, TopicFilterType: SingleTag}
}

func (t *TopicConfig) members(m *members) {
	m.stringMap("attributes", &t.Attributes)
	t.plainMembers(m)
}

func (t *TopicConfig) plainMembers(m *members) {
	m.boolean("order", &t.Order)
	m.i32("perm", &t.Perm)
	m.i32("readQueueNums", &t.ReadQueueNums)
	if m.atIf(t.TopicFilterType != "", "topicFilterType") {
		enum(m.x, &t.TopicFilterType, topicFilterTypes)
	}
	m.optStr("topicName", &t.TopicName)
	m.i32("topicSysFlag", &t.TopicSysFlag)
	m.i32("writeQueueNums", &t.WriteQueueNums)
}

// NewTopicConfig is a topic with the defaults of the reference's class: 16 queues, readable and writable.
func NewTopicConfig(name string) *TopicConfig {
	t := new(TopicConfig)
	t.setDefaults()
	t.TopicName = name
	return t
}

// TopicConfigAndQueueMapping is a topic with its static queue mapping, the reply of GET_TOPIC_CONFIG.
type TopicConfigAndQueueMapping struct {
	TopicConfig
	MappingDetail *TopicQueueMappingDetail
}

func (t *TopicConfigAndQueueMapping) members(m *members) {
	m.stringMap("attributes", &t.Attributes)
	if m.atIf(t.MappingDetail != nil, "mappingDetail") {
		pointer(m.x, &t.MappingDetail)
	}
	t.plainMembers(m)
}

// TopicConfigList is the body of UPDATE_AND_CREATE_TOPIC_LIST (CreateTopicListRequestBody).
type TopicConfigList struct {
	TopicConfigs []TopicConfig
}

func (l *TopicConfigList) members(m *members) {
	if m.at("topicConfigList") {
		listOf(m.x, &l.TopicConfigs, object[TopicConfig])
	}
}

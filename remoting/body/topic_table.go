package body

// TopicConfigTable is a broker's topic table: the file topics.json and what brokers before 5.0 register
// (TopicConfigSerializeWrapper).
type TopicConfigTable struct {
	Topics      map[string]*TopicConfig
	DataVersion DataVersion
}

func (t *TopicConfigTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("topicConfigTable") {
		mapOf(m.x, &t.Topics, stringKey{}, pointer[TopicConfig])
	}
}

// TopicConfigAndMappingTable is a topic table with static queue mappings: what brokers register and the reply of GET_ALL_TOPIC_CONFIG
// (TopicConfigAndMappingSerializeWrapper).
type TopicConfigAndMappingTable struct {
	Topics             map[string]*TopicConfig
	DataVersion        DataVersion
	MappingInfos       map[string]TopicQueueMappingInfo   // by topic
	MappingDetails     map[string]TopicQueueMappingDetail // by topic
	MappingDataVersion DataVersion
}

func (t *TopicConfigAndMappingTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("mappingDataVersion") {
		object(m.x, &t.MappingDataVersion)
	}
	if m.at("topicConfigTable") {
		mapOf(m.x, &t.Topics, stringKey{}, pointer[TopicConfig])
	}
	if m.at("topicQueueMappingDetailMap") {
		mapOf(m.x, &t.MappingDetails, stringKey{}, object[TopicQueueMappingDetail])
	}
	if m.at("topicQueueMappingInfoMap") {
		mapOf(m.x, &t.MappingInfos, stringKey{}, object[TopicQueueMappingInfo])
	}
}

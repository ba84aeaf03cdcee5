package body

// RegisterBrokerBody is the body of REGISTER_BROKER.
type RegisterBrokerBody struct {
	Topics           TopicConfigAndMappingTable
	FilterServerList []string // addresses; nil leaves the name server's list alone
}

func (b *RegisterBrokerBody) members(m *members) {
	m.strs("filterServerList", &b.FilterServerList)
	if m.at("topicConfigSerializeWrapper") {
		object(m.x, &b.Topics)
	}
}

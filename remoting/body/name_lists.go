package body

// ConsumerList is the reply of GET_CONSUMER_LIST_BY_GROUP: the client ids of a group (GetConsumerListByGroupResponseBody).
type ConsumerList struct {
	ConsumerIDs []string
}

func (l *ConsumerList) members(m *members) { m.strs("consumerIdList", &l.ConsumerIDs) }

// TopicList is a list of topics, with the address of a broker in some replies.
type TopicList struct {
	Topics     []string
	BrokerAddr string
}

func (l *TopicList) members(m *members) {
	m.optStr("brokerAddr", &l.BrokerAddr)
	m.strs("topicList", &l.Topics)
}

// GroupList is a list of groups.
type GroupList struct {
	Groups []string
}

func (l *GroupList) members(m *members) { m.strs("groupList", &l.Groups) }

// KVTable is a table of strings: the replies of GET_BROKER_RUNTIME_INFO, GET_KVLIST_BY_NAMESPACE and REGISTER_BROKER.
type KVTable struct {
	Table map[string]string
}

func (t *KVTable) members(m *members) { m.stringMap("table", &t.Table) }

// KVConfigTable is the name server's file kvConfig.json (KVConfigSerializeWrapper).
type KVConfigTable struct {
	Namespaces map[string]map[string]string
}

func (t *KVConfigTable) members(m *members) {
	if m.at("configTable") {
		mapOf(m.x, &t.Namespaces, stringKey{}, func(x *visitor, v *map[string]string) {
			mapOf(x, v, stringKey{}, stringValue)
		})
	}
}

package body

// TopicRouteData tells where a topic's queues are, the reply of GET_ROUTEINFO_BY_TOPIC.
type TopicRouteData struct {
	OrderTopicConf            string
	QueueDatas                []QueueData
	BrokerDatas               []BrokerData
	FilterServerTable         map[string][]string              // by broker address; a nil list is null
	TopicQueueMappingByBroker map[string]TopicQueueMappingInfo // nil unless the topic is static
}

func (t *TopicRouteData) members(m *members) {
	if m.at("brokerDatas") {
		listOf(m.x, &t.BrokerDatas, object[BrokerData])
	}
	if m.at("filterServerTable") {
		mapOf(m.x, &t.FilterServerTable, stringKey{}, stringList)
	}
	m.optStr("orderTopicConf", &t.OrderTopicConf)
	if m.at("queueDatas") {
		listOf(m.x, &t.QueueDatas, object[QueueData])
	}
	if m.atIf(t.TopicQueueMappingByBroker != nil, "topicQueueMappingByBroker") {
		mapOf(m.x, &t.TopicQueueMappingByBroker, stringKey{}, object[TopicQueueMappingInfo])
	}
}

// stringList is a list of strings in a map, null when nil.
func stringList(x *visitor, v *[]string) {
	if x.w != nil && *v == nil {
		x.w.buf = append(x.w.buf, "null"...)
		return
	}
	listOf(x, v, stringValue)
}

// QueueData tells the queues of a topic on one broker name.
type QueueData struct {
	BrokerName     string
	ReadQueueNums  int32
	WriteQueueNums int32
	Perm           int32
	TopicSysFlag   int32
}

func (q *QueueData) members(m *members) {
	m.str("brokerName", &q.BrokerName)
	m.i32("perm", &q.Perm)
	m.i32("readQueueNums", &q.ReadQueueNums)
	m.i32("topicSysFlag", &q.TopicSysFlag, "topicSynFlag")
	m.i32("writeQueueNums", &q.WriteQueueNums)
}

// BrokerData tells the addresses of one broker name. Id 0 is the master.
type BrokerData struct {
	Cluster            string
	BrokerName         string
	BrokerAddrs        map[int64]string
	ZoneName           string
	EnableActingMaster bool
}

func (b *BrokerData) members(m *members) {
	if m.at("brokerAddrs") {
		mapOf(m.x, &b.BrokerAddrs, intKey[int64]{}, stringValue)
	}
	m.str("brokerName", &b.BrokerName)
	m.str("cluster", &b.Cluster)
	m.boolean("enableActingMaster", &b.EnableActingMaster)
	m.optStr("zoneName", &b.ZoneName)
}

// ClusterInfo is the reply of GET_BROKER_CLUSTER_INFO.
type ClusterInfo struct {
	Brokers  map[string]BrokerData // by broker name
	Clusters map[string][]string   // broker names by cluster
}

func (c *ClusterInfo) members(m *members) {
	if m.at("brokerAddrTable") {
		mapOf(m.x, &c.Brokers, stringKey{}, object[BrokerData])
	}
	if m.at("clusterAddrTable") {
		mapOf(m.x, &c.Clusters, stringKey{}, stringList)
	}
}

// BrokerMemberGroup tells the members of one broker name.
type BrokerMemberGroup struct {
	Cluster     string
	BrokerName  string
	BrokerAddrs map[int64]string
}

func (g *BrokerMemberGroup) members(m *members) {
	if m.at("brokerAddrs") {
		mapOf(m.x, &g.BrokerAddrs, intKey[int64]{}, stringValue)
	}
	m.optStr("brokerName", &g.BrokerName)
	m.optStr("cluster", &g.Cluster)
}

// BrokerMemberGroupReply is the reply of GET_BROKER_MEMBER_GROUP (GetBrokerMemberGroupResponseBody).
type BrokerMemberGroupReply struct {
	BrokerMemberGroup *BrokerMemberGroup
}

func (g *BrokerMemberGroupReply) members(m *members) {
	if m.atIf(g.BrokerMemberGroup != nil, "brokerMemberGroup") {
		pointer(m.x, &g.BrokerMemberGroup)
	}
}

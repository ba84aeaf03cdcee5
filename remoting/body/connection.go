package body

// Connection is one client of a group. Language is a LanguageCode's name.
type Connection struct {
	ClientID   string
	ClientAddr string
	Language   string
	Version    int32
}

func (c *Connection) members(m *members) {
	m.optStr("clientAddr", &c.ClientAddr)
	m.optStr("clientId", &c.ClientID)
	m.optStr("language", &c.Language)
	m.i32("version", &c.Version)
}

// ConsumerConnection is the reply of GET_CONSUMER_CONNECTION_LIST.
type ConsumerConnection struct {
	Connections       []Connection
	SubscriptionTable map[string]SubscriptionData // by topic
	ConsumeType       ConsumeType
	MessageModel      MessageModel
	ConsumeFromWhere  ConsumeFromWhere
}

func (c *ConsumerConnection) members(m *members) {
	if m.at("connectionSet") {
		listOf(m.x, &c.Connections, object[Connection])
	}
	if m.atIf(c.ConsumeFromWhere != "", "consumeFromWhere") {
		enum(m.x, &c.ConsumeFromWhere, consumeFromWheres)
	}
	if m.atIf(c.ConsumeType != "", "consumeType") {
		enum(m.x, &c.ConsumeType, consumeTypes)
	}
	if m.atIf(c.MessageModel != "", "messageModel") {
		enum(m.x, &c.MessageModel, messageModels)
	}
	if m.at("subscriptionTable") {
		mapOf(m.x, &c.SubscriptionTable, stringKey{}, object[SubscriptionData])
	}
}

// ProducerConnection is the reply of GET_PRODUCER_CONNECTION_LIST.
type ProducerConnection struct {
	Connections []Connection
}

func (p *ProducerConnection) members(m *members) {
	if m.at("connectionSet") {
		listOf(m.x, &p.Connections, object[Connection])
	}
}

// ProducerTable is the reply of GET_ALL_PRODUCER_INFO (ProducerTableInfo).
type ProducerTable struct {
	Data map[string][]ProducerInfo // by group
}

func (p *ProducerTable) members(m *members) {
	if m.at("data") {
		mapOf(m.x, &p.Data, stringKey{}, func(x *visitor, v *[]ProducerInfo) { listOf(x, v, object[ProducerInfo]) })
	}
}

// ProducerInfo is one client of a producer group. RemoteIP is the client's host:port with a leading slash, as Java prints
// addresses.
type ProducerInfo struct {
	ClientID            string
	RemoteIP            string
	Language            string
	Version             int32
	LastUpdateTimestamp int64
}

func (p *ProducerInfo) members(m *members) {
	m.optStr("clientId", &p.ClientID)
	m.optStr("language", &p.Language)
	m.i64("lastUpdateTimestamp", &p.LastUpdateTimestamp)
	m.optStr("remoteIP", &p.RemoteIP)
	m.i32("version", &p.Version)
}

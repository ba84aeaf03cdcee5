package body

// How a consumer gets messages (ConsumeType).
const (
	ConsumeActively  ConsumeType = "CONSUME_ACTIVELY"  // pull
	ConsumePassively ConsumeType = "CONSUME_PASSIVELY" // push
	ConsumePop       ConsumeType = "CONSUME_POP"
)

// ConsumeType tells how a consumer gets messages; "" when unknown.
type ConsumeType string

var consumeTypes = []ConsumeType{ConsumeActively, ConsumePassively, ConsumePop}

// How the members of a group share messages (MessageModel).
const (
	Broadcasting  MessageModel = "BROADCASTING"
	Clustering    MessageModel = "CLUSTERING"
	LiteSelective MessageModel = "LITE_SELECTIVE"
)

// MessageModel tells how the members of a group share messages; "" when unknown.
type MessageModel string

var messageModels = []MessageModel{Broadcasting, Clustering, LiteSelective}

// Where a new group begins (ConsumeFromWhere).
const (
	ConsumeFromLastOffset                        ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET"
	ConsumeFromLastOffsetAndFromMinWhenBootFirst ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
	ConsumeFromMinOffset                         ConsumeFromWhere = "CONSUME_FROM_MIN_OFFSET"
	ConsumeFromMaxOffset                         ConsumeFromWhere = "CONSUME_FROM_MAX_OFFSET"
	ConsumeFromFirstOffset                       ConsumeFromWhere = "CONSUME_FROM_FIRST_OFFSET"
	ConsumeFromTimestamp                         ConsumeFromWhere = "CONSUME_FROM_TIMESTAMP"
)

// ConsumeFromWhere tells where a new group begins; "" when unknown.
type ConsumeFromWhere string

var consumeFromWheres = []ConsumeFromWhere{
	ConsumeFromLastOffset, ConsumeFromLastOffsetAndFromMinWhenBootFirst, ConsumeFromMinOffset, ConsumeFromMaxOffset,
	ConsumeFromFirstOffset, ConsumeFromTimestamp,
}

// HeartbeatData is the body of HEART_BEAT.
type HeartbeatData struct {
	ClientID             string
	ProducerDataSet      []ProducerData
	ConsumerDataSet      []ConsumerData
	HeartbeatFingerprint int32 // 0: heartbeat of the first kind
	WithoutSub           bool  // subscriptions are left out because they have not changed
}

func (h *HeartbeatData) members(m *members) {
	m.optStr("clientID", &h.ClientID)
	if m.at("consumerDataSet") {
		listOf(m.x, &h.ConsumerDataSet, object[ConsumerData])
	}
	m.i32("heartbeatFingerprint", &h.HeartbeatFingerprint)
	if m.at("producerDataSet") {
		listOf(m.x, &h.ProducerDataSet, object[ProducerData])
	}
	m.boolean("withoutSub", &h.WithoutSub)
}

// ProducerData is one producer group of a client.
type ProducerData struct {
	GroupName string
}

func (p *ProducerData) members(m *members) { m.optStr("groupName", &p.GroupName) }

// ConsumerData is one consumer group of a client.
type ConsumerData struct {
	GroupName           string
	ConsumeType         ConsumeType
	MessageModel        MessageModel
	ConsumeFromWhere    ConsumeFromWhere
	SubscriptionDataSet []SubscriptionData
	UnitMode            bool
}

func (c *ConsumerData) members(m *members) {
	if m.atIf(c.ConsumeFromWhere != "", "consumeFromWhere") {
		enum(m.x, &c.ConsumeFromWhere, consumeFromWheres)
	}
	if m.atIf(c.ConsumeType != "", "consumeType") {
		enum(m.x, &c.ConsumeType, consumeTypes)
	}
	m.optStr("groupName", &c.GroupName)
	if m.atIf(c.MessageModel != "", "messageModel") {
		enum(m.x, &c.MessageModel, messageModels)
	}
	if m.at("subscriptionDataSet") {
		listOf(m.x, &c.SubscriptionDataSet, object[SubscriptionData])
	}
	m.boolean("unitMode", &c.UnitMode)
}

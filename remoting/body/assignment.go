package body

// How clients are to fetch messages (MessageRequestMode).
const (
	ModePull MessageRequestMode = "PULL"
	ModePop  MessageRequestMode = "POP"
)

// MessageRequestMode tells how clients are to fetch messages.
type MessageRequestMode string

var messageRequestModes = []MessageRequestMode{ModePull, ModePop}

// QueryAssignment is the body of QUERY_ASSIGNMENT (QueryAssignmentRequestBody).
type QueryAssignment struct {
	Topic         string
	ConsumerGroup string
	ClientID      string
	StrategyName  string
	MessageModel  MessageModel
}

func (q *QueryAssignment) members(m *members) {
	m.optStr("clientId", &q.ClientID)
	m.optStr("consumerGroup", &q.ConsumerGroup)
	if m.atIf(q.MessageModel != "", "messageModel") {
		enum(m.x, &q.MessageModel, messageModels)
	}
	m.optStr("strategyName", &q.StrategyName)
	m.optStr("topic", &q.Topic)
}

// QueryAssignmentReply is the reply of QUERY_ASSIGNMENT (QueryAssignmentResponseBody). Nil tells the client to keep
// what it has; an empty list takes all queues from it.
type QueryAssignmentReply struct {
	Assignments []MessageQueueAssignment
}

func (q *QueryAssignmentReply) members(m *members) {
	if m.atIf(q.Assignments != nil, "messageQueueAssignments") {
		listOf(m.x, &q.Assignments, object[MessageQueueAssignment])
	}
}

// MessageQueueAssignment is one queue given to a client.
type MessageQueueAssignment struct {
	MessageQueue *MessageQueue
	Mode         MessageRequestMode
	Attachments  map[string]string
}

func (a *MessageQueueAssignment) setDefaults() { *a = MessageQueueAssignment{Mode: ModePull} }

func (a *MessageQueueAssignment) members(m *members) {
	if m.atIf(a.Attachments != nil, "attachments") {
		mapOf(m.x, &a.Attachments, stringKey{}, stringValue)
	}
	if m.atIf(a.MessageQueue != nil, "messageQueue") {
		pointer(m.x, &a.MessageQueue)
	}
	if m.atIf(a.Mode != "", "mode") {
		enum(m.x, &a.Mode, messageRequestModes)
	}
}

// SetMessageRequestMode is the body of SET_MESSAGE_REQUEST_MODE and an entry of messageRequestMode.json
// (SetMessageRequestModeRequestBody).
type SetMessageRequestMode struct {
	Topic            string
	ConsumerGroup    string
	Mode             MessageRequestMode
	PopShareQueueNum int32
}

func (s *SetMessageRequestMode) setDefaults() { *s = SetMessageRequestMode{Mode: ModePull} }

func (s *SetMessageRequestMode) members(m *members) {
	m.optStr("consumerGroup", &s.ConsumerGroup)
	if m.atIf(s.Mode != "", "mode") {
		enum(m.x, &s.Mode, messageRequestModes)
	}
	m.i32("popShareQueueNum", &s.PopShareQueueNum)
	m.optStr("topic", &s.Topic)
}

// MessageRequestModeTable is messageRequestMode.json and the reply of GET_ALL_MESSAGE_REQUEST_MODE
// (MessageRequestModeSerializeWrapper).
type MessageRequestModeTable struct {
	Modes map[string]map[string]SetMessageRequestMode // by topic, then group
}

func (t *MessageRequestModeTable) members(m *members) {
	if m.at("messageRequestModeMap") {
		mapOf(m.x, &t.Modes, stringKey{}, func(x *visitor, v *map[string]SetMessageRequestMode) {
			mapOf(x, v, stringKey{}, object[SetMessageRequestMode])
		})
	}
}

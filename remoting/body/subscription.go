package body

// SubscriptionData is one subscription of a consumer. SubVersion is in ms since the epoch; the reference's class puts the time of
// decoding when it is missing, here it is 0 then.
type SubscriptionData struct {
	ClassFilterMode bool
	Topic           string
	SubString       string
	TagsSet         []string
	CodeSet         []int32 // Java hash codes of the tags
	SubVersion      int64
	ExpressionType  string // TAG or SQL92; "" is TAG
}

func (s *SubscriptionData) setDefaults() { *s = SubscriptionData{ExpressionType: "TAG"} }

func (s *SubscriptionData) members(m *members) {
	m.boolean("classFilterMode", &s.ClassFilterMode)
	if m.at("codeSet") {
		listOf(m.x, &s.CodeSet, int32Value)
	}
	m.optStr("expressionType", &s.ExpressionType)
	m.optStr("subString", &s.SubString)
	m.i64("subVersion", &s.SubVersion)
	m.strs("tagsSet", &s.TagsSet)
	m.optStr("topic", &s.Topic)
}

// QuerySubscriptionReply is the reply of QUERY_SUBSCRIPTION_BY_CONSUMER (QuerySubscriptionResponseBody).
type QuerySubscriptionReply struct {
	SubscriptionData *SubscriptionData
	Group            string
	Topic            string
}

func (q *QuerySubscriptionReply) members(m *members) {
	m.optStr("group", &q.Group)
	if m.atIf(q.SubscriptionData != nil, "subscriptionData") {
		pointer(m.x, &q.SubscriptionData)
	}
	m.optStr("topic", &q.Topic)
}

// CheckClientConfig is the body of CHECK_CLIENT_CONFIG (CheckClientRequestBody).
type CheckClientConfig struct {
	ClientID         string
	Group            string
	SubscriptionData *SubscriptionData
	Namespace        string
}

func (c *CheckClientConfig) members(m *members) {
	m.optStr("clientId", &c.ClientID)
	m.optStr("group", &c.Group)
	m.optStr("namespace", &c.Namespace)
	if m.atIf(c.SubscriptionData != nil, "subscriptionData") {
		pointer(m.x, &c.SubscriptionData)
	}
}

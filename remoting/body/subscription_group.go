package body

// Retry policies of a group (GroupRetryPolicyType).
const (
	CustomizedRetry  GroupRetryPolicyType = "CUSTOMIZED"
	ExponentialRetry GroupRetryPolicyType = "EXPONENTIAL"
)

// GroupRetryPolicyType tells how the delays between retries are found.
type GroupRetryPolicyType string

var groupRetryPolicyTypes = []GroupRetryPolicyType{ExponentialRetry, CustomizedRetry}

// SubscriptionGroupConfig is one consumer group of a broker.
type SubscriptionGroupConfig struct {
	GroupName                      string
	ConsumeEnable                  bool
	ConsumeFromMinEnable           bool
	ConsumeBroadcastEnable         bool
	ConsumeMessageOrderly          bool
	RetryQueueNums                 int32
	RetryMaxTimes                  int32
	GroupRetryPolicy               *GroupRetryPolicy // nil is the customized one with its defaults
	BrokerID                       int64
	WhichBrokerWhenConsumeSlowly   int64
	NotifyConsumerIDsChangedEnable bool
	GroupSysFlag                   int32
	ConsumeTimeoutMinute           int32
	SubscriptionDataSet            []SimpleSubscriptionData // nil: any subscription
	Attributes                     map[string]string
}

func (g *SubscriptionGroupConfig) setDefaults() {
	*g = SubscriptionGroupConfig{
		ConsumeEnable:                  true,
		ConsumeFromMinEnable:           true,
		ConsumeBroadcastEnable:         true,
		RetryQueueNums:                 1,
		RetryMaxTimes:                  16,
		GroupRetryPolicy:               &GroupRetryPolicy{Type: CustomizedRetry},
		WhichBrokerWhenConsumeSlowly:   1,
		NotifyConsumerIDsChangedEnable: true,
		ConsumeTimeoutMinute:           15,
	}
}

func (g *SubscriptionGroupConfig) members(m *members) {
	m.stringMap("attributes", &g.Attributes)
	m.i64("brokerId", &g.BrokerID)
	m.boolean("consumeBroadcastEnable", &g.ConsumeBroadcastEnable)
	m.boolean("consumeEnable", &g.ConsumeEnable)
	m.boolean("consumeFromMinEnable", &g.ConsumeFromMinEnable)
	m.boolean("consumeMessageOrderly", &g.ConsumeMessageOrderly)
	m.i32("consumeTimeoutMinute", &g.ConsumeTimeoutMinute)
	m.optStr("groupName", &g.GroupName)
	if m.atIf(g.GroupRetryPolicy != nil, "groupRetryPolicy") {
		pointer(m.x, &g.GroupRetryPolicy)
	}
	m.i32("groupSysFlag", &g.GroupSysFlag)
	m.boolean("notifyConsumerIdsChangedEnable", &g.NotifyConsumerIDsChangedEnable)
	m.i32("retryMaxTimes", &g.RetryMaxTimes)
	m.i32("retryQueueNums", &g.RetryQueueNums)
	if m.atIf(g.SubscriptionDataSet != nil, "subscriptionDataSet") {
		listOf(m.x, &g.SubscriptionDataSet, object[SimpleSubscriptionData])
	}
	m.i64("whichBrokerWhenConsumeSlowly", &g.WhichBrokerWhenConsumeSlowly)
}

// NewSubscriptionGroupConfig is a group with the defaults of the reference's class.
func NewSubscriptionGroupConfig(name string) *SubscriptionGroupConfig {
	g := new(SubscriptionGroupConfig)
	g.setDefaults()
	g.GroupName = name
	return g
}

// GroupRetryPolicy tells the delays between retries of a group.
type GroupRetryPolicy struct {
	Type        GroupRetryPolicyType
	Customized  *CustomizedRetryPolicy  // nil: the defaults
	Exponential *ExponentialRetryPolicy // nil: the defaults
}

func (p *GroupRetryPolicy) setDefaults() { *p = GroupRetryPolicy{Type: CustomizedRetry} }

func (p *GroupRetryPolicy) members(m *members) {
	if m.atIf(p.Customized != nil, "customizedRetryPolicy") {
		pointer(m.x, &p.Customized)
	}
	if m.atIf(p.Exponential != nil, "exponentialRetryPolicy") {
		pointer(m.x, &p.Exponential)
	}
	if m.atIf(p.Type != "", "type") {
		enum(m.x, &p.Type, groupRetryPolicyTypes)
	}
}

// CustomizedRetryPolicy is a list of delays in ms.
type CustomizedRetryPolicy struct {
	Next []int64
}

func (p *CustomizedRetryPolicy) setDefaults() {
	const s, min = 1000, 60_000
	p.Next = []int64{
		1 * s, 5 * s, 10 * s, 30 * s, 1 * min, 2 * min, 3 * min, 4 * min, 5 * min, 6 * min, 7 * min, 8 * min, 9 * min,
		10 * min, 20 * min, 30 * min, 60 * min, 120 * min,
	}
}

func (p *CustomizedRetryPolicy) members(m *members) {
	if m.at("next") {
		listOf(m.x, &p.Next, int64Value)
	}
}

// NewCustomizedRetryPolicy is the policy with the defaults of the reference's class: 1 s to 2 h in 18 steps.
func NewCustomizedRetryPolicy() *CustomizedRetryPolicy {
	p := new(CustomizedRetryPolicy)
	p.setDefaults()
	return p
}

// ExponentialRetryPolicy is a growing delay, in ms.
type ExponentialRetryPolicy struct {
	Initial    int64
	Max        int64
	Multiplier int64
}

func (p *ExponentialRetryPolicy) setDefaults() {
	*p = ExponentialRetryPolicy{Initial: 5000, Max: 7_200_000, Multiplier: 2}
}

func (p *ExponentialRetryPolicy) members(m *members) {
	m.i64("initial", &p.Initial)
	m.i64("max", &p.Max)
	m.i64("multiplier", &p.Multiplier)
}

// NewExponentialRetryPolicy is the policy with the defaults of the reference's class: 5 s to 2 h, doubled each time.
func NewExponentialRetryPolicy() *ExponentialRetryPolicy {
	p := new(ExponentialRetryPolicy)
	p.setDefaults()
	return p
}

// SimpleSubscriptionData is a subscription that an administrator gave a group.
type SimpleSubscriptionData struct {
	Topic          string
	ExpressionType string
	Expression     string
	Version        int64
}

func (s *SimpleSubscriptionData) members(m *members) {
	m.optStr("expression", &s.Expression)
	m.optStr("expressionType", &s.ExpressionType)
	m.optStr("topic", &s.Topic)
	m.i64("version", &s.Version)
}

// SubscriptionGroupTable is a broker's group table: subscriptionGroup.json and the reply of
// GET_ALL_SUBSCRIPTIONGROUP_CONFIG (SubscriptionGroupWrapper).
type SubscriptionGroupTable struct {
	Groups      map[string]*SubscriptionGroupConfig
	Forbidden   map[string]map[string]int32 // group, topic, bits of what is forbidden
	DataVersion DataVersion
}

func (t *SubscriptionGroupTable) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("forbiddenTable") {
		mapOf(m.x, &t.Forbidden, stringKey{}, func(x *visitor, v *map[string]int32) {
			mapOf(x, v, stringKey{}, int32Value)
		})
	}
	if m.at("subscriptionGroupTable") {
		mapOf(m.x, &t.Groups, stringKey{}, pointer[SubscriptionGroupConfig])
	}
}

// SubscriptionGroupList is the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST.
type SubscriptionGroupList struct {
	Groups []SubscriptionGroupConfig
}

func (l *SubscriptionGroupList) members(m *members) {
	if m.at("groupConfigList") {
		listOf(m.x, &l.Groups, object[SubscriptionGroupConfig])
	}
}

// GroupForbidden tells whether a group may read a topic, the reply of UPDATE_AND_GET_GROUP_FORBIDDEN.
type GroupForbidden struct {
	Topic    string
	Group    string
	Readable bool
}

func (g *GroupForbidden) members(m *members) {
	m.optStr("group", &g.Group)
	m.boolean("readable", &g.Readable)
	m.optStr("topic", &g.Topic)
}

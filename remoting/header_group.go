package remoting

// DeleteSubscriptionGroupRequestHeader is the reference's header class DeleteSubscriptionGroupRequestHeader.
type DeleteSubscriptionGroupRequestHeader struct {
	GroupName   string
	CleanOffset bool // reference default: false
}

func (h *DeleteSubscriptionGroupRequestHeader) fields(f *fieldSet) {
	f.str("groupName", &h.GroupName, required)
	f.boolean("cleanOffset", &h.CleanOffset, primitive)
}

// GetAllSubscriptionGroupRequestHeader is the reference's header class GetAllSubscriptionGroupRequestHeader.
type GetAllSubscriptionGroupRequestHeader struct {
	GroupSeq    int32
	DataVersion string
	MaxGroupNum Optional[int32]
}

func (h *GetAllSubscriptionGroupRequestHeader) fields(f *fieldSet) {
	f.i32("groupSeq", &h.GroupSeq, required)
	f.str("dataVersion", &h.DataVersion, optional)
	f.optI32("maxGroupNum", &h.MaxGroupNum)
}

// GetAllSubscriptionGroupResponseHeader is the reference's header class GetAllSubscriptionGroupResponseHeader.
type GetAllSubscriptionGroupResponseHeader struct {
	TotalGroupNum int32
}

func (h *GetAllSubscriptionGroupResponseHeader) fields(f *fieldSet) {
	f.i32("totalGroupNum", &h.TotalGroupNum, required)
}

// GetConsumeStatsInBrokerHeader is the reference's header class GetConsumeStatsInBrokerHeader.
type GetConsumeStatsInBrokerHeader struct {
	IsOrder bool
}

func (h *GetConsumeStatsInBrokerHeader) fields(f *fieldSet) {
	f.boolean("isOrder", &h.IsOrder, primitive) // the reference takes a missing one as false
}

// GetConsumeStatsRequestHeader is the reference's header class GetConsumeStatsRequestHeader.
type GetConsumeStatsRequestHeader struct {
	ConsumerGroup string
	Topic         string
	TopicList     string
}

func (h *GetConsumeStatsRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, optional)
	f.str("topicList", &h.TopicList, optional)
}

// GetSubscriptionGroupConfigRequestHeader is the reference's header class GetSubscriptionGroupConfigRequestHeader.
type GetSubscriptionGroupConfigRequestHeader struct {
	Group string
}

func (h *GetSubscriptionGroupConfigRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
}

// QueryConsumeTimeSpanRequestHeader is the reference's header class QueryConsumeTimeSpanRequestHeader.
type QueryConsumeTimeSpanRequestHeader struct {
	Topic string
	Group string
}

func (h *QueryConsumeTimeSpanRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("group", &h.Group, required)
}

// UpdateGroupForbiddenRequestHeader is the reference's header class UpdateGroupForbiddenRequestHeader.
type UpdateGroupForbiddenRequestHeader struct {
	Group    string
	Topic    string
	Readable Optional[bool]
}

func (h *UpdateGroupForbiddenRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
	f.str("topic", &h.Topic, required)
	f.optBool("readable", &h.Readable)
}

package remoting

// CreateTopicListRequestHeader is the reference's header class CreateTopicListRequestHeader.
type CreateTopicListRequestHeader struct{}

func (h *CreateTopicListRequestHeader) fields(*fieldSet) {}

// CreateTopicRequestHeader is the reference's header class CreateTopicRequestHeader.
type CreateTopicRequestHeader struct {
	Topic           string
	DefaultTopic    string
	ReadQueueNums   int32
	WriteQueueNums  int32
	Perm            int32
	TopicFilterType string
	TopicSysFlag    Optional[int32]
	Order           bool // reference default: false
	Attributes      string
	Force           Optional[bool] // reference default: false
}

func (h *CreateTopicRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("defaultTopic", &h.DefaultTopic, required)
	f.i32("readQueueNums", &h.ReadQueueNums, required)
	f.i32("writeQueueNums", &h.WriteQueueNums, required)
	f.i32("perm", &h.Perm, required)
	f.str("topicFilterType", &h.TopicFilterType, required)
	f.optI32("topicSysFlag", &h.TopicSysFlag)
	f.boolean("order", &h.Order, primitive) // the reference takes a missing one as false
	f.str("attributes", &h.Attributes, optional)
	f.optBool("force", &h.Force)
}

// DeleteTopicRequestHeader is the reference's header class DeleteTopicRequestHeader.
type DeleteTopicRequestHeader struct {
	Topic string
}

func (h *DeleteTopicRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// GetAllTopicConfigRequestHeader is the reference's header class GetAllTopicConfigRequestHeader.
type GetAllTopicConfigRequestHeader struct {
	TopicSeq    int32
	DataVersion string
	MaxTopicNum Optional[int32]
}

func (h *GetAllTopicConfigRequestHeader) fields(f *fieldSet) {
	f.i32("topicSeq", &h.TopicSeq, required)
	f.str("dataVersion", &h.DataVersion, optional)
	f.optI32("maxTopicNum", &h.MaxTopicNum)
}

// GetAllTopicConfigResponseHeader is the reference's header class GetAllTopicConfigResponseHeader.
type GetAllTopicConfigResponseHeader struct {
	TotalTopicNum Optional[int32]
}

func (h *GetAllTopicConfigResponseHeader) fields(f *fieldSet) {
	f.optI32("totalTopicNum", &h.TotalTopicNum)
}

// GetTopicConfigRequestHeader is the reference's header class GetTopicConfigRequestHeader.
type GetTopicConfigRequestHeader struct {
	Topic string
}

func (h *GetTopicConfigRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// GetTopicStatsInfoRequestHeader is the reference's header class GetTopicStatsInfoRequestHeader.
type GetTopicStatsInfoRequestHeader struct {
	Topic string
}

func (h *GetTopicStatsInfoRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// GetTopicsByClusterRequestHeader is the reference's header class GetTopicsByClusterRequestHeader.
type GetTopicsByClusterRequestHeader struct {
	Cluster string
}

func (h *GetTopicsByClusterRequestHeader) fields(f *fieldSet) {
	f.str("cluster", &h.Cluster, required)
}

// QueryTopicConsumeByWhoRequestHeader is the reference's header class QueryTopicConsumeByWhoRequestHeader.
type QueryTopicConsumeByWhoRequestHeader struct {
	Topic string
}

func (h *QueryTopicConsumeByWhoRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// QueryTopicsByConsumerRequestHeader is the reference's header class QueryTopicsByConsumerRequestHeader.
type QueryTopicsByConsumerRequestHeader struct {
	Group string
}

func (h *QueryTopicsByConsumerRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
}

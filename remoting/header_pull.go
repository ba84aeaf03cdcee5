package remoting

// PullMessageRequestHeader is the reference's header class PullMessageRequestHeader.
type PullMessageRequestHeader struct {
	ConsumerGroup        string
	Topic                string
	LiteTopic            string
	QueueID              int32
	QueueOffset          int64
	MaxMsgNums           int32
	SysFlag              int32
	CommitOffset         int64
	SuspendTimeoutMillis int64
	Subscription         string
	SubVersion           int64
	ExpressionType       string
	MaxMsgBytes          Optional[int32]
	RequestSource        Optional[int32]
	ProxyFrowardClientID string
}

func (h *PullMessageRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.str("liteTopic", &h.LiteTopic, optional)
	f.i32("queueId", &h.QueueID, required)
	f.i64("queueOffset", &h.QueueOffset, required)
	f.i32("maxMsgNums", &h.MaxMsgNums, required)
	f.i32("sysFlag", &h.SysFlag, required)
	f.i64("commitOffset", &h.CommitOffset, required)
	f.i64("suspendTimeoutMillis", &h.SuspendTimeoutMillis, required)
	f.str("subscription", &h.Subscription, optional)
	f.i64("subVersion", &h.SubVersion, required)
	f.str("expressionType", &h.ExpressionType, optional)
	f.optI32("maxMsgBytes", &h.MaxMsgBytes)
	f.optI32("requestSource", &h.RequestSource)
	f.str("proxyFrowardClientId", &h.ProxyFrowardClientID, optional)
}

// PullMessageResponseHeader is the reference's header class PullMessageResponseHeader.
type PullMessageResponseHeader struct {
	SuggestWhichBrokerID int64
	NextBeginOffset      int64
	MinOffset            int64
	MaxOffset            int64
	OffsetDelta          Optional[int64]
	TopicSysFlag         Optional[int32]
	GroupSysFlag         Optional[int32]
	ForbiddenType        Optional[int32]
}

func (h *PullMessageResponseHeader) fields(f *fieldSet) {
	f.i64("suggestWhichBrokerId", &h.SuggestWhichBrokerID, required)
	f.i64("nextBeginOffset", &h.NextBeginOffset, required)
	f.i64("minOffset", &h.MinOffset, required)
	f.i64("maxOffset", &h.MaxOffset, required)
	f.optI64("offsetDelta", &h.OffsetDelta)
	f.optI32("topicSysFlag", &h.TopicSysFlag)
	f.optI32("groupSysFlag", &h.GroupSysFlag)
	f.optI32("forbiddenType", &h.ForbiddenType)
}

// QueryConsumeQueueRequestHeader is the reference's header class QueryConsumeQueueRequestHeader.
type QueryConsumeQueueRequestHeader struct {
	Topic         string
	QueueID       int32
	Index         int64
	Count         int32
	ConsumerGroup string
}

func (h *QueryConsumeQueueRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.i32("queueId", &h.QueueID, primitive)
	f.i64("index", &h.Index, primitive)
	f.i32("count", &h.Count, primitive)
	f.str("consumerGroup", &h.ConsumerGroup, optional)
}

// QueryMessageRequestHeader is the reference's header class QueryMessageRequestHeader.
type QueryMessageRequestHeader struct {
	Topic          string
	Key            string
	MaxNum         int32
	BeginTimestamp int64
	EndTimestamp   int64
	IndexType      string
	LastKey        string
}

func (h *QueryMessageRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("key", &h.Key, required)
	f.i32("maxNum", &h.MaxNum, required)
	f.i64("beginTimestamp", &h.BeginTimestamp, required)
	f.i64("endTimestamp", &h.EndTimestamp, required)
	f.str("indexType", &h.IndexType, optional)
	f.str("lastKey", &h.LastKey, optional)
}

// QueryMessageResponseHeader is the reference's header class QueryMessageResponseHeader.
type QueryMessageResponseHeader struct {
	IndexLastUpdateTimestamp int64
	IndexLastUpdatePhyoffset int64
}

func (h *QueryMessageResponseHeader) fields(f *fieldSet) {
	f.i64("indexLastUpdateTimestamp", &h.IndexLastUpdateTimestamp, required)
	f.i64("indexLastUpdatePhyoffset", &h.IndexLastUpdatePhyoffset, required)
}

// ViewMessageRequestHeader is the reference's header class ViewMessageRequestHeader.
type ViewMessageRequestHeader struct {
	Topic  string
	Offset int64
}

func (h *ViewMessageRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.i64("offset", &h.Offset, required)
}

// ViewMessageResponseHeader is the reference's header class ViewMessageResponseHeader.
type ViewMessageResponseHeader struct{}

func (h *ViewMessageResponseHeader) fields(*fieldSet) {}

package remoting

// AckMessageRequestHeader is the reference's header class AckMessageRequestHeader.
type AckMessageRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	ExtraInfo     string
	Offset        int64
	LiteTopic     string
}

func (h *AckMessageRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.str("extraInfo", &h.ExtraInfo, required)
	f.i64("offset", &h.Offset, required)
	f.str("liteTopic", &h.LiteTopic, optional)
}

// ChangeInvisibleTimeRequestHeader is the reference's header class ChangeInvisibleTimeRequestHeader.
type ChangeInvisibleTimeRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	ExtraInfo     string
	Offset        int64
	InvisibleTime int64
	LiteTopic     string
	Suspend       bool // reference default: false
}

func (h *ChangeInvisibleTimeRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.str("extraInfo", &h.ExtraInfo, required)
	f.i64("offset", &h.Offset, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.str("liteTopic", &h.LiteTopic, optional)
	f.boolean("suspend", &h.Suspend, primitive)
}

// ChangeInvisibleTimeResponseHeader is the reference's header class ChangeInvisibleTimeResponseHeader.
type ChangeInvisibleTimeResponseHeader struct {
	PopTime       int64
	InvisibleTime int64
	ReviveQid     int32
}

func (h *ChangeInvisibleTimeResponseHeader) fields(f *fieldSet) {
	f.i64("popTime", &h.PopTime, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.i32("reviveQid", &h.ReviveQid, required)
}

// InitConsumerOffsetRequestHeader is the reference's header class InitConsumerOffsetRequestHeader.
type InitConsumerOffsetRequestHeader struct {
	Topic    string
	InitMode int32
}

func (h *InitConsumerOffsetRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.i32("initMode", &h.InitMode, primitive)
}

// NotificationRequestHeader is the reference's header class NotificationRequestHeader.
type NotificationRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	PollTime      int64
	BornTime      int64
	Order         Optional[bool] // reference default: Boolean.FALSE
	AttemptID     string
	ExpType       string
	Exp           string
}

func (h *NotificationRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.i64("pollTime", &h.PollTime, required)
	f.i64("bornTime", &h.BornTime, required)
	f.optBool("order", &h.Order)
	f.str("attemptId", &h.AttemptID, optional)
	f.str("expType", &h.ExpType, optional)
	f.str("exp", &h.Exp, optional)
}

// NotificationResponseHeader is the reference's header class NotificationResponseHeader.
type NotificationResponseHeader struct {
	HasMsg      bool // reference default: false
	PollingFull bool // reference default: false
}

func (h *NotificationResponseHeader) fields(f *fieldSet) {
	f.boolean("hasMsg", &h.HasMsg, primitive)
	f.boolean("pollingFull", &h.PollingFull, primitive)
}

// PeekMessageRequestHeader is the reference's header class PeekMessageRequestHeader.
type PeekMessageRequestHeader struct {
	Topic         string
	QueueID       int32
	MaxMsgNums    int32
	ConsumerGroup string
}

func (h *PeekMessageRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.i32("maxMsgNums", &h.MaxMsgNums, required)
	f.str("consumerGroup", &h.ConsumerGroup, required)
}

// PollingInfoRequestHeader is the reference's header class PollingInfoRequestHeader.
type PollingInfoRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
}

func (h *PollingInfoRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
}

// PollingInfoResponseHeader is the reference's header class PollingInfoResponseHeader.
type PollingInfoResponseHeader struct {
	PollingNum int32
}

func (h *PollingInfoResponseHeader) fields(f *fieldSet) {
	f.i32("pollingNum", &h.PollingNum, required)
}

// PopLiteMessageRequestHeader is the reference's header class PopLiteMessageRequestHeader.
type PopLiteMessageRequestHeader struct {
	ClientID      string
	ConsumerGroup string
	Topic         string
	MaxMsgNum     int32
	InvisibleTime int64
	PollTime      int64
	BornTime      int64
	AttemptID     string
}

func (h *PopLiteMessageRequestHeader) fields(f *fieldSet) {
	f.str("clientId", &h.ClientID, required)
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("maxMsgNum", &h.MaxMsgNum, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.i64("pollTime", &h.PollTime, required)
	f.i64("bornTime", &h.BornTime, required)
	f.str("attemptId", &h.AttemptID, optional)
}

// PopLiteMessageResponseHeader is the reference's header class PopLiteMessageResponseHeader.
type PopLiteMessageResponseHeader struct {
	PopTime         int64
	InvisibleTime   int64
	ReviveQid       int32
	StartOffsetInfo string
	MsgOffsetInfo   string
	OrderCountInfo  string
}

func (h *PopLiteMessageResponseHeader) fields(f *fieldSet) {
	f.i64("popTime", &h.PopTime, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.i32("reviveQid", &h.ReviveQid, required)
	f.str("startOffsetInfo", &h.StartOffsetInfo, optional)
	f.str("msgOffsetInfo", &h.MsgOffsetInfo, optional)
	f.str("orderCountInfo", &h.OrderCountInfo, optional)
}

// PopMessageRequestHeader is the reference's header class PopMessageRequestHeader.
type PopMessageRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	MaxMsgNums    int32
	InvisibleTime int64
	PollTime      int64
	BornTime      int64
	InitMode      int32
	ExpType       string
	Exp           string
	Order         Optional[bool] // reference default: Boolean.FALSE
	AttemptID     string
}

func (h *PopMessageRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.i32("maxMsgNums", &h.MaxMsgNums, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.i64("pollTime", &h.PollTime, required)
	f.i64("bornTime", &h.BornTime, required)
	f.i32("initMode", &h.InitMode, required)
	f.str("expType", &h.ExpType, optional)
	f.str("exp", &h.Exp, optional)
	f.optBool("order", &h.Order)
	f.str("attemptId", &h.AttemptID, optional)
}

// PopMessageResponseHeader is the reference's header class PopMessageResponseHeader.
type PopMessageResponseHeader struct {
	PopTime         int64
	InvisibleTime   int64
	ReviveQid       int32
	RestNum         int64
	StartOffsetInfo string
	MsgOffsetInfo   string
	OrderCountInfo  string
}

func (h *PopMessageResponseHeader) fields(f *fieldSet) {
	f.i64("popTime", &h.PopTime, required)
	f.i64("invisibleTime", &h.InvisibleTime, required)
	f.i32("reviveQid", &h.ReviveQid, required)
	f.i64("restNum", &h.RestNum, required)
	f.str("startOffsetInfo", &h.StartOffsetInfo, optional)
	f.str("msgOffsetInfo", &h.MsgOffsetInfo, optional)
	f.str("orderCountInfo", &h.OrderCountInfo, optional)
}

package remoting

// CheckTransactionStateRequestHeader is the reference's header class CheckTransactionStateRequestHeader.
type CheckTransactionStateRequestHeader struct {
	Topic                string
	TranStateTableOffset int64
	CommitLogOffset      int64
	MsgID                string
	TransactionID        string
	OffsetMsgID          string
}

func (h *CheckTransactionStateRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.i64("tranStateTableOffset", &h.TranStateTableOffset, required)
	f.i64("commitLogOffset", &h.CommitLogOffset, required)
	f.str("msgId", &h.MsgID, optional)
	f.str("transactionId", &h.TransactionID, optional)
	f.str("offsetMsgId", &h.OffsetMsgID, optional)
}

// CheckTransactionStateResponseHeader is the reference's header class CheckTransactionStateResponseHeader.
type CheckTransactionStateResponseHeader struct {
	ProducerGroup        string
	TranStateTableOffset int64
	CommitLogOffset      int64
	CommitOrRollback     int32
}

func (h *CheckTransactionStateResponseHeader) fields(f *fieldSet) {
	f.str("producerGroup", &h.ProducerGroup, required)
	f.i64("tranStateTableOffset", &h.TranStateTableOffset, required)
	f.i64("commitLogOffset", &h.CommitLogOffset, required)
	f.i32("commitOrRollback", &h.CommitOrRollback, required)
}

// ConsumerSendMsgBackRequestHeader is the reference's header class ConsumerSendMsgBackRequestHeader.
type ConsumerSendMsgBackRequestHeader struct {
	Offset            int64
	Group             string
	DelayLevel        int32
	OriginMsgID       string
	OriginTopic       string
	UnitMode          bool // reference default: false
	MaxReconsumeTimes Optional[int32]
}

func (h *ConsumerSendMsgBackRequestHeader) fields(f *fieldSet) {
	f.i64("offset", &h.Offset, required)
	f.str("group", &h.Group, required)
	f.i32("delayLevel", &h.DelayLevel, required)
	f.str("originMsgId", &h.OriginMsgID, optional)
	f.str("originTopic", &h.OriginTopic, optional)
	f.boolean("unitMode", &h.UnitMode, primitive)
	f.optI32("maxReconsumeTimes", &h.MaxReconsumeTimes)
}

// EndTransactionRequestHeader is the reference's header class EndTransactionRequestHeader.
type EndTransactionRequestHeader struct {
	Topic                string
	ProducerGroup        string
	TranStateTableOffset int64
	CommitLogOffset      int64
	CommitOrRollback     int32
	FromTransactionCheck Optional[bool] // reference default: false
	MsgID                string
	TransactionID        string
}

func (h *EndTransactionRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.str("producerGroup", &h.ProducerGroup, required)
	f.i64("tranStateTableOffset", &h.TranStateTableOffset, required)
	f.i64("commitLogOffset", &h.CommitLogOffset, required)
	f.i32("commitOrRollback", &h.CommitOrRollback, required)
	f.optBool("fromTransactionCheck", &h.FromTransactionCheck)
	f.str("msgId", &h.MsgID, required)
	f.str("transactionId", &h.TransactionID, optional)
}

// EndTransactionResponseHeader is the reference's header class EndTransactionResponseHeader.
type EndTransactionResponseHeader struct{}

func (h *EndTransactionResponseHeader) fields(*fieldSet) {}

// RecallMessageRequestHeader is the reference's header class RecallMessageRequestHeader.
type RecallMessageRequestHeader struct {
	ProducerGroup string
	Topic         string
	RecallHandle  string
}

func (h *RecallMessageRequestHeader) fields(f *fieldSet) {
	f.str("producerGroup", &h.ProducerGroup, optional)
	f.str("topic", &h.Topic, required)
	f.str("recallHandle", &h.RecallHandle, required)
}

// RecallMessageResponseHeader is the reference's header class RecallMessageResponseHeader.
type RecallMessageResponseHeader struct {
	MsgID string
}

func (h *RecallMessageResponseHeader) fields(f *fieldSet) {
	f.str("msgId", &h.MsgID, required)
}

// ReplyMessageRequestHeader is the reference's header class ReplyMessageRequestHeader.
type ReplyMessageRequestHeader struct {
	ProducerGroup         string
	Topic                 string
	DefaultTopic          string
	DefaultTopicQueueNums int32
	QueueID               int32
	SysFlag               int32
	BornTimestamp         int64
	Flag                  int32
	Properties            string
	ReconsumeTimes        Optional[int32]
	UnitMode              bool // reference default: false
	BornHost              string
	StoreHost             string
	StoreTimestamp        int64
}

func (h *ReplyMessageRequestHeader) fields(f *fieldSet) {
	f.str("producerGroup", &h.ProducerGroup, required)
	f.str("topic", &h.Topic, required)
	f.str("defaultTopic", &h.DefaultTopic, required)
	f.i32("defaultTopicQueueNums", &h.DefaultTopicQueueNums, required)
	f.i32("queueId", &h.QueueID, required)
	f.i32("sysFlag", &h.SysFlag, required)
	f.i64("bornTimestamp", &h.BornTimestamp, required)
	f.i32("flag", &h.Flag, required)
	f.str("properties", &h.Properties, optional)
	f.optI32("reconsumeTimes", &h.ReconsumeTimes)
	f.boolean("unitMode", &h.UnitMode, primitive)
	f.str("bornHost", &h.BornHost, required)
	f.str("storeHost", &h.StoreHost, required)
	f.i64("storeTimestamp", &h.StoreTimestamp, required)
}

// ResumeCheckHalfMessageRequestHeader is the reference's header class ResumeCheckHalfMessageRequestHeader.
type ResumeCheckHalfMessageRequestHeader struct {
	Topic string
	MsgID string
}

func (h *ResumeCheckHalfMessageRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, optional)
	f.str("msgId", &h.MsgID, optional)
}

// SendMessageRequestHeader is the reference's header class SendMessageRequestHeader, and under the short names of its
// V2 list also SendMessageRequestHeaderV2.
type SendMessageRequestHeader struct {
	ProducerGroup         string
	Topic                 string
	DefaultTopic          string
	DefaultTopicQueueNums int32
	QueueID               int32
	SysFlag               int32
	BornTimestamp         int64
	Flag                  int32
	Properties            string
	ReconsumeTimes        Optional[int32]
	UnitMode              Optional[bool]
	MaxReconsumeTimes     Optional[int32]
	Batch                 Optional[bool]
	BrokerName            string
}

func (h *SendMessageRequestHeader) fields(f *fieldSet) {
	f.str("producerGroup", &h.ProducerGroup, required)
	f.str("topic", &h.Topic, required)
	f.str("defaultTopic", &h.DefaultTopic, required)
	f.i32("defaultTopicQueueNums", &h.DefaultTopicQueueNums, required)
	f.i32("queueId", &h.QueueID, required)
	f.i32("sysFlag", &h.SysFlag, required)
	f.i64("bornTimestamp", &h.BornTimestamp, required)
	f.i32("flag", &h.Flag, required)
	f.str("properties", &h.Properties, optional)
	f.optI32("reconsumeTimes", &h.ReconsumeTimes)
	f.optBool("unitMode", &h.UnitMode)
	f.optI32("maxReconsumeTimes", &h.MaxReconsumeTimes)
	f.optBool("batch", &h.Batch)
	f.str("bname", &h.BrokerName, optional)
}

// sendMessageRequestHeaderV2 is the second name list of the same struct.
type sendMessageRequestHeaderV2 SendMessageRequestHeader

func (h *sendMessageRequestHeaderV2) fields(f *fieldSet) {
	f.str("a", &h.ProducerGroup, required)
	f.str("b", &h.Topic, required)
	f.str("c", &h.DefaultTopic, required)
	f.i32("d", &h.DefaultTopicQueueNums, required)
	f.i32("e", &h.QueueID, required)
	f.i32("f", &h.SysFlag, required)
	f.i64("g", &h.BornTimestamp, required)
	f.i32("h", &h.Flag, required)
	f.str("i", &h.Properties, optional)
	f.optI32("j", &h.ReconsumeTimes)
	f.optBool("k", &h.UnitMode)
	f.optI32("l", &h.MaxReconsumeTimes)
	f.optBool("m", &h.Batch)
	f.str("n", &h.BrokerName, optional)
}

// V2 is the header under the short names of SEND_MESSAGE_V2, SEND_BATCH_MESSAGE and SEND_REPLY_MESSAGE_V2. It shares
// h's memory.
func (h *SendMessageRequestHeader) V2() Header { return (*sendMessageRequestHeaderV2)(h) }

// DecodeSend decodes the header of a send request under the names its code has: long ones for SEND_MESSAGE and
// SEND_REPLY_MESSAGE, short ones for the others (SendMessageRequestHeader.parseRequestHeader, which has no fallback
// either). Unlike Decode it lets h stay on the caller's stack.
func (c *Command) DecodeSend(h *SendMessageRequestHeader) error {
	switch c.Code {
	case SendMessageV2, SendBatchMessage, SendReplyMessageV2:
		(*sendMessageRequestHeaderV2)(h).fields(c.beginDecode())
	default:
		h.fields(c.beginDecode())
	}
	return c.endDecode()
}

// SendMessageResponseHeader is the reference's header class SendMessageResponseHeader.
type SendMessageResponseHeader struct {
	MsgID         string
	QueueID       int32
	QueueOffset   int64
	TransactionID string
	BatchUniqID   string
	RecallHandle  string
}

func (h *SendMessageResponseHeader) fields(f *fieldSet) {
	f.str("msgId", &h.MsgID, required)
	f.i32("queueId", &h.QueueID, required)
	f.i64("queueOffset", &h.QueueOffset, required)
	f.str("transactionId", &h.TransactionID, optional)
	f.str("batchUniqId", &h.BatchUniqID, optional)
	f.str("recallHandle", &h.RecallHandle, optional)
}

package remoting

// CloneGroupOffsetRequestHeader is the reference's header class CloneGroupOffsetRequestHeader.
type CloneGroupOffsetRequestHeader struct {
	SrcGroup  string
	DestGroup string
	Topic     string
	Offline   bool
}

func (h *CloneGroupOffsetRequestHeader) fields(f *fieldSet) {
	f.str("srcGroup", &h.SrcGroup, required)
	f.str("destGroup", &h.DestGroup, required)
	f.str("topic", &h.Topic, optional)
	f.boolean("offline", &h.Offline, primitive)
}

// GetEarliestMsgStoretimeRequestHeader is the reference's header class GetEarliestMsgStoretimeRequestHeader.
type GetEarliestMsgStoretimeRequestHeader struct {
	Topic   string
	QueueID int32
}

func (h *GetEarliestMsgStoretimeRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
}

// GetEarliestMsgStoretimeResponseHeader is the reference's header class GetEarliestMsgStoretimeResponseHeader.
type GetEarliestMsgStoretimeResponseHeader struct {
	Timestamp int64
}

func (h *GetEarliestMsgStoretimeResponseHeader) fields(f *fieldSet) {
	f.i64("timestamp", &h.Timestamp, required)
}

// GetMaxOffsetRequestHeader is the reference's header class GetMaxOffsetRequestHeader.
type GetMaxOffsetRequestHeader struct {
	Topic     string
	QueueID   int32
	Committed bool // reference default: true
}

func (h *GetMaxOffsetRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.booleanDef("committed", &h.Committed, true)
}

// GetMaxOffsetResponseHeader is the reference's header class GetMaxOffsetResponseHeader.
type GetMaxOffsetResponseHeader struct {
	Offset int64
}

func (h *GetMaxOffsetResponseHeader) fields(f *fieldSet) {
	f.i64("offset", &h.Offset, required)
}

// GetMinOffsetRequestHeader is the reference's header class GetMinOffsetRequestHeader.
type GetMinOffsetRequestHeader struct {
	Topic   string
	QueueID int32
}

func (h *GetMinOffsetRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
}

// GetMinOffsetResponseHeader is the reference's header class GetMinOffsetResponseHeader.
type GetMinOffsetResponseHeader struct {
	Offset int64
}

func (h *GetMinOffsetResponseHeader) fields(f *fieldSet) {
	f.i64("offset", &h.Offset, required)
}

// QueryConsumerOffsetRequestHeader is the reference's header class QueryConsumerOffsetRequestHeader.
type QueryConsumerOffsetRequestHeader struct {
	ConsumerGroup     string
	Topic             string
	QueueID           int32
	SetZeroIfNotFound Optional[bool]
}

func (h *QueryConsumerOffsetRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.optBool("setZeroIfNotFound", &h.SetZeroIfNotFound)
}

// QueryConsumerOffsetResponseHeader is the reference's header class QueryConsumerOffsetResponseHeader.
type QueryConsumerOffsetResponseHeader struct {
	Offset int64
}

func (h *QueryConsumerOffsetResponseHeader) fields(f *fieldSet) {
	f.i64("offset", &h.Offset, required)
}

// QueryCorrectionOffsetHeader is the reference's header class QueryCorrectionOffsetHeader.
type QueryCorrectionOffsetHeader struct {
	FilterGroups string
	CompareGroup string
	Topic        string
}

func (h *QueryCorrectionOffsetHeader) fields(f *fieldSet) {
	f.str("filterGroups", &h.FilterGroups, optional)
	f.str("compareGroup", &h.CompareGroup, required)
	f.str("topic", &h.Topic, required)
}

// ResetMasterFlushOffsetHeader is the reference's header class ResetMasterFlushOffsetHeader.
type ResetMasterFlushOffsetHeader struct {
	MasterFlushOffset int64
}

func (h *ResetMasterFlushOffsetHeader) fields(f *fieldSet) {
	f.i64("masterFlushOffset", &h.MasterFlushOffset, required)
}

// ResetOffsetRequestHeader is the reference's header class ResetOffsetRequestHeader.
type ResetOffsetRequestHeader struct {
	Group     string
	Topic     string
	QueueID   int32 // reference default: -1
	Offset    Optional[int64]
	Timestamp int64
	IsForce   bool
}

func (h *ResetOffsetRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
	f.str("topic", &h.Topic, required)
	f.i32Def("queueId", &h.QueueID, -1)
	f.optI64("offset", &h.Offset)
	f.i64("timestamp", &h.Timestamp, required)
	f.boolean("isForce", &h.IsForce, primitive) // the reference takes a missing one as false
}

// SearchOffsetRequestHeader is the reference's header class SearchOffsetRequestHeader.
type SearchOffsetRequestHeader struct {
	Topic        string
	LiteTopic    string
	QueueID      int32
	Timestamp    int64
	BoundaryType string
}

func (h *SearchOffsetRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("liteTopic", &h.LiteTopic, optional)
	f.i32("queueId", &h.QueueID, required)
	f.i64("timestamp", &h.Timestamp, required)
	f.str("boundaryType", &h.BoundaryType, optional)
}

// SearchOffsetResponseHeader is the reference's header class SearchOffsetResponseHeader.
type SearchOffsetResponseHeader struct {
	Offset int64
}

func (h *SearchOffsetResponseHeader) fields(f *fieldSet) {
	f.i64("offset", &h.Offset, required)
}

// UpdateConsumerOffsetRequestHeader is the reference's header class UpdateConsumerOffsetRequestHeader.
type UpdateConsumerOffsetRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	CommitOffset  int64
}

func (h *UpdateConsumerOffsetRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.i64("commitOffset", &h.CommitOffset, required)
}

// UpdateConsumerOffsetResponseHeader is the reference's header class UpdateConsumerOffsetResponseHeader.
type UpdateConsumerOffsetResponseHeader struct{}

func (h *UpdateConsumerOffsetResponseHeader) fields(*fieldSet) {}

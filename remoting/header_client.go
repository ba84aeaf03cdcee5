package remoting

// ConsumeMessageDirectlyResultRequestHeader is the reference's header class ConsumeMessageDirectlyResultRequestHeader.
type ConsumeMessageDirectlyResultRequestHeader struct {
	ConsumerGroup string
	ClientID      string
	MsgID         string
	BrokerName    string
	Topic         string
	TopicSysFlag  Optional[int32]
	GroupSysFlag  Optional[int32]
}

func (h *ConsumeMessageDirectlyResultRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("clientId", &h.ClientID, optional)
	f.str("msgId", &h.MsgID, optional)
	f.str("brokerName", &h.BrokerName, optional)
	f.str("topic", &h.Topic, optional)
	f.optI32("topicSysFlag", &h.TopicSysFlag)
	f.optI32("groupSysFlag", &h.GroupSysFlag)
}

// GetAllProducerInfoRequestHeader is the reference's header class GetAllProducerInfoRequestHeader.
type GetAllProducerInfoRequestHeader struct{}

func (h *GetAllProducerInfoRequestHeader) fields(*fieldSet) {}

// GetConsumerConnectionListRequestHeader is the reference's header class GetConsumerConnectionListRequestHeader.
type GetConsumerConnectionListRequestHeader struct {
	ConsumerGroup string
}

func (h *GetConsumerConnectionListRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
}

// GetConsumerListByGroupRequestHeader is the reference's header class GetConsumerListByGroupRequestHeader.
type GetConsumerListByGroupRequestHeader struct {
	ConsumerGroup string
}

func (h *GetConsumerListByGroupRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
}

// GetConsumerListByGroupResponseHeader is the reference's header class GetConsumerListByGroupResponseHeader.
type GetConsumerListByGroupResponseHeader struct{}

func (h *GetConsumerListByGroupResponseHeader) fields(*fieldSet) {}

// GetConsumerRunningInfoRequestHeader is the reference's header class GetConsumerRunningInfoRequestHeader.
type GetConsumerRunningInfoRequestHeader struct {
	ConsumerGroup string
	ClientID      string
	JstackEnable  bool
}

func (h *GetConsumerRunningInfoRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("clientId", &h.ClientID, required)
	f.boolean("jstackEnable", &h.JstackEnable, primitive)
}

// GetConsumerStatusRequestHeader is the reference's header class GetConsumerStatusRequestHeader.
type GetConsumerStatusRequestHeader struct {
	Topic      string
	Group      string
	ClientAddr string
}

func (h *GetConsumerStatusRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("group", &h.Group, required)
	f.str("clientAddr", &h.ClientAddr, optional)
}

// GetProducerConnectionListRequestHeader is the reference's header class GetProducerConnectionListRequestHeader.
type GetProducerConnectionListRequestHeader struct {
	ProducerGroup string
}

func (h *GetProducerConnectionListRequestHeader) fields(f *fieldSet) {
	f.str("producerGroup", &h.ProducerGroup, required)
}

// HeartbeatRequestHeader is the reference's header class HeartbeatRequestHeader.
type HeartbeatRequestHeader struct{}

func (h *HeartbeatRequestHeader) fields(*fieldSet) {}

// LockBatchMQRequestHeader is the reference's header class LockBatchMqRequestHeader.
type LockBatchMQRequestHeader struct{}

func (h *LockBatchMQRequestHeader) fields(*fieldSet) {}

// NotifyConsumerIDsChangedRequestHeader is the reference's header class NotifyConsumerIdsChangedRequestHeader.
type NotifyConsumerIDsChangedRequestHeader struct {
	ConsumerGroup string
}

func (h *NotifyConsumerIDsChangedRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
}

// QuerySubscriptionByConsumerRequestHeader is the reference's header class QuerySubscriptionByConsumerRequestHeader.
type QuerySubscriptionByConsumerRequestHeader struct {
	Group string
	Topic string
}

func (h *QuerySubscriptionByConsumerRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
	f.str("topic", &h.Topic, optional)
}

// UnlockBatchMQRequestHeader is the reference's header class UnlockBatchMqRequestHeader.
type UnlockBatchMQRequestHeader struct{}

func (h *UnlockBatchMQRequestHeader) fields(*fieldSet) {}

// UnregisterClientRequestHeader is the reference's header class UnregisterClientRequestHeader.
type UnregisterClientRequestHeader struct {
	ClientID      string
	ProducerGroup string
	ConsumerGroup string
}

func (h *UnregisterClientRequestHeader) fields(f *fieldSet) {
	f.str("clientID", &h.ClientID, required)
	f.str("producerGroup", &h.ProducerGroup, optional)
	f.str("consumerGroup", &h.ConsumerGroup, optional)
}

// UnregisterClientResponseHeader is the reference's header class UnregisterClientResponseHeader.
type UnregisterClientResponseHeader struct{}

func (h *UnregisterClientResponseHeader) fields(*fieldSet) {}

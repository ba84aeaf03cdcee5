package remoting

// GetLiteClientInfoRequestHeader is the reference's header class GetLiteClientInfoRequestHeader.
type GetLiteClientInfoRequestHeader struct {
	ParentTopic string
	Group       string
	ClientID    string
	MaxCount    int32 // reference default: 1000
}

func (h *GetLiteClientInfoRequestHeader) fields(f *fieldSet) {
	f.str("parentTopic", &h.ParentTopic, optional)
	f.str("group", &h.Group, optional)
	f.str("clientId", &h.ClientID, optional)
	f.i32Def("maxCount", &h.MaxCount, 1000)
}

// GetLiteGroupInfoRequestHeader is the reference's header class GetLiteGroupInfoRequestHeader.
type GetLiteGroupInfoRequestHeader struct {
	Group     string
	LiteTopic string
	TopK      int32
}

func (h *GetLiteGroupInfoRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
	f.str("liteTopic", &h.LiteTopic, optional)
	f.i32("topK", &h.TopK, primitive)
}

// GetLiteTopicInfoRequestHeader is the reference's header class GetLiteTopicInfoRequestHeader.
type GetLiteTopicInfoRequestHeader struct {
	ParentTopic string
	LiteTopic   string
}

func (h *GetLiteTopicInfoRequestHeader) fields(f *fieldSet) {
	f.str("parentTopic", &h.ParentTopic, optional)
	f.str("liteTopic", &h.LiteTopic, optional)
}

// GetParentTopicInfoRequestHeader is the reference's header class GetParentTopicInfoRequestHeader.
type GetParentTopicInfoRequestHeader struct {
	Topic string
}

func (h *GetParentTopicInfoRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// LiteSubscriptionCtlRequestHeader is the reference's header class LiteSubscriptionCtlRequestHeader.
type LiteSubscriptionCtlRequestHeader struct{}

func (h *LiteSubscriptionCtlRequestHeader) fields(*fieldSet) {}

// NotifyUnsubscribeLiteRequestHeader is the reference's header class NotifyUnsubscribeLiteRequestHeader.
type NotifyUnsubscribeLiteRequestHeader struct {
	LiteTopic     string
	ConsumerGroup string
	ClientID      string
}

func (h *NotifyUnsubscribeLiteRequestHeader) fields(f *fieldSet) {
	f.str("liteTopic", &h.LiteTopic, required)
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("clientId", &h.ClientID, required)
}

// TriggerLiteDispatchRequestHeader is the reference's header class TriggerLiteDispatchRequestHeader.
type TriggerLiteDispatchRequestHeader struct {
	Group    string
	ClientID string
}

func (h *TriggerLiteDispatchRequestHeader) fields(f *fieldSet) {
	f.str("group", &h.Group, required)
	f.str("clientId", &h.ClientID, optional)
}

package remoting

// AddWritePermOfBrokerRequestHeader is the reference's header class AddWritePermOfBrokerRequestHeader.
type AddWritePermOfBrokerRequestHeader struct {
	BrokerName string
}

func (h *AddWritePermOfBrokerRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
}

// AddWritePermOfBrokerResponseHeader is the reference's header class AddWritePermOfBrokerResponseHeader.
type AddWritePermOfBrokerResponseHeader struct {
	AddTopicCount int32
}

func (h *AddWritePermOfBrokerResponseHeader) fields(f *fieldSet) {
	f.i32("addTopicCount", &h.AddTopicCount, required)
}

// BrokerHeartbeatRequestHeader is the reference's header class BrokerHeartbeatRequestHeader.
type BrokerHeartbeatRequestHeader struct {
	ClusterName           string
	BrokerAddr            string
	BrokerName            string
	BrokerID              Optional[int64]
	Epoch                 Optional[int32]
	MaxOffset             Optional[int64]
	ConfirmOffset         Optional[int64]
	HeartbeatTimeoutMills Optional[int64]
	ElectionPriority      Optional[int32]
}

func (h *BrokerHeartbeatRequestHeader) fields(f *fieldSet) {
	f.str("clusterName", &h.ClusterName, required)
	f.str("brokerAddr", &h.BrokerAddr, required)
	f.str("brokerName", &h.BrokerName, required)
	f.optI64("brokerId", &h.BrokerID)
	f.optI32("epoch", &h.Epoch)
	f.optI64("maxOffset", &h.MaxOffset)
	f.optI64("confirmOffset", &h.ConfirmOffset)
	f.optI64("heartbeatTimeoutMills", &h.HeartbeatTimeoutMills)
	f.optI32("electionPriority", &h.ElectionPriority)
}

// DeleteKVConfigRequestHeader is the reference's header class DeleteKVConfigRequestHeader.
type DeleteKVConfigRequestHeader struct {
	Namespace string
	Key       string
}

func (h *DeleteKVConfigRequestHeader) fields(f *fieldSet) {
	f.str("namespace", &h.Namespace, required)
	f.str("key", &h.Key, required)
}

// DeleteTopicFromNamesrvRequestHeader is the reference's header class DeleteTopicFromNamesrvRequestHeader.
type DeleteTopicFromNamesrvRequestHeader struct {
	Topic       string
	ClusterName string
}

func (h *DeleteTopicFromNamesrvRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("clusterName", &h.ClusterName, optional)
}

// GetKVConfigRequestHeader is the reference's header class GetKVConfigRequestHeader.
type GetKVConfigRequestHeader struct {
	Namespace string
	Key       string
}

func (h *GetKVConfigRequestHeader) fields(f *fieldSet) {
	f.str("namespace", &h.Namespace, required)
	f.str("key", &h.Key, required)
}

// GetKVConfigResponseHeader is the reference's header class GetKVConfigResponseHeader.
type GetKVConfigResponseHeader struct {
	Value string
}

func (h *GetKVConfigResponseHeader) fields(f *fieldSet) {
	f.str("value", &h.Value, optional)
}

// GetKVListByNamespaceRequestHeader is the reference's header class GetKVListByNamespaceRequestHeader.
type GetKVListByNamespaceRequestHeader struct {
	Namespace string
}

func (h *GetKVListByNamespaceRequestHeader) fields(f *fieldSet) {
	f.str("namespace", &h.Namespace, required)
}

// GetRouteInfoRequestHeader is the reference's header class GetRouteInfoRequestHeader.
type GetRouteInfoRequestHeader struct {
	Topic                  string
	AcceptStandardJSONOnly Optional[bool]
}

func (h *GetRouteInfoRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.optBool("acceptStandardJsonOnly", &h.AcceptStandardJSONOnly)
}

// PutKVConfigRequestHeader is the reference's header class PutKVConfigRequestHeader.
type PutKVConfigRequestHeader struct {
	Namespace string
	Key       string
	Value     string
}

func (h *PutKVConfigRequestHeader) fields(f *fieldSet) {
	f.str("namespace", &h.Namespace, required)
	f.str("key", &h.Key, required)
	f.str("value", &h.Value, required)
}

// QueryDataVersionRequestHeader is the reference's header class QueryDataVersionRequestHeader.
type QueryDataVersionRequestHeader struct {
	BrokerName  string
	BrokerAddr  string
	ClusterName string
	BrokerID    int64
}

func (h *QueryDataVersionRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
	f.str("brokerAddr", &h.BrokerAddr, required)
	f.str("clusterName", &h.ClusterName, required)
	f.i64("brokerId", &h.BrokerID, required)
}

// QueryDataVersionResponseHeader is the reference's header class QueryDataVersionResponseHeader.
type QueryDataVersionResponseHeader struct {
	Changed bool
}

func (h *QueryDataVersionResponseHeader) fields(f *fieldSet) {
	f.boolean("changed", &h.Changed, required)
}

// RegisterBrokerRequestHeader is the reference's header class RegisterBrokerRequestHeader.
type RegisterBrokerRequestHeader struct {
	BrokerName             string
	BrokerAddr             string
	ClusterName            string
	HAServerAddr           string
	BrokerID               int64
	HeartbeatTimeoutMillis Optional[int64]
	EnableActingMaster     Optional[bool]
	Compressed             bool
	BodyCRC32              Optional[int32] // reference default: 0
}

func (h *RegisterBrokerRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
	f.str("brokerAddr", &h.BrokerAddr, required)
	f.str("clusterName", &h.ClusterName, required)
	f.str("haServerAddr", &h.HAServerAddr, required)
	f.i64("brokerId", &h.BrokerID, required)
	f.optI64("heartbeatTimeoutMillis", &h.HeartbeatTimeoutMillis)
	f.optBool("enableActingMaster", &h.EnableActingMaster)
	f.boolean("compressed", &h.Compressed, primitive)
	f.optI32("bodyCrc32", &h.BodyCRC32)
}

// RegisterBrokerResponseHeader is the reference's header class RegisterBrokerResponseHeader.
type RegisterBrokerResponseHeader struct {
	HAServerAddr string
	MasterAddr   string
}

func (h *RegisterBrokerResponseHeader) fields(f *fieldSet) {
	f.str("haServerAddr", &h.HAServerAddr, optional)
	f.str("masterAddr", &h.MasterAddr, optional)
}

// RegisterOrderTopicRequestHeader is the reference's header class RegisterOrderTopicRequestHeader.
type RegisterOrderTopicRequestHeader struct {
	Topic            string
	OrderTopicString string
}

func (h *RegisterOrderTopicRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.str("orderTopicString", &h.OrderTopicString, required)
}

// RegisterTopicRequestHeader is the reference's header class RegisterTopicRequestHeader.
type RegisterTopicRequestHeader struct {
	Topic string
}

func (h *RegisterTopicRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
}

// UnregisterBrokerRequestHeader is the reference's header class UnRegisterBrokerRequestHeader.
type UnregisterBrokerRequestHeader struct {
	BrokerName  string
	BrokerAddr  string
	ClusterName string
	BrokerID    int64
}

func (h *UnregisterBrokerRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
	f.str("brokerAddr", &h.BrokerAddr, required)
	f.str("clusterName", &h.ClusterName, required)
	f.i64("brokerId", &h.BrokerID, required)
}

// WipeWritePermOfBrokerRequestHeader is the reference's header class WipeWritePermOfBrokerRequestHeader.
type WipeWritePermOfBrokerRequestHeader struct {
	BrokerName string
}

func (h *WipeWritePermOfBrokerRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
}

// WipeWritePermOfBrokerResponseHeader is the reference's header class WipeWritePermOfBrokerResponseHeader.
type WipeWritePermOfBrokerResponseHeader struct {
	WipeTopicCount int32
}

func (h *WipeWritePermOfBrokerResponseHeader) fields(f *fieldSet) {
	f.i32("wipeTopicCount", &h.WipeTopicCount, required)
}

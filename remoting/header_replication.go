package remoting

// AddBrokerRequestHeader is the reference's header class AddBrokerRequestHeader.
type AddBrokerRequestHeader struct {
	ConfigPath string
}

func (h *AddBrokerRequestHeader) fields(f *fieldSet) {
	f.str("configPath", &h.ConfigPath, optional)
}

// ExchangeHAInfoRequestHeader is the reference's header class ExchangeHAInfoRequestHeader.
type ExchangeHAInfoRequestHeader struct {
	MasterHAAddress   string
	MasterFlushOffset Optional[int64]
	MasterAddress     string
}

func (h *ExchangeHAInfoRequestHeader) fields(f *fieldSet) {
	f.str("masterHaAddress", &h.MasterHAAddress, optional)
	f.optI64("masterFlushOffset", &h.MasterFlushOffset)
	f.str("masterAddress", &h.MasterAddress, optional)
}

// ExchangeHAInfoResponseHeader is the reference's header class ExchangeHAInfoResponseHeader.
type ExchangeHAInfoResponseHeader struct {
	MasterHAAddress   string
	MasterFlushOffset Optional[int64]
	MasterAddress     string
}

func (h *ExchangeHAInfoResponseHeader) fields(f *fieldSet) {
	f.str("masterHaAddress", &h.MasterHAAddress, optional)
	f.optI64("masterFlushOffset", &h.MasterFlushOffset)
	f.str("masterAddress", &h.MasterAddress, optional)
}

// GetBrokerMemberGroupRequestHeader is the reference's header class GetBrokerMemberGroupRequestHeader.
type GetBrokerMemberGroupRequestHeader struct {
	ClusterName string
	BrokerName  string
}

func (h *GetBrokerMemberGroupRequestHeader) fields(f *fieldSet) {
	f.str("clusterName", &h.ClusterName, required)
	f.str("brokerName", &h.BrokerName, required)
}

// NotifyBrokerRoleChangedRequestHeader is the reference's header class NotifyBrokerRoleChangedRequestHeader.
type NotifyBrokerRoleChangedRequestHeader struct {
	MasterAddress     string
	MasterEpoch       Optional[int32]
	SyncStateSetEpoch Optional[int32]
	MasterBrokerID    Optional[int64]
}

func (h *NotifyBrokerRoleChangedRequestHeader) fields(f *fieldSet) {
	f.str("masterAddress", &h.MasterAddress, optional)
	f.optI32("masterEpoch", &h.MasterEpoch)
	f.optI32("syncStateSetEpoch", &h.SyncStateSetEpoch)
	f.optI64("masterBrokerId", &h.MasterBrokerID)
}

// NotifyMinBrokerIDChangeRequestHeader is the reference's header class NotifyMinBrokerIdChangeRequestHeader.
type NotifyMinBrokerIDChangeRequestHeader struct {
	MinBrokerID       Optional[int64]
	BrokerName        string
	MinBrokerAddr     string
	OfflineBrokerAddr string
	HABrokerAddr      string
}

func (h *NotifyMinBrokerIDChangeRequestHeader) fields(f *fieldSet) {
	f.optI64("minBrokerId", &h.MinBrokerID)
	f.str("brokerName", &h.BrokerName, optional)
	f.str("minBrokerAddr", &h.MinBrokerAddr, optional)
	f.str("offlineBrokerAddr", &h.OfflineBrokerAddr, optional)
	f.str("haBrokerAddr", &h.HABrokerAddr, optional)
}

// RemoveBrokerRequestHeader is the reference's header class RemoveBrokerRequestHeader.
type RemoveBrokerRequestHeader struct {
	BrokerName        string
	BrokerClusterName string
	BrokerID          int64
}

func (h *RemoveBrokerRequestHeader) fields(f *fieldSet) {
	f.str("brokerName", &h.BrokerName, required)
	f.str("brokerClusterName", &h.BrokerClusterName, required)
	f.i64("brokerId", &h.BrokerID, required)
}

package body

// HAStatus is the reply of GET_BROKER_HA_STATUS (HARuntimeInfo).
type HAStatus struct {
	Master                   bool
	MasterCommitLogMaxOffset int64
	InSyncSlaveNums          int32
	Connections              []HAConnection
	Client                   HAClient
}

func (h *HAStatus) members(m *members) {
	if m.at("haClientRuntimeInfo") {
		object(m.x, &h.Client)
	}
	if m.at("haConnectionInfo") {
		listOf(m.x, &h.Connections, object[HAConnection])
	}
	m.i32("inSyncSlaveNums", &h.InSyncSlaveNums)
	m.boolean("master", &h.Master)
	m.i64("masterCommitLogMaxOffset", &h.MasterCommitLogMaxOffset)
}

// HAConnection is one slave of a master (HAConnectionRuntimeInfo).
type HAConnection struct {
	Addr                    string
	SlaveAckOffset          int64
	Diff                    int64
	InSync                  bool
	TransferredByteInSecond int64
	TransferFromWhere       int64
}

func (h *HAConnection) members(m *members) {
	m.optStr("addr", &h.Addr)
	m.i64("diff", &h.Diff)
	m.boolean("inSync", &h.InSync)
	m.i64("slaveAckOffset", &h.SlaveAckOffset)
	m.i64("transferFromWhere", &h.TransferFromWhere)
	m.i64("transferredByteInSecond", &h.TransferredByteInSecond)
}

// HAClient is a slave's side of replication (HAClientRuntimeInfo).
type HAClient struct {
	MasterAddr              string
	TransferredByteInSecond int64
	MaxOffset               int64
	LastReadTimestamp       int64
	LastWriteTimestamp      int64
	MasterFlushOffset       int64
}

func (h *HAClient) members(m *members) {
	m.i64("lastReadTimestamp", &h.LastReadTimestamp)
	m.i64("lastWriteTimestamp", &h.LastWriteTimestamp)
	m.optStr("masterAddr", &h.MasterAddr)
	m.i64("masterFlushOffset", &h.MasterFlushOffset)
	m.i64("maxOffset", &h.MaxOffset)
	m.i64("transferredByteInSecond", &h.TransferredByteInSecond)
}

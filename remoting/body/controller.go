package body

// SyncStateSet is the ids of the brokers of one name that are in step with the master.
type SyncStateSet struct {
	BrokerIDs []int64
	Epoch     int32
}

func (s *SyncStateSet) members(m *members) {
	if m.atIf(s.BrokerIDs != nil, "syncStateSet") {
		listOf(m.x, &s.BrokerIDs, int64Value)
	}
	m.i32("syncStateSetEpoch", &s.Epoch)
}

// ElectMasterReply is the reply of CONTROLLER_ELECT_MASTER (ElectMasterResponseBody).
type ElectMasterReply struct {
	BrokerMemberGroup *BrokerMemberGroup
	SyncStateSet      []int64
}

func (e *ElectMasterReply) members(m *members) {
	if m.atIf(e.BrokerMemberGroup != nil, "brokerMemberGroup") {
		pointer(m.x, &e.BrokerMemberGroup)
	}
	if m.atIf(e.SyncStateSet != nil, "syncStateSet") {
		listOf(m.x, &e.SyncStateSet, int64Value)
	}
}

// EpochEntryCache is the reply of GET_BROKER_EPOCH_CACHE.
type EpochEntryCache struct {
	ClusterName string
	BrokerName  string
	BrokerID    int64
	EpochList   []EpochEntry
	MaxOffset   int64
}

func (e *EpochEntryCache) members(m *members) {
	m.i64("brokerId", &e.BrokerID)
	m.optStr("brokerName", &e.BrokerName)
	m.optStr("clusterName", &e.ClusterName)
	if m.atIf(e.EpochList != nil, "epochList") {
		listOf(m.x, &e.EpochList, object[EpochEntry])
	}
	m.i64("maxOffset", &e.MaxOffset)
}

// EpochEntry is the stretch of the commit log written under one master.
type EpochEntry struct {
	Epoch       int32
	StartOffset int64
	EndOffset   int64
}

// lastEpochEnd is the end of the epoch that is not over (EpochEntry.LAST_EPOCH_END_OFFSET).
const lastEpochEnd = 1<<63 - 1

func (e *EpochEntry) setDefaults() { *e = EpochEntry{EndOffset: lastEpochEnd} }

func (e *EpochEntry) members(m *members) {
	m.i64("endOffset", &e.EndOffset)
	m.i32("epoch", &e.Epoch)
	m.i64("startOffset", &e.StartOffset)
}

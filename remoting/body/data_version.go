package body

import "cmp"

// DataVersion tells states of a table apart (DataVersion). The zero value is the state before the first change.
type DataVersion struct {
	StateVersion int64
	Timestamp    int64 // of the last change, ms since the epoch
	Counter      int64
}

func (v *DataVersion) members(m *members) {
	m.i64("counter", &v.Counter)
	m.i64("stateVersion", &v.StateVersion)
	m.i64("timestamp", &v.Timestamp)
}

// NextVersion moves to the state after a change. stateVersion is that of the store's state machine, 0 without
// controller (DataVersion.nextVersion).
func (v *DataVersion) NextVersion(nowMs, stateVersion int64) {
	v.Timestamp = nowMs
	v.StateVersion = stateVersion
	v.Counter++
}

// Compare orders by state version, counter and timestamp (DataVersion.compare).
func (v DataVersion) Compare(other DataVersion) int {
	return cmp.Or(
		cmp.Compare(v.StateVersion, other.StateVersion),
		cmp.Compare(v.Counter, other.Counter),
		cmp.Compare(v.Timestamp, other.Timestamp),
	)
}

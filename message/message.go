package message

import "net/netip"

// Message is what is put into the store. The encoder reads it and keeps nothing of it.
type Message struct {
	Topic string
	// QueueID is the queue of Topic.
	QueueID int32
	// Flag belongs to the user and is stored untouched.
	Flag int32
	// SysFlag holds the Sys… bits. SysBornHostV6 and SysStoreHostV6 are set by the encoder from the addresses.
	SysFlag int32
	// BornTimestamp is the producer's clock, ms since the epoch.
	BornTimestamp int64
	BornHost      netip.AddrPort
	StoreHost     netip.AddrPort
	// ReconsumeTimes counts how often a consumer gave the message back.
	ReconsumeTimes int32
	// PreparedTransactionOffset is the physical offset of the half message of a committed one, else 0.
	PreparedTransactionOffset int64
	// Body is nil only in a message that is illegal (see CheckLimits).
	Body []byte
	// Properties are in wire form and may alias a frame.
	Properties Properties
	// Suffix is appended behind Properties when the record is encoded: the broker's own pairs, built once.
	Suffix Properties
	// WaitStored is the WAIT property: the producer wants its answer only when the message is flushed as configured.
	WaitStored bool
	// PropertyCRC gives the record the tail of the setting enabledAppendPropCRC. Properties must not hold an older one (KeyCRC32).
	PropertyCRC bool
}

// Property returns the value of key in Suffix or else in Properties, as a reader of the stored record sees it. The string
// aliases them.
func (m *Message) Property(key string) (value string, ok bool) {
	if len(m.Suffix) > 0 {
		if value, ok = m.Suffix.Get(key); ok {
			return value, true
		}
	}
	return m.Properties.Get(key)
}

// TransactionType is the transaction part of SysFlag: one of the Transaction… values.
func (m *Message) TransactionType() int32 { return m.SysFlag & transactionMask }

// IsV6 tells whether addr is stored in the 16-byte form. IPv4 mapped into IPv6 is IPv4, as in Java; a zone is dropped.
func IsV6(addr netip.Addr) bool { return addr.Is6() && !addr.Is4In6() }

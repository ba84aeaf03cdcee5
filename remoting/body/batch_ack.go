package body

import (
	"encoding/base64"
	"math/bits"
)

// BatchAckRequest is the body of BATCH_ACK_MESSAGE (BatchAckMessageRequestBody).
type BatchAckRequest struct {
	BrokerName string
	Acks       []BatchAck
}

func (b *BatchAckRequest) members(m *members) {
	if m.at("acks") {
		listOf(m.x, &b.Acks, object[BatchAck])
	}
	m.optStr("brokerName", &b.BrokerName)
}

// BatchAck acknowledges some of the messages of one pop: those whose distance from StartOffset is in BitSet.
type BatchAck struct {
	ConsumerGroup string
	Topic         string
	Retry         string // "1" or "2" when the messages are of a retry topic
	StartOffset   int64
	QueueID       int32
	ReviveQueueID int32
	PopTime       int64
	InvisibleTime int64
	BitSet        BitSet
}

func (b *BatchAck) members(m *members) {
	if m.atIf(b.BitSet != nil, "b", "bitSet") {
		b.BitSet.value(m.x)
	}
	m.optStr("c", &b.ConsumerGroup, "consumerGroup")
	m.i64("it", &b.InvisibleTime, "invisibleTime")
	m.i64("pt", &b.PopTime, "popTime")
	m.i32("q", &b.QueueID, "queueId")
	m.optStr("r", &b.Retry, "retry")
	m.i32("rq", &b.ReviveQueueID, "reviveQueueId")
	m.i64("so", &b.StartOffset, "startOffset")
	m.optStr("t", &b.Topic, "topic")
}

// BitSet is a set of small numbers, as java.util.BitSet.toByteArray writes it: bit i is bit i%8 of byte i/8.
type BitSet []byte

// Has tells whether i is in the set.
func (s BitSet) Has(i int) bool { return i >= 0 && i/8 < len(s) && s[i/8]&(1<<(i%8)) != 0 }

// Add puts i, which is not negative, into the set.
func (s *BitSet) Add(i int) {
	for i/8 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i/8] |= 1 << (i % 8)
}

// Len is the highest number in the set plus one.
func (s BitSet) Len() int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			return i*8 + bits.Len8(s[i])
		}
	}
	return 0
}

func (s *BitSet) value(x *visitor) {
	if x.w != nil {
		x.w.text(base64.StdEncoding.EncodeToString(*s))
		return
	}
	*s = nil
	text, kind := x.r.scalar()
	if kind == null || len(text) == 0 {
		return
	}
	set, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		x.r.fail("bit set: %v", err)
		return
	}
	*s = set
}

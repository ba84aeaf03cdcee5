package message

import "strings"

// Type is the kind of a message or of a topic's messages: the values of the topic attribute message.type (TopicMessageType).
type Type string

// The types.
const (
	TypeUnspecified Type = "UNSPECIFIED"
	TypeNormal      Type = "NORMAL"
	TypeFIFO        Type = "FIFO"
	TypeDelay       Type = "DELAY"
	TypeTransaction Type = "TRANSACTION"
	TypePriority    Type = "PRIORITY"
	TypeLite        Type = "LITE"
	TypeMixed       Type = "MIXED"
)

// Topic attributes and their values (TopicAttributes).
const (
	AttributeQueueType      = "queue.type"
	AttributeCleanupPolicy  = "cleanup.policy"
	AttributeMessageType    = "message.type"
	AttributeReserveTime    = "reserve.time"
	AttributeLiteExpiration = "lite.topic.expiration" // minutes

	QueueTypeSimple         = "SimpleCQ"
	QueueTypeBatch          = "BatchCQ"
	CleanupPolicyDelete     = "DELETE"
	CleanupPolicyCompaction = "COMPACTION"
)

// Types lists all types, in the reference's order.
func Types() []Type {
	return []Type{TypeUnspecified, TypeNormal, TypeFIFO, TypeDelay, TypeTransaction, TypePriority, TypeLite, TypeMixed}
}

// TypeOf deduces the type of a message from its properties (TopicMessageType.parseFromMessageProperty): of several signs the
// first in the order transaction, delay, FIFO, priority, lite counts.
func TypeOf(p Properties) Type {
	var transaction, delay, fifo, priority, lite bool
	p.Range(func(key, value string) bool {
		switch key {
		case KeyTransactionPrepared:
			transaction = strings.EqualFold(value, "true")
		case KeyDelayLevel, KeyTimerDeliverMs, KeyTimerDelaySec, KeyTimerDelayMs:
			delay = true
		case KeyShardingKey:
			fifo = true
		case KeyPriority:
			priority = true
		case KeyLiteTopic:
			lite = true
		}
		return true
	})
	switch {
	case transaction:
		return TypeTransaction
	case delay:
		return TypeDelay
	case fifo:
		return TypeFIFO
	case priority:
		return TypePriority
	case lite:
		return TypeLite
	}
	return TypeNormal
}

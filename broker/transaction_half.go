package broker

import (
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// halfRecord is what a record in the half topic says of its transaction. Its strings alias the record.
type halfRecord struct {
	*message.Record
	uniqueKey string
	group     string // PGROUP
	topic     string // REAL_TOPIC
	queueID   int32  // REAL_QID
	checks    int32  // TRANSACTION_CHECK_TIMES
	immunity  string // CHECK_IMMUNITY_TIME_IN_SECONDS
	prepared  bool   // TRAN_PREPARED_QUEUE_OFFSET: a copy of another one
}

// readHalf reads a half message; false when it has no real topic, so that nothing can ever become of it.
func readHalf(r *message.Record) (halfRecord, bool) {
	h := halfRecord{Record: r}
	r.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyUniqueKey:
			h.uniqueKey = value
		case message.KeyProducerGroup:
			h.group = value
		case message.KeyRealTopic:
			h.topic = value
		case message.KeyRealQueueID:
			h.queueID = int32(atoi(value, 0))
		case message.KeyTransactionCheckTimes:
			h.checks = int32(atoi(value, 0))
		case message.KeyCheckImmunityTime:
			h.immunity = value
		case message.KeyPreparedQueueOffset:
			h.prepared = true
		}
		return true
	})
	if h.uniqueKey == "" {
		// Only messages that no client of today sends: each copy then stands for itself.
		h.uniqueKey = "offset " + decimal(r.QueueOffset)
	}
	return h, h.topic != ""
}

// atoi reads a number, def when it is none.
func atoi(s string, def int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return def
	}
	return n
}

// firstCheckAfter is how long after its storing the producer is asked first, ms: transactionTimeOut, or the time that the
// producer asked for (TransactionalMessageUtil#getImmunityTime).
func (h *halfRecord) firstCheckAfter(timeout int64) int64 {
	if h.immunity == "" {
		return timeout
	}
	seconds := atoi(h.immunity, -1)
	if seconds < 0 || seconds > 1<<40 {
		return timeout
	}
	return max(seconds*1000, timeout)
}

// copyHalf is the message that stores a half message anew, at the end of the half topic
// (TransactionalMessageBridge#renewHalfMessageInner).
func copyHalf(h *halfRecord, properties message.Properties) *message.Message {
	return &message.Message{
		Topic: message.TopicTransHalf, QueueID: h.QueueID, Flag: h.Flag, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp, BornHost: h.BornHost,
		StoreHost: h.StoreHost, ReconsumeTimes: h.ReconsumeTimes, Body: h.Body, Properties: properties,
	}
}

// committedMessage is what a commit makes of a half message (EndTransactionProcessor#endMessageTransaction). It may
// alias the record.
func committedMessage(h *halfRecord) *message.Message {
	return &message.Message{
		Topic: h.topic, QueueID: h.queueID, Flag: h.Flag,
		SysFlag:       message.WithTransaction(h.SysFlag, message.TransactionCommit),
		BornTimestamp: h.BornTimestamp, BornHost: h.BornHost, StoreHost: h.StoreHost, ReconsumeTimes: h.ReconsumeTimes,
		PreparedTransactionOffset: h.PhysicalOffset, Body: h.Body,
		Properties: h.Properties.Without(message.KeyRealTopic, message.KeyRealQueueID),
	}
}

package view

import (
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// Message is a stored message.
type Message struct {
	ID             string            `json:"id"` // offset message id
	UniqueKey      string            `json:"uniqueKey"`
	Topic          string            `json:"topic"`
	QueueID        int32             `json:"queue"`
	Offset         int64             `json:"offset"`
	PhysicalOffset int64             `json:"physicalOffset"`
	Size           int32             `json:"size"` // of the record
	Type           string            `json:"type"`
	Tags           string            `json:"tags"`
	Keys           string            `json:"keys"`
	BornMs         int64             `json:"bornMs"`
	BornHost       string            `json:"bornHost"`
	StoreMs        int64             `json:"storeMs"`
	StoreHost      string            `json:"storeHost"`
	Flag           int32             `json:"flag"`
	SysFlag        int32             `json:"sysFlag"`
	ReconsumeTimes int32             `json:"reconsumeTimes"`
	RealTopic      string            `json:"realTopic"` // of one that waits in a system topic
	DueMs          int64             `json:"dueMs"`     // of a delayed or timed one in its system topic; 0: none, or not known
	Properties     map[string]string `json:"properties"`
	Body           Body              `json:"body"`
}

// DescribeMessage copies a record, its body cut to shown bytes. DueMs is set for timers; when a message with a delay level is due
// stands in its queue, not in its record.
func DescribeMessage(r *message.Record, shown int) Message {
	m := Message{
		ID: message.OffsetMessageID(r.StoreHost, r.PhysicalOffset), Topic: strings.Clone(r.Topic), QueueID: r.QueueID, Offset: r.QueueOffset,
		PhysicalOffset: r.PhysicalOffset, Size: r.Size, Type: string(message.TypeOf(r.Properties)), BornMs: r.BornTimestamp, BornHost: r.BornHost.String(),
		StoreMs: r.StoreTimestamp, StoreHost: r.StoreHost.String(), Flag: r.Flag, SysFlag: r.SysFlag, ReconsumeTimes: r.ReconsumeTimes,
		Properties: map[string]string{}, Body: DescribeBody(r.Body, r.SysFlag, shown),
	}
	r.Properties.Range(func(key, value string) bool {
		m.Properties[strings.Clone(key)] = strings.Clone(value)
		return true
	})
	m.UniqueKey, m.Tags, m.Keys = m.Properties[message.KeyUniqueKey], m.Properties[message.KeyTags], m.Properties[message.KeyKeys]
	m.RealTopic = m.Properties[message.KeyRealTopic]
	if m.Topic == message.TopicTimer {
		if ms, err := strconv.ParseInt(m.Properties[message.KeyTimerOutMs], 10, 64); err == nil {
			m.DueMs = ms + 1
		}
	}
	return m
}

// Resent is what became of a dead letter that was sent again.
type Resent struct {
	Offset int64  `json:"offset"` // of the dead letter
	Topic  string `json:"topic"`  // where it went
	At     int64  `json:"at"`     // its offset there
	Error  string `json:"error"`  // empty: it was sent
}

// ResendAnswer tells of each dead letter that was to be sent again.
type ResendAnswer struct {
	Resent []Resent `json:"resent"`
}

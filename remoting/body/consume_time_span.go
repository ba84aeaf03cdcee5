package body

import (
	"fmt"
	"time"
)

// ConsumeTimeSpan is the reply of QUERY_CONSUME_TIME_SPAN (QueryConsumeTimeSpanBody).
type ConsumeTimeSpan struct {
	Spans []QueueTimeSpan
}

func (c *ConsumeTimeSpan) members(m *members) {
	if m.at("consumeTimeSpanSet") {
		listOf(m.x, &c.Spans, object[QueueTimeSpan])
	}
}

// QueueTimeSpan tells the store times of the first, last and last consumed message of one queue, in ms since the epoch, and the
// delay of the consumer in ms.
type QueueTimeSpan struct {
	MessageQueue     MessageQueue
	MinTimestamp     int64
	MaxTimestamp     int64
	ConsumeTimestamp int64
	DelayTime        int64
}

func (q *QueueTimeSpan) members(m *members) {
	m.i64("consumeTimeStamp", &q.ConsumeTimestamp)
	m.timeText("consumeTimeStampStr", q.ConsumeTimestamp)
	m.i64("delayTime", &q.DelayTime)
	m.i64("maxTimeStamp", &q.MaxTimestamp)
	m.timeText("maxTimeStampStr", q.MaxTimestamp)
	if m.at("messageQueue") {
		object(m.x, &q.MessageQueue)
	}
	m.i64("minTimeStamp", &q.MinTimestamp)
	m.timeText("minTimeStampStr", q.MinTimestamp)
}

// timeText is a derived member that is not read: a time in the local zone, as UtilAll.timeMillisToHumanString2 prints it.
func (m *members) timeText(name string, ms int64) {
	if m.x.w == nil || !m.at(name) {
		return
	}
	t := time.UnixMilli(ms)
	m.x.w.text(fmt.Sprintf("%s:%03d", t.Format("2006-01-02#15:04:05"), t.Nanosecond()/int(time.Millisecond)))
}

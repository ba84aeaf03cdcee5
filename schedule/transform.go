package schedule

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// ErrLevel says that the property DELAY of a message is not a number. The reference fails in Integer.parseInt and answers SYSTEM_ERROR.
var ErrLevel = errors.New("delay level is not a number")

// Transform sends a message with a delay level on its way: it gets REAL_TOPIC and REAL_QID and goes to the queue of its level. It tells
// whether it did. A level beyond the highest becomes the highest one; 0 and below is no delay; TIMER_* properties give way to the level
// (HookUtils.handleScheduleMessage, transformDelayLevelMessage). Prepared and rolled-back halves are left alone. An error wraps ErrLevel
// and leaves m as it was. Safe for concurrent use; one allocation.
func (s *Schedule) Transform(m *message.Message) (bool, error) { return s.levels.Transform(m) }

// Transform is Schedule.Transform.
func (l *Levels) Transform(m *message.Message) (bool, error) {
	if t := m.TransactionType(); t != message.TransactionNone && t != message.TransactionCommit {
		return false, nil
	}
	value, ok := m.Property(message.KeyDelayLevel)
	if !ok {
		return false, nil
	}
	level, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return false, fmt.Errorf("%w: property %s is %q, want a number from %d to %d",
			ErrLevel, message.KeyDelayLevel, value, math.MinInt32, math.MaxInt32)
	}
	if level <= 0 {
		return false, nil
	}
	highest := l.Max()
	if level > int64(highest) {
		level = int64(highest)
		m.Suffix = m.Suffix.Without(message.KeyDelayLevel)
		m.Properties = m.Properties.Without(message.KeyDelayLevel)
	}
	kept := m.Properties.Without(message.KeyRealTopic, message.KeyRealQueueID,
		message.KeyTimerDeliverMs, message.KeyTimerDelaySec, message.KeyTimerDelayMs)
	p := append(make(message.Properties, 0, len(kept)+len(m.Topic)+len(realPairs)+digits), kept...)
	if !p.Has(message.KeyDelayLevel) && !m.Suffix.Has(message.KeyDelayLevel) {
		p = p.Append(message.KeyDelayLevel, strconv.FormatInt(level, 10))
	}
	p = p.Append(message.KeyRealTopic, m.Topic)
	p = p.Append(message.KeyRealQueueID, strconv.FormatInt(int64(m.QueueID), 10))
	m.Properties = p
	m.Topic = message.TopicSchedule
	m.QueueID = int32(level) - 1
	return true, nil
}

// realPairs and digits are what Transform adds at most beside the topic.
const (
	realPairs = message.KeyDelayLevel + message.KeyRealTopic + message.KeyRealQueueID + "\x01\x02\x01\x02\x01\x02\x02"
	digits    = len("-2147483648") + len("2147483647")
)

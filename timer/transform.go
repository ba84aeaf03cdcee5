package timer

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// Errors of Transform. Their texts begin as the reference's remarks do (SendMessageProcessor.handlePutMessageResult).
var (
	// ErrIllegal: the time is no number, too far ahead, or a cancel's time is past (WHEEL_TIMER_MSG_ILLEGAL).
	ErrIllegal = errors.New("timer message illegal")
	// ErrFlowControl: too many timers are due in the same slot (WHEEL_TIMER_FLOW_CONTROL).
	ErrFlowControl = errors.New("timer message is under flow control")
	// ErrDisabled: timerWheelEnable is false (WHEEL_TIMER_NOT_ENABLE).
	ErrDisabled = errors.New("accurate timer message is not enabled, timerWheelEnable is false")
)

// wish is what a message's properties ask for.
type wish struct {
	delayLevel, outMs                string
	delaySec, delayMs, deliverMs     string
	hasOut, hasTimer, cancels, hasTo bool
}

func wishOf(p message.Properties) wish {
	var w wish
	p.Range(func(key, value string) bool {
		switch key {
		case message.KeyDelayLevel:
			w.delayLevel = value
		case message.KeyTimerOutMs:
			w.outMs, w.hasOut = value, true
		case message.KeyTimerDelaySec:
			w.delaySec, w.hasTimer = value, true
		case message.KeyTimerDelayMs:
			w.delayMs, w.hasTimer = value, true
		case message.KeyTimerDeliverMs:
			w.deliverMs, w.hasTimer = value, true
		case message.KeyTimerDelUniqueKey:
			w.cancels = true
		case message.KeyRealTopic, message.KeyRealQueueID:
			w.hasTo = true
		}
		return true
	})
	return w
}

// relative tells that the time asked for is counted from now.
func (w *wish) relative() bool { return w.delaySec != "" || w.delayMs != "" }

// Transform sends a message with a TIMER_… time on its way: it gets TIMER_OUT_MS, REAL_TOPIC and REAL_QID and goes to queue 0 of
// rmq_sys_wheel_timer. It returns TIMER_OUT_MS, or 0 when it did not (HookUtils.handleScheduleMessage, transformTimerMessage).
//
// Of several times TIMER_DELAY_SEC counts before TIMER_DELAY_MS before TIMER_DELIVER_MS. A time not in the future leaves the message an
// ordinary one. A delay level wins: the TIMER_… times are taken away and the message is left to package schedule. Halves and messages that
// were timers already are left alone. An error wraps ErrIllegal, ErrFlowControl or ErrDisabled and leaves m as it was. Safe for concurrent
// use; one allocation.
func (t *Timer) Transform(m *message.Message) (outMs int64, err error) {
	if k := m.TransactionType(); k != message.TransactionNone && k != message.TransactionCommit || m.Topic == message.TopicTimer {
		return 0, nil
	}
	w := wishOf(m.Properties)
	if !w.hasTimer {
		return 0, nil
	}
	if w.delayLevel != "" {
		level, err := strconv.ParseInt(w.delayLevel, 10, 32)
		switch {
		case err != nil:
			return 0, nil //nolint:nilerr // package schedule refuses it
		case level > 0:
			m.Properties = m.Properties.Without(message.KeyTimerDeliverMs, message.KeyTimerDelaySec, message.KeyTimerDelayMs)
			return 0, nil
		}
	}
	if w.hasOut {
		return 0, nil
	}
	limits := t.limits.Load()
	if !limits.enabled {
		return 0, ErrDisabled
	}
	now := t.o.Clock.NowMs()
	deliver, err := w.deliverAt(now, limits.maxDelayMs)
	if err != nil {
		return 0, err
	}
	if deliver <= now {
		return 0, nil
	}
	out := deliver - 1
	if out%t.precision == 0 && w.relative() {
		out++ // so that it is not taken for a rounded time of the reference
	}
	if err := t.checkCongestion(out, limits.congestion); err != nil {
		return 0, err
	}
	p := m.Properties
	if w.hasTo {
		p = p.Without(message.KeyRealTopic, message.KeyRealQueueID)
	}
	p = append(make(message.Properties, 0, len(p)+len(m.Topic)+targetRoom), p...)
	var digits [20]byte
	p = appendNumber(p, message.KeyTimerOutMs, out, digits[:0])
	p = p.Append(message.KeyRealTopic, m.Topic)
	p = appendNumber(p, message.KeyRealQueueID, int64(m.QueueID), digits[:0])
	m.Properties = p
	m.Topic = message.TopicTimer
	m.QueueID = 0
	t.noteSoon(out, now)
	return out, nil
}

// targetRoom is what Transform adds at most beside the topic.
const targetRoom = len(message.KeyTimerOutMs+message.KeyRealTopic+message.KeyRealQueueID) + 7 + 20 + 11

// appendNumber is p.Append for a number, without an allocation of its own.
func appendNumber(p message.Properties, key string, n int64, digits []byte) message.Properties {
	if len(p) > 0 && p[len(p)-1] != message.PropertySeparator {
		p = append(p, message.PropertySeparator)
	}
	p = append(append(p, key...), message.NameValueSeparator)
	p = append(p, strconv.AppendInt(digits, n, 10)...)
	return append(p, message.PropertySeparator)
}

// deliverAt is when the message is wanted, ms, or an error wrapping ErrIllegal.
func (w *wish) deliverAt(now, maxDelayMs int64) (int64, error) {
	key, value, unit := message.KeyTimerDeliverMs, w.deliverMs, int64(1)
	base := int64(0)
	switch {
	case w.delaySec != "":
		key, value, unit, base = message.KeyTimerDelaySec, w.delaySec, 1000, now
	case w.delayMs != "":
		key, value, base = message.KeyTimerDelayMs, w.delayMs, now
	}
	illegal := func(why string) error {
		return fmt.Errorf("%w, the delay time should not be bigger than the max delay %dms; or if set del msg, the delay time should be bigger "+
			"than the current time: property %s is %q, %s", ErrIllegal, maxDelayMs, key, value, why)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && value[0] != '-', err == nil && n > (math.MaxInt64-base)/unit:
		return 0, illegal("timerMaxDelaySec is " + strconv.FormatInt(maxDelayMs/1000, 10))
	case errors.Is(err, strconv.ErrRange), err == nil && n < math.MinInt64/unit:
		n = math.MinInt64 / unit
	case err != nil:
		return 0, illegal("not a number")
	}
	deliver := base + n*unit
	switch {
	case deliver <= now && w.cancels:
		return 0, illegal("a cancel must be earlier than what it cancels, now is " + strconv.FormatInt(now, 10))
	case deliver > now && deliver-now > maxDelayMs:
		return 0, illegal("timerMaxDelaySec is " + strconv.FormatInt(maxDelayMs/1000, 10))
	}
	return deliver, nil
}

package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/schedule"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// roleSlave is the brokerRole that does not take messages.
const roleSlave = "SLAVE"

// putError turns what went wrong with a message into the code and remark of its answer, as
// SendMessageProcessor#handlePutMessageResult words them, with what was found behind.
func (b *Broker) putError(err error) (code int32, remark string) {
	var known *remoting.Error
	switch {
	case errors.As(err, &known):
		return known.Code, known.Remark
	case errors.Is(err, store.ErrMessageIllegal):
		return remoting.MessageIllegal, b.limitsRemark() + " " + err.Error()
	case errors.Is(err, schedule.ErrLevel):
		return remoting.SystemError, err.Error()
	case errors.Is(err, timer.ErrIllegal):
		return remoting.MessageIllegal, err.Error()
	case errors.Is(err, timer.ErrFlowControl):
		most := int64(b.config().Store.TimerCongestNumEachSlot)
		return remoting.SystemError, fmt.Sprintf("timer message is under flow control, max num limit is %d or the current value is greater than %d "+
			"and less than %d, trigger random flow control. %s", most*2, most, most*2, err)
	case errors.Is(err, timer.ErrDisabled):
		return remoting.SystemError, fmt.Sprintf("accurate timer message is not enabled, timerWheelEnable is %t", b.config().Store.TimerWheelEnable)
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrFlushFailed):
		return remoting.ServiceNotAvailable, "service not available now. It may be caused by one of the following reasons: " +
			"the broker's disk is full [" + b.diskText() + "], messages are put to the slave, message store has been shut down, etc. " + err.Error()
	case errors.Is(err, store.ErrBusy):
		return remoting.SystemBusy, "[PC_SYNCHRONIZED]broker busy, start flow control for a while. " + err.Error()
	case errors.Is(err, store.ErrWriteFailed):
		return remoting.SystemError, "create mapped file failed, server is busy or broken. " + err.Error()
	case errors.Is(err, store.ErrTooManyQueues):
		return remoting.LMQQuotaExceeded, "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded. " + err.Error()
	}
	return remoting.SystemError, err.Error()
}

// limitsRemark are the reference's words for a message that is too large, with the limits that apply.
func (b *Broker) limitsRemark() string {
	return "the message is illegal, maybe msg body or properties length not matched. msg body length limit " +
		strconv.Itoa(int(b.config().Store.MaxMessageSize)) + "B, msg properties length limit 32KB."
}

// illegal refuses a message with MESSAGE_ILLEGAL: the reference's words first, which tools know, then what is wrong.
func (b *Broker) illegal(format string, args ...any) error {
	return &remoting.Error{Code: remoting.MessageIllegal, Remark: b.limitsRemark() + " " + fmt.Sprintf(format, args...)}
}

// diskText is how full the disks of commit log and consume queues are, in percent as in the reference.
func (b *Broker) diskText() string {
	u := b.store.DiskUsage()
	return fmt.Sprintf("CL: %5.2f CQ: %5.2f INDEX: %5.2f, %s: %d of %d bytes free", u.Ratio, u.QueueRatio, u.QueueRatio, u.Path, u.Free, u.Total)
}

// delay sends m on its way through the delay levels or the timer, in the reference's order (HookUtils#handleScheduleMessage): the
// level wins. timed tells that m has timer properties and has not been a timer message before. outMs is the time of what became a timer, else 0.
func (b *Broker) delay(m *message.Message, level int32, timed bool) (outMs int64, err error) {
	if level > 0 {
		_, err := b.schedule.Transform(m)
		return 0, err
	}
	if !timed {
		return 0, nil
	}
	return b.timer.Transform(m)
}

// transform is delay for a message whose properties have not been looked at.
func (b *Broker) transform(m *message.Message) error {
	var p sendProperties
	p.scan(m.Properties)
	level, err := p.delayLevel()
	if err != nil {
		return err
	}
	_, err = b.delay(m, level, p.timer && !p.timed && m.Topic != message.TopicTimer)
	return err
}

// randomQueue is a queue id in [0, n).
func randomQueue(n int32) int32 { return rand.Int32N(n) }

package brokertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

// Decision is what happens to a request. The zero Decision lets it pass. Decisions about the request come first, those about its answer when
// it has one; And joins one of each.
type Decision struct {
	before before
	answer *remoting.Command // of answerInstead
	delay  time.Duration

	after      after
	lag        time.Duration                  // of delayAnswer
	cut        int                            // of cutAnswer
	edit       func(answer *remoting.Command) // of editAnswer
	failCode   int32                          // of failAnswer
	failRemark string
}

type before uint8

const (
	handle before = iota
	answerInstead
	drop
	closeConn
	closeMidFrame
)

type after uint8

const (
	send after = iota
	dropAnswer
	delayAnswer
	cutAnswer
	editAnswer
	failAnswer
)

// Pass lets the request go its way.
func Pass() Decision { return Decision{} }

// Fail answers with a response code and remark; the broker does not see the request.
func Fail(code int32, remark string) Decision {
	answer := remoting.NewResponse(code)
	answer.Remark = remark
	return Answer(answer)
}

// Answer answers with a response of the test's making, which must not change any more; the broker does not see the request.
func Answer(answer *remoting.Command) Decision {
	return Decision{before: answerInstead, answer: answer}
}

// Drop loses the request: the broker does not see it, the client gets no answer.
func Drop() Decision { return Decision{before: drop} }

// Close closes the connection instead of handling the request.
func Close() Decision { return Decision{before: closeConn} }

// CloseMidFrame sends half of an answer's frame and closes the connection; the broker does not see the request.
func CloseMidFrame() Decision { return Decision{before: closeMidFrame} }

// Delay handles the request when the broker's clock has moved on by d. Others of its connection overtake it.
func Delay(d time.Duration) Decision { return Decision{delay: d} }

// DropAnswer lets the broker handle the request and loses its answer: a message is stored, and its producer does not know.
func DropAnswer() Decision { return Decision{after: dropAnswer} }

// DelayAnswer lets the broker handle the request and sends its answer when the clock has moved on by d.
func DelayAnswer(d time.Duration) Decision { return Decision{after: delayAnswer, lag: d} }

// CutAnswer lets the broker handle the request, sends the first n bytes of the answer's frame, none when n is 0, and closes the connection.
func CutAnswer(n int) Decision { return Decision{after: cutAnswer, cut: max(0, n)} }

// EditAnswer lets the broker handle the request and change change its answer before it is sent. change runs on any goroutine and must not
// block; the answer's Header, Ext and Remark may be replaced, and its Body when BodyParts is cleared.
func EditAnswer(change func(answer *remoting.Command)) Decision {
	return Decision{after: editAnswer, edit: change}
}

// FailAnswer lets the broker handle the request and answers with an error code all the same: a message is stored, and its producer is told
// that it is not.
func FailAnswer(code int32, remark string) Decision {
	return Decision{after: failAnswer, failCode: code, failRemark: remark}
}

// And joins d with another decision: the other's wherever d has none.
func (d Decision) And(other Decision) Decision {
	if d.before == handle {
		d.before, d.answer = other.before, other.answer
	}
	if d.delay == 0 {
		d.delay = other.delay
	}
	if d.after == send {
		d.after, d.lag, d.cut, d.edit = other.after, other.lag, other.cut, other.edit
		d.failCode, d.failRemark = other.failCode, other.failRemark
	}
	return d
}

func (d *Decision) passes() bool { return d.before == handle && d.delay == 0 && d.after == send }

// String says what the decision does, as the journal shows it; "" when it does nothing.
func (d Decision) String() string {
	var parts []string
	if d.delay != 0 {
		parts = append(parts, fmt.Sprintf("delayed by %v", d.delay))
	}
	switch d.before {
	case handle:
	case answerInstead:
		parts = append(parts, "answered "+remoting.ResponseName(d.answer.Code)+" by a rule")
	case drop:
		parts = append(parts, "dropped")
	case closeConn:
		parts = append(parts, "connection closed")
	case closeMidFrame:
		parts = append(parts, "connection closed in the middle of an answer")
	}
	switch d.after {
	case send:
	case dropAnswer:
		parts = append(parts, "answer dropped")
	case delayAnswer:
		parts = append(parts, fmt.Sprintf("answer delayed by %v", d.lag))
	case cutAnswer:
		parts = append(parts, fmt.Sprintf("answer cut after %d bytes, connection closed", d.cut))
	case editAnswer:
		parts = append(parts, "answer edited")
	case failAnswer:
		parts = append(parts, "answer replaced by "+remoting.ResponseName(d.failCode))
	}
	return strings.Join(parts, ", ")
}

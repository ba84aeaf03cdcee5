package admin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rocketd/rocketd/remoting"
)

// Error is the refusal of a server.
type Error struct {
	Server  string // who refused
	Version string // of the server's protocol, such as V5_5_0
	Request int32  // code of what was asked
	Code    int32
	Remark  string
}

// Error tells who refused what and why, and what to do where that is known.
func (e *Error) Error() string {
	if e.Code == remoting.RequestCodeNotSupported {
		return fmt.Sprintf("the %s (%s) does not know %s (%d): this needs a newer version", e.Server, e.Version, remoting.RequestName(e.Request), e.Request)
	}
	remark := strings.TrimSpace(e.Remark)
	if at := strings.Index(remark, "See https://"); at > 0 { // the reference ends remarks with a link
		remark = strings.TrimSpace(remark[:at])
	}
	text := fmt.Sprintf("the %s answered %s to %s", e.Server, remoting.ResponseName(e.Code), remoting.RequestName(e.Request))
	if remark != "" {
		text += ": " + remark
	}
	if advice := adviceFor(e.Code); advice != "" {
		text += "; " + advice
	}
	return text
}

func adviceFor(code int32) string {
	switch code {
	case remoting.TopicNotExist:
		return "rocketd topic list shows what there is"
	case remoting.SubscriptionGroupNotExist:
		return "rocketd group list shows what there is, rocketd group create makes one"
	case remoting.NoPermission:
		return "the topic's or the broker's permission forbids it: rocketd topic show tells it"
	case remoting.SystemBusy, remoting.FlowControl:
		return "the broker has more to do than it takes on: try again"
	default:
		return ""
	}
}

// Unreachable says that a server gave no answer.
type Unreachable struct {
	Server string
	Broker bool // it is a broker, whose address the name server told
	Err    error
}

// Error tells who did not answer and what to look at.
func (e *Unreachable) Error() string {
	if e.Broker {
		return fmt.Sprintf("no answer from the %s: %v; this is the address that clients are told, rocketd doctor finds out what is wrong with it", e.Server, e.cause())
	}
	return fmt.Sprintf("no answer from the %s: %v; --namesrv HOST:PORT or NAMESRV_ADDR names another one", e.Server, e.cause())
}

// Unwrap is what the connection said.
func (e *Unreachable) Unwrap() error { return e.Err }

// cause is the innermost sentence.
func (e *Unreachable) cause() error {
	if errors.Is(e.Err, remoting.ErrTimeout) {
		return errors.New("nothing came in time")
	}
	if errors.Is(e.Err, remoting.ErrClosed) {
		return errors.New("it closed the connection")
	}
	err := e.Err
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func asUnreachable(err error, target **Unreachable) bool { return errors.As(err, target) }

// NotFound says that something does not exist.
type NotFound struct {
	What string // topic, group, message, …
	Name string
	Hint string // what to do
}

// Error names it and what to do.
func (e *NotFound) Error() string {
	text := "there is no " + e.What
	if e.Name != "" {
		text += " " + e.Name
	}
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Usage says that the question makes no sense.
type Usage struct{ Text string }

// Error is the reason.
func (e *Usage) Error() string { return e.Text }

func usage(format string, args ...any) error { return &Usage{Text: fmt.Sprintf(format, args...)} }

// refused tells whether err is a server's answer with one of these codes.
func refused(err error, codes ...int32) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

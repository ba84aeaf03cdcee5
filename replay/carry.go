package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// Bounds of what is carried over; beyond it requests go out as they were recorded.
const (
	maxCarried = 1 << 20
	leastToken = 8 // shorter values mean the same to both servers
)

// carry holds what the server played to told otherwise than the recorded one, by the recorded value.
type carry struct {
	tokens  map[string]string // ids, handles, times
	offsets map[int64]int64   // physical offsets
}

func newCarry() *carry {
	return &carry{tokens: map[string]string{}, offsets: map[int64]int64{}}
}

// learn looks at two answers to a request.
func (c *carry) learn(request int32, recorded, played *remoting.Command) {
	for _, f := range recorded.Ext {
		got, there := played.ExtValue(f.Key)
		if !there || got == f.Value {
			continue
		}
		c.token(f.Value, got)
		if f.Key == "msgId" {
			c.messageID(f.Value, got)
		}
	}
	if !hasRecords(request) {
		return
	}
	a, errA := records(recorded.Body)
	b, errB := records(played.Body)
	if errA != nil || errB != nil {
		return
	}
	for i := range min(len(a), len(b)) {
		c.offset(a[i].PhysicalOffset, b[i].PhysicalOffset)
		c.token(message.OffsetMessageID(a[i].StoreHost, a[i].PhysicalOffset), message.OffsetMessageID(b[i].StoreHost, b[i].PhysicalOffset))
	}
}

func (c *carry) token(was, is string) {
	if len(was) >= leastToken && len(c.tokens) < maxCarried {
		c.tokens[strings.Clone(was)] = strings.Clone(is)
	}
}

func (c *carry) offset(was, is int64) {
	if was != is && len(c.offsets) < maxCarried {
		c.offsets[was] = is
	}
}

// messageID learns the physical offsets of two message ids; those of a batch are joined by commas.
func (c *carry) messageID(was, is string) {
	a, b := strings.Split(was, ","), strings.Split(is, ",")
	for i := range min(len(a), len(b)) {
		_, from, errA := message.ParseOffsetMessageID(a[i])
		_, to, errB := message.ParseOffsetMessageID(b[i])
		if errA == nil && errB == nil {
			c.offset(from, to)
			c.token(a[i], b[i])
		}
	}
}

// apply gives the frame of a request with what was learned in it, and whether anything is.
func (c *carry) apply(frame []byte) ([]byte, bool) {
	var cmd remoting.Command
	if err := remoting.DecodeFrame(frame, &cmd); err != nil {
		return frame, false
	}
	changed := false
	fields := slices.Clone(cmd.Ext)
	for i, f := range fields {
		if value := c.value(cmd.Code, f.Key, f.Value); value != f.Value {
			fields[i].Value, changed = value, true
		}
	}
	if !changed {
		return frame, false
	}
	cmd.Ext = fields
	return remoting.AppendFrame(nil, &cmd), true
}

// value is a field's value with what was learned in it.
func (c *carry) value(code int32, name, value string) string {
	if isPhysicalOffset(code, name) {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			if is, known := c.offsets[n]; known {
				return strconv.FormatInt(is, 10)
			}
		}
		return value
	}
	if is, known := c.tokens[value]; known {
		return is
	}
	if name == "extraInfo" { // a pop handle: tokens of the answer joined by the client
		parts := strings.Split(value, " ")
		for i, part := range parts {
			if is, known := c.tokens[part]; known {
				parts[i] = is
			}
		}
		return strings.Join(parts, " ")
	}
	return value
}

// isPhysicalOffset tells whether a field is an offset in the commit log.
func isPhysicalOffset(code int32, name string) bool {
	switch code {
	case remoting.EndTransaction:
		return name == "commitLogOffset"
	case remoting.ConsumerSendMsgBack, remoting.ViewMessageByID:
		return name == "offset"
	}
	return false
}

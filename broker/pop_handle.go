package broker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// popOrderReviveQueue stands for the revive queue in handles of ordered pop, which has none (KeyBuilder).
const popOrderReviveQueue = 999

// Retry flags of a handle: which topic the message lies in.
const (
	retryFlagNone = "0"
	retryFlagV1   = "1"
	retryFlagV2   = "2"
)

// popHandle is what a consumer of pop holds for a message: the property POP_CK, the field extraInfo, eight parts
// split by blanks (ExtraInfoUtil).
type popHandle struct {
	startOffset   int64 // of the checkpoint that the message belongs to
	popTime       int64 // ms
	invisibleTime int64 // ms
	reviveQueue   int32
	retryFlag     string
	brokerName    string
	queueID       int32
	queueOffset   int64 // of the message; -1 when the handle is an old one of seven parts
}

// reviveTime is when the message becomes visible again unless it is acknowledged, ms.
func (h *popHandle) reviveTime() int64 { return h.popTime + h.invisibleTime }

func (h *popHandle) ordered() bool { return h.reviveQueue == popOrderReviveQueue }

func (h *popHandle) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %d %s %s %d", h.startOffset, h.popTime, h.invisibleTime, h.reviveQueue, h.retryFlag, h.brokerName, h.queueID)
	if h.queueOffset >= 0 {
		fmt.Fprintf(&b, " %d", h.queueOffset)
	}
	return b.String()
}

// parsePopHandle reads a handle of at least six parts; those behind are optional, as for the reference's handlers.
func parsePopHandle(s string) (popHandle, error) {
	parts := strings.Split(s, message.KeySeparator)
	h := popHandle{queueOffset: -1}
	if len(parts) < 6 {
		return h, fmt.Errorf("extraInfo %.128q has %d parts, at least 6 are needed", s, len(parts))
	}
	numbers := []struct {
		name string
		text string
		bits int
		set  func(int64)
	}{
		{"ckQueueOffset", parts[0], 64, func(v int64) { h.startOffset = v }},
		{"popTime", parts[1], 64, func(v int64) { h.popTime = v }},
		{"invisibleTime", parts[2], 64, func(v int64) { h.invisibleTime = v }},
		{"reviveQid", parts[3], 32, func(v int64) { h.reviveQueue = int32(v) }},
	}
	h.retryFlag, h.brokerName = parts[4], parts[5]
	for _, n := range numbers {
		v, err := strconv.ParseInt(n.text, 10, n.bits)
		if err != nil {
			return h, fmt.Errorf("extraInfo %.128q: %s %.32q is not a number", s, n.name, n.text)
		}
		n.set(v)
	}
	if len(parts) > 6 {
		if v, err := strconv.ParseInt(parts[6], 10, 32); err == nil {
			h.queueID = int32(v)
		}
	}
	if len(parts) > 7 {
		if v, err := strconv.ParseInt(parts[7], 10, 64); err == nil {
			h.queueOffset = v
		}
	}
	return h, nil
}

// retryFlag tells how a topic is written in handles and offset lists.
func retryFlag(topic string) string {
	switch {
	case message.IsPopRetryTopicV2(topic):
		return retryFlagV2
	case message.IsRetryTopic(topic):
		return retryFlagV1
	default:
		return retryFlagNone
	}
}

// popTopicOfFlag is the topic that a handle of a group's message of topic points into.
func popTopicOfFlag(topic, group, flag string) (string, error) {
	switch flag {
	case retryFlagNone:
		return topic, nil
	case retryFlagV1:
		return message.PopRetryTopic(topic, group, false), nil
	case retryFlagV2:
		return message.PopRetryTopic(topic, group, true), nil
	default:
		return "", fmt.Errorf("retry flag is %.16q, 0, 1 and 2 are known", flag)
	}
}

// popOffsets builds the offset lists of a pop's answer: entries split by ";", their parts by blanks.
type popOffsets struct {
	start strings.Builder // startOffsetInfo
	msgs  strings.Builder // msgOffsetInfo
	order strings.Builder // orderCountInfo
}

func entry(b *strings.Builder, flag string, middle string) {
	if b.Len() > 0 {
		b.WriteByte(';')
	}
	b.WriteString(flag)
	b.WriteByte(' ')
	b.WriteString(middle)
	b.WriteByte(' ')
}

// add notes the messages read from one queue.
func (p *popOffsets) add(topic string, queueID int32, startOffset int64, offsets []int64) {
	flag, id := retryFlag(topic), strconv.Itoa(int(queueID))
	entry(&p.start, flag, id)
	p.start.WriteString(strconv.FormatInt(startOffset, 10))
	entry(&p.msgs, flag, id)
	for i, offset := range offsets {
		if i > 0 {
			p.msgs.WriteByte(',')
		}
		p.msgs.WriteString(strconv.FormatInt(offset, 10))
	}
}

// addMessageCount notes how often a message of an ordered queue has been delivered before.
func (p *popOffsets) addMessageCount(topic string, queueID int32, offset int64, count int32) {
	entry(&p.order, retryFlag(topic), "qo"+strconv.Itoa(int(queueID))+"%"+strconv.FormatInt(offset, 10))
	p.order.WriteString(strconv.Itoa(int(count)))
}

// addQueueCount notes the smallest count of an ordered queue, for old clients.
func (p *popOffsets) addQueueCount(topic string, queueID, count int32) {
	entry(&p.order, retryFlag(topic), strconv.Itoa(int(queueID)))
	p.order.WriteString(strconv.Itoa(int(count)))
}

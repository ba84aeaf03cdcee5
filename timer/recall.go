package timer

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// ErrRecallHandle says that a recall handle cannot be read. Its text is the reference's remark.
var ErrRecallHandle = errors.New("recall handle is invalid")

const (
	recallVersion = "v1"
	// RecallTag is the TAGS of a cancel made by RECALL_MESSAGE.
	RecallTag = "_RECALL_TAG_"
)

// RecallHandle names a timer message, so that its sender can recall it (RecallMessageHandle.HandleV1).
type RecallHandle struct {
	Topic      string
	BrokerName string
	// DeliverMs is when the message is due, ms; -1 when the handle holds no number.
	DeliverMs int64
	UniqueKey string
}

// String is the handle as clients keep it: the URL-safe base 64 of "v1 topic broker time key".
func (h RecallHandle) String() string {
	return base64.URLEncoding.EncodeToString([]byte(strings.Join([]string{
		recallVersion, h.Topic, h.BrokerName, strconv.FormatInt(h.DeliverMs, 10), h.UniqueKey,
	}, " ")))
}

// ParseRecallHandle reads a handle, with or without padding. The error is ErrRecallHandle.
func ParseRecallHandle(s string) (RecallHandle, error) {
	encoding := base64.RawURLEncoding
	if strings.HasSuffix(s, "=") {
		encoding = base64.URLEncoding
	}
	raw, err := encoding.DecodeString(s)
	if err != nil {
		return RecallHandle{}, ErrRecallHandle
	}
	parts := strings.Split(strings.TrimRight(string(raw), " "), " ")
	if len(parts) < 5 || parts[0] != recallVersion {
		return RecallHandle{}, ErrRecallHandle
	}
	h := RecallHandle{Topic: parts[1], BrokerName: parts[2], DeliverMs: -1, UniqueKey: parts[4]}
	if ms, err := strconv.ParseInt(parts[3], 10, 64); err == nil {
		h.DeliverMs = ms
	}
	return h, nil
}

// HandleOf returns the recall handle for a message that Transform sent on its way; ok is false for others and for retries
// (SendMessageProcessor.attachRecallHandle).
func HandleOf(m *message.Message, brokerName string) (handle string, ok bool) {
	if m.Topic != message.TopicTimer {
		return "", false
	}
	var out, topic, unique string
	m.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyTimerOutMs:
			out = value
		case message.KeyRealTopic:
			topic = value
		case message.KeyUniqueKey:
			unique = value
		}
		return true
	})
	ms, err := strconv.ParseInt(out, 10, 64)
	if err != nil || topic == "" || message.IsRetryTopic(topic) {
		return "", false
	}
	return RecallHandle{Topic: topic, BrokerName: brokerName, DeliverMs: ms + 1, UniqueKey: unique}.String(), true
}

// RecallOptions are what RecallMessage puts into a cancel beside the handle.
type RecallOptions struct {
	ProducerGroup string
	NowMs         int64
	BornHost      netip.AddrPort
	StoreHost     netip.AddrPort
	// AppendTopic is the setting appendTopicForTimerDeleteKey.
	AppendTopic bool
}

// RecallMessage makes the cancel that RECALL_MESSAGE puts into the store, to be given to Transform (RecallMessageProcessor.buildMessage).
func RecallMessage(h RecallHandle, o RecallOptions) message.Message {
	key := h.UniqueKey
	if o.AppendTopic {
		key = h.Topic + deleteKeySeparator + h.UniqueKey
	}
	p := message.Properties(nil).
		Append(message.KeyTags, RecallTag).
		Append(message.KeyTimerDelUniqueKey, key).
		Append(message.KeyUniqueKey, h.UniqueKey).
		Append(message.KeyTimerDeliverMs, strconv.FormatInt(h.DeliverMs, 10)).
		Append(message.KeyBornTimestamp, strconv.FormatInt(o.NowMs, 10)).
		Append(message.KeyProducerGroup, o.ProducerGroup)
	return message.Message{
		Topic:         h.Topic,
		Body:          []byte("0"),
		BornTimestamp: o.NowMs,
		BornHost:      o.BornHost,
		StoreHost:     o.StoreHost,
		Properties:    p,
		WaitStored:    true,
	}
}

// deleteKeySeparator stands between topic and key in the long form of TIMER_DEL_UNIQKEY.
const deleteKeySeparator = "+"

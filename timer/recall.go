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

// Append adds the handle as clients keep it to dst: the URL-safe base 64 of "v1 topic broker time key". It allocates only for a handle of more
// than 256 bytes, or when dst has no room.
func (h RecallHandle) Append(dst []byte) []byte {
	var room [256]byte
	raw := append(append(room[:0], recallVersion...), ' ')
	raw = append(append(raw, h.Topic...), ' ')
	raw = append(append(raw, h.BrokerName...), ' ')
	raw = append(strconv.AppendInt(raw, h.DeliverMs, 10), ' ')
	raw = append(raw, h.UniqueKey...)
	return base64.URLEncoding.AppendEncode(dst, raw)
}

// String is Append's.
func (h RecallHandle) String() string { return string(h.Append(nil)) }

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

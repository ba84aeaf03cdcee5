package relay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// ErrNoTarget says that a record in a system topic does not tell where it belongs.
var ErrNoTarget = errors.New("record has no real topic")

// maxInterned bounds the topic names a Rebuilder remembers.
const maxInterned = 1 << 12

// Rebuilder makes messages out of stored records.
type Rebuilder struct {
	topics map[string]string
}

// Intern returns a string equal to s that does not alias it.
func (b *Rebuilder) Intern(s string) string {
	if t, ok := b.topics[s]; ok {
		return t
	}
	if b.topics == nil || len(b.topics) >= maxInterned {
		b.topics = make(map[string]string)
	}
	t := strings.Clone(s)
	b.topics[t] = t
	return t
}

// Again sets m to the message that r was stored from, for the same system topic and queue. Body and properties alias the record. Like
// the reference (TimerMessageStore.convertMessage, ScheduleMessageService.messageTimeUp) it keeps born and store host, does not wait for a
// flush, and forgets the offset of the half message.
func (b *Rebuilder) Again(r *message.Record, m *message.Message) {
	b.again(r, m, r.Properties.Has(message.KeyCRC32))
}

func (b *Rebuilder) again(r *message.Record, m *message.Message, crcTail bool) {
	*m = r.Message
	m.Topic = b.Intern(r.Topic)
	m.PreparedTransactionOffset = 0
	m.WaitStored = false
	if crcTail {
		m.Properties = m.Properties.Without(message.KeyCRC32)
		m.PropertyCRC = true
	}
}

// Real is Again for the topic and queue in REAL_TOPIC and REAL_QID. It fails with ErrNoTarget when they are missing or malformed or when
// the target is the topic of half messages, which such a message may not enter. The properties stay as they are stored: the reference
// too takes away DELAY and the like only after it has built the string it stores.
func (b *Rebuilder) Real(r *message.Record, m *message.Message) error {
	topic, queue, crcTail := "", "", false
	r.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyRealTopic:
			topic = value
		case message.KeyRealQueueID:
			queue = value
		case message.KeyCRC32:
			crcTail = true
		}
		return true
	})
	id, err := strconv.ParseInt(queue, 10, 32)
	switch {
	case topic == "":
		return fmt.Errorf("%w: no property %s", ErrNoTarget, message.KeyRealTopic)
	case err != nil || id < 0:
		return fmt.Errorf("%w: property %s is %q", ErrNoTarget, message.KeyRealQueueID, queue)
	case topic == message.TopicTransHalf:
		return fmt.Errorf("%w: property %s is %s", ErrNoTarget, message.KeyRealTopic, topic)
	}
	b.again(r, m, crcTail)
	m.Topic = b.Intern(topic)
	m.QueueID = int32(id)
	return nil
}

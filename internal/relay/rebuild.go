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
	m.Topic = b.Intern(r.Topic)
}

func (b *Rebuilder) again(r *message.Record, m *message.Message, crcTail bool) {
	*m = r.Message
	m.PreparedTransactionOffset = 0
	m.WaitStored = false
	if crcTail {
		m.Properties = m.Properties.Without(message.KeyCRC32)
		m.PropertyCRC = true
	}
}

// Target is where a record says that it belongs, read from its properties one by one. Its strings alias them.
type Target struct {
	Topic, queue string
	crcTail      bool
}

// Note takes in a property.
func (t *Target) Note(key, value string) {
	switch key {
	case message.KeyRealTopic:
		t.Topic = value
	case message.KeyRealQueueID:
		t.queue = value
	case message.KeyCRC32:
		t.crcTail = true
	}
}

// Real is Again for the topic and queue in REAL_TOPIC and REAL_QID. It fails with ErrNoTarget when they are missing or malformed or when
// the target is the topic of half messages, which such a message may not enter. The properties stay as they are stored: the reference
// too takes away DELAY and the like only after it has built the string it stores.
func (b *Rebuilder) Real(r *message.Record, m *message.Message) error {
	var to Target
	r.Properties.Range(func(key, value string) bool {
		to.Note(key, value)
		return true
	})
	return b.RealTo(r, m, &to)
}

// RealTo is Real for a target that has noted all properties of r.
func (b *Rebuilder) RealTo(r *message.Record, m *message.Message, to *Target) error {
	id, err := strconv.ParseInt(to.queue, 10, 32)
	switch {
	case to.Topic == "":
		return fmt.Errorf("%w: no property %s", ErrNoTarget, message.KeyRealTopic)
	case err != nil || id < 0:
		return fmt.Errorf("%w: property %s is %q", ErrNoTarget, message.KeyRealQueueID, to.queue)
	case to.Topic == message.TopicTransHalf:
		return fmt.Errorf("%w: property %s is %s", ErrNoTarget, message.KeyRealTopic, to.Topic)
	}
	b.again(r, m, to.crcTail)
	m.Topic = b.Intern(to.Topic)
	m.QueueID = int32(id)
	return nil
}

package brokertest

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// Message is a message to send, or one that is stored.
type Message struct {
	Topic string
	// QueueID is the queue. In a message to send 0 means the next one in turn, or the queue of ShardingKey; OnQueue fixes it.
	QueueID int32
	Body    []byte
	Tags    string
	// Keys are separated by blanks.
	Keys        string
	ShardingKey string
	// DelayLevel is the level of a delayed message to send, from 1; 0 is none.
	DelayLevel int
	// DeliverAt is when a timed message to send is delivered; zero is at once.
	DeliverAt time.Time
	// Properties are all others, those of a stored message's broker included.
	Properties map[string]string

	// What follows is of stored messages.

	ID             string // the producer's, or the broker's where it gave none
	OffsetID       string
	QueueOffset    int64
	PhysicalOffset int64
	BornTime       time.Time
	StoreTime      time.Time
	BornHost       netip.AddrPort
	ReconsumeTimes int32
	SysFlag        int32

	onQueue bool
}

// OnQueue is the message with a fixed queue, for Send and WithMessages.
func (m Message) OnQueue(id int32) Message {
	m.QueueID, m.onQueue = id, true
	return m
}

// String is one line about the message.
func (m Message) String() string {
	text := fmt.Sprintf("%s/%d@%d %s", m.Topic, m.QueueID, m.QueueOffset, m.ID)
	if m.Tags != "" {
		text += " tags=" + m.Tags
	}
	if m.Keys != "" {
		text += " keys=" + m.Keys
	}
	body := m.Body
	const shown = 60
	if len(body) > shown {
		return text + fmt.Sprintf(" %q… (%d bytes)", body[:shown], len(body))
	}
	return text + fmt.Sprintf(" %q", body)
}

// senderGroup is the producer group of Send.
const senderGroup = "brokertest"

// queueCounter takes the queues of each topic in turn.
type queueCounter map[string]int

// Send sends messages as a producer without a client library does, one after the other, over the wire but past rules and journal. It
// returns them with what the broker made of them: ID, OffsetID, queue and queue offset.
func (b *Broker) Send(ctx context.Context, messages ...Message) ([]Message, error) {
	sent := make([]Message, 0, len(messages))
	for _, m := range messages {
		out, err := b.send(ctx, m)
		if err != nil {
			return sent, fmt.Errorf("brokertest: send to %s: %w", m.Topic, err)
		}
		sent = append(sent, out)
	}
	return sent, nil
}

func (b *Broker) send(ctx context.Context, m Message) (Message, error) {
	b.mu.Lock()
	client := b.client
	b.mu.Unlock()
	if client == nil {
		return m, ErrStopped
	}
	if !m.onQueue {
		m.QueueID = b.nextQueue(&m)
	}
	request := remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
		ProducerGroup: senderGroup, Topic: m.Topic, DefaultTopic: message.TopicAutoCreate, DefaultTopicQueueNums: 4,
		QueueID: m.QueueID, BornTimestamp: b.clk.NowMs(), Properties: string(m.properties()),
	})
	request.AddExt(ownField, "true")
	request.Body = m.Body
	answer, err := client.Invoke(ctx, dialable(b.addr(BrokerServer)), request)
	if err != nil {
		return m, err
	}
	if answer.Code != remoting.Success {
		return m, fmt.Errorf("%s: %s", remoting.ResponseName(answer.Code), answer.Remark)
	}
	var h remoting.SendMessageResponseHeader
	if err := answer.Decode(&h); err != nil {
		return m, err
	}
	m.ID, m.OffsetID, m.QueueID, m.QueueOffset = h.TransactionID, h.MsgID, h.QueueID, h.QueueOffset
	return m, nil
}

// dialable is an address to connect to, where a server listens on all of them.
func dialable(addr string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ap.Port()).String()
}

// nextQueue is the queue of a message that has none.
func (b *Broker) nextQueue(m *Message) int32 {
	queues := 4
	if now := b.now(); now != nil {
		if topic := now.Topic(m.Topic); topic != nil {
			queues = max(1, int(topic.WriteQueueNums))
		}
	}
	if m.ShardingKey != "" {
		return int32(uint32(message.JavaHash(m.ShardingKey)) % uint32(queues)) //nolint:gosec // within the number of queues
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = queueCounter{}
	}
	n := b.queues[m.Topic]
	b.queues[m.Topic] = n + 1
	return int32(n % queues)
}

func (m *Message) properties() message.Properties {
	var p message.Properties
	for _, key := range slices.Sorted(maps.Keys(m.Properties)) {
		p = p.Append(key, m.Properties[key])
	}
	p = p.Append(message.KeyTags, m.Tags).Append(message.KeyKeys, m.Keys).Append(message.KeyShardingKey, m.ShardingKey)
	if m.DelayLevel > 0 {
		p = p.Append(message.KeyDelayLevel, strconv.Itoa(m.DelayLevel))
	}
	if !m.DeliverAt.IsZero() {
		p = p.Append(message.KeyTimerDeliverMs, strconv.FormatInt(m.DeliverAt.UnixMilli(), 10))
	}
	return p
}

// Messages gives all messages of a topic that are stored, in the order of their storing. System topics are topics too.
func (b *Broker) Messages(topic string) ([]Message, error) {
	now := b.now()
	if now == nil {
		return nil, ErrStopped
	}
	var list []Message
	var failed error
	now.Store().Queues(func(q *store.ConsumeQueue) bool {
		if q.Topic() != topic {
			return true
		}
		err := q.Range(q.MinOffset(), func(e store.Entry) bool {
			var m Message
			if m, failed = readMessage(now.Store(), q, e); failed == nil {
				list = append(list, m)
			}
			return failed == nil
		})
		if failed == nil {
			failed = err
		}
		return failed == nil
	})
	slices.SortFunc(list, func(a, b Message) int { return cmp.Compare(a.PhysicalOffset, b.PhysicalOffset) })
	return list, wrap("messages of "+topic, failed)
}

func readMessage(s *store.Store, q *store.ConsumeQueue, e store.Entry) (Message, error) {
	record, err := s.Record(e.PhysicalOffset)
	if err != nil {
		return Message{}, err
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, true); err != nil {
		return Message{}, err
	}
	m := Message{
		Topic: strings.Clone(r.Topic), QueueID: q.QueueID(), Body: plainBody(&r), Properties: map[string]string{},
		OffsetID:    message.OffsetMessageID(r.StoreHost, r.PhysicalOffset),
		QueueOffset: e.QueueOffset, PhysicalOffset: r.PhysicalOffset,
		BornTime: time.UnixMilli(r.BornTimestamp), StoreTime: time.UnixMilli(r.StoreTimestamp), BornHost: r.BornHost,
		ReconsumeTimes: r.ReconsumeTimes, SysFlag: r.SysFlag,
	}
	r.Properties.Range(func(key, value string) bool {
		value = strings.Clone(value)
		switch key {
		case message.KeyTags:
			m.Tags = value
		case message.KeyKeys:
			m.Keys = value
		case message.KeyShardingKey:
			m.ShardingKey = value
		case message.KeyUniqueKey:
			m.ID = value
		default:
			m.Properties[strings.Clone(key)] = value
		}
		return true
	})
	if m.ID == "" {
		m.ID = m.OffsetID
	}
	return m, nil
}

// plainBody copies a body, unpacked when it is packed with zlib, which is what clients do unless told otherwise.
func plainBody(r *message.Record) []byte {
	compression := message.Compression(r.SysFlag)
	if r.SysFlag&message.SysCompressed == 0 || compression != 0 && compression != message.CompressionZlib {
		return bytes.Clone(r.Body)
	}
	unpacked, err := zlib.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return bytes.Clone(r.Body)
	}
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(unpacked, most))
	if err != nil {
		return bytes.Clone(r.Body)
	}
	return body
}

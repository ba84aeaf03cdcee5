package control

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rocketd/rocketd/brokertest"
)

// Message is a message to send, or one that is stored.
type Message struct {
	Topic string `json:"topic"`
	// QueueID fixes the queue of a message to send.
	QueueID *int32 `json:"queueId,omitempty"`
	// Body is the text; BodyBase64 the bytes, where they are no text.
	Body       string            `json:"body,omitempty"`
	BodyBase64 []byte            `json:"bodyBase64,omitempty"`
	Tags       string            `json:"tags,omitempty"`
	Keys       string            `json:"keys,omitempty"`
	Sharding   string            `json:"shardingKey,omitempty"`
	DelayLevel int               `json:"delayLevel,omitempty"`
	DeliverAt  *time.Time        `json:"deliverAt,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`

	ID             string     `json:"id,omitempty"`
	OffsetID       string     `json:"offsetId,omitempty"`
	QueueOffset    *int64     `json:"queueOffset,omitempty"`
	StoreTime      *time.Time `json:"storeTime,omitempty"`
	BornTime       *time.Time `json:"bornTime,omitempty"`
	BornHost       string     `json:"bornHost,omitempty"`
	ReconsumeTimes int32      `json:"reconsumeTimes,omitempty"`
	// Level and Due are those of a message that waits for its delay level.
	Level int32      `json:"level,omitempty"`
	Due   *time.Time `json:"due,omitempty"`
}

// Messages is the body of POST /v1/messages, and an answer.
type Messages struct {
	Messages []Message `json:"messages"`
}

func (m *Message) toSend() (brokertest.Message, error) {
	out := brokertest.Message{
		Topic: m.Topic, Body: m.BodyBase64, Tags: m.Tags, Keys: m.Keys, ShardingKey: m.Sharding, DelayLevel: m.DelayLevel, Properties: m.Properties,
	}
	switch {
	case m.Topic == "":
		return out, bad("a message has no topic")
	case m.Body != "" && m.BodyBase64 != nil:
		return out, bad("a message to %s has both body and bodyBase64", m.Topic)
	case m.Body != "":
		out.Body = []byte(m.Body)
	}
	if m.DeliverAt != nil {
		out.DeliverAt = *m.DeliverAt
	}
	if m.QueueID != nil {
		out = out.OnQueue(*m.QueueID)
	}
	return out, nil
}

func shown(m brokertest.Message) Message {
	out := Message{
		Topic: m.Topic, QueueID: &m.QueueID, Tags: m.Tags, Keys: m.Keys, Sharding: m.ShardingKey, DelayLevel: m.DelayLevel, Properties: m.Properties,
		ID: m.ID, OffsetID: m.OffsetID, QueueOffset: &m.QueueOffset, ReconsumeTimes: m.ReconsumeTimes,
	}
	if utf8.Valid(m.Body) {
		out.Body = string(m.Body)
	} else {
		out.BodyBase64 = m.Body
	}
	if !m.StoreTime.IsZero() {
		out.StoreTime, out.BornTime, out.BornHost = &m.StoreTime, &m.BornTime, m.BornHost.String()
	}
	if !m.DeliverAt.IsZero() {
		out.DeliverAt = &m.DeliverAt
	}
	return out
}

func shownAll(list []brokertest.Message) Messages {
	out := Messages{Messages: make([]Message, len(list))}
	for i, m := range list {
		out.Messages[i] = shown(m)
	}
	return out
}

func shownDelayed(list []brokertest.Delayed) []Message {
	out := make([]Message, len(list))
	for i, d := range list {
		out[i] = shown(d.Message)
		out[i].Level, out[i].Due = d.Level, &list[i].Due
	}
	return out
}

func (s *Server) sendMessages(r *http.Request) (any, error) {
	var body Messages
	if err := read(r, &body); err != nil {
		return nil, err
	}
	list := make([]brokertest.Message, len(body.Messages))
	for i := range body.Messages {
		var err error
		if list[i], err = body.Messages[i].toSend(); err != nil {
			return nil, err
		}
	}
	sent, err := s.broker.Send(r.Context(), list...)
	return shownAll(sent), err
}

func (s *Server) messages(r *http.Request) (any, error) {
	topic := r.FormValue("topic")
	if topic == "" {
		return nil, bad("the query has no topic")
	}
	list, err := s.broker.Messages(topic)
	return shownAll(list), err
}

// number reads a query parameter, def when it is not there.
func number(r *http.Request, name string, def int) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, bad("query parameter %s: %q is no number from 0 on", name, text)
	}
	return n, nil
}

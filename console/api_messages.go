package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// Bounds of the bytes of a body that are shown.
const (
	defaultBodyBytes = 2 << 10
	maxBodyBytes     = 64 << 10
)

// MessagesAnswer is what a search found.
type MessagesAnswer struct {
	// By tells how was searched: offset, newest, key, id or time.
	By       string    `json:"by"`
	Messages []Message `json:"messages"`
	// Min and Max are the queue's offsets when one queue was asked for.
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

func (c *Console) messages(r *http.Request) (MessagesAnswer, error) {
	q := r.URL.Query()
	count, err := number(r, "count", 32, 1, maxMessages)
	if err != nil {
		return MessagesAnswer{}, err
	}
	shown, err := number(r, "bodyBytes", defaultBodyBytes, 0, maxBodyBytes)
	if err != nil {
		return MessagesAnswer{}, err
	}
	s := search{c: c, count: int(count), shown: int(shown), topic: q.Get("topic")}
	if id := q.Get("id"); id != "" {
		return s.byID(id)
	}
	if s.topic == "" || c.o.Broker.Topic(s.topic) == nil {
		return MessagesAnswer{}, missing("there is no topic " + quoted(s.topic) + "; topic and id say where to look")
	}
	from, err := number(r, "from", 0, 0, math.MaxInt64)
	if err != nil {
		return MessagesAnswer{}, err
	}
	to, err := number(r, "to", math.MaxInt64, 0, math.MaxInt64)
	if err != nil {
		return MessagesAnswer{}, err
	}
	if s.queue, err = number(r, "queue", -1, -1, math.MaxInt32); err != nil {
		return MessagesAnswer{}, err
	}
	switch {
	case q.Get("key") != "":
		return s.byKey(q.Get("key"), from, to)
	case q.Has("offset"):
		offset, err := number(r, "offset", 0, 0, math.MaxInt64)
		if err != nil {
			return MessagesAnswer{}, err
		}
		return s.byOffset(offset)
	case q.Has("from"):
		return s.byTime(from, to)
	}
	return s.newest()
}

// search is one look for messages.
type search struct {
	c            *Console
	topic        string
	queue        int64 // -1: all
	count, shown int
	found        []Message
}

func (s *search) take(record []byte) {
	var r message.Record
	if _, err := message.DecodeRecord(record, &r, false); err == nil {
		s.found = append(s.found, s.c.describeMessage(&r, s.shown))
	}
}

func (s *search) answer(by string) MessagesAnswer {
	return MessagesAnswer{By: by, Messages: orEmpty(s.found)}
}

// byID finds a message by its offset message id or, in topic or else all topics, by its unique key.
func (s *search) byID(id string) (MessagesAnswer, error) {
	st := s.c.o.Broker.Store()
	if _, offset, err := message.ParseOffsetMessageID(id); err == nil {
		if record, err := st.Record(offset); err == nil {
			s.take(record.Bytes())
			record.Release()
			if len(s.found) == 1 && s.found[0].ID == id {
				return s.answer("id"), nil
			}
			s.found = nil
		}
	}
	topics := []string{s.topic}
	if s.topic == "" {
		topics = s.c.o.Broker.Topics()
	}
	for _, topic := range topics {
		if err := s.query(topic, id, 0, math.MaxInt64); err != nil {
			return MessagesAnswer{}, err
		}
		if len(s.found) >= s.count {
			break
		}
	}
	if len(s.found) == 0 {
		return MessagesAnswer{}, missing("there is no message " + quoted(id))
	}
	return s.answer("id"), nil
}

func (s *search) query(topic, key string, from, to int64) error {
	slices, err := s.c.o.Broker.Store().Query(topic, key, s.count-len(s.found), from, to)
	if err != nil {
		return err
	}
	for _, record := range slices {
		s.take(record.Bytes())
		record.Release()
	}
	return nil
}

func (s *search) byKey(key string, from, to int64) (MessagesAnswer, error) {
	if err := s.query(s.topic, key, from, to); err != nil {
		return MessagesAnswer{}, err
	}
	s.newestFirst()
	return s.answer("key"), nil
}

// queues are those asked for that exist.
func (s *search) queues() []*store.ConsumeQueue {
	var list []*store.ConsumeQueue
	config := s.c.o.Broker.Topic(s.topic)
	for id := range max(config.ReadQueueNums, config.WriteQueueNums) {
		if s.queue >= 0 && int64(id) != s.queue {
			continue
		}
		if q := s.c.o.Broker.Store().Queue(s.topic, id); q != nil {
			list = append(list, q)
		}
	}
	return list
}

// read takes up to count messages of a queue from an offset on, until one is stored after to.
func (s *search) read(q *store.ConsumeQueue, from, to int64, count int) error {
	taken := 0
	return q.Range(from, func(e store.Entry) bool {
		if taken >= count {
			return false
		}
		record, err := s.c.o.Broker.Store().Record(e.PhysicalOffset)
		if err != nil {
			return true // gone meanwhile, or damaged
		}
		defer record.Release()
		if ms, ok := message.PeekStoreTimestamp(record.Bytes()); ok && ms > to {
			return false
		}
		s.take(record.Bytes())
		taken++
		return true
	})
}

func (s *search) byOffset(offset int64) (MessagesAnswer, error) {
	if s.queue < 0 {
		return MessagesAnswer{}, bad("parameter offset needs queue")
	}
	out := MessagesAnswer{By: "offset", Messages: []Message{}}
	for _, q := range s.queues() {
		if err := s.read(q, max(offset, q.MinOffset()), math.MaxInt64, s.count); err != nil {
			return out, err
		}
		out.Min, out.Max, out.Messages = q.MinOffset(), q.MaxOffset(), orEmpty(s.found)
	}
	return out, nil
}

func (s *search) byTime(from, to int64) (MessagesAnswer, error) {
	for _, q := range s.queues() {
		if err := s.read(q, q.OffsetByTime(from, store.Lower), to, s.count); err != nil {
			return MessagesAnswer{}, err
		}
	}
	slices.SortStableFunc(s.found, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.StoreMs, b.StoreMs), cmp.Compare(a.PhysicalOffset, b.PhysicalOffset))
	})
	s.found = s.found[:min(len(s.found), s.count)]
	return s.answer("time"), nil
}

func (s *search) newest() (MessagesAnswer, error) {
	for _, q := range s.queues() {
		if err := s.read(q, max(q.MinOffset(), q.MaxOffset()-int64(s.count)), math.MaxInt64, s.count); err != nil {
			return MessagesAnswer{}, err
		}
	}
	s.newestFirst()
	return s.answer("newest"), nil
}

func (s *search) newestFirst() {
	slices.SortStableFunc(s.found, func(a, b Message) int {
		return cmp.Or(cmp.Compare(b.StoreMs, a.StoreMs), cmp.Compare(b.PhysicalOffset, a.PhysicalOffset))
	})
	s.found = s.found[:min(len(s.found), s.count)]
}

// describeMessage copies a record out of the log.
func (c *Console) describeMessage(r *message.Record, shown int) Message {
	m := view.DescribeMessage(r, shown)
	if m.Topic == message.TopicSchedule {
		if q := c.o.Broker.Store().Queue(message.TopicSchedule, r.QueueID); q != nil {
			if e, ok := q.Entry(r.QueueOffset); ok {
				m.DueMs = e.TagsCode
			}
		}
	}
	return m
}

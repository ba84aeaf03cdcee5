package admin

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// ProducerGroup is what messages sent from here say of their producer.
const ProducerGroup = "rocketd-cli"

// SendRequest is a message to send. Of DelayLevel, Delay and AtMs at most one is given.
type SendRequest struct {
	Topic       string
	Tags        string
	Keys        []string
	Body        []byte
	Properties  map[string]string
	Queue       int32 // -1: any
	ShardingKey string
	DelayLevel  int32
	Delay       time.Duration
	AtMs        int64
}

// SendAnswer says where the message went.
type SendAnswer struct {
	ID           string `json:"id"`
	UniqueKey    string `json:"uniqueKey"`
	Broker       string `json:"broker"`
	Queue        int32  `json:"queue"`
	Offset       int64  `json:"offset"`
	RecallHandle string `json:"recallHandle"` // of a timed message
	// Warning is set when the message is stored and something of what was asked for is missing, such as the flush in time.
	Warning string `json:"warning"`
}

// Sender sends messages to one topic. Safe for concurrent use.
type Sender struct {
	a      *Admin
	topic  string
	keys   *message.UniqueKeys
	queues []target

	mu   sync.Mutex
	next int // guarded by mu
}

// target is a queue that can be written to.
type target struct {
	s     server
	queue int32 // -1: the broker chooses, in a topic that does not exist yet
}

// Sender looks up where a topic's queues are. A topic that does not exist is created by the first message, where the brokers allow it.
func (a *Admin) Sender(ctx context.Context, topic string) (*Sender, error) {
	if err := message.ValidateTopic(topic); err != nil {
		return nil, usage("%v", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s := &Sender{a: a, topic: topic, keys: message.NewUniqueKeys(localAddr(host), rand.Uint32())}
	if strings.Contains(a.o.Broker, ":") { // no name server
		masters, err := a.masters(ctx)
		if err != nil {
			return nil, err
		}
		s.queues = []target{{masters[0], -1}}
		return s, nil
	}
	route, err := a.route(ctx, topic)
	if isNotFound(err) {
		if route, err = a.route(ctx, message.TopicAutoCreate); isNotFound(err) {
			return nil, noTopic(topic)
		}
		for i := range route.QueueDatas {
			route.QueueDatas[i].WriteQueueNums = min(route.QueueDatas[i].WriteQueueNums, 4)
		}
	}
	if err != nil {
		return nil, err
	}
	s.queues = targets(route, a.o.Broker, true)
	if len(s.queues) == 0 {
		return nil, &NotFound{What: "queue", Name: "of " + topic + " that can be written to", Hint: "rocketd topic route " + topic + " shows permissions and brokers"}
	}
	s.next = rand.IntN(len(s.queues))
	return s, nil
}

// targets are the queues of a route that can be written to, or read.
func targets(route *body.TopicRouteData, broker string, write bool) []target {
	var list []target
	for _, q := range route.QueueDatas {
		bit, n := int32(4), q.ReadQueueNums
		if write {
			bit, n = 2, q.WriteQueueNums
		}
		if q.Perm&bit == 0 || broker != "" && broker != q.BrokerName {
			continue
		}
		for i := range route.BrokerDatas {
			b := &route.BrokerDatas[i]
			addr, ok := b.BrokerAddrs[0]
			if b.BrokerName != q.BrokerName || !ok {
				continue
			}
			for id := range n {
				list = append(list, target{server{broker: q.BrokerName, cluster: b.Cluster, addr: addr}, id})
			}
		}
	}
	slices.SortFunc(list, func(x, y target) int {
		return body.MessageQueue{BrokerName: x.s.broker, QueueID: x.queue}.Compare(body.MessageQueue{BrokerName: y.s.broker, QueueID: y.queue})
	})
	return list
}

// pick chooses the queue of a message: the one asked for, the one of its sharding key, or the next in turn.
func (s *Sender) pick(m *SendRequest) (target, error) {
	if m.Queue >= 0 {
		for _, t := range s.queues {
			if t.queue == m.Queue || t.queue < 0 {
				return target{t.s, m.Queue}, nil
			}
		}
		return target{}, &NotFound{What: "queue", Name: strconv.Itoa(int(m.Queue)), Hint: "rocketd topic route " + s.topic + " shows how many there are"}
	}
	if m.ShardingKey != "" {
		return s.queues[uint32(message.JavaHash(m.ShardingKey))%uint32(len(s.queues))], nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = (s.next + 1) % len(s.queues)
	return s.queues[s.next], nil
}

// properties are the message's in wire form.
func (s *Sender) properties(m *SendRequest, unique string) (message.Properties, error) {
	var p message.Properties
	timed := 0
	add := func(key, value string) { p = p.Append(key, value) }
	for _, key := range slices.Sorted(maps.Keys(m.Properties)) {
		if strings.ContainsAny(key+m.Properties[key], "\x01\x02") || key == "" {
			return nil, usage("property %q has an empty name or a character that divides properties", key)
		}
		add(key, m.Properties[key])
	}
	if len(m.Keys) > 0 {
		add(message.KeyKeys, strings.Join(m.Keys, message.KeySeparator))
	}
	add(message.KeyTags, m.Tags)
	add(message.KeyShardingKey, m.ShardingKey)
	add(message.KeyUniqueKey, unique)
	add(message.KeyWait, "true")
	if m.DelayLevel > 0 {
		timed++
		add(message.KeyDelayLevel, strconv.Itoa(int(m.DelayLevel)))
	}
	if m.Delay > 0 {
		timed++
		add(message.KeyTimerDelayMs, strconv.FormatInt(m.Delay.Milliseconds(), 10))
	}
	if m.AtMs > 0 {
		timed++
		add(message.KeyTimerDeliverMs, strconv.FormatInt(m.AtMs, 10))
	}
	if timed > 1 {
		return nil, usage("of --delay, --delay-level and --at only one can be given")
	}
	return p, nil
}

// Send sends one message and waits until it is stored.
func (s *Sender) Send(ctx context.Context, m SendRequest) (*SendAnswer, error) {
	to, err := s.pick(&m)
	if err != nil {
		return nil, err
	}
	now := s.a.NowMs()
	unique := m.Properties[message.KeyUniqueKey]
	if unique == "" {
		unique = s.keys.New(now)
	}
	properties, err := s.properties(&m, unique)
	if err != nil {
		return nil, err
	}
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: ProducerGroup, Topic: s.topic, DefaultTopic: message.TopicAutoCreate, DefaultTopicQueueNums: 4, QueueID: to.queue,
		BornTimestamp: now, Properties: string(properties), BrokerName: to.s.broker,
	}
	resp, err := s.a.call(ctx, to.s, remoting.SendMessageV2, h.V2(), m.Body, remoting.FlushDiskTimeout, remoting.FlushSlaveTimeout, remoting.SlaveNotAvailable)
	if err != nil {
		return nil, err
	}
	var answer remoting.SendMessageResponseHeader
	if err := resp.Decode(&answer); err != nil {
		return nil, err
	}
	out := &SendAnswer{ID: answer.MsgID, UniqueKey: unique, Broker: to.s.broker, Queue: answer.QueueID, Offset: answer.QueueOffset, RecallHandle: answer.RecallHandle}
	if resp.Code != remoting.Success {
		out.Warning = remoting.ResponseName(resp.Code)
	}
	return out, nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func msDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

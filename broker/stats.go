package broker

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
)

// Names of the counters, as VIEW_BROKER_STATS_DATA asks for them (the reference's Stats and BrokerStatsManager).
const (
	statTopicPutNums       = "TOPIC_PUT_NUMS"
	statTopicPutSize       = "TOPIC_PUT_SIZE"
	statTopicPutLatency    = "TOPIC_PUT_LATENCY"
	statQueuePutNums       = "QUEUE_PUT_NUMS"
	statQueuePutSize       = "QUEUE_PUT_SIZE"
	statQueueGetNums       = "QUEUE_GET_NUMS"
	statQueueGetSize       = "QUEUE_GET_SIZE"
	statGroupGetNums       = "GROUP_GET_NUMS"
	statGroupGetSize       = "GROUP_GET_SIZE"
	statGroupGetLatency    = "GROUP_GET_LATENCY"
	statGroupGetFallSize   = "GROUP_GET_FALL_SIZE"
	statGroupGetFallTime   = "GROUP_GET_FALL_TIME"
	statGroupAckNums       = "GROUP_ACK_NUMS"
	statGroupCkNums        = "GROUP_CK_NUMS"
	statSendBackPutNums    = "SNDBCK_PUT_NUMS"
	statSendBackToDLQTimes = "SNDBCK2DLQ_TIMES"
	statBrokerPutNums      = "BROKER_PUT_NUMS"
	statBrokerGetNums      = "BROKER_GET_NUMS"
	statBrokerAckNums      = "BROKER_ACK_NUMS"
	statBrokerCkNums       = "BROKER_CK_NUMS"
	statBrokerPutNoSystem  = "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC"
	statBrokerGetNoSystem  = "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"
)

// Bounds of the counters: labels beyond them are counted for the broker as a whole only.
const (
	maxStatItems   = 50_000
	maxStatQueueID = 4096
)

// Counters of a topic, of one of its queues, of a (topic, group) and of one of its queues. The values index slots.
const (
	topicPutNums = iota
	topicPutSize
	topicSlots
)

const (
	queuePutNums = iota
	queuePutSize
	queuePutLatency
	queuePutSlots
)

const (
	groupGetNums = iota
	groupGetSize
	groupAckNums
	groupCkNums
	groupSendBack
	groupToDLQ
	groupSlots
)

const (
	queueGetNums = iota
	queueGetSize
	queueGetLatency
	queueFallSize
	queueFallTime
	queueGetSlots
)

// slots holds counters that are created by their first use.
type slots []atomic.Pointer[statItem]

// topicStats are the counters of one topic.
type topicStats struct {
	topic  string
	system bool
	slots  [topicSlots]atomic.Pointer[statItem]
	queues queueSlots
}

// groupKey names what one group reads of one topic.
type groupKey struct {
	topic string
	group string
}

// groupStats are the counters of one group on one topic.
type groupStats struct {
	key    groupKey
	system bool
	slots  [groupSlots]atomic.Pointer[statItem]
	queues queueSlots
}

// queueSlots are the counters of each queue, grown by use.
type queueSlots struct {
	mu   sync.Mutex
	list atomic.Pointer[[]slots]
}

// at is the counters of a queue, nil when the queue id is out of bounds.
func (q *queueSlots) at(queueID int32, width int) slots {
	if list := q.list.Load(); list != nil && uint32(queueID) < uint32(len(*list)) {
		return (*list)[queueID]
	}
	if queueID < 0 || queueID >= maxStatQueueID {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var grown []slots
	if list := q.list.Load(); list != nil {
		grown = append(grown, *list...)
	}
	for int32(len(grown)) <= queueID {
		grown = append(grown, make(slots, width))
	}
	q.list.Store(&grown)
	return grown[queueID]
}

// stats counts what goes in and out of the broker, by topic, group and queue, with the sliding windows of a minute,
// an hour and a day (the reference's BrokerStatsManager), and the store-wide rates of the runtime information
// (StoreStatsService). All methods are safe for concurrent use; those that count neither block nor allocate once
// their topic, group and queue have been seen.
type stats struct {
	clock   clock.Clock
	cluster string
	detail  bool          // enableDetailStat: counters by queue
	idle    time.Duration // counters that rest longer are dropped; 0 never

	mu     sync.RWMutex // guards the three tables
	topics map[string]*topicStats
	groups map[groupKey]*groupStats
	items  map[string]map[string]*statItem // by name and the reference's key
	count  int

	brokerPut, brokerGet, brokerAck, brokerCk statItem
	brokerPutNoSystem, brokerGetNoSystem      statItem

	runtime   runtimeCounters
	traffic   traffic
	pop       popCounters
	creations creations

	sampleMu sync.Mutex // guards the windows of all items
	stop     chan struct{}
	done     chan struct{}
}

// newStats counts for the broker of a cluster. detail is enableDetailStat, idleMinutes is maxStatsIdleTimeInMinutes.
func newStats(c clock.Clock, cluster string, detail bool, idleMinutes int32) *stats {
	s := &stats{
		clock: c, cluster: cluster, detail: detail,
		topics: map[string]*topicStats{}, groups: map[groupKey]*groupStats{}, items: map[string]map[string]*statItem{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	// BrokerStatsManager#cleanAllResource: a period of ten minutes and less means thirty.
	if idleMinutes >= 0 {
		s.idle = time.Duration(max(idleMinutes, 30)) * time.Minute
		if idleMinutes > 10 {
			s.idle = time.Duration(idleMinutes) * time.Minute
		}
	}
	for name, item := range map[string]*statItem{
		statBrokerPutNums: &s.brokerPut, statBrokerGetNums: &s.brokerGet,
		statBrokerAckNums: &s.brokerAck, statBrokerCkNums: &s.brokerCk,
		statBrokerPutNoSystem: &s.brokerPutNoSystem, statBrokerGetNoSystem: &s.brokerGetNoSystem,
	} {
		s.items[name] = map[string]*statItem{cluster: item}
		s.count++
	}
	s.runtime.boot(c.NowMs())
	return s
}

// put counts messages of so many stored bytes written to a queue by some requests, and how long each of these took.
func (s *stats) put(topic string, queueID int32, requests, messages, bytes int64, took time.Duration) {
	t := s.topicStats(topic)
	s.topicItem(t, topicPutNums).addAll(messages, requests)
	s.topicItem(t, topicPutSize).addAll(bytes, requests)
	if q := t.queues.at(queueID, queuePutSlots); q != nil {
		if s.detail {
			s.queuePutItem(t, q, queueID, queuePutNums).addAll(messages, requests)
			s.queuePutItem(t, q, queueID, queuePutSize).addAll(bytes, requests)
		}
		s.queuePutItem(t, q, queueID, queuePutLatency).addAll(took.Milliseconds()*requests, requests)
	}
	s.brokerPut.value.Add(messages)
	if !t.system {
		s.brokerPutNoSystem.value.Add(messages)
	}
	s.runtime.put(requests, messages, bytes, took)
}

// putInternal counts a message that the broker itself writes (delayed, timed, committed): it belongs to its topic,
// and not to a request.
func (s *stats) putInternal(topic string, size int) { s.putInternals(topic, 1, int64(size)) }

// putInternals is putInternal for messages of bytes together.
func (s *stats) putInternals(topic string, messages, bytes int64) {
	t := s.topicStats(topic)
	s.topicItem(t, topicPutNums).addAll(messages, messages)
	s.topicItem(t, topicPutSize).addAll(bytes, messages)
	s.brokerPut.value.Add(messages)
	if !t.system {
		s.brokerPutNoSystem.value.Add(messages)
	}
	s.runtime.put(messages, messages, bytes, 0)
}

// putFailed counts a write that the store refused.
func (s *stats) putFailed() { s.runtime.putFailed.Add(1) }

// get counts num messages of size bytes given to a group by one request that took so long.
func (s *stats) get(group, topic string, queueID int32, num, size int, took time.Duration) {
	s.given(outKey{topic: topic, group: group}, group, topic, queueID, num, size, took)
}

// given is get with what the messages count as among those that went out.
func (s *stats) given(as outKey, group, topic string, queueID int32, num, size int, took time.Duration) {
	g := s.groupStats(topic, group)
	s.groupItem(g, groupGetNums).add(int64(num))
	s.groupItem(g, groupGetSize).add(int64(size))
	// BrokerStatsManager#incGroupGetLatency: without detail one counter serves all queues.
	if !s.detail {
		queueID = 0
	}
	if q := g.queues.at(queueID, queueGetSlots); q != nil {
		if s.detail {
			s.queueGetItem(g, q, queueID, queueGetNums).add(int64(num))
			s.queueGetItem(g, q, queueID, queueGetSize).add(int64(size))
		}
		s.queueGetItem(g, q, queueID, queueGetLatency).add(took.Milliseconds())
	}
	s.brokerGet.value.Add(int64(num))
	out := s.traffic.group(as)
	out.messages.Add(int64(num))
	out.bytes.Add(int64(size))
	if !g.system {
		s.brokerGetNoSystem.value.Add(int64(num))
	}
	s.runtime.found(num, took)
}

// miss counts a pull that found nothing.
func (s *stats) miss() { s.runtime.getMiss.Add(1) }

// fallBehind notes how far a reading is behind the end of its queue: bytes of the log and age of the newest message.
func (s *stats) fallBehind(group, topic string, queueID int32, bytes, ageMs int64) {
	g := s.groupStats(topic, group)
	if q := g.queues.at(queueID, queueGetSlots); q != nil {
		s.queueGetItem(g, q, queueID, queueFallSize).value.Store(bytes)
		s.queueGetItem(g, q, queueID, queueFallTime).value.Store(ageMs)
	}
}

// sendBack counts a message that a consumer sent back; topic is the one it came from.
func (s *stats) sendBack(group, topic string) {
	s.groupItem(s.groupStats(topic, group), groupSendBack).add(1)
}

// toDLQ counts a message that went to the group's dead letters.
func (s *stats) toDLQ(group, topic string) {
	s.traffic.group(outKey{topic: topic, group: group}).deadLetters.Add(1)
	s.groupItem(s.groupStats(topic, group), groupToDLQ).add(1)
}

// ack counts acknowledged messages of pop.
func (s *stats) ack(group, topic string, num int) {
	s.brokerAck.value.Add(int64(num))
	s.groupItem(s.groupStats(topic, group), groupAckNums).add(int64(num))
}

// checkpoint counts checkpoints of pop.
func (s *stats) checkpoint(group, topic string, num int) {
	s.brokerCk.value.Add(int64(num))
	s.groupItem(s.groupStats(topic, group), groupCkNums).add(int64(num))
}

func (s *stats) topicStats(topic string) *topicStats {
	s.mu.RLock()
	t := s.topics[topic]
	s.mu.RUnlock()
	if t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.topics[topic]; t != nil {
		return t
	}
	t = &topicStats{topic: strings.Clone(topic), system: message.IsSystemTopic(topic)}
	if len(s.topics) < maxStatItems {
		s.topics[t.topic] = t
	}
	return t
}

func (s *stats) groupStats(topic, group string) *groupStats {
	key := groupKey{topic: topic, group: group}
	s.mu.RLock()
	g := s.groups[key]
	s.mu.RUnlock()
	if g != nil {
		return g
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g = s.groups[key]; g != nil {
		return g
	}
	g = &groupStats{key: groupKey{strings.Clone(topic), strings.Clone(group)}, system: message.IsSystemTopic(topic)}
	if len(s.groups) < maxStatItems {
		s.groups[g.key] = g
	}
	return g
}

func (s *stats) topicItem(t *topicStats, slot int) *statItem {
	if item := t.slots[slot].Load(); item != nil {
		return item
	}
	return s.create(&t.slots[slot], [topicSlots]string{statTopicPutNums, statTopicPutSize}[slot], t.topic)
}

func (s *stats) queuePutItem(t *topicStats, q slots, queueID int32, slot int) *statItem {
	if item := q[slot].Load(); item != nil {
		return item
	}
	id := strconv.Itoa(int(queueID))
	if slot == queuePutLatency {
		return s.create(&q[slot], statTopicPutLatency, id+"@"+t.topic)
	}
	return s.create(&q[slot], [...]string{statQueuePutNums, statQueuePutSize}[slot], t.topic+"@"+id)
}

func (s *stats) groupItem(g *groupStats, slot int) *statItem {
	if item := g.slots[slot].Load(); item != nil {
		return item
	}
	names := [groupSlots]string{statGroupGetNums, statGroupGetSize, statGroupAckNums, statGroupCkNums, statSendBackPutNums, statSendBackToDLQTimes}
	return s.create(&g.slots[slot], names[slot], g.key.topic+"@"+g.key.group)
}

func (s *stats) queueGetItem(g *groupStats, q slots, queueID int32, slot int) *statItem {
	if item := q[slot].Load(); item != nil {
		return item
	}
	id := strconv.Itoa(int(queueID))
	key := id + "@" + g.key.topic + "@" + g.key.group
	switch slot {
	case queueGetNums:
		return s.create(&q[slot], statQueueGetNums, g.key.topic+"@"+id+"@"+g.key.group)
	case queueGetSize:
		return s.create(&q[slot], statQueueGetSize, g.key.topic+"@"+id+"@"+g.key.group)
	case queueGetLatency:
		if !s.detail {
			key = g.key.topic + "@" + g.key.group
		}
		return s.create(&q[slot], statGroupGetLatency, key)
	case queueFallSize:
		return s.create(&q[slot], statGroupGetFallSize, key)
	default:
		return s.create(&q[slot], statGroupGetFallTime, key)
	}
}

// create puts a new counter, or the one that has the key already, into its slot. Over the bound the counter is not
// listed, and so not sampled.
func (s *stats) create(slot *atomic.Pointer[statItem], name, key string) *statItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item := slot.Load(); item != nil {
		return item
	}
	item := s.items[name][key]
	if item == nil {
		item = &statItem{moment: name == statGroupGetFallSize || name == statGroupGetFallTime}
		if s.count < maxStatItems {
			if s.items[name] == nil {
				s.items[name] = map[string]*statItem{}
			}
			s.items[name][key] = item
			s.count++
		}
	}
	item.slot = slot
	slot.Store(item)
	return item
}

// view is the three windows of a counter; ok is false when there is no such counter.
func (s *stats) view(name, key string) (minute, hour, day snapshot, ok bool) {
	s.mu.RLock()
	item := s.items[name][key]
	s.mu.RUnlock()
	if item == nil || item.moment {
		return snapshot{}, snapshot{}, snapshot{}, false
	}
	s.sampleMu.Lock()
	defer s.sampleMu.Unlock()
	return item.minute.snapshot(), item.hour.snapshot(), item.day.snapshot(), true
}

// minuteTPS is the rate of a counter over the last minute, 0 when there is none.
func (s *stats) minuteTPS(name, key string) float64 {
	minute, _, _, _ := s.view(name, key)
	return minute.tps
}

// topicDeleted drops the counters of a topic (BrokerStatsManager#onTopicDeleted).
func (s *stats) topicDeleted(topic string) {
	s.traffic.forgetTopic(topic)
	s.drop(func(name, key string, _ *statItem) bool {
		switch name {
		case statTopicPutNums, statTopicPutSize:
			return key == topic
		case statTopicPutLatency:
			return strings.HasSuffix(key, "@"+topic)
		case statGroupGetLatency, statGroupGetFallSize, statGroupGetFallTime:
			return strings.Contains(key, "@"+topic+"@") || strings.HasPrefix(key, topic+"@")
		default:
			return strings.HasPrefix(key, topic+"@")
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, topic)
	for key := range s.groups {
		if key.topic == topic {
			delete(s.groups, key)
		}
	}
}

// groupDeleted drops the counters of a group (BrokerStatsManager#onGroupDeleted).
func (s *stats) groupDeleted(group string) {
	s.traffic.forgetGroup(group)
	s.drop(func(name, key string, _ *statItem) bool {
		return name != statTopicPutLatency && strings.HasSuffix(key, "@"+group)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.groups {
		if key.group == group {
			delete(s.groups, key)
		}
	}
}

// drop removes the counters that match, save those of the broker as a whole. What is added to one of them meanwhile
// is lost.
func (s *stats) drop(match func(name, key string, item *statItem) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, items := range s.items {
		for key, item := range items {
			if item.slot != nil && match(name, key, item) {
				item.slot.CompareAndSwap(item, nil)
				delete(items, key)
				s.count--
			}
		}
	}
}

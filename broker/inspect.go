package broker

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/schedule"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// What follows is for whoever holds a broker in the same process, a test harness above all: it looks at the broker and nudges it without
// a connection. All of it is valid between Start and Close and safe for concurrent use.

// Store is the broker's store. Whoever reads in it must not close it.
func (b *Broker) Store() *store.Store { return b.store }

// Schedule is what delivers messages with a delay level.
func (b *Broker) Schedule() *schedule.Schedule { return b.schedule }

// Timer is what delivers messages with a time.
func (b *Broker) Timer() *timer.Timer { return b.timer }

// Member is one connection of a producer or consumer group.
type Member struct {
	ClientID   string
	RemoteAddr netip.AddrPort
	Language   remoting.LanguageCode
	Version    int32
	// HeartbeatMs is when its last heartbeat came.
	HeartbeatMs int64
}

func membersOf(clients []client) []Member {
	members := make([]Member, len(clients))
	for i, c := range clients {
		members[i] = Member{ClientID: c.id, RemoteAddr: c.conn.RemoteAddr(), Language: c.language, Version: c.version, HeartbeatMs: c.updatedMs}
	}
	return members
}

// Consumers lists the connections of a consumer group in the order of their connecting.
func (b *Broker) Consumers(group string) []Member { return membersOf(b.consumers.members(group)) }

// Producers lists the connections of a producer group.
func (b *Broker) Producers(group string) []Member { return membersOf(b.producers.members(group)) }

// ConsumerGroups lists the consumer groups that have a connection, sorted.
func (b *Broker) ConsumerGroups() []string { return b.consumers.groupNames() }

// Subscriptions lists the topics that a consumer group which is online subscribes, sorted.
func (b *Broker) Subscriptions(group string) []string {
	info, _ := b.consumers.info(group)
	return slices.Sorted(maps.Keys(info.subscriptions))
}

// CommittedOffsets gives a copy of a group's offsets: topic, queue, offset of the next message.
func (b *Broker) CommittedOffsets(group string) map[string]map[int32]int64 {
	offsets := map[string]map[int32]int64{}
	for _, topic := range b.offsets.topicsOf(group) {
		offsets[topic] = b.offsets.offsets(group, topic)
	}
	return offsets
}

// Topics lists the names of all topics, sorted.
func (b *Broker) Topics() []string {
	names := b.topics.names()
	slices.Sort(names)
	return names
}

// Topic is a topic, nil when there is none. It must not be changed.
func (b *Broker) Topic(name string) *body.TopicConfig { return b.topics.get(name) }

// CreateTopics makes those of the topics that are missing; they are routable when it returns.
func (b *Broker) CreateTopics(specs ...conf.TopicSpec) error {
	c := *b.config()
	c.Rocketd.Topics = specs
	return b.topics.createConfigured(&c)
}

// CreateGroups makes those of the consumer groups that are missing.
func (b *Broker) CreateGroups(specs ...conf.GroupSpec) error {
	c := *b.config()
	c.Rocketd.Groups = specs
	return b.groups.createConfigured(&c)
}

// UndecidedTransaction is a half message that its producer has neither committed nor rolled back.
type UndecidedTransaction struct {
	Topic         string // the message's own
	ProducerGroup string
	UniqueKey     string
	QueueOffset   int64 // of its newest copy in the half topic
	Checks        int32 // how often its producer has been asked
	SinceMs       int64
	DueMs         int64 // when its producer is asked next, or it is given up
}

// UndecidedTransactions lists the half messages in order of their offset.
func (b *Broker) UndecidedTransactions() []UndecidedTransaction {
	t := b.transactions
	var list []UndecidedTransaction
	var physical []int64
	t.mu.Lock()
	for h := t.pending.first; h != nil; h = h.behind {
		list = append(list, UndecidedTransaction{
			Topic: t.pending.names.name(h.topic), ProducerGroup: t.pending.names.name(h.group),
			QueueOffset: h.offset, Checks: h.checks, SinceMs: h.since, DueMs: h.due,
		})
		physical = append(physical, h.physical)
	}
	t.mu.Unlock()
	for i, offset := range physical {
		record, err := b.store.Record(offset)
		if err != nil {
			continue // gone from the log meanwhile
		}
		var r message.Record
		if _, err := message.DecodeRecord(record.Bytes(), &r, false); err == nil {
			key, _ := r.Properties.Get(message.KeyUniqueKey)
			list[i].UniqueKey = strings.Clone(key)
		}
		record.Release()
	}
	return list
}

// HeldPulls is the number of pulls that wait for messages.
func (b *Broker) HeldPulls() int64 { return b.holds.held() }

// AnswerHeldPulls answers the held pulls of a consumer group, or all when it is empty, as if their time were over: clients then pull
// again, and with that commit how far they have consumed.
func (b *Broker) AnswerHeldPulls(group string) {
	b.holds.wakeIf(func(p *pull) bool { return group == "" || p.header.ConsumerGroup == group })
}

// QueueLock is the lock of one queue by a consumer that consumes in order.
type QueueLock struct {
	Topic    string
	QueueID  int32
	ClientID string
	SinceMs  int64 // when its owner last asked for it
}

// QueueLocks lists the locks of a group that have not expired, in no order.
func (b *Broker) QueueLocks(group string) []QueueLock {
	now := b.clock.NowMs()
	b.locks.mu.Lock()
	defer b.locks.mu.Unlock()
	var list []QueueLock
	for mq, l := range b.locks.groups[group] {
		if !l.expired(now) {
			list = append(list, QueueLock{Topic: mq.Topic, QueueID: mq.QueueID, ClientID: l.clientID, SinceMs: l.sinceMs})
		}
	}
	return list
}

// ExpireQueueLocks takes the locks of a group from their owners, as if these had not asked for them for too long, and tells how many
// there were.
func (b *Broker) ExpireQueueLocks(group string) int {
	return b.locks.releaseIf(group, func(*queueLock) bool { return true })
}

// NotifyConsumers tells the members of a group that their number has changed, whether or not it has.
func (b *Broker) NotifyConsumers(group string) { b.notifier.notify(group) }

// RegisterNow registers the broker and all its topics with all name servers anew.
func (b *Broker) RegisterNow() { b.registerNow() }

// CloseClient closes all connections of a client id and tells how many there were.
func (b *Broker) CloseClient(clientID, reason string) int {
	conns := map[*remoting.Conn]struct{}{}
	for _, group := range b.consumers.groupNames() {
		for _, c := range b.consumers.members(group) {
			if c.id == clientID {
				conns[c.conn] = struct{}{}
			}
		}
	}
	for _, clients := range b.producers.all() {
		for _, c := range clients {
			if c.id == clientID {
				conns[c.conn] = struct{}{}
			}
		}
	}
	for conn := range conns {
		conn.Close(reason)
	}
	return len(conns)
}

package broker

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// What follows is what the console and the metrics show: copies, made when asked, valid between Start and Close, safe for concurrent use.

// QueueProgress is how far a group is in one queue.
type QueueProgress struct {
	Topic   string
	QueueID int32
	// Min and Max are the queue's; Committed is where the group goes on, -1: nothing is known; Pulled where it reads next, -1.
	Min, Max, Committed, Pulled int64
	// Lag are the messages not committed, InFlight of them those that are read and not committed, Ready those not read yet.
	Lag, InFlight, Ready int64
	// WaitingSinceMs is the store time of the first message not committed, UnreadSinceMs of the first not read; 0: there is none.
	WaitingSinceMs, UnreadSinceMs int64
}

// Progress is how far a group is in each queue of a topic. In a queue without an offset it has no lag, as in the reference
// (ConsumerLagCalculator).
func (b *Broker) Progress(group, topic string) []QueueProgress {
	config := b.topics.get(topic)
	if config == nil {
		return nil
	}
	queues := make([]QueueProgress, 0, config.WriteQueueNums)
	for id := range max(config.WriteQueueNums, config.ReadQueueNums) {
		queues = append(queues, b.progress(group, topic, id))
	}
	return queues
}

func (b *Broker) progress(group, topic string, id int32) QueueProgress {
	p := QueueProgress{Topic: topic, QueueID: id, Committed: b.offsets.committed(group, topic, id), Pulled: b.offsets.queryPulled(group, topic, id)}
	queue := b.store.Queue(topic, id)
	if queue != nil {
		p.Min, p.Max = queue.MinOffset(), queue.MaxOffset()
	}
	from, read := p.Committed, p.Pulled
	if from < 0 {
		from = p.Max
	}
	if read < from {
		read = from
	}
	p.Lag, p.InFlight, p.Ready = max(0, p.Max-from), max(0, read-from), max(0, p.Max-read)
	if queue == nil {
		return p
	}
	if p.Lag > 0 {
		p.WaitingSinceMs = max(0, queue.StoreTime(max(from, p.Min)))
	}
	if p.Ready > 0 {
		p.UnreadSinceMs = max(0, queue.StoreTime(max(read, p.Min)))
	}
	return p
}

// GroupMember is one connection of a consumer group.
type GroupMember struct {
	Member
	// Subscriptions are what this member asked for at its last heartbeat, "topic expression"; nil: it did not say.
	Subscriptions []string
}

// Group is a consumer group.
type Group struct {
	Name   string
	Config *body.SubscriptionGroupConfig // nil: it has progress or members and no configuration. It must not be changed
	Online bool
	// ConsumeType, MessageModel and FromWhere are those of the newest heartbeat.
	ConsumeType, MessageModel, FromWhere string
	Subscriptions                        map[string]string // what counts for the group: topic to expression
	Members                              []GroupMember
	// Topics are those that it subscribes or has progress in, sorted.
	Topics []string
}

// Groups lists all consumer groups that have a configuration, members or progress, sorted by name.
func (b *Broker) Groups() []Group {
	names := map[string]struct{}{}
	for _, list := range [][]string{b.groups.names(), b.consumers.groupNames(), b.offsets.groupNames()} {
		for _, name := range list {
			names[name] = struct{}{}
		}
	}
	groups := make([]Group, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		groups = append(groups, b.Group(name))
	}
	return groups
}

// Group is one consumer group; all but its name is empty when nothing is known of it.
func (b *Broker) Group(name string) Group {
	g := Group{Name: name, Config: b.groups.get(name), Subscriptions: map[string]string{}}
	topics := b.offsets.topicsOf(name)
	if info, ok := b.consumers.info(name); ok {
		g.Online = true
		g.ConsumeType, g.MessageModel, g.FromWhere = string(info.consumeType), string(info.messageModel), string(info.fromWhere)
		for topic, s := range info.subscriptions {
			g.Subscriptions[topic] = s.data.SubString
			topics = append(topics, topic)
		}
		declared := b.consumers.declarations(name)
		for i, m := range membersOf(info.members) {
			g.Members = append(g.Members, GroupMember{Member: m, Subscriptions: declared[info.members[i].conn]})
		}
	}
	slices.Sort(topics)
	g.Topics = slices.Compact(topics)
	return g
}

// GroupsOf lists the groups that subscribe a topic or have progress in it, sorted.
func (b *Broker) GroupsOf(topic string) []string {
	groups := append(b.consumers.groupsOf(topic), b.offsets.groupsOf(topic)...)
	slices.Sort(groups)
	return slices.Compact(groups)
}

// declarations are what the members of a group have said that they subscribe.
func (t *consumerTable) declarations(group string) map[*remoting.Conn][]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return nil
	}
	out := make(map[*remoting.Conn][]string, len(g.declared))
	for conn, d := range g.declared {
		out[conn] = slices.Clone(d)
	}
	return out
}

// groupNames lists the groups that have progress, in no order.
func (t *offsetTable) groupNames() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen := map[string]struct{}{}
	for key := range t.table {
		seen[key.group] = struct{}{}
	}
	return slices.Collect(maps.Keys(seen))
}

// ProducerGroups lists the producer groups that have a connection, sorted.
func (b *Broker) ProducerGroups() []string { return slices.Sorted(maps.Keys(b.producers.all())) }

// HalfMessages counts the undecided half messages of each topic.
func (b *Broker) HalfMessages() map[string]int64 { return b.transactions.pendingByTopic() }

// Reading is the state of the store-wide counters at one second.
type Reading struct {
	Ms                            int64
	Put, Got, Enqueued, Delivered int64 // messages written and given out; timers taken in and delivered
	Missed                        int64 // pulls that found nothing
}

// Readings are those of the last ten minutes, a second each, oldest first.
func (b *Broker) Readings() []Reading {
	r := &b.stats.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Reading, 0, len(r.readings))
	for i := range r.readings {
		v := &r.readings[(r.next+i)%len(r.readings)]
		if len(r.readings) < rateDepth {
			v = &r.readings[i]
		}
		out = append(out, Reading{Ms: v.ms, Put: v.put, Got: v.transferred, Enqueued: v.enqueued, Delivered: v.delivered, Missed: v.miss})
	}
	return out
}

// Totals are counted since the start.
type Totals struct {
	BootMs                   int64
	Put, PutBytes, PutFailed int64
	Got                      int64
	PutMaxMs, GetMaxMs       int64
}

// Totals counts since the start.
func (b *Broker) Totals() Totals {
	r := &b.stats.runtime
	return Totals{
		BootMs: b.bootMs, Put: r.putTimes.Load(), PutBytes: r.putSize.Load(), PutFailed: r.putFailed.Load(), Got: r.transferred.Load(),
		PutMaxMs: r.putMaxMs.Load(), GetMaxMs: r.getMaxMs.Load(),
	}
}

// Server is the state of the broker's listener.
func (b *Broker) Server() remoting.ServerStats { return b.server.Stats() }

// Latencies are the answer times by request and response; nil with enableRemotingMetrics=false.
func (b *Broker) Latencies() []remoting.Latency { return b.server.Latencies() }

// Listed is who the broker is to others.
type Listed struct {
	Name, Cluster, Address string
	ID                     int64
}

// Listed is who the broker is to others.
func (b *Broker) Listed() Listed {
	i := &b.identity
	return Listed{Name: i.name, Cluster: i.cluster, Address: i.address, ID: i.id}
}

// Ready is nil while the broker serves and its store takes messages.
func (b *Broker) Ready() error {
	switch {
	case !b.serving.Load():
		return remoting.Errorf(remoting.SystemBusy, "the broker is starting")
	case b.draining.Load():
		return remoting.Errorf(remoting.SystemBusy, "the broker is stopping")
	}
	return b.store.Writable()
}

// PopHeld is the number of pops and notifications that wait for messages.
func (b *Broker) PopHeld() int64 { return b.pop.waits.count.Load() + b.pop.notes.count.Load() }

// Resend puts a dead letter into its group's retry topic again, with its count of deliveries begun anew, so that this group alone gets
// it. It returns where the message went. Errors are *remoting.Error, or store.ErrNotFound.
func (b *Broker) Resend(group string, queueOffset int64) (topic string, offset int64, err error) {
	name := message.DLQTopic(group)
	queue := b.store.Queue(name, 0)
	if queue == nil {
		return "", 0, remoting.Errorf(remoting.TopicNotExist, "group %s has no dead letters", quoted(group))
	}
	entry, ok := queue.Entry(queueOffset)
	if !ok {
		return "", 0, remoting.Errorf(remoting.QueryNotFound, "dead letters of %s have offsets from %d to below %d, not %d", quoted(group), queue.MinOffset(), queue.MaxOffset(), queueOffset)
	}
	stored, err := b.store.Record(entry.PhysicalOffset)
	if err != nil {
		return "", 0, err
	}
	defer stored.Release()
	var r message.Record
	if _, err := message.DecodeRecord(stored.Bytes(), &r, false); err != nil {
		return "", 0, err
	}
	config := b.groups.get(group)
	if config == nil || config.RetryQueueNums <= 0 {
		return "", 0, remoting.Errorf(remoting.SubscriptionGroupNotExist, "group %s does not exist, or has no retry queues", quoted(group))
	}
	retry, err := b.groupTopic(message.RetryTopic(group), config.RetryQueueNums, 0)
	if err != nil {
		return "", 0, err
	}
	m := message.Message{
		Topic: retry.TopicName, QueueID: randomQueue(config.RetryQueueNums), Flag: r.Flag, SysFlag: r.SysFlag,
		BornTimestamp: r.BornTimestamp, BornHost: r.BornHost, StoreHost: b.identity.storeHost, Body: r.Body,
		Properties:  r.Properties.Without(message.KeyDelayLevel, message.KeyReconsumeTime, message.KeyMaxReconsumeTimes),
		PropertyCRC: b.config().Store.EnabledAppendPropCRC,
	}
	placed, err := b.deliver(&m)
	if err != nil {
		return "", 0, err
	}
	b.stats.putInternal(m.Topic, int(placed.Size))
	return m.Topic, placed.QueueOffset, nil
}

// TopicCount is a topic and a number of messages.
type TopicCount struct {
	Topic string
	Count int64
}

// DeadLetters counts the dead letters of each group that are still there, most first.
func (b *Broker) DeadLetters() []TopicCount {
	var list []TopicCount
	for _, name := range b.topics.names() {
		if !message.IsDLQTopic(name) {
			continue
		}
		var n int64
		for id := range b.topics.queues(name) {
			if queue := b.store.Queue(name, id); queue != nil {
				n += queue.MaxOffset() - queue.MinOffset()
			}
		}
		list = append(list, TopicCount{Topic: strings.TrimPrefix(name, message.DLQPrefix), Count: n})
	}
	slices.SortFunc(list, func(a, b TopicCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Topic, b.Topic))
	})
	return list
}

// queues is how many queues of a topic are written to, 0 when there is no such topic.
func (t *topicTable) queues(name string) int32 {
	if config := t.get(name); config != nil {
		return config.WriteQueueNums
	}
	return 0
}

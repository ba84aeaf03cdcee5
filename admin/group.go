package admin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// GroupDetail is one group.
type GroupDetail struct {
	view.GroupDetail
	Queues []QueueProgress `json:"queues"`
}

// QueueProgress is how far a group is in one queue.
type QueueProgress struct {
	Broker string `json:"broker"`
	view.Progress
}

func lagOf(group, topic string, queues []QueueProgress) view.GroupLag {
	l := view.GroupLag{Group: group, Topic: topic}
	for _, q := range queues {
		l.Lag += q.Lag
		l.InFlight += q.InFlight
		l.LagMs = max(l.LagMs, q.LagMs)
		l.Committed = l.Committed || q.Committed >= 0
	}
	return l
}

// progress is how far a group is in each queue of a topic (of all its topics when topic is empty), sorted.
func (a *Admin) progress(ctx context.Context, group, topic string, brokers []server) ([]QueueProgress, error) {
	lists := make([][]QueueProgress, len(brokers))
	err := each(ctx, brokers, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.GetConsumeStats, &remoting.GetConsumeStatsRequestHeader{ConsumerGroup: group, Topic: topic}, nil,
			remoting.ConsumerNotOnline, remoting.SubscriptionGroupNotExist, remoting.TopicNotExist)
		if err != nil || resp.Code != remoting.Success {
			return err
		}
		stats, err := decode[body.ConsumeStats](resp)
		if err != nil {
			return err
		}
		for mq, o := range stats.OffsetTable {
			lists[i] = append(lists[i], QueueProgress{s.broker, view.Progress{
				Topic: mq.Topic, QueueID: mq.QueueID, Min: -1, Max: max(0, o.BrokerOffset), Committed: o.ConsumerOffset, Pulled: o.PullOffset,
				Lag: max(0, o.BrokerOffset-max(0, o.ConsumerOffset)), InFlight: max(0, o.PullOffset-o.ConsumerOffset),
			}})
		}
		return a.fillWaits(ctx, s, group, lists[i])
	})
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(x, y QueueProgress) int {
		return cmp.Or(strings.Compare(x.Topic, y.Topic), strings.Compare(x.Broker, y.Broker), cmp.Compare(x.QueueID, y.QueueID))
	})
	return all, err
}

// fillWaits adds how long the oldest message that is not committed has waited in each queue of a broker that has such messages.
func (a *Admin) fillWaits(ctx context.Context, s server, group string, queues []QueueProgress) error {
	byTopic := map[string]map[int32]*QueueProgress{}
	for i := range queues {
		if q := &queues[i]; q.Lag > 0 {
			if byTopic[q.Topic] == nil {
				byTopic[q.Topic] = map[int32]*QueueProgress{}
			}
			byTopic[q.Topic][q.QueueID] = q
		}
	}
	for topic, waiting := range byTopic {
		resp, err := a.call(ctx, s, remoting.QueryConsumeTimeSpan, &remoting.QueryConsumeTimeSpanRequestHeader{Group: group, Topic: topic}, nil,
			remoting.TopicNotExist, remoting.RequestCodeNotSupported)
		if err != nil {
			return err
		}
		if resp.Code != remoting.Success {
			continue // the topic went meanwhile, or the broker is no RocketMQ 4: how long is not known then
		}
		spans, err := decode[body.ConsumeTimeSpan](resp)
		if err != nil {
			return err
		}
		now := a.NowMs()
		for _, span := range spans.Spans {
			q := waiting[span.MessageQueue.QueueID]
			switch {
			case q == nil:
			case span.DelayTime >= now: // no message is at the committed offset: the group begins with the first
				q.LagMs = max(0, now-span.MinTimestamp)
			default:
				q.LagMs = max(0, span.DelayTime)
			}
		}
	}
	return nil
}

// connection is what the brokers know of a group's members, put together; nil when it has none.
func (a *Admin) connection(ctx context.Context, group string, brokers []server) (*body.ConsumerConnection, error) {
	var mu sync.Mutex
	var all *body.ConsumerConnection
	err := each(ctx, brokers, func(ctx context.Context, _ int, s server) error {
		resp, err := a.call(ctx, s, remoting.GetConsumerConnectionList, &remoting.GetConsumerConnectionListRequestHeader{ConsumerGroup: group}, nil,
			remoting.ConsumerNotOnline)
		if err != nil || resp.Code != remoting.Success {
			return err
		}
		c, err := decode[body.ConsumerConnection](resp)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if all == nil {
			all = c
			return nil
		}
		for _, one := range c.Connections {
			if !slices.ContainsFunc(all.Connections, func(x body.Connection) bool { return x.ClientID == one.ClientID }) {
				all.Connections = append(all.Connections, one)
			}
		}
		maps.Copy(all.SubscriptionTable, c.SubscriptionTable)
		return nil
	})
	if all != nil {
		slices.SortFunc(all.Connections, func(x, y body.Connection) int {
			return cmp.Or(strings.Compare(x.ClientID, y.ClientID), strings.Compare(x.ClientAddr, y.ClientAddr))
		})
	}
	return all, err
}

// groupConfigs reads the groups of a broker, page by page where it has pages.
func (a *Admin) groupConfigs(ctx context.Context, s server) (map[string]*body.SubscriptionGroupConfig, error) {
	return readPages(func(have int32, version string) (map[string]*body.SubscriptionGroupConfig, *body.DataVersion, int, error) {
		resp, err := a.call(ctx, s, remoting.GetAllSubscriptiongroupConfig, &remoting.GetAllSubscriptionGroupRequestHeader{
			GroupSeq: have, DataVersion: version, MaxGroupNum: remoting.Some[int32](pageSize),
		}, nil)
		if err != nil {
			return nil, nil, 0, err
		}
		page, err := decode[body.SubscriptionGroupTable](resp)
		if err != nil {
			return nil, nil, 0, err
		}
		var h remoting.GetAllSubscriptionGroupResponseHeader
		if resp.Decode(&h) != nil { // brokers before 5.4 have no such header
			h.TotalGroupNum = 0
		}
		return page.Groups, &page.DataVersion, int(h.TotalGroupNum), nil
	})
}

// configsOf is the configuration of one group on each broker that has it.
func (a *Admin) configsOf(ctx context.Context, group string, masters []server) (map[string]*body.SubscriptionGroupConfig, error) {
	var mu sync.Mutex
	found := map[string]*body.SubscriptionGroupConfig{}
	err := each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		all, err := a.groupConfigs(ctx, s)
		if c := all[group]; c != nil {
			mu.Lock()
			found[s.broker] = c
			mu.Unlock()
		}
		return err
	})
	return found, err
}

// GroupQuery says which groups are wanted.
type GroupQuery struct {
	Contains string // in the name, whatever the case
	System   bool   // those of the brokers too
}

// GroupNames lists the groups that have a configuration on some broker, but not those of the brokers themselves, sorted.
func (a *Admin) GroupNames(ctx context.Context) ([]string, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	return a.groupNames(ctx, masters, GroupQuery{})
}

func (a *Admin) groupNames(ctx context.Context, masters []server, q GroupQuery) ([]string, error) {
	var mu sync.Mutex
	seen := map[string]bool{}
	err := each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		configs, err := a.groupConfigs(ctx, s)
		mu.Lock()
		defer mu.Unlock()
		for name := range configs {
			seen[name] = true
		}
		return err
	})
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if (q.System || !view.IsSystemGroup(name)) && strings.Contains(strings.ToLower(name), strings.ToLower(q.Contains)) {
			names = append(names, name)
		}
	}
	return names, err
}

// Groups lists groups by name.
func (a *Admin) Groups(ctx context.Context, q GroupQuery, p Progress) ([]view.Group, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	names, err := a.groupNames(ctx, masters, q)
	if err != nil {
		return nil, err
	}
	dead, err := a.deadLetterCounts(ctx, masters)
	if err != nil {
		return nil, err
	}
	step := p.counter(len(names))
	list := make([]view.Group, len(names))
	return list, each(ctx, names, func(ctx context.Context, i int, name string) error {
		defer step()
		g, err := a.describeGroup(ctx, name, masters)
		if err != nil {
			return err
		}
		g.DeadLetters = dead[name]
		list[i] = g.Group
		return nil
	})
}

// deadLetterCounts counts the dead letters of the groups that have some.
func (a *Admin) deadLetterCounts(ctx context.Context, masters []server) (map[string]int64, error) {
	topics, err := a.Topics(ctx, TopicQuery{Kind: "dead"}, nil)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(topics))
	err = each(ctx, topics, func(ctx context.Context, i int, t Topic) error {
		queues, err := a.queues(ctx, t.Name, masters)
		for _, q := range queues {
			counts[i] += q.Max - q.Min
		}
		return err
	})
	found := map[string]int64{}
	for i, t := range topics {
		found[strings.TrimPrefix(t.Name, message.DLQPrefix)] = counts[i]
	}
	return found, err
}

// describeGroup reads all of a group but its configuration and dead letters.
func (a *Admin) describeGroup(ctx context.Context, name string, masters []server) (*GroupDetail, error) {
	g := &GroupDetail{GroupDetail: view.NewGroupDetail(name), Queues: []QueueProgress{}}
	connection, err := a.connection(ctx, name, masters)
	if err != nil {
		return nil, err
	}
	if connection != nil {
		g.Online = true
		g.ConsumeType, g.Model, g.FromWhere = string(connection.ConsumeType), string(connection.MessageModel), string(connection.ConsumeFromWhere)
		for topic, s := range connection.SubscriptionTable {
			g.Subscriptions[topic] = s.SubString
		}
		for _, c := range connection.Connections {
			g.Clients = append(g.Clients, clientOf(&c, connection.SubscriptionTable))
		}
		g.Members = len(g.Clients)
		g.Problems = view.ProblemsOf(g.Clients)
	}
	queues, err := a.progress(ctx, name, "", masters)
	if err != nil {
		return nil, err
	}
	if queues != nil {
		g.Queues = queues
	}
	byTopic := map[string][]QueueProgress{}
	for _, q := range queues {
		byTopic[q.Topic] = append(byTopic[q.Topic], q)
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		lag := lagOf(name, topic, byTopic[topic])
		lag.Online = g.Online
		g.Add(lag)
	}
	return g, nil
}

// Group is one group.
func (a *Admin) Group(ctx context.Context, name string) (*GroupDetail, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	configs, err := a.configsOf(ctx, name, masters)
	if err != nil {
		return nil, err
	}
	g, err := a.describeGroup(ctx, name, masters)
	if err != nil {
		return nil, err
	}
	if len(configs) == 0 && !g.Online && len(g.Queues) == 0 {
		return nil, noGroup(name)
	}
	for _, c := range configs {
		g.RetryMaxTimes, g.RetryQueueNums, g.Enabled, g.Broadcast, g.Ordered = c.RetryMaxTimes, c.RetryQueueNums, c.ConsumeEnable, c.ConsumeBroadcastEnable, c.ConsumeMessageOrderly
	}
	dead, err := a.queues(ctx, message.DLQTopic(name), masters)
	for _, q := range dead {
		g.DeadLetters += q.Max - q.Min
	}
	if err != nil && !refused(err, remoting.SystemError) { // brokers of 4.x say so for a topic that they do not have
		return nil, err
	}
	return g, a.fillMins(ctx, g, masters)
}

// fillMins adds the beginning of each queue.
func (a *Admin) fillMins(ctx context.Context, g *GroupDetail, masters []server) error {
	for _, t := range g.Topics {
		queues, err := a.queues(ctx, t.Topic, masters)
		if err != nil {
			return err
		}
		for i := range g.Queues {
			for _, q := range queues {
				if p := &g.Queues[i]; p.Topic == t.Topic && p.Broker == q.Broker && p.QueueID == q.ID {
					p.Min = q.Min
				}
			}
		}
	}
	return nil
}

func noGroup(name string) error {
	return &NotFound{What: "group", Name: name, Hint: "rocketd group list shows what there is, rocketd group create makes one"}
}

// GroupChange is what a group is to be. Fields that are nil stay as they are, or take the usual value in a new group.
type GroupChange struct {
	Name           string
	RetryMaxTimes  *int32
	RetryQueueNums *int32
	Enabled        *bool
	Broadcast      *bool
	Ordered        *bool
	FromMin        *bool
}

func (c *GroupChange) apply(g *body.SubscriptionGroupConfig) {
	set(&g.RetryMaxTimes, c.RetryMaxTimes)
	set(&g.RetryQueueNums, c.RetryQueueNums)
	set(&g.ConsumeEnable, c.Enabled)
	set(&g.ConsumeBroadcastEnable, c.Broadcast)
	set(&g.ConsumeMessageOrderly, c.Ordered)
	set(&g.ConsumeFromMinEnable, c.FromMin)
}

// CreateGroup makes a group on all brokers; it is an error when one has it already.
func (a *Admin) CreateGroup(ctx context.Context, c GroupChange) error {
	if err := message.ValidateGroup(c.Name); err != nil {
		return usage("%v", err)
	}
	return a.changeGroup(ctx, c, func(s server, old *body.SubscriptionGroupConfig) (*body.SubscriptionGroupConfig, error) {
		if old != nil {
			return nil, usage("the group %s exists already on the %s: rocketd group update changes it", c.Name, s)
		}
		return body.NewSubscriptionGroupConfig(c.Name), nil
	})
}

// UpdateGroup changes a group on the brokers that have it.
func (a *Admin) UpdateGroup(ctx context.Context, c GroupChange) error {
	found := false
	err := a.changeGroup(ctx, c, func(_ server, old *body.SubscriptionGroupConfig) (*body.SubscriptionGroupConfig, error) {
		found = found || old != nil
		return old, nil
	})
	if err == nil && !found {
		return noGroup(c.Name)
	}
	return err
}

func (a *Admin) changeGroup(ctx context.Context, c GroupChange, from func(server, *body.SubscriptionGroupConfig) (*body.SubscriptionGroupConfig, error)) error {
	masters, err := a.masters(ctx)
	if err != nil {
		return err
	}
	configs, err := a.configsOf(ctx, c.Name, masters)
	if err != nil {
		return err
	}
	for _, s := range masters {
		g, err := from(s, configs[s.broker])
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		c.apply(g)
		if _, err := a.call(ctx, s, remoting.UpdateAndCreateSubscriptiongroup, nil, body.Encode(g)); err != nil {
			return err
		}
	}
	return nil
}

// DeleteGroup removes a group from all brokers, with its offsets when asked to. A group with members is left alone unless force is set.
func (a *Admin) DeleteGroup(ctx context.Context, name string, offsets, force bool) error {
	masters, err := a.masters(ctx)
	if err != nil {
		return err
	}
	configs, err := a.configsOf(ctx, name, masters)
	if err != nil {
		return err
	}
	if len(configs) == 0 {
		return noGroup(name)
	}
	connection, err := a.connection(ctx, name, masters)
	if err != nil {
		return err
	}
	if connection != nil && !force {
		return usage("the group %s has %d members, which would create it again: stop them first, or add --force", name, len(connection.Connections))
	}
	return each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		if configs[s.broker] == nil {
			return nil
		}
		_, err := a.call(ctx, s, remoting.DeleteSubscriptiongroup, &remoting.DeleteSubscriptionGroupRequestHeader{GroupName: name, CleanOffset: offsets}, nil)
		return err
	})
}

// isNotFound tells whether err says that something does not exist.
func isNotFound(err error) bool {
	var missing *NotFound
	return errors.As(err, &missing)
}

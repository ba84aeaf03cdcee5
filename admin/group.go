package admin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Group is one line of the list of groups.
type Group struct {
	Name        string     `json:"name"`
	System      bool       `json:"system"`
	Online      bool       `json:"online"`
	ConsumeType string     `json:"consumeType"`
	Model       string     `json:"messageModel"`
	Members     int        `json:"members"`
	Lag         int64      `json:"lag"`
	LagMs       int64      `json:"lagMs"`
	DeadLetters int64      `json:"deadLetters"`
	Topics      []GroupLag `json:"topics"`
	Problems    []string   `json:"problems"`
}

// GroupDetail is one group.
type GroupDetail struct {
	Group
	FromWhere      string            `json:"fromWhere"`
	RetryMaxTimes  int32             `json:"retryMaxTimes"` // -1: the group has no configuration
	RetryQueueNums int32             `json:"retryQueues"`
	Enabled        bool              `json:"consumeEnable"`
	Broadcast      bool              `json:"consumeBroadcastEnable"`
	Ordered        bool              `json:"consumeMessageOrderly"`
	Subscriptions  map[string]string `json:"subscriptions"`
	Clients        []Client          `json:"clients"`
	Queues         []QueueProgress   `json:"queues"`
}

// QueueProgress is how far a group is in one queue.
type QueueProgress struct {
	Broker    string `json:"broker"`
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queue"`
	Min       int64  `json:"min"` // -1: not asked for
	Max       int64  `json:"max"`
	Committed int64  `json:"committed"` // -1: nothing is known
	Pulled    int64  `json:"pulled"`
	Lag       int64  `json:"lag"`
	InFlight  int64  `json:"inFlight"`
	LagMs     int64  `json:"lagMs"` // age of the last message committed while others wait
}

func lagOf(group, topic string, queues []QueueProgress) GroupLag {
	l := GroupLag{Group: group, Topic: topic}
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
		now := a.NowMs()
		for mq, o := range stats.OffsetTable {
			q := QueueProgress{
				Broker: s.broker, Topic: mq.Topic, QueueID: mq.QueueID, Min: -1, Max: max(0, o.BrokerOffset), Committed: o.ConsumerOffset, Pulled: o.PullOffset,
				Lag: max(0, o.BrokerOffset-max(0, o.ConsumerOffset)), InFlight: max(0, o.PullOffset-o.ConsumerOffset),
			}
			if q.Lag > 0 && o.LastTimestamp > 0 {
				q.LagMs = max(0, now-o.LastTimestamp)
			}
			lists[i] = append(lists[i], q)
		}
		return nil
	})
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(x, y QueueProgress) int {
		return cmp.Or(strings.Compare(x.Topic, y.Topic), strings.Compare(x.Broker, y.Broker), cmp.Compare(x.QueueID, y.QueueID))
	})
	return all, err
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
	all := map[string]*body.SubscriptionGroupConfig{}
	version := ""
	for {
		resp, err := a.call(ctx, s, remoting.GetAllSubscriptiongroupConfig, &remoting.GetAllSubscriptionGroupRequestHeader{
			GroupSeq: int32(len(all)), DataVersion: version, MaxGroupNum: remoting.Some[int32](2000),
		}, nil)
		if err != nil {
			return nil, err
		}
		page, err := decode[body.SubscriptionGroupTable](resp)
		if err != nil {
			return nil, err
		}
		before := len(all)
		maps.Copy(all, page.Groups)
		var h remoting.GetAllSubscriptionGroupResponseHeader
		if err := resp.Decode(&h); err != nil || len(all) >= int(h.TotalGroupNum) || len(all) == before {
			return all, nil //nolint:nilerr // brokers before 5.4 have no such header and answer with everything
		}
		if version == "" {
			version = string(body.Encode(&page.DataVersion))
		}
	}
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
		if (q.System || !isSystemGroup(name)) && strings.Contains(strings.ToLower(name), strings.ToLower(q.Contains)) {
			names = append(names, name)
		}
	}
	return names, err
}

// Groups lists groups by name.
func (a *Admin) Groups(ctx context.Context, q GroupQuery, p Progress) ([]Group, error) {
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
	list := make([]Group, len(names))
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

func isSystemGroup(name string) bool {
	return message.IsSystemGroup(name) || message.IsPredefinedGroup(name)
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
	g := &GroupDetail{
		Group: Group{Name: name, System: isSystemGroup(name), Topics: []GroupLag{}, Problems: []string{}}, RetryMaxTimes: -1,
		Subscriptions: map[string]string{}, Clients: []Client{}, Queues: []QueueProgress{},
	}
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
			g.Clients = append(g.Clients, clientOf(&c))
		}
		g.Members = len(g.Clients)
		g.Problems = problemsOf(g.Clients)
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
		g.Topics = append(g.Topics, lag)
		g.Lag += lag.Lag
		g.LagMs = max(g.LagMs, lag.LagMs)
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

package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// TopicsAnswer is a list of topics.
type TopicsAnswer struct {
	Total  int     `json:"total"`
	Topics []Topic `json:"topics"`
}

// TopicAnswer is one topic.
type TopicAnswer struct {
	Topic
	Attributes map[string]string `json:"attributes"`
	Queues     []Queue           `json:"queues"`
	Groups     []GroupLag        `json:"groups"`
}

func (c *Console) topics(r *http.Request) (TopicsAnswer, error) {
	kind := r.URL.Query().Get("kind")
	names := slices.DeleteFunc(c.o.Broker.Topics(), func(name string) bool { return kind != "" && kind != c.kindOf(name) })
	names, total := choose(r, names)
	out := TopicsAnswer{Total: total, Topics: make([]Topic, 0, len(names))}
	for _, name := range names {
		if t, _, ok := c.describeTopic(name); ok {
			out.Topics = append(out.Topics, t)
		}
	}
	return out, nil
}

func (c *Console) kindOf(topic string) string {
	if self := c.o.Broker.Listed(); view.OwnTopic(topic, self.Name, self.Cluster) {
		return "system"
	}
	return view.KindOf(topic)
}

// describeTopic reads a topic and its queues; false when there is none.
func (c *Console) describeTopic(name string) (t Topic, queues []Queue, ok bool) {
	config := c.o.Broker.Topic(name)
	if config == nil {
		return t, nil, false
	}
	t = Topic{
		Name: name, Kind: c.kindOf(name), Type: config.Attributes[message.AttributeMessageType], Read: config.ReadQueueNums,
		Write: config.WriteQueueNums, Perm: config.Perm, Order: config.Order,
	}
	for id := range max(config.ReadQueueNums, config.WriteQueueNums) {
		q := Queue{ID: id, NewestMs: -1, OldestMs: -1}
		if queue := c.o.Broker.Store().Queue(name, id); queue != nil {
			q.Min, q.Max = queue.MinOffset(), queue.MaxOffset()
			if q.Max > q.Min {
				q.NewestMs, q.OldestMs = queue.StoreTime(q.Max-1), queue.StoreTime(q.Min)
			}
		}
		t.Messages += q.Max - q.Min
		t.Max += q.Max
		queues = append(queues, q)
	}
	return t, queues, true
}

func (c *Console) topic(r *http.Request) (TopicAnswer, error) {
	name := r.PathValue("topic")
	t, queues, ok := c.describeTopic(name)
	if !ok {
		return TopicAnswer{}, missing("there is no topic " + quoted(name))
	}
	out := TopicAnswer{Topic: t, Queues: orEmpty(queues), Attributes: map[string]string{}, Groups: []GroupLag{}}
	maps.Copy(out.Attributes, c.o.Broker.Topic(name).Attributes)
	for _, group := range c.o.Broker.GroupsOf(name) {
		out.Groups = append(out.Groups, c.lag(group, name))
	}
	return out, nil
}

func (c *Console) lag(group, topic string) GroupLag {
	queues := c.o.Broker.Progress(group, topic)
	sum := sumProgress(queues)
	return GroupLag{
		Group: group, Topic: topic, Online: len(c.o.Broker.Consumers(group)) > 0, Lag: sum.Lag, InFlight: sum.InFlight,
		LagMs:     age(sum.WaitingSinceMs, c.o.Clock.NowMs()),
		Committed: slices.ContainsFunc(queues, func(q broker.QueueProgress) bool { return q.Committed >= 0 }),
	}
}

// Progress is how far a group is in one queue.
type Progress struct {
	view.Progress
	LockedBy string `json:"lockedBy"` // client id of an ordered consumer; empty: nobody
}

// GroupAnswer is one group.
type GroupAnswer struct {
	view.GroupDetail
	Queues []Progress `json:"queues"`
}

func (c *Console) groups(r *http.Request) (GroupsAnswer, error) {
	all := c.o.Broker.Groups()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	names, total := choose(r, names)
	out := GroupsAnswer{Total: total, Groups: make([]Group, 0, len(names))}
	at := 0
	for i := range all {
		if at < len(names) && all[i].Name == names[at] {
			out.Groups = append(out.Groups, c.describeGroup(&all[i]).Group)
			at++
		}
	}
	return out, nil
}

func (c *Console) describeGroup(g *broker.Group) view.GroupDetail {
	out := view.NewGroupDetail(g.Name)
	out.Online, out.ConsumeType, out.Model, out.FromWhere = g.Online, g.ConsumeType, g.MessageModel, g.FromWhere
	out.Clients, out.Problems = membersOf(g)
	out.Members = len(out.Clients)
	for _, topic := range g.Topics {
		out.Add(c.lag(g.Name, topic))
	}
	if queue := c.o.Broker.Store().Queue(message.DLQTopic(g.Name), 0); queue != nil {
		out.DeadLetters = queue.MaxOffset() - queue.MinOffset()
	}
	if g.Subscriptions != nil {
		out.Subscriptions = g.Subscriptions
	}
	if g.Config != nil {
		out.RetryMaxTimes, out.RetryQueueNums = g.Config.RetryMaxTimes, g.Config.RetryQueueNums
		out.Enabled, out.Broadcast, out.Ordered = g.Config.ConsumeEnable, g.Config.ConsumeBroadcastEnable, g.Config.ConsumeMessageOrderly
	}
	return out
}

// membersOf are the connections of a group, and what is wrong with them.
func membersOf(g *broker.Group) (members []Client, problems []string) {
	members = make([]Client, len(g.Members))
	for i := range g.Members {
		members[i] = clientOf(&g.Members[i].Member)
		members[i].Subscriptions = g.Members[i].Subscriptions // nil: it did not say
	}
	problems = view.ProblemsOf(members)
	for i := range members {
		members[i].Subscriptions = orEmpty(members[i].Subscriptions)
	}
	return members, problems
}

func (c *Console) group(r *http.Request) (GroupAnswer, error) {
	name := r.PathValue("group")
	g := c.o.Broker.Group(name)
	if g.Config == nil && !g.Online && len(g.Topics) == 0 {
		return GroupAnswer{}, missing("there is no group " + quoted(name))
	}
	out := GroupAnswer{GroupDetail: c.describeGroup(&g), Queues: []Progress{}}
	locks := c.o.Broker.QueueLocks(name)
	now := c.o.Clock.NowMs()
	for _, topic := range g.Topics {
		for _, q := range c.o.Broker.Progress(name, topic) {
			p := Progress{Progress: view.Progress{
				Topic: topic, QueueID: q.QueueID, Min: q.Min, Max: q.Max, Committed: q.Committed, Pulled: q.Pulled, Lag: q.Lag, InFlight: q.InFlight,
				LagMs: age(q.WaitingSinceMs, now),
			}}
			for _, lock := range locks {
				if lock.Topic == topic && lock.QueueID == q.QueueID {
					p.LockedBy = lock.ClientID
				}
			}
			if len(out.Queues) < maxNames {
				out.Queues = append(out.Queues, p)
			}
		}
	}
	return out, nil
}

func clientOf(m *broker.Member) Client {
	return Client{
		ID: m.ClientID, Address: m.RemoteAddr.String(), Language: m.Language.String(), Version: remoting.VersionName(m.Version),
		HeartbeatMs: m.HeartbeatMs, Subscriptions: []string{},
	}
}

func (c *Console) clients(r *http.Request) (ClientsAnswer, error) {
	out := ClientsAnswer{Clients: []ClientLine{}}
	for _, name := range c.o.Broker.ConsumerGroups() {
		g := c.o.Broker.Group(name)
		members, problems := membersOf(&g)
		for i := range members {
			out.Clients = append(out.Clients, ClientLine{Client: members[i], Role: "consumer", Group: name, Problems: problems})
		}
	}
	for _, name := range c.o.Broker.ProducerGroups() {
		for _, m := range c.o.Broker.Producers(name) {
			out.Clients = append(out.Clients, ClientLine{Client: clientOf(&m), Role: "producer", Group: name, Problems: []string{}})
		}
	}
	q := strings.ToLower(r.URL.Query().Get("q"))
	out.Clients = slices.DeleteFunc(out.Clients, func(l ClientLine) bool {
		return q != "" && !strings.Contains(strings.ToLower(l.ID+" "+l.Group+" "+l.Address), q)
	})
	slices.SortStableFunc(out.Clients, func(a, b ClientLine) int { return cmp.Compare(len(b.Problems), len(a.Problems)) })
	out.Total = len(out.Clients)
	out.Clients = out.Clients[:min(len(out.Clients), maxNames)]
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

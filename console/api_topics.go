package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// Topic is one line of the list of topics.
type Topic struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // normal, retry, dead or system
	Type     string `json:"type"` // the attribute message.type; empty: none
	Read     int32  `json:"readQueues"`
	Write    int32  `json:"writeQueues"`
	Perm     int32  `json:"perm"` // 4 read, 2 write
	Order    bool   `json:"order"`
	Messages int64  `json:"messages"` // that are still there
	Max      int64  `json:"max"`      // ever put
}

// TopicsAnswer is a list of topics.
type TopicsAnswer struct {
	Total  int     `json:"total"`
	Topics []Topic `json:"topics"`
}

// Queue is a queue of a topic.
type Queue struct {
	ID       int32 `json:"id"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	NewestMs int64 `json:"newestMs"` // store time of the newest message; -1: none
	OldestMs int64 `json:"oldestMs"`
}

// TopicAnswer is one topic.
type TopicAnswer struct {
	Topic
	Attributes map[string]string `json:"attributes"`
	Queues     []Queue           `json:"queues"`
	Groups     []GroupLag        `json:"groups"`
}

// GroupLag is how far a group is in a topic.
type GroupLag struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Online    bool   `json:"online"`
	Lag       int64  `json:"lag"`
	InFlight  int64  `json:"inFlight"`
	LagMs     int64  `json:"lagMs"`     // age of the oldest message not committed
	Committed bool   `json:"committed"` // it has an offset in some queue
}

func kindOfTopic(name string) string {
	switch {
	case message.IsRetryTopic(name):
		return "retry"
	case message.IsDLQTopic(name):
		return "dead"
	case message.IsSystemTopic(name):
		return "system"
	}
	return "normal"
}

func (c *Console) topics(r *http.Request) (TopicsAnswer, error) {
	kind := r.URL.Query().Get("kind")
	names := slices.DeleteFunc(c.o.Broker.Topics(), func(name string) bool { return kind != "" && kind != kindOfTopic(name) })
	names, total := choose(r, names)
	out := TopicsAnswer{Total: total, Topics: make([]Topic, 0, len(names))}
	for _, name := range names {
		if t, _, ok := c.describeTopic(name); ok {
			out.Topics = append(out.Topics, t)
		}
	}
	return out, nil
}

// describeTopic reads a topic and its queues; false when there is none.
func (c *Console) describeTopic(name string) (t Topic, queues []Queue, ok bool) {
	config := c.o.Broker.Topic(name)
	if config == nil {
		return t, nil, false
	}
	t = Topic{
		Name: name, Kind: kindOfTopic(name), Type: config.Attributes[message.AttributeMessageType], Read: config.ReadQueueNums,
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
	out := TopicAnswer{Topic: t, Queues: orEmpty(queues), Attributes: c.o.Broker.Topic(name).Attributes, Groups: []GroupLag{}}
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

// GroupsAnswer is a list of groups.
type GroupsAnswer struct {
	Total  int     `json:"total"`
	Groups []Group `json:"groups"`
}

// Client is one connection.
type Client struct {
	ID            string   `json:"id"`
	Address       string   `json:"address"`
	Language      string   `json:"language"`
	Version       string   `json:"version"`
	HeartbeatMs   int64    `json:"heartbeatMs"`
	Subscriptions []string `json:"subscriptions"`
}

// Progress is how far a group is in one queue.
type Progress struct {
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queue"`
	Min       int64  `json:"min"`
	Max       int64  `json:"max"`
	Committed int64  `json:"committed"` // -1: nothing is known
	Pulled    int64  `json:"pulled"`
	Lag       int64  `json:"lag"`
	InFlight  int64  `json:"inFlight"`
	LagMs     int64  `json:"lagMs"`
	LockedBy  string `json:"lockedBy"` // client id of an ordered consumer; empty: nobody
}

// GroupAnswer is one group.
type GroupAnswer struct {
	Group
	FromWhere     string            `json:"fromWhere"`
	RetryMaxTimes int32             `json:"retryMaxTimes"` // -1: the group has no configuration
	Enabled       bool              `json:"consumeEnable"`
	Ordered       bool              `json:"consumeMessageOrderly"`
	Subscriptions map[string]string `json:"subscriptions"`
	Clients       []Client          `json:"clients"`
	Queues        []Progress        `json:"queues"`
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
			out.Groups = append(out.Groups, c.describeGroup(&all[i]))
			at++
		}
	}
	return out, nil
}

func (c *Console) describeGroup(g *broker.Group) Group {
	out := Group{
		Name: g.Name, System: message.IsSystemGroup(g.Name) || message.IsPredefinedGroup(g.Name), Online: g.Online, ConsumeType: g.ConsumeType,
		Model: g.MessageModel, Members: len(g.Members), Topics: []GroupLag{}, Problems: problemsOf(g),
	}
	since := int64(0)
	for _, topic := range g.Topics {
		lag := c.lag(g.Name, topic)
		out.Topics = append(out.Topics, lag)
		out.Lag += lag.Lag
		since = max(since, lag.LagMs)
	}
	out.LagMs = since
	if queue := c.o.Broker.Store().Queue(message.DLQTopic(g.Name), 0); queue != nil {
		out.DeadLetters = queue.MaxOffset() - queue.MinOffset()
	}
	return out
}

// problemsOf says what is wrong with the members of a group.
func problemsOf(g *broker.Group) []string {
	problems := []string{}
	ids := map[string]int{}
	for i := range g.Members {
		ids[g.Members[i].ClientID]++
	}
	for _, id := range sortedKeys(ids) {
		if n := ids[id]; n > 1 {
			problems = append(problems, "client id "+id+" is used by "+strconv.Itoa(n)+" connections: they take the same queues")
		}
	}
	var first *broker.GroupMember
	for i := range g.Members {
		m := &g.Members[i]
		switch {
		case m.Subscriptions == nil:
		case first == nil:
			first = m
		case !slices.Equal(first.Subscriptions, m.Subscriptions):
			return append(problems, "members subscribe differently: "+first.ClientID+" "+strings.Join(first.Subscriptions, ", ")+"; "+m.ClientID+" "+strings.Join(m.Subscriptions, ", "))
		}
	}
	return problems
}

func (c *Console) group(r *http.Request) (GroupAnswer, error) {
	name := r.PathValue("group")
	g := c.o.Broker.Group(name)
	if g.Config == nil && !g.Online && len(g.Topics) == 0 {
		return GroupAnswer{}, missing("there is no group " + quoted(name))
	}
	out := GroupAnswer{Group: c.describeGroup(&g), FromWhere: g.FromWhere, RetryMaxTimes: -1, Subscriptions: g.Subscriptions, Clients: []Client{}, Queues: []Progress{}}
	if g.Config != nil {
		out.RetryMaxTimes, out.Enabled, out.Ordered = g.Config.RetryMaxTimes, g.Config.ConsumeEnable, g.Config.ConsumeMessageOrderly
	}
	for i := range g.Members {
		client := clientOf(&g.Members[i].Member)
		client.Subscriptions = orEmpty(g.Members[i].Subscriptions)
		out.Clients = append(out.Clients, client)
	}
	locks := c.o.Broker.QueueLocks(name)
	now := c.o.Clock.NowMs()
	for _, topic := range g.Topics {
		for _, q := range c.o.Broker.Progress(name, topic) {
			p := Progress{
				Topic: topic, QueueID: q.QueueID, Min: q.Min, Max: q.Max, Committed: q.Committed, Pulled: q.Pulled, Lag: q.Lag, InFlight: q.InFlight,
				LagMs: age(q.WaitingSinceMs, now),
			}
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

// ClientLine is one line of the list of clients.
type ClientLine struct {
	Client
	Role     string   `json:"role"` // consumer or producer
	Group    string   `json:"group"`
	Problems []string `json:"problems"`
}

// ClientsAnswer lists clients, those with problems first.
type ClientsAnswer struct {
	Total   int          `json:"total"`
	Clients []ClientLine `json:"clients"`
}

func (c *Console) clients(r *http.Request) (ClientsAnswer, error) {
	out := ClientsAnswer{Clients: []ClientLine{}}
	for _, name := range c.o.Broker.ConsumerGroups() {
		g := c.o.Broker.Group(name)
		problems := problemsOf(&g)
		for i := range g.Members {
			line := ClientLine{Client: clientOf(&g.Members[i].Member), Role: "consumer", Group: name, Problems: problems}
			line.Subscriptions = orEmpty(g.Members[i].Subscriptions)
			out.Clients = append(out.Clients, line)
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

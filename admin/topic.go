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

// Topic is one line of the list of topics. Numbers are sums over the brokers that have it.
type Topic struct {
	view.Topic
	Brokers []string `json:"brokers"`
}

// Queue is a queue of a topic.
type Queue struct {
	Broker string `json:"broker"`
	view.Queue
}

// TopicDetail is one topic.
type TopicDetail struct {
	Topic
	Attributes map[string]string `json:"attributes"`
	Queues     []Queue           `json:"queues"`
	Groups     []view.GroupLag   `json:"groups"`
}

// TopicQuery says which topics are wanted.
type TopicQuery struct {
	Kind     string // normal, retry, dead or system; empty: all
	Contains string // in the name, whatever the case
	Count    bool   // count their messages, which asks for each topic
}

// Topics lists topics by name.
func (a *Admin) Topics(ctx context.Context, q TopicQuery, p Progress) ([]Topic, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[string]*TopicDetail{}
	err = each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		configs, err := a.topicConfigs(ctx, s)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, c := range configs {
			merge(found, s, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := []Topic{}
	for _, t := range found {
		if slices.ContainsFunc(masters, func(s server) bool { return view.OwnTopic(t.Name, s.broker, s.cluster) }) {
			t.Kind = "system"
		}
		if (q.Kind == "" || q.Kind == t.Kind) && strings.Contains(strings.ToLower(t.Name), strings.ToLower(q.Contains)) {
			t.Messages, t.Max = -1, -1
			list = append(list, t.Topic)
		}
	}
	slices.SortFunc(list, func(x, y Topic) int { return strings.Compare(x.Name, y.Name) })
	if !q.Count {
		return list, nil
	}
	step := p.counter(len(list))
	return list, each(ctx, list, func(ctx context.Context, i int, t Topic) error {
		defer step()
		queues, err := a.queues(ctx, t.Name, masters)
		list[i].Messages, list[i].Max = 0, 0
		for _, q := range queues {
			list[i].Messages += q.Max - q.Min
			list[i].Max += q.Max
		}
		return err
	})
}

// merge adds what one broker knows of a topic.
func merge(found map[string]*TopicDetail, s server, c *body.TopicConfig) {
	t := found[c.TopicName]
	if t == nil {
		t = &TopicDetail{Topic: Topic{Topic: view.Topic{Name: c.TopicName, Kind: view.KindOf(c.TopicName), Perm: c.Perm, Order: c.Order}}, Attributes: map[string]string{}}
		found[c.TopicName] = t
	}
	t.Type = cmp.Or(t.Type, c.Attributes[message.AttributeMessageType])
	t.Read += c.ReadQueueNums
	t.Write += c.WriteQueueNums
	t.Brokers = append(t.Brokers, s.broker)
	slices.Sort(t.Brokers)
	maps.Copy(t.Attributes, c.Attributes)
}

// topicConfigs reads all topics of a broker, page by page where it has pages (5.4 and newer).
func (a *Admin) topicConfigs(ctx context.Context, s server) (map[string]*body.TopicConfig, error) {
	return readPages(func(have int32, version string) (map[string]*body.TopicConfig, *body.DataVersion, int, error) {
		resp, err := a.call(ctx, s, remoting.GetAllTopicConfig, &remoting.GetAllTopicConfigRequestHeader{
			TopicSeq: have, DataVersion: version, MaxTopicNum: remoting.Some[int32](pageSize),
		}, nil)
		if err != nil {
			return nil, nil, 0, err
		}
		page, err := decode[body.TopicConfigAndMappingTable](resp)
		if err != nil {
			return nil, nil, 0, err
		}
		var h remoting.GetAllTopicConfigResponseHeader
		if resp.Decode(&h) != nil { // brokers before 5.4 have no such header
			h.TotalTopicNum.Value = 0
		}
		return page.Topics, &page.DataVersion, int(h.TotalTopicNum.Value), nil
	})
}

// topicOn reads a topic of one broker; nil when it has none.
func (a *Admin) topicOn(ctx context.Context, s server, topic string) (*body.TopicConfig, error) {
	resp, err := a.call(ctx, s, remoting.GetTopicConfig, &remoting.GetTopicConfigRequestHeader{Topic: topic}, nil)
	switch {
	case err == nil:
		v, err := decode[body.TopicConfigAndQueueMapping](resp)
		if err != nil {
			return nil, err
		}
		return &v.TopicConfig, nil
	case refused(err, remoting.RequestCodeNotSupported): // 4.x: in the list only
		all, err := a.topicConfigs(ctx, s)
		return all[topic], err
	case refused(err, remoting.TopicNotExist):
		return nil, nil //nolint:nilnil // said so
	default:
		return nil, err
	}
}

// hosts are the brokers that have a topic, with what they know of it.
func (a *Admin) hosts(ctx context.Context, topic string) ([]server, *TopicDetail, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, nil, err
	}
	configs := make([]*body.TopicConfig, len(masters))
	err = each(ctx, masters, func(ctx context.Context, i int, s server) (err error) {
		configs[i], err = a.topicOn(ctx, s, topic)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	found := map[string]*TopicDetail{}
	var hosts []server
	for i, c := range configs {
		if c != nil {
			merge(found, masters[i], c)
			hosts = append(hosts, masters[i])
		}
	}
	if len(hosts) == 0 {
		return nil, nil, noTopic(topic)
	}
	return hosts, found[topic], nil
}

func noTopic(topic string) error {
	return &NotFound{What: "topic", Name: topic, Hint: "rocketd topic list shows what there is, rocketd topic create makes one"}
}

// queues reads the range of each queue of a topic, sorted by broker and id. Brokers without the topic are left out.
func (a *Admin) queues(ctx context.Context, topic string, brokers []server) ([]Queue, error) {
	lists := make([][]Queue, len(brokers))
	err := each(ctx, brokers, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.GetTopicStatsInfo, &remoting.GetTopicStatsInfoRequestHeader{Topic: topic}, nil, remoting.TopicNotExist)
		if err != nil || resp.Code != remoting.Success {
			return err
		}
		stats, err := decode[body.TopicStatsTable](resp)
		if err != nil {
			return err
		}
		for mq, o := range stats.OffsetTable {
			q := Queue{s.broker, view.Queue{ID: mq.QueueID, Min: max(0, o.MinOffset), Max: max(0, o.MaxOffset), NewestMs: -1, OldestMs: -1}}
			if q.Max > q.Min && o.LastUpdateTimestamp > 0 {
				q.NewestMs = o.LastUpdateTimestamp
			}
			lists[i] = append(lists[i], q)
		}
		return nil
	})
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(x, y Queue) int { return cmp.Or(strings.Compare(x.Broker, y.Broker), cmp.Compare(x.ID, y.ID)) })
	return all, err
}

// Topic is one topic with its queues and the groups that read it.
func (a *Admin) Topic(ctx context.Context, topic string) (*TopicDetail, error) {
	hosts, t, err := a.hosts(ctx, topic)
	if err != nil {
		return nil, err
	}
	if t.Queues, err = a.queues(ctx, topic, hosts); err != nil {
		return nil, err
	}
	for i := range t.Queues {
		t.Messages += t.Queues[i].Max - t.Queues[i].Min
		t.Max += t.Queues[i].Max
	}
	byName := map[string]server{}
	for _, s := range hosts {
		byName[s.broker] = s
	}
	err = each(ctx, t.Queues, func(ctx context.Context, i int, q Queue) error {
		if q.Max == q.Min {
			return nil
		}
		resp, err := a.call(ctx, byName[q.Broker], remoting.GetEarliestMsgStoretime, &remoting.GetEarliestMsgStoretimeRequestHeader{Topic: topic, QueueID: q.ID}, nil)
		if err != nil {
			return err
		}
		var h remoting.GetEarliestMsgStoretimeResponseHeader
		if err := resp.Decode(&h); err != nil {
			return err
		}
		t.Queues[i].OldestMs = h.Timestamp
		return nil
	})
	if err != nil {
		return nil, err
	}
	groups, err := a.groupsOf(ctx, topic, hosts)
	if err != nil {
		return nil, err
	}
	t.Groups = make([]view.GroupLag, len(groups))
	return t, each(ctx, groups, func(ctx context.Context, i int, group string) error {
		progress, err := a.progress(ctx, group, topic, hosts)
		if err != nil {
			return err
		}
		connection, err := a.connection(ctx, group, hosts)
		t.Groups[i] = lagOf(group, topic, progress)
		t.Groups[i].Online = connection != nil
		return err
	})
}

// groupsOf lists the groups that subscribe a topic or have progress in it, sorted.
func (a *Admin) groupsOf(ctx context.Context, topic string, brokers []server) ([]string, error) {
	lists := make([][]string, len(brokers))
	err := each(ctx, brokers, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.QueryTopicConsumeByWho, &remoting.QueryTopicConsumeByWhoRequestHeader{Topic: topic}, nil)
		if err != nil {
			return err
		}
		groups, err := decode[body.GroupList](resp)
		if err == nil {
			lists[i] = groups.Groups
		}
		return err
	})
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all), err
}

// TopicChange is what a topic is to be. Fields that are nil stay as they are, or take the broker's usual value in a new topic.
type TopicChange struct {
	Name        string
	Read, Write *int32
	Perm        *int32
	Order       *bool
	// Attributes are set; of a name in Remove the value is taken away.
	Attributes map[string]string
	Remove     []string
}

// CreateTopic makes a topic on all brokers; it is an error when one has it already.
func (a *Admin) CreateTopic(ctx context.Context, c TopicChange) error {
	masters, err := a.masters(ctx)
	if err != nil {
		return err
	}
	if err := message.ValidateTopic(c.Name); err != nil {
		return usage("%v", err)
	}
	return each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		old, err := a.topicOn(ctx, s, c.Name)
		if err != nil {
			return err
		}
		if old != nil {
			return usage("the topic %s exists already on %s: rocketd topic update changes it", c.Name, s)
		}
		config := body.NewTopicConfig(c.Name)
		config.ReadQueueNums, config.WriteQueueNums = 8, 8
		return a.putTopic(ctx, s, config, &c)
	})
}

// UpdateTopic changes a topic on the brokers that have it.
func (a *Admin) UpdateTopic(ctx context.Context, c TopicChange) error {
	hosts, _, err := a.hosts(ctx, c.Name)
	if err != nil {
		return err
	}
	return each(ctx, hosts, func(ctx context.Context, _ int, s server) error {
		config, err := a.topicOn(ctx, s, c.Name)
		if err != nil {
			return err
		}
		return a.putTopic(ctx, s, config, &c)
	})
}

func (a *Admin) putTopic(ctx context.Context, s server, t *body.TopicConfig, c *TopicChange) error {
	set(&t.ReadQueueNums, c.Read)
	set(&t.WriteQueueNums, c.Write)
	set(&t.Perm, c.Perm)
	set(&t.Order, c.Order)
	var attributes []string
	for name, value := range c.Attributes {
		attributes = append(attributes, "+"+name+"="+value)
	}
	for _, name := range c.Remove {
		attributes = append(attributes, "-"+name)
	}
	slices.Sort(attributes)
	_, err := a.call(ctx, s, remoting.UpdateAndCreateTopic, &remoting.CreateTopicRequestHeader{
		Topic: t.TopicName, DefaultTopic: message.TopicAutoCreate, ReadQueueNums: t.ReadQueueNums, WriteQueueNums: t.WriteQueueNums, Perm: t.Perm,
		TopicFilterType: string(t.TopicFilterType), TopicSysFlag: remoting.Some(t.TopicSysFlag), Order: t.Order, Attributes: strings.Join(attributes, ","),
	}, nil)
	return err
}

func set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// DeleteTopic removes a topic with its messages and offsets from all brokers and the name servers.
func (a *Admin) DeleteTopic(ctx context.Context, topic string) error {
	hosts, _, err := a.hosts(ctx, topic)
	var missing *NotFound
	if err != nil && !errors.As(err, &missing) {
		return err
	}
	if derr := each(ctx, hosts, func(ctx context.Context, _ int, s server) error {
		_, err := a.call(ctx, s, remoting.DeleteTopicInBroker, &remoting.DeleteTopicRequestHeader{Topic: topic}, nil)
		return err
	}); derr != nil {
		return derr
	}
	if strings.Contains(a.o.Broker, ":") {
		return err // without a name server
	}
	for _, addr := range a.o.Namesrv { // each keeps its own table
		_, nerr := a.call(ctx, server{addr: addr}, remoting.DeleteTopicInNamesrv, &remoting.DeleteTopicFromNamesrvRequestHeader{Topic: topic}, nil)
		if nerr != nil && len(a.o.Namesrv) == 1 {
			return nerr
		}
	}
	return err
}

// RouteQueue is one line of a route: what one broker has of a topic.
type RouteQueue struct {
	Broker  string           `json:"broker"`
	Cluster string           `json:"cluster"`
	Addrs   map[int64]string `json:"addrs"` // by broker id
	Read    int32            `json:"readQueues"`
	Write   int32            `json:"writeQueues"`
	Perm    int32            `json:"perm"`
}

// Route is where the name server says that a topic's queues are, sorted by broker.
func (a *Admin) Route(ctx context.Context, topic string) ([]RouteQueue, error) {
	route, err := a.route(ctx, topic)
	if err != nil {
		return nil, err
	}
	list := []RouteQueue{}
	for _, q := range route.QueueDatas {
		r := RouteQueue{Broker: q.BrokerName, Addrs: map[int64]string{}, Read: q.ReadQueueNums, Write: q.WriteQueueNums, Perm: q.Perm}
		for i := range route.BrokerDatas {
			if b := &route.BrokerDatas[i]; b.BrokerName == q.BrokerName {
				r.Cluster, r.Addrs = b.Cluster, b.BrokerAddrs
			}
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y RouteQueue) int { return strings.Compare(x.Broker, y.Broker) })
	return list, nil
}

func (a *Admin) route(ctx context.Context, topic string) (*body.TopicRouteData, error) {
	resp, err := a.ns(ctx, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic, AcceptStandardJSONOnly: remoting.Some(true)}, nil)
	if refused(err, remoting.TopicNotExist) {
		return nil, noTopic(topic)
	}
	if err != nil {
		return nil, err
	}
	return decode[body.TopicRouteData](resp)
}

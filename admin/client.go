package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Member is what a consumer says of itself.
type Member struct {
	view.Client
	Queues     []MemberQueue     `json:"queues"`
	Properties map[string]string `json:"properties"`
	// Problem is why the client could not be asked; empty: it was.
	Problem string `json:"problem"`
}

// MemberQueue is a queue that a member works on.
type MemberQueue struct {
	Broker    string `json:"broker"`
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queue"`
	Committed int64  `json:"committed"`
	Cached    int64  `json:"cached"` // messages fetched and not done
	Locked    bool   `json:"locked"`
}

// clientOf describes a connection of a group that subscribes what is given: a broker does not tell the subscriptions of members apart.
func clientOf(c *body.Connection, subscribed map[string]body.SubscriptionData) view.Client {
	client := view.Client{ID: c.ClientID, Address: strings.TrimPrefix(c.ClientAddr, "/"), Language: c.Language, Version: remoting.VersionName(c.Version), Subscriptions: []string{}}
	for topic, s := range subscribed {
		client.Subscriptions = append(client.Subscriptions, topic+" "+s.SubString)
	}
	slices.Sort(client.Subscriptions)
	return client
}

// Clients lists consumers and producers whose id, group or address contains a text, by group.
func (a *Admin) Clients(ctx context.Context, contains string, p Progress) ([]view.ClientLine, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := a.Groups(ctx, GroupQuery{System: true}, nil)
	if err != nil {
		return nil, err
	}
	groups = slices.DeleteFunc(groups, func(g view.Group) bool { return !g.Online })
	step := p.counter(len(groups))
	lists := make([][]view.ClientLine, len(groups))
	err = each(ctx, groups, func(ctx context.Context, i int, g view.Group) error {
		defer step()
		connection, err := a.connection(ctx, g.Name, masters)
		if err != nil || connection == nil {
			return err
		}
		for _, c := range connection.Connections {
			lists[i] = append(lists[i], view.ClientLine{Client: clientOf(&c, connection.SubscriptionTable), Role: "consumer", Group: g.Name, Problems: g.Problems})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	producers, err := a.producers(ctx, masters)
	if err != nil {
		return nil, err
	}
	all := append(slices.Concat(lists...), producers...)
	contains = strings.ToLower(contains)
	all = slices.DeleteFunc(all, func(l view.ClientLine) bool {
		return !strings.Contains(strings.ToLower(l.ID+" "+l.Group+" "+l.Address), contains)
	})
	slices.SortStableFunc(all, func(x, y view.ClientLine) int {
		return cmp.Or(cmp.Compare(len(y.Problems), len(x.Problems)), strings.Compare(x.Role, y.Role), strings.Compare(x.Group, y.Group), strings.Compare(x.ID, y.ID))
	})
	return all, nil
}

func (a *Admin) producers(ctx context.Context, masters []server) ([]view.ClientLine, error) {
	lists := make([][]view.ClientLine, len(masters))
	err := each(ctx, masters, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.GetAllProducerInfo, &remoting.GetAllProducerInfoRequestHeader{}, nil)
		if err != nil {
			return err
		}
		table, err := decode[body.ProducerTable](resp)
		if err != nil {
			return err
		}
		for group, members := range table.Data {
			for _, m := range members {
				lists[i] = append(lists[i], view.ClientLine{Client: view.Client{
					ID: m.ClientID, Address: strings.TrimPrefix(m.RemoteIP, "/"), Language: m.Language, Version: remoting.VersionName(m.Version),
					HeartbeatMs: m.LastUpdateTimestamp, Subscriptions: []string{},
				}, Role: "producer", Group: group, Problems: []string{}})
			}
		}
		return nil
	})
	all := slices.Concat(lists...)
	same := func(x, y view.ClientLine) bool { return x.ID == y.ID && x.Group == y.Group }
	slices.SortFunc(all, func(x, y view.ClientLine) int {
		return cmp.Or(strings.Compare(x.Group, y.Group), strings.Compare(x.ID, y.ID))
	})
	return slices.CompactFunc(all, same), err
}

// Members asks each member of a group what it works on. Members that do not answer have a Problem.
func (a *Admin) Members(ctx context.Context, group string, p Progress) ([]Member, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := a.connection(ctx, group, masters)
	if err != nil {
		return nil, err
	}
	if connection == nil {
		if _, err := a.Group(ctx, group); err != nil {
			return nil, err
		}
		return []Member{}, nil
	}
	members := make([]Member, len(connection.Connections))
	step := p.counter(len(members))
	return members, each(ctx, connection.Connections, func(ctx context.Context, i int, c body.Connection) error {
		defer step()
		members[i] = a.askMember(ctx, group, &c, masters)
		return ctx.Err()
	})
}

// askMember asks one member, through the first broker that it is connected to.
func (a *Admin) askMember(ctx context.Context, group string, c *body.Connection, masters []server) Member {
	m := Member{Client: clientOf(c, nil), Queues: []MemberQueue{}, Properties: map[string]string{}}
	for _, s := range masters {
		resp, err := a.call(ctx, s, remoting.GetConsumerRunningInfo, &remoting.GetConsumerRunningInfoRequestHeader{ConsumerGroup: group, ClientID: c.ClientID}, nil)
		if err != nil {
			m.Problem = err.Error()
			continue
		}
		info, err := decode[body.ConsumerRunningInfo](resp)
		if err != nil {
			m.Problem = err.Error()
			continue
		}
		m.Problem = ""
		m.Properties = info.Properties
		for _, sub := range info.SubscriptionSet {
			m.Subscriptions = append(m.Subscriptions, sub.Topic+" "+sub.SubString)
		}
		slices.Sort(m.Subscriptions)
		for mq, q := range info.ProcessQueues {
			m.Queues = append(m.Queues, MemberQueue{mq.BrokerName, mq.Topic, mq.QueueID, q.CommitOffset, int64(q.CachedMsgCount), q.Locked})
		}
		for mq, q := range info.PopQueues {
			m.Queues = append(m.Queues, MemberQueue{mq.BrokerName, mq.Topic, mq.QueueID, -1, int64(q.WaitAckCount), false})
		}
		slices.SortFunc(m.Queues, func(x, y MemberQueue) int {
			return cmp.Or(strings.Compare(x.Topic, y.Topic), strings.Compare(x.Broker, y.Broker), cmp.Compare(x.QueueID, y.QueueID))
		})
		break
	}
	return m
}

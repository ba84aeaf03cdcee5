package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Offsets is how far a group is in each queue of a topic; of all its topics when topic is empty.
func (a *Admin) Offsets(ctx context.Context, group, topic string) ([]QueueProgress, error) {
	g, err := a.Group(ctx, group)
	if err != nil {
		return nil, err
	}
	if topic == "" {
		return g.Queues, nil
	}
	queues := slices.DeleteFunc(g.Queues, func(q QueueProgress) bool { return q.Topic != topic })
	if len(queues) == 0 {
		return nil, &NotFound{What: "progress", Name: "of " + group + " in " + topic, Hint: "rocketd group show " + group + " tells the topics that it reads"}
	}
	return queues, nil
}

// Moved is a queue whose offset was set.
type Moved struct {
	Broker  string `json:"broker"`
	Topic   string `json:"topic"`
	QueueID int32  `json:"queue"`
	Offset  int64  `json:"offset"`
}

// ToEnd stands for the end of a queue in ResetOffsets.
const ToEnd int64 = -1

// ResetOffsets sets a group's offsets in all queues of a topic to the first message stored at or after a time, ms since the epoch, or to the end.
// Members that are connected go on from there at once.
func (a *Admin) ResetOffsets(ctx context.Context, group, topic string, timeMs int64) ([]Moved, error) {
	hosts, err := a.groupAndTopic(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	lists := make([][]Moved, len(hosts))
	err = each(ctx, hosts, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.InvokeBrokerToResetOffset, &remoting.ResetOffsetRequestHeader{
			Group: group, Topic: topic, QueueID: -1, Timestamp: timeMs, IsForce: true,
		}, nil)
		if refused(err, remoting.ConsumerNotOnline) { // 4.x leaves groups without members to the caller
			lists[i], err = a.resetOffline(ctx, s, group, topic, timeMs)
			return err
		}
		if err != nil {
			return err
		}
		table, err := decode[body.ResetOffset](resp)
		if err != nil {
			return err
		}
		for mq, offset := range table.OffsetTable {
			lists[i] = append(lists[i], Moved{s.broker, topic, mq.QueueID, offset})
		}
		return nil
	})
	return sortMoved(slices.Concat(lists...)), err
}

func (a *Admin) resetOffline(ctx context.Context, s server, group, topic string, timeMs int64) ([]Moved, error) {
	queues, err := a.queues(ctx, topic, []server{s})
	var moved []Moved
	for _, q := range queues {
		offset := q.Max
		if timeMs >= 0 {
			if offset, err = a.searchOffset(ctx, s, topic, q.ID, timeMs); err != nil {
				return moved, err
			}
		}
		if err = a.commit(ctx, s, group, topic, q.ID, offset); err != nil {
			return moved, err
		}
		moved = append(moved, Moved{s.broker, topic, q.ID, offset})
	}
	return moved, err
}

func (a *Admin) searchOffset(ctx context.Context, s server, topic string, queue int32, timeMs int64) (int64, error) {
	resp, err := a.call(ctx, s, remoting.SearchOffsetByTimestamp, &remoting.SearchOffsetRequestHeader{Topic: topic, QueueID: queue, Timestamp: timeMs, BoundaryType: "LOWER"}, nil)
	if err != nil {
		return 0, err
	}
	var h remoting.SearchOffsetResponseHeader
	err = resp.Decode(&h)
	return h.Offset, err
}

func (a *Admin) commit(ctx context.Context, s server, group, topic string, queue int32, offset int64) error {
	_, err := a.call(ctx, s, remoting.UpdateConsumerOffset, &remoting.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: offset}, nil)
	return err
}

// SetOffset sets a group's offset in one queue. When the topic is on several brokers, Options.Broker must name one.
func (a *Admin) SetOffset(ctx context.Context, group, topic string, queue int32, offset int64) (*Moved, error) {
	hosts, err := a.groupAndTopic(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	if len(hosts) > 1 {
		return nil, usage("the topic %s is on %d brokers: --broker names the one whose queue is meant", topic, len(hosts))
	}
	queues, err := a.queues(ctx, topic, hosts)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(queues, func(q Queue) bool { return q.ID == queue })
	if at < 0 {
		return nil, &NotFound{What: "queue", Name: "of that number", Hint: "rocketd topic show " + topic + " lists them"}
	}
	if q := queues[at]; offset < q.Min || offset > q.Max {
		return nil, usage("offset %d is outside the queue, which goes from %d to %d", offset, q.Min, q.Max)
	}
	s := hosts[0]
	_, err = a.call(ctx, s, remoting.InvokeBrokerToResetOffset, &remoting.ResetOffsetRequestHeader{
		Group: group, Topic: topic, QueueID: queue, Offset: remoting.Some(offset), Timestamp: -1, IsForce: true,
	}, nil)
	if refused(err, remoting.ConsumerNotOnline) {
		err = a.commit(ctx, s, group, topic, queue, offset)
	}
	return &Moved{s.broker, topic, queue, offset}, err
}

// CloneOffsets gives a group the offsets of another one in a topic, or in all topics when topic is empty.
func (a *Admin) CloneOffsets(ctx context.Context, from, to, topic string) ([]QueueProgress, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.Group(ctx, from); err != nil {
		return nil, err
	}
	err = each(ctx, masters, func(ctx context.Context, _ int, s server) error {
		_, err := a.call(ctx, s, remoting.CloneGroupOffset, &remoting.CloneGroupOffsetRequestHeader{SrcGroup: from, DestGroup: to, Topic: topic}, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.progress(ctx, to, topic, masters)
}

// groupAndTopic checks that both exist and returns the brokers of the topic.
func (a *Admin) groupAndTopic(ctx context.Context, group, topic string) ([]server, error) {
	hosts, _, err := a.hosts(ctx, topic)
	if err != nil {
		return nil, err
	}
	configs, err := a.configsOf(ctx, group, hosts)
	if err != nil {
		return nil, err
	}
	if len(configs) == 0 {
		return nil, noGroup(group)
	}
	names := slices.Sorted(maps.Keys(configs))
	return slices.DeleteFunc(hosts, func(s server) bool { return !slices.Contains(names, s.broker) }), nil
}

func sortMoved(list []Moved) []Moved {
	slices.SortFunc(list, func(x, y Moved) int {
		return cmp.Or(strings.Compare(x.Broker, y.Broker), cmp.Compare(x.QueueID, y.QueueID))
	})
	return list
}

// DeadLetterTopic is where the dead letters of a group are.
func DeadLetterTopic(group string) string { return message.DLQTopic(group) }

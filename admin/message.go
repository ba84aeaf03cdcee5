package admin

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// Message is a stored message.
type Message struct {
	Broker string `json:"broker"`
	view.Message
	// Raw is the body as it is stored.
	Raw []byte `json:"-"`
}

// MaxShown is how many bytes of a body are put into Body.Text.
const MaxShown = 64 << 10

// messagesOf reads the records of an answer.
func messagesOf(s server, stored []byte) ([]Message, error) {
	var list []Message
	for len(stored) > 0 {
		var r message.Record
		n, err := message.DecodeRecord(stored, &r, false)
		if err != nil {
			return list, err
		}
		list = append(list, messageOf(s, &r))
		stored = stored[n:]
	}
	return list, nil
}

// messageOf describes a record; Raw aliases it.
func messageOf(s server, r *message.Record) Message {
	return Message{Broker: s.broker, Message: view.DescribeMessage(r, MaxShown), Raw: r.Body}
}

// MessageByID finds a message by its offset message id, or by its unique key in a topic, or in all topics when topic is empty.
func (a *Admin) MessageByID(ctx context.Context, id, topic string, p Progress) (*Message, error) {
	if m, err := a.byOffsetID(ctx, id); m != nil || err != nil {
		return m, err
	}
	topics := []string{topic}
	if topic == "" {
		all, err := a.Topics(ctx, TopicQuery{}, nil)
		if err != nil {
			return nil, err
		}
		topics = topics[:0]
		for _, t := range all {
			topics = append(topics, t.Name)
		}
	}
	step := p.counter(len(topics))
	found := make([]*Message, len(topics))
	err := each(ctx, topics, func(ctx context.Context, i int, topic string) error {
		defer step()
		list, err := a.query(ctx, topic, id, true, 1, 0, math.MaxInt64)
		if len(list) > 0 {
			found[i] = &list[0]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m != nil {
			return m, nil
		}
	}
	return nil, &NotFound{What: "message", Name: id, Hint: "it may be older than what the broker keeps (fileReservedTime)"}
}

// byOffsetID asks the broker that an offset message id names; nil when it is no such id, or of no broker that is known.
func (a *Admin) byOffsetID(ctx context.Context, id string) (*Message, error) {
	host, offset, err := message.ParseOffsetMessageID(id)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it is a unique key then
	}
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range masters {
		if _, port, _ := strings.Cut(s.addr, ":"); s.addr != host.String() && port != strconv.Itoa(int(host.Port())) {
			continue // unique keys have the same form: the port tells them apart, the address may be another one from here
		}
		resp, err := a.call(ctx, s, remoting.ViewMessageByID, &remoting.ViewMessageRequestHeader{Offset: offset}, nil, remoting.SystemError)
		if err != nil {
			return nil, err
		}
		if list, err := messagesOf(s, resp.Body); err == nil && len(list) == 1 && strings.EqualFold(list[0].ID, id) {
			return &list[0], nil
		}
	}
	return nil, nil //nolint:nilnil // said so
}

// query asks the brokers of a topic for a key, or a unique key.
func (a *Admin) query(ctx context.Context, topic, key string, unique bool, count int, fromMs, toMs int64) ([]Message, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([][]Message, len(masters))
	err = each(ctx, masters, func(ctx context.Context, i int, s server) error {
		req := remoting.NewRequest(remoting.QueryMessage, &remoting.QueryMessageRequestHeader{
			Topic: topic, Key: key, MaxNum: int32(count), BeginTimestamp: fromMs, EndTimestamp: toMs,
		})
		req.AddExt(message.UniqueKeyQueryFlag, strconv.FormatBool(unique))
		ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
		defer cancel()
		resp, err := a.client.Invoke(ctx, s.addr, req)
		if err != nil {
			return &Unreachable{Server: s.String(), Broker: true, Err: err}
		}
		if resp.Code == remoting.QueryNotFound {
			return nil
		}
		if resp.Code != remoting.Success {
			return &Error{Server: s.String(), Version: remoting.VersionName(resp.Version), Request: remoting.QueryMessage, Code: resp.Code, Remark: resp.Remark}
		}
		lists[i], err = messagesOf(s, resp.Body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Concat(lists...), func(m Message) bool { // hits by hash alone
		if unique {
			return m.UniqueKey != key
		}
		return !slices.Contains(strings.Fields(m.Keys), key) && m.UniqueKey != key
	}), nil
}

// MessagesByKey finds messages of a topic by a key, stored between two times (ms), newest first.
func (a *Admin) MessagesByKey(ctx context.Context, topic, key string, count int, fromMs, toMs int64) ([]Message, error) {
	if _, _, err := a.hosts(ctx, topic); err != nil {
		return nil, err
	}
	list, err := a.query(ctx, topic, key, false, count, fromMs, toMs)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(x, y Message) int {
		return cmp.Or(cmp.Compare(y.StoreMs, x.StoreMs), cmp.Compare(y.PhysicalOffset, x.PhysicalOffset))
	})
	return list[:min(len(list), count)], nil
}

// MessageRange says which messages of a topic are wanted. Without Offset and FromMs it is the newest.
type MessageRange struct {
	Topic        string
	Queue        int32  // -1: all
	Offset       *int64 // from this one on, in one queue
	FromMs, ToMs int64  // store times; 0: no bound
	Count        int    // at most
}

// Found is what a look for messages found.
type Found struct {
	Messages []Message
	Min, Max int64 // the queue's offsets, when an offset was asked for
}

// Messages lists messages: the newest first, those of a time or an offset in order.
func (a *Admin) Messages(ctx context.Context, r MessageRange, p Progress) (Found, error) {
	hosts, _, err := a.hosts(ctx, r.Topic)
	if err != nil {
		return Found{}, err
	}
	if r.Offset != nil && (r.Queue < 0 || len(hosts) > 1) {
		return Found{}, usage("an offset counts in one queue: --queue names it (and --broker, when the topic is on several)")
	}
	queues, err := a.queues(ctx, r.Topic, hosts)
	if err != nil {
		return Found{}, err
	}
	if r.Queue >= 0 {
		queues = slices.DeleteFunc(queues, func(q Queue) bool { return q.ID != r.Queue })
		if len(queues) == 0 {
			return Found{}, &NotFound{What: "queue", Name: strconv.Itoa(int(r.Queue)), Hint: "rocketd topic show " + r.Topic + " lists them"}
		}
	}
	byName := map[string]server{}
	for _, s := range hosts {
		byName[s.broker] = s
	}
	to := cmp.Or(r.ToMs, int64(math.MaxInt64))
	step := p.counter(len(queues))
	lists := make([][]Message, len(queues))
	err = each(ctx, queues, func(ctx context.Context, i int, q Queue) (err error) {
		defer step()
		from := max(q.Min, q.Max-int64(r.Count))
		switch {
		case r.Offset != nil:
			from = max(q.Min, *r.Offset)
		case r.FromMs > 0 || r.ToMs > 0:
			if from, err = a.searchOffset(ctx, byName[q.Broker], r.Topic, q.ID, r.FromMs); err != nil {
				return err
			}
		}
		lists[i], err = a.readRange(ctx, byName[q.Broker], q, r.Topic, from, r.Count, r.FromMs, to)
		return err
	})
	if err != nil {
		return Found{}, err
	}
	all := slices.Concat(lists...)
	newest := r.Offset == nil && r.FromMs == 0 && r.ToMs == 0
	slices.SortStableFunc(all, func(x, y Message) int {
		c := cmp.Or(cmp.Compare(x.StoreMs, y.StoreMs), strings.Compare(x.Broker, y.Broker), cmp.Compare(x.PhysicalOffset, y.PhysicalOffset))
		if newest {
			return -c
		}
		return c
	})
	found := Found{Messages: all[:min(len(all), r.Count)]}
	if r.Offset != nil {
		found.Min, found.Max = queues[0].Min, queues[0].Max
	}
	return found, nil
}

// readRange reads up to count messages of a queue from an offset on, until one is stored after toMs.
func (a *Admin) readRange(ctx context.Context, s server, q Queue, topic string, from int64, count int, fromMs, toMs int64) ([]Message, error) {
	var list []Message
	for from < q.Max && len(list) < count {
		resp, next, err := a.pull(ctx, s, pullFrom{group: message.GroupTools, topic: topic, queue: q.ID, offset: from, count: min(32, count-len(list)), expression: "*"})
		if err != nil {
			return list, err
		}
		if next <= from && len(resp) == 0 {
			return list, nil
		}
		for _, m := range resp {
			if m.StoreMs > toMs {
				return list, nil
			}
			if m.StoreMs >= fromMs {
				list = append(list, m)
			}
		}
		from = next
	}
	return list, nil
}

// pullFrom is one pull.
type pullFrom struct {
	group, topic string
	queue        int32
	offset       int64
	count        int
	expression   string
	sql          bool
	waitMs       int64 // longest wait for a message; 0: none
}

// Bits of a pull's sysFlag (PullSysFlag).
const (
	pullSuspend      = 2
	pullSubscription = 4
)

// pull asks once. next is where to go on.
func (a *Admin) pull(ctx context.Context, s server, p pullFrom) (list []Message, next int64, err error) {
	h := &remoting.PullMessageRequestHeader{
		ConsumerGroup: p.group, Topic: p.topic, QueueID: p.queue, QueueOffset: p.offset, MaxMsgNums: int32(p.count), SysFlag: pullSubscription,
		SuspendTimeoutMillis: p.waitMs, Subscription: p.expression, SubVersion: a.NowMs(), ExpressionType: "TAG",
	}
	if p.waitMs > 0 {
		h.SysFlag |= pullSuspend
	}
	if p.sql {
		h.ExpressionType = "SQL92"
	}
	wait, cancel := context.WithTimeout(ctx, a.o.Timeout+msDuration(p.waitMs))
	defer cancel()
	resp, err := a.callFor(wait, s, remoting.PullMessage, h, nil, remoting.PullNotFound, remoting.PullRetryImmediately, remoting.PullOffsetMoved)
	if err != nil {
		return nil, p.offset, err
	}
	var answer remoting.PullMessageResponseHeader
	if err := resp.Decode(&answer); err != nil {
		return nil, p.offset, err
	}
	if resp.Code != remoting.Success {
		return nil, answer.NextBeginOffset, nil
	}
	list, err = messagesOf(s, resp.Body)
	return list, answer.NextBeginOffset, err
}

// Resent is what became of a message that was sent again.
type Resent = view.Resent

// Resend sends dead letters of a group to the group's retry topic, so that this group alone gets them again; their deliveries are counted anew.
// They stay among the dead letters until they expire. offsets are those in queue 0 of its dead-letter topic; nil: all.
func (a *Admin) Resend(ctx context.Context, group string, offsets []int64, p Progress) ([]Resent, error) {
	dead := message.DLQTopic(group)
	hosts, _, err := a.hosts(ctx, dead)
	if isNotFound(err) {
		return nil, &NotFound{What: "dead letter", Name: "of group " + group}
	}
	if err != nil {
		return nil, err
	}
	if len(hosts) > 1 && offsets != nil {
		return nil, usage("group %s has dead letters on %d brokers: --broker names the one whose offsets are meant", group, len(hosts))
	}
	queues, err := a.queues(ctx, dead, hosts)
	if err != nil {
		return nil, err
	}
	list := []Resent{}
	for i, s := range hosts {
		at := slices.IndexFunc(queues, func(q Queue) bool { return q.Broker == s.broker && q.ID == 0 })
		if at < 0 {
			continue
		}
		q := queues[at]
		wanted := offsets
		if wanted == nil {
			for o := q.Min; o < q.Max; o++ {
				wanted = append(wanted, o)
			}
		}
		for n, offset := range wanted {
			list = append(list, a.resendOne(ctx, hosts[i], group, q, offset))
			if p != nil {
				p(n+1, len(wanted))
			}
			if ctx.Err() != nil {
				return list, ctx.Err()
			}
		}
	}
	return list, nil
}

func (a *Admin) resendOne(ctx context.Context, s server, group string, q Queue, offset int64) Resent {
	r := Resent{Offset: offset, Topic: message.RetryTopic(group)}
	if offset < q.Min || offset >= q.Max {
		r.Error = "dead letters of " + group + " have offsets from " + strconv.FormatInt(q.Min, 10) + " to below " + strconv.FormatInt(q.Max, 10)
		return r
	}
	found, _, err := a.pull(ctx, s, pullFrom{group: message.GroupTools, topic: message.DLQTopic(group), queue: 0, offset: offset, count: 1, expression: "*"})
	if err != nil || len(found) == 0 {
		r.Error = "the dead letter cannot be read"
		if err != nil {
			r.Error = err.Error()
		}
		return r
	}
	m := found[0]
	properties := message.Properties(nil)
	for _, key := range sortedKeys(m.Properties) {
		switch key {
		case message.KeyDelayLevel, message.KeyReconsumeTime, message.KeyMaxReconsumeTimes:
		default:
			properties = properties.Append(key, m.Properties[key])
		}
	}
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: message.GroupInnerProducer, Topic: r.Topic, DefaultTopic: message.TopicAutoCreate, DefaultTopicQueueNums: 1, QueueID: 0,
		SysFlag: m.SysFlag &^ (message.SysBornHostV6 | message.SysStoreHostV6), BornTimestamp: m.BornMs, Flag: m.Flag, Properties: string(properties), BrokerName: s.broker,
	}
	resp, err := a.call(ctx, s, remoting.SendMessageV2, h.V2(), m.Raw)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	var answer remoting.SendMessageResponseHeader
	if err := resp.Decode(&answer); err != nil {
		r.Error = err.Error()
		return r
	}
	r.At = answer.QueueOffset
	return r
}

// localAddr is an address for unique keys: they need to differ between hosts, no more.
func localAddr(seed string) netip.Addr {
	h := message.JavaHash(seed)
	return netip.AddrFrom4([4]byte{byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h)})
}

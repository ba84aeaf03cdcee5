package admin

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// Start says where reading begins in a queue without progress.
type Start struct {
	First  bool  // at the oldest message
	FromMs int64 // at the first message stored at or after this time; 0: not
	Newest int   // so many messages before the end; 0 with the others unset: at the end
}

// ConsumeOptions say what is read.
type ConsumeOptions struct {
	Topic string
	// Group makes the reader a member of a consumer group: it shares the queues with the other members and its progress is kept. Empty: it
	// reads all queues and leaves no trace.
	Group string
	// Expression filters: tags (a || b) or, with SQL, an SQL92 condition. Empty: everything.
	Expression string
	SQL        bool
	Start      Start
	// Follow goes on until ctx ends; without it reading ends where the queues ended when it began.
	Follow bool
	// Count ends reading after so many messages; 0: no bound.
	Count int

	// resume is where to begin in queues, by name, instead of Start.
	resume map[string]int64
}

// errEnough ends reading when Count is reached.
var errEnough = errors.New("enough")

// longPoll is how long a pull waits at a broker for a message, ms.
const longPoll = 15_000

// Consume reads messages and gives them to fn, one at a time. An error of fn ends it and is returned; so does the end of ctx, which is no error.
// As a member of a group, the progress is committed behind each message that fn has taken, within a second and at the end.
func (a *Admin) Consume(ctx context.Context, o ConsumeOptions, fn func(*Message) error) error {
	if o.Expression == "" {
		o.Expression = "*"
	}
	var mu sync.Mutex
	taken := 0
	r := &reader{a: a, o: o, take: func(m *Message) error {
		mu.Lock()
		defer mu.Unlock()
		if o.Count > 0 && taken >= o.Count {
			return errEnough
		}
		taken++
		if err := fn(m); err != nil {
			return err
		}
		if o.Count > 0 && taken >= o.Count {
			return errReached
		}
		return nil
	}}
	var err error
	if o.Group == "" {
		err = r.all(ctx)
	} else {
		err = a.consumeAsMember(ctx, r)
	}
	if errors.Is(err, errEnough) || ctx.Err() != nil {
		return nil //nolint:nilerr // the end that was asked for
	}
	return err
}

// errReached says that the message was taken and is the last one.
var errReached = &reached{}

type reached struct{}

func (*reached) Error() string        { return "enough" }
func (*reached) Is(target error) bool { return target == errEnough }

// reader reads queues.
type reader struct {
	a    *Admin
	o    ConsumeOptions
	take func(*Message) error
}

// all reads all queues of the topic, without a group.
func (r *reader) all(ctx context.Context) error {
	targets, err := r.targets(ctx, r.o.Topic)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range targets {
		g.Go(func() error {
			from, end, err := r.bounds(ctx, r.o.Topic, t, r.o.Start)
			if err != nil {
				return err
			}
			if next, ok := r.o.resume[t.name(r.o.Topic)]; ok {
				from = next
			}
			return r.queue(ctx, message.GroupTools, r.o.Topic, t, from, end, func(int64) {})
		})
	}
	return g.Wait()
}

// targets are the queues that can be read.
func (r *reader) targets(ctx context.Context, topic string) ([]target, error) {
	if hosts, direct, err := r.direct(ctx, topic); direct {
		return hosts, err
	}
	route, err := r.a.route(ctx, topic)
	if err != nil {
		return nil, err
	}
	list := targets(route, r.a.o.Broker, false)
	if len(list) == 0 {
		return nil, &NotFound{What: "queue", Name: "of " + topic + " that can be read", Hint: "rocketd topic route " + topic + " shows permissions and brokers"}
	}
	return list, nil
}

// direct finds the queues without a name server, when the broker is named by its address.
func (r *reader) direct(ctx context.Context, topic string) (list []target, direct bool, err error) {
	masters, err := r.a.masters(ctx)
	if err != nil || len(masters) != 1 || masters[0].broker != masters[0].addr {
		return nil, err != nil, err
	}
	config, err := r.a.topicOn(ctx, masters[0], topic)
	if err != nil {
		return nil, true, err
	}
	if config == nil {
		return nil, true, noTopic(topic)
	}
	for id := range config.ReadQueueNums {
		list = append(list, target{masters[0], id})
	}
	return list, true, nil
}

// bounds are where reading of a queue begins and where the queue ends now.
func (r *reader) bounds(ctx context.Context, topic string, t target, start Start) (from, end int64, err error) {
	resp, err := r.a.call(ctx, t.s, remoting.GetMaxOffset, &remoting.GetMaxOffsetRequestHeader{Topic: topic, QueueID: t.queue, Committed: true}, nil)
	if err != nil {
		return 0, 0, err
	}
	var last remoting.GetMaxOffsetResponseHeader
	if err := resp.Decode(&last); err != nil {
		return 0, 0, err
	}
	resp, err = r.a.call(ctx, t.s, remoting.GetMinOffset, &remoting.GetMinOffsetRequestHeader{Topic: topic, QueueID: t.queue}, nil)
	if err != nil {
		return 0, 0, err
	}
	var first remoting.GetMinOffsetResponseHeader
	if err := resp.Decode(&first); err != nil {
		return 0, 0, err
	}
	low, high := max(0, first.Offset), max(0, last.Offset)
	switch {
	case start.First:
		return low, high, nil
	case start.FromMs > 0:
		from, err = r.a.searchOffset(ctx, t.s, topic, t.queue, start.FromMs)
		return max(from, low), high, err
	case start.Newest > 0:
		return max(low, high-int64(start.Newest)), high, nil
	default:
		return high, high, nil
	}
}

// queue reads one queue from an offset on: to end, or for ever when Follow is set. done is told where to go on behind each message taken.
// Servers that do not answer are asked again while it follows.
func (r *reader) queue(ctx context.Context, group, topic string, t target, from, end int64, done func(next int64)) error {
	p := pullFrom{group: group, topic: topic, queue: t.queue, offset: from, count: 32, expression: r.o.Expression, sql: r.o.SQL}
	if topic != r.o.Topic { // the retry topic of a group
		p.expression, p.sql = "*", false
	}
	if r.o.Follow {
		p.waitMs = longPoll
	}
	moved := int64(-1) // where the server last sent this reader to
	for ctx.Err() == nil && (r.o.Follow || p.offset < end) {
		list, next, err := r.a.pull(ctx, t.s, p)
		if err != nil {
			var gone *Unreachable
			if !r.o.Follow || ctx.Err() != nil || !asUnreachable(err, &gone) && !refused(err, remoting.SystemBusy, remoting.ServiceNotAvailable, remoting.FlowControl, remoting.SubscriptionNotLatest) {
				return err
			}
			if !r.rest(ctx, time.Second) {
				return nil
			}
			continue
		}
		for i := range list {
			m := &list[i]
			if !r.o.Follow && m.Offset >= end {
				return nil
			}
			err := r.take(m)
			if err == nil || errors.Is(err, errReached) {
				done(m.Offset + 1)
			}
			if err != nil {
				return err
			}
		}
		if len(list) == 0 && next == p.offset && !r.o.Follow {
			// The first pull after a reset is answered with where to go on and no messages, wherever it asked.
			if moved == next {
				return nil
			}
			moved = next
			continue
		}
		if len(list) == 0 && next != p.offset {
			done(next)
		}
		p.offset = next
	}
	return nil
}

// rest waits, false when ctx has ended.
func (r *reader) rest(ctx context.Context, d time.Duration) bool {
	timer := r.a.o.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// share is what one member gets of the queues: consecutive ones, the first members one more (AllocateMessageQueueAveragely).
func share(all []target, members []string, me string) []target {
	at := slices.Index(members, me)
	if at < 0 || len(all) == 0 {
		return nil
	}
	size, more := len(all)/len(members), len(all)%len(members)
	from := at*size + min(at, more)
	if at < more {
		size++
	}
	return all[from : from+size]
}

// name is the queue's, for keys and logs.
func (t target) name(topic string) string {
	return topic + "@" + t.s.broker + "@" + strconv.Itoa(int(t.queue))
}

// Tail gives the newest messages of a topic to fn, in the order they were stored, and then those that come. It reads without a group.
func (a *Admin) Tail(ctx context.Context, o ConsumeOptions, newest int, fn func(*Message) error) error {
	o.Group, o.Follow = "", true
	o.Start = Start{}
	if newest == 0 {
		return a.Consume(ctx, o, fn)
	}
	began := a.NowMs()
	found, err := a.Messages(ctx, MessageRange{Topic: o.Topic, Queue: -1, Count: newest}, nil)
	if err != nil {
		return err
	}
	seen := map[string]int64{} // where each queue goes on
	list := found.Messages
	for i := range list {
		m := &list[i]
		name := target{server{broker: m.Broker}, m.QueueID}.name(o.Topic)
		seen[name] = max(seen[name], m.Offset+1)
	}
	o.resume, o.Start = seen, Start{FromMs: began}
	if o.Expression == "" || o.Expression == "*" {
		slices.Reverse(list)
		for i := range list {
			if err := fn(&list[i]); err != nil {
				return err
			}
			if o.Count > 0 && i+1 >= o.Count {
				return nil
			}
		}
		if o.Count > 0 {
			o.Count -= len(list)
		}
		return a.Consume(ctx, o, fn)
	}
	// The broker filters: read from the oldest of them on.
	if len(list) > 0 {
		o.Start.FromMs = list[len(list)-1].StoreMs
	}
	o.resume = nil
	return a.Consume(ctx, o, fn)
}

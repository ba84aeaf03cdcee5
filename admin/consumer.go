package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// How often a member tells brokers that it lives, looks at who else is there, and commits.
const (
	heartbeatEvery = 20 * time.Second
	commitEvery    = 500 * time.Millisecond
)

// groupSession is this process as a member of a consumer group.
type groupSession struct {
	a        *Admin
	r        *reader
	group    string
	clientID string
	since    int64 // version of the subscription

	changed chan struct{} // members came or went; capacity 1

	mu      sync.Mutex
	running map[string]*running // by queue name; guarded by mu
	settled bool                // the first share is complete; guarded by mu
}

// running is a queue that this member reads.
type running struct {
	topic  string
	t      target
	cancel context.CancelFunc
	ended  chan struct{}
	read   bool // to where it ended when it began; guarded by groupSession.mu

	mu        sync.Mutex
	next      int64 // where the group goes on; guarded by mu
	committed int64 // guarded by mu
}

// asked answers what brokers ask of clients.
func (a *Admin) asked(_ string, req *remoting.Command) (*remoting.Command, error) {
	switch req.Code {
	case remoting.NotifyConsumerIDsChanged:
		var h remoting.NotifyConsumerIDsChangedRequestHeader
		if err := req.Decode(&h); err != nil {
			return nil, err
		}
		if s := a.session(h.ConsumerGroup); s != nil {
			s.wake()
		}
		return remoting.NewResponse(remoting.Success), nil
	case remoting.GetConsumerRunningInfo:
		var h remoting.GetConsumerRunningInfoRequestHeader
		if err := req.Decode(&h); err != nil {
			return nil, err
		}
		if s := a.session(h.ConsumerGroup); s != nil {
			resp := remoting.NewResponse(remoting.Success)
			resp.Body = body.Encode(s.info())
			return resp, nil
		}
		return nil, remoting.Errorf(remoting.SystemError, "no consumer of the group %s is here", h.ConsumerGroup)
	default:
		return nil, remoting.Errorf(remoting.RequestCodeNotSupported, "rocketd consume does not serve %s", remoting.RequestName(req.Code))
	}
}

func (a *Admin) session(group string) *groupSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[group]
}

// consumeAsMember joins the group, reads its share of the queues until ctx ends, and leaves.
func (a *Admin) consumeAsMember(ctx context.Context, r *reader) error {
	if err := message.ValidateGroup(r.o.Group); err != nil {
		return usage("%v", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s := &groupSession{
		a: a, r: r, group: r.o.Group, clientID: fmt.Sprintf("%s@%d#rocketd-%d", host, os.Getpid(), a.NowMs()), since: a.NowMs(),
		changed: make(chan struct{}, 1), running: map[string]*running{},
	}
	a.mu.Lock()
	if a.sessions[r.o.Group] != nil {
		a.mu.Unlock()
		return usage("this process is a member of %s already", r.o.Group)
	}
	a.sessions[r.o.Group] = s
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.sessions, r.o.Group)
		a.mu.Unlock()
	}()
	return s.run(ctx)
}

func (s *groupSession) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// run joins, keeps the share of queues up to date and commits, until ctx ends or a queue's reader fails.
func (s *groupSession) run(ctx context.Context) error {
	if _, err := s.r.targets(ctx, s.r.o.Topic); err != nil { // a topic that does not exist is an error before anything is joined
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.leave(context.WithoutCancel(ctx))
	beat, commit := s.a.o.Clock.NewTimer(0), s.a.o.Clock.NewTimer(commitEvery)
	defer beat.Stop()
	defer commit.Stop()
	for {
		select {
		case <-ctx.Done():
			s.stop()
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return cause
			}
			return nil
		case <-beat.C():
			if err := s.heartbeat(ctx); err != nil && ctx.Err() == nil && !s.started() {
				return err
			}
			s.wake()
			beat.Reset(heartbeatEvery)
		case <-commit.C():
			s.commitAll(ctx)
			commit.Reset(commitEvery)
		case <-s.changed:
			if err := s.rebalance(ctx, cancel); err != nil && ctx.Err() == nil && !s.started() {
				return err
			}
		}
	}
}

// started tells whether queues are read already: then a server that is gone is waited for.
func (s *groupSession) started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

func (s *groupSession) topics() []string {
	return []string{s.r.o.Topic, message.RetryTopic(s.group)}
}

func (s *groupSession) subscriptions() []body.SubscriptionData {
	list := make([]body.SubscriptionData, 0, 2)
	for _, topic := range s.topics() {
		d := body.SubscriptionData{Topic: topic, SubString: "*", SubVersion: s.since, ExpressionType: "TAG"}
		if topic == s.r.o.Topic {
			d.SubString = s.r.o.Expression
			if s.r.o.SQL {
				d.ExpressionType = "SQL92"
			}
		}
		if d.ExpressionType == "TAG" && d.SubString != "*" {
			for tag := range strings.SplitSeq(d.SubString, "||") {
				if tag = strings.TrimSpace(tag); tag != "" {
					d.TagsSet = append(d.TagsSet, tag)
					d.CodeSet = append(d.CodeSet, message.JavaHash(tag))
				}
			}
		}
		list = append(list, d)
	}
	return list
}

func (s *groupSession) heartbeat(ctx context.Context) error {
	masters, err := s.a.masters(ctx)
	if err != nil {
		return err
	}
	from := body.ConsumeFromLastOffset
	if s.r.o.Start.First {
		from = body.ConsumeFromFirstOffset
	}
	data := &body.HeartbeatData{ClientID: s.clientID, ConsumerDataSet: []body.ConsumerData{{
		GroupName: s.group, ConsumeType: body.ConsumePassively, MessageModel: body.Clustering, ConsumeFromWhere: from, SubscriptionDataSet: s.subscriptions(),
	}}}
	return each(ctx, masters, func(ctx context.Context, _ int, b server) error {
		_, err := s.a.call(ctx, b, remoting.HeartBeat, &remoting.HeartbeatRequestHeader{}, body.Encode(data))
		return err
	})
}

// members lists the group's client ids, sorted.
func (s *groupSession) members(ctx context.Context, b server) ([]string, error) {
	resp, err := s.a.call(ctx, b, remoting.GetConsumerListByGroup, &remoting.GetConsumerListByGroupRequestHeader{ConsumerGroup: s.group}, nil)
	if err != nil {
		return nil, err
	}
	list, err := decode[body.ConsumerList](resp)
	if err != nil {
		return nil, err
	}
	slices.Sort(list.ConsumerIDs)
	return list.ConsumerIDs, nil
}

// rebalance starts and stops the readers of queues so that they are this member's share.
func (s *groupSession) rebalance(ctx context.Context, failed context.CancelCauseFunc) error {
	wanted := map[string]*running{}
	for _, topic := range s.topics() {
		all, err := s.r.targets(ctx, topic)
		if topic != s.r.o.Topic && isNotFound(err) {
			continue // nothing was given back yet
		}
		if err != nil {
			return err
		}
		ids, err := s.members(ctx, all[0].s)
		if err != nil {
			return err
		}
		for _, t := range share(all, ids, s.clientID) {
			wanted[t.name(topic)] = &running{topic: topic, t: t}
		}
	}
	s.mu.Lock()
	var gone []*running
	for name, q := range s.running {
		if wanted[name] == nil {
			gone = append(gone, q)
			delete(s.running, name)
		}
	}
	s.mu.Unlock()
	for _, q := range gone {
		s.end(ctx, q)
	}
	for _, name := range sortedNames(wanted) {
		s.mu.Lock()
		have := s.running[name] != nil
		s.mu.Unlock()
		if have {
			continue
		}
		if err := s.begin(ctx, name, wanted[name], failed); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.settled = true
	s.mu.Unlock()
	s.finish(failed)
	return nil
}

func sortedNames(m map[string]*running) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// begin starts the reader of a queue where the group's progress is.
func (s *groupSession) begin(ctx context.Context, name string, q *running, failed context.CancelCauseFunc) error {
	resp, err := s.a.call(ctx, q.t.s, remoting.QueryConsumerOffset, &remoting.QueryConsumerOffsetRequestHeader{ConsumerGroup: s.group, Topic: q.topic, QueueID: q.t.queue}, nil,
		remoting.QueryNotFound)
	if err != nil {
		return err
	}
	var h remoting.QueryConsumerOffsetResponseHeader
	start := s.r.o.Start
	if q.topic != s.r.o.Topic {
		start = Start{First: true}
	}
	from, end, err := s.r.bounds(ctx, q.topic, q.t, start)
	if err != nil {
		return err
	}
	if resp.Code == remoting.Success {
		if err := resp.Decode(&h); err != nil {
			return err
		}
		from = h.Offset
	}
	q.next, q.committed, q.ended = from, -1, make(chan struct{})
	ctx, q.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	s.running[name] = q
	s.mu.Unlock()
	go func() {
		defer close(q.ended)
		if err := s.r.queue(ctx, s.group, q.topic, q.t, from, end, q.advance); err != nil && ctx.Err() == nil {
			failed(err)
		} else if !s.r.o.Follow && ctx.Err() == nil {
			s.mu.Lock()
			q.read = true
			s.mu.Unlock()
			s.finish(failed)
		}
	}()
	return nil
}

// finish ends the session when all of its queues are read to their ends.
func (s *groupSession) finish(failed context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settled || s.r.o.Follow {
		return
	}
	for _, q := range s.running {
		if !q.read {
			return
		}
	}
	failed(errEnough)
}

func (q *running) advance(next int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = next // an administrator may have set it back
}

// end stops a reader and commits what it has taken.
func (s *groupSession) end(ctx context.Context, q *running) {
	q.cancel()
	<-q.ended
	s.commitQueue(ctx, q)
}

// stop ends all readers.
func (s *groupSession) stop() {
	s.mu.Lock()
	list := make([]*running, 0, len(s.running))
	for _, q := range s.running {
		list = append(list, q)
	}
	s.mu.Unlock()
	for _, q := range list {
		q.cancel()
	}
	for _, q := range list {
		<-q.ended
	}
}

// leave commits and tells the brokers that this member is gone. A broker that does not answer finds out itself.
func (s *groupSession) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.a.o.Timeout)
	defer cancel()
	s.stop()
	s.commitAll(ctx)
	masters, err := s.a.masters(ctx)
	if err != nil {
		return
	}
	for _, b := range masters {
		_, _ = s.a.call(ctx, b, remoting.UnregisterClient, &remoting.UnregisterClientRequestHeader{ClientID: s.clientID, ConsumerGroup: s.group}, nil) // a broker that does not hear it forgets the member by itself
	}
}

func (s *groupSession) commitAll(ctx context.Context) {
	s.mu.Lock()
	list := make([]*running, 0, len(s.running))
	for _, q := range s.running {
		list = append(list, q)
	}
	s.mu.Unlock()
	for _, q := range list {
		s.commitQueue(ctx, q)
	}
}

// commitQueue tells the broker where the group goes on, when that has changed. What cannot be told is told the next time.
func (s *groupSession) commitQueue(ctx context.Context, q *running) {
	q.mu.Lock()
	next, same := q.next, q.next == q.committed
	q.mu.Unlock()
	if same {
		return
	}
	if err := s.a.commit(ctx, q.t.s, s.group, q.topic, q.t.queue, next); err == nil {
		q.mu.Lock()
		q.committed = next
		q.mu.Unlock()
	}
}

// info is what this member tells of itself.
func (s *groupSession) info() *body.ConsumerRunningInfo {
	info := &body.ConsumerRunningInfo{
		Properties: map[string]string{
			"PROP_CONSUME_TYPE": string(body.ConsumePassively), "PROP_CLIENT_VERSION": remoting.VersionName(remoting.CurrentVersion), "PROP_CONSUMEORDERLY": "false",
			"PROP_CONSUMER_START_TIMESTAMP": fmt.Sprint(s.since), "PROP_NAMESERVER_ADDR": strings.Join(s.a.o.Namesrv, ";"),
		},
		SubscriptionSet: s.subscriptions(), ProcessQueues: map[body.MessageQueue]body.ProcessQueueInfo{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.running {
		q.mu.Lock()
		info.ProcessQueues[body.MessageQueue{Topic: q.topic, BrokerName: q.t.s.broker, QueueID: q.t.queue}] = body.ProcessQueueInfo{CommitOffset: q.next}
		q.mu.Unlock()
	}
	return info
}

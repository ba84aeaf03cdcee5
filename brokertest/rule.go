package brokertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/remoting"
)

// Rule decides about requests until it is removed. Its methods are safe for concurrent use.
type Rule struct {
	owner  *Broker
	codes  []int32 // nil: all
	decide func(*Request) Decision
	what   []string // the matches, in words

	filters []func(*Request) bool
	from    int64 // first N it decides about
	to      int64 // last one, 0: no end

	seen atomic.Int64
	hits atomic.Int64
}

// Match restricts a rule.
type Match func(*Rule)

// Nth takes the n-th request that matches otherwise, from 1.
func Nth(n int64) Match {
	return func(r *Rule) { r.from, r.to, r.what = n, n, append(r.what, fmt.Sprintf("number %d", n)) }
}

// First takes the first n requests that match otherwise.
func First(n int64) Match {
	return func(r *Rule) { r.to, r.what = n, append(r.what, fmt.Sprintf("first %d", n)) }
}

// After takes all requests that match otherwise but the first n.
func After(n int64) Match {
	return func(r *Rule) { r.from, r.what = n+1, append(r.what, fmt.Sprintf("after %d", n)) }
}

// ForClient takes the requests of one client id. What a client sends before its first heartbeat has none.
func ForClient(id string) Match {
	return where("client "+id, func(r *Request) bool { return r.ClientID == id })
}

// ForTopic takes the requests that name a topic.
func ForTopic(topic string) Match {
	return where("topic "+topic, func(r *Request) bool { return r.Topic == topic })
}

// ForGroup takes the requests that name a producer or consumer group.
func ForGroup(group string) Match {
	return where("group "+group, func(r *Request) bool { return slices.Contains(r.Groups, group) })
}

// ForServer takes the requests of one server; without it a rule sees those of both.
func ForServer(s Server) Match {
	return where(s.String(), func(r *Request) bool { return r.Server == s })
}

// Where takes the requests that a function wants. It runs on the connection's event loop and must not block.
func Where(want func(*Request) bool) Match { return where("where", want) }

func where(what string, want func(*Request) bool) Match {
	return func(r *Rule) { r.filters, r.what = append(r.filters, want), append(r.what, what) }
}

// maxRules bounds the rules of a broker: making one more panics.
const maxRules = 10_000

// On asks decide about each request with a code, until the rule is removed. Of several rules the one made last is asked first, and the first
// that does not pass decides. decide runs on the connection's event loop: while it blocks, everything of that server waits. Requests that the
// broker sends to clients come too, with ByServer set; their answers can not be acted on.
func (b *Broker) On(code int32, decide func(*Request) Decision, matches ...Match) *Rule {
	return b.rule([]int32{code}, decide, matches)
}

// OnSend is On for every code that sends messages.
func (b *Broker) OnSend(decide func(*Request) Decision, matches ...Match) *Rule {
	return b.rule(sendCodes(), decide, matches)
}

// OnPull is On for every code that gets messages: pulls and pops.
func (b *Broker) OnPull(decide func(*Request) Decision, matches ...Match) *Rule {
	return b.rule(pullCodes(), decide, matches)
}

// OnEvery is On for all codes.
func (b *Broker) OnEvery(decide func(*Request) Decision, matches ...Match) *Rule {
	return b.rule(nil, decide, matches)
}

// Always is a function for On that decides the same about every request.
func Always(d Decision) func(*Request) Decision { return func(*Request) Decision { return d } }

func sendCodes() []int32 {
	return []int32{remoting.SendMessage, remoting.SendMessageV2, remoting.SendBatchMessage}
}

func pullCodes() []int32 {
	return []int32{remoting.PullMessage, remoting.LitePullMessage, remoting.PopMessage, remoting.PopLiteMessage}
}

func (b *Broker) rule(codes []int32, decide func(*Request) Decision, matches []Match) *Rule {
	r := &Rule{owner: b, codes: codes, decide: decide, from: 1}
	for _, match := range matches {
		match(r)
	}
	b.rules.add(r)
	return r
}

// Remove ends the rule. What it has delayed stays delayed.
func (r *Rule) Remove() { r.owner.rules.remove(r) }

// Hits is how many requests the rule has decided about with something else than Pass.
func (r *Rule) Hits() int64 { return r.hits.Load() }

// Seen is how many requests the rule has matched, those outside Nth, First and After included.
func (r *Rule) Seen() int64 { return r.seen.Load() }

// Wait waits until Hits is at least n. The error says what was seen instead.
func (r *Rule) Wait(ctx context.Context, n int64) error {
	return r.owner.Wait(ctx, fmt.Sprintf("%d hits of the rule on %s, which has %%v", n, r), func() (any, bool) {
		hits := r.Hits()
		return fmt.Sprintf("matched %d requests and hit %d", r.Seen(), hits), hits >= n
	})
}

// String says what the rule is about.
func (r *Rule) String() string {
	names := make([]string, 0, len(r.codes)+len(r.what))
	for _, code := range r.codes {
		names = append(names, remoting.RequestName(code))
	}
	if r.codes == nil {
		names = append(names, "every request")
	}
	return strings.Join(append(names, r.what...), ", ")
}

// take asks the rule.
func (r *Rule) take(req *Request) Decision {
	if r.codes != nil && !slices.Contains(r.codes, req.Code) {
		return Decision{}
	}
	for _, want := range r.filters {
		if !want(req) {
			return Decision{}
		}
	}
	n := r.seen.Add(1)
	if n < r.from || r.to > 0 && n > r.to {
		return Decision{}
	}
	req.N = n
	d := r.decide(req)
	req.N = 0
	if !d.passes() {
		r.hits.Add(1)
	}
	return d
}

// rules are the rules of a broker, read without a lock.
type rules struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*Rule] // newest first
}

func (s *rules) all() []*Rule {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *rules) add(r *Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.all()
	if len(old) >= maxRules {
		panic(fmt.Sprintf("brokertest: there are %d rules: remove some", len(old)))
	}
	list := append([]*Rule{r}, old...)
	s.list.Store(&list)
}

func (s *rules) remove(r *Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.all()), func(other *Rule) bool { return other == r })
	if len(list) == 0 {
		s.list.Store(nil)
		return
	}
	s.list.Store(&list)
}

func (s *rules) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Store(nil)
}

// decide asks the rules from the newest on.
func (s *rules) decide(req *Request) Decision {
	for _, r := range s.all() {
		if d := r.take(req); !d.passes() {
			return d
		}
	}
	return Decision{}
}

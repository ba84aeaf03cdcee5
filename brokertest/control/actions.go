package control

import (
	"context"
	"net/http"
	"time"

	"github.com/rocketd/rocketd/brokertest"
)

// Action is the body of POST /v1/actions.
type Action struct {
	// Do is one of reset, heal, restart, stop, kill, powerLoss, resume, stopNamesrv, resumeNamesrv, advertise, slowDisk, failFlush,
	// failWrites, fillDisk, healDisk, expireLocks, notifyConsumers, closeClient.
	Do string `json:"do"`
	// Group is that of expireLocks and notifyConsumers.
	Group string `json:"group,omitempty"`
	// Client is that of closeClient.
	Client string `json:"client,omitempty"`
	// Delay is that of slowDisk.
	Delay Duration `json:"delay,omitempty"`
	// Seed chooses what powerLoss keeps of what was not synced.
	Seed uint64 `json:"seed,omitempty"`
	// Address is the HOST or HOST:PORT of advertise.
	Address string `json:"address,omitempty"`
}

// Acted is the answer of POST /v1/actions.
type Acted struct {
	Done bool `json:"done"`
	// Count is how many locks were expired or connections closed.
	Count int `json:"count"`
}

func (s *Server) act(r *http.Request) (any, error) {
	var a Action
	if err := read(r, &a); err != nil {
		return nil, err
	}
	if a.Delay < 0 {
		return nil, bad("delay is negative")
	}
	if done, err := s.actOnLife(r.Context(), &a); done {
		return Acted{Done: err == nil}, err
	}
	b := s.broker
	out := Acted{Done: true}
	switch a.Do {
	case "heal":
		s.forgetRules()
		b.Heal()
	case "slowDisk":
		b.SlowDisk(time.Duration(a.Delay))
	case "failFlush":
		b.FailFlush()
	case "failWrites":
		b.FailWrites()
	case "fillDisk":
		b.FillDisk()
	case "healDisk":
		b.HealDisk()
	case "expireLocks":
		out.Count = b.ExpireLocks(a.Group)
	case "notifyConsumers":
		b.NotifyConsumers(a.Group)
	case "closeClient":
		out.Count = b.CloseClient(a.Client)
	default:
		return nil, bad("do %q is not known", a.Do)
	}
	return out, nil
}

// actOnLife starts and stops; false when the action is none of that.
func (s *Server) actOnLife(ctx context.Context, a *Action) (done bool, err error) {
	b := s.broker
	switch a.Do {
	case "reset":
		s.forgetRules()
		err = b.Reset(ctx)
	case "restart":
		err = b.Restart(ctx)
	case "stop":
		err = b.Stop(ctx)
	case "kill":
		err = b.Kill()
	case "powerLoss":
		err = b.PowerLoss(a.Seed)
	case "resume":
		err = b.Resume(ctx)
	case "stopNamesrv":
		err = b.StopNamesrv(ctx)
	case "resumeNamesrv":
		err = b.ResumeNamesrv(ctx)
	case "advertise":
		err = b.Advertise(ctx, a.Address)
	default:
		return false, nil
	}
	return true, err
}

// Wait is the body of POST /v1/waits: exactly one of its conditions, and how long to wait for it in real time.
type Wait struct {
	Timeout Duration `json:"timeout,omitempty"` // 10 s when it is left out, 10 min at most

	Members   *GroupCount   `json:"members,omitempty"`   // consumers with different ids in a group
	Producers *GroupCount   `json:"producers,omitempty"` // connections of a producer group
	Lag       *GroupCount   `json:"lag,omitempty"`       // messages that a group has not consumed, at most
	Messages  *TopicCount   `json:"messages,omitempty"`  // messages of a topic, at least
	Delayed   *Count        `json:"delayed,omitempty"`   // messages that wait for their delay level
	Undecided *Count        `json:"undecided,omitempty"` // transactions that are neither committed nor rolled back
	Rule      *RuleCount    `json:"rule,omitempty"`      // hits of a rule, at least
	Exchange  *ExchangeWait `json:"exchange,omitempty"`  // a request in the journal
}

// GroupCount is a number for a group.
type GroupCount struct {
	Group string `json:"group"`
	Count int64  `json:"count"`
}

// TopicCount is a number for a topic.
type TopicCount struct {
	Topic string `json:"topic"`
	Count int64  `json:"count"`
}

// Count is a number.
type Count struct {
	Count int64 `json:"count"`
}

// RuleCount is a number for a rule.
type RuleCount struct {
	ID    int   `json:"id"`
	Count int64 `json:"count"`
}

// ExchangeWait says which exchange is waited for.
type ExchangeWait struct {
	Code  string `json:"code,omitempty"`
	Match Match  `json:"match"`
}

// Waited is the answer of POST /v1/waits.
type Waited struct {
	Done     bool      `json:"done"`
	Messages []Message `json:"messages,omitempty"` // of messages and delayed
	Exchange *Exchange `json:"exchange,omitempty"`
}

func (w *Wait) conditions() int {
	n := 0
	for _, there := range []bool{
		w.Members != nil, w.Producers != nil, w.Lag != nil, w.Messages != nil, w.Delayed != nil, w.Undecided != nil, w.Rule != nil, w.Exchange != nil,
	} {
		if there {
			n++
		}
	}
	return n
}

func (s *Server) wait(r *http.Request) (any, error) {
	var w Wait
	if err := read(r, &w); err != nil {
		return nil, err
	}
	timeout := time.Duration(w.Timeout)
	if timeout == 0 {
		timeout = defaultTimeout
	}
	switch {
	case w.conditions() != 1:
		return nil, bad("a wait has exactly one condition, this has %d", w.conditions())
	case timeout < 0 || timeout > maxTimeout:
		return nil, bad("timeout %v: want up to %v", timeout, maxTimeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	return s.waitFor(ctx, &w)
}

func (s *Server) waitFor(ctx context.Context, w *Wait) (any, error) {
	b := s.broker
	out := Waited{Done: true}
	var err error
	switch {
	case w.Members != nil:
		err = b.WaitMembers(ctx, w.Members.Group, int(w.Members.Count))
	case w.Producers != nil:
		err = b.WaitProducers(ctx, w.Producers.Group, int(w.Producers.Count))
	case w.Lag != nil:
		err = b.WaitLag(ctx, w.Lag.Group, w.Lag.Count)
	case w.Messages != nil:
		var list []brokertest.Message
		list, err = b.WaitMessages(ctx, w.Messages.Topic, int(w.Messages.Count))
		out.Messages = shownAll(list).Messages
	case w.Delayed != nil:
		var list []brokertest.Delayed
		list, err = b.WaitDelayed(ctx, int(w.Delayed.Count))
		out.Messages = shownDelayed(list)
	case w.Undecided != nil:
		err = b.WaitUndecided(ctx, int(w.Undecided.Count))
	case w.Rule != nil:
		err = s.waitRule(ctx, w.Rule)
	default:
		out.Exchange, err = s.waitExchange(ctx, w.Exchange)
	}
	return out, err
}

func (s *Server) waitRule(ctx context.Context, c *RuleCount) error {
	s.mu.Lock()
	found := s.rules[c.ID]
	s.mu.Unlock()
	if found == nil {
		return &failure{http.StatusNotFound, bad("there is no rule %d", c.ID)}
	}
	return found.made[0].Wait(ctx, c.Count)
}

func (s *Server) waitExchange(ctx context.Context, w *ExchangeWait) (*Exchange, error) {
	matches, err := w.Match.matches()
	if err != nil {
		return nil, err
	}
	if w.Code != "" {
		codes, err := requestCodes(w.Code)
		if err != nil {
			return nil, err
		}
		matches = append(matches, brokertest.ForCode(codes...))
	}
	found, err := s.broker.WaitExchange(ctx, matches...)
	if err != nil {
		return nil, err
	}
	out := shownExchange(found)
	return &out, nil
}

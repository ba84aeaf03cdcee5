package control

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// Match restricts a rule; what is left out restricts nothing.
type Match struct {
	Topic  string `json:"topic,omitempty"`
	Group  string `json:"group,omitempty"`
	Client string `json:"client,omitempty"`
	Server string `json:"server,omitempty"` // namesrv or broker
	Nth    int64  `json:"nth,omitempty"`    // only the n-th request, from 1
	First  int64  `json:"first,omitempty"`  // only the first n
	After  int64  `json:"after,omitempty"`  // all but the first n
}

func (m *Match) matches() ([]brokertest.Match, error) {
	var out []brokertest.Match
	if m.Topic != "" {
		out = append(out, brokertest.ForTopic(m.Topic))
	}
	if m.Group != "" {
		out = append(out, brokertest.ForGroup(m.Group))
	}
	if m.Client != "" {
		out = append(out, brokertest.ForClient(m.Client))
	}
	switch m.Server {
	case "":
	case "namesrv":
		out = append(out, brokertest.ForServer(brokertest.Namesrv))
	case "broker":
		out = append(out, brokertest.ForServer(brokertest.BrokerServer))
	default:
		return nil, bad("server %q is neither namesrv nor broker", m.Server)
	}
	if m.Nth < 0 || m.First < 0 || m.After < 0 {
		return nil, bad("nth, first and after must not be negative")
	}
	counts := 0
	if m.Nth > 0 {
		out, counts = append(out, brokertest.Nth(m.Nth)), counts+1
	}
	if m.First > 0 {
		out, counts = append(out, brokertest.First(m.First)), counts+1
	}
	if m.After > 0 {
		out, counts = append(out, brokertest.After(m.After)), counts+1
	}
	if counts > 1 {
		return nil, bad("nth, first and after exclude each other")
	}
	return out, nil
}

// Then is what a rule does.
type Then struct {
	// Do is fail, answer, drop, close, closeMidFrame, dropAnswer, delayAnswer, cutAnswer or failAnswer; or empty with a delay alone.
	Do string `json:"do,omitempty"`
	// Delay handles the request, or sends the answer of delayAnswer, so much later on the broker's clock.
	Delay Duration `json:"delay,omitempty"`
	// Code and Remark are those of fail, answer and failAnswer: a name such as SYSTEM_BUSY, or a number.
	Code   string `json:"code,omitempty"`
	Remark string `json:"remark,omitempty"`
	// Fields and Body are those of answer.
	Fields map[string]string `json:"fields,omitempty"`
	Body   string            `json:"body,omitempty"`
	// Bytes is how much of the answer's frame cutAnswer lets through.
	Bytes int `json:"bytes,omitempty"`
}

// Rule is the body of POST /v1/rules, and an answer.
type Rule struct {
	// On are request codes by name or number, or one of send, pull and every. Or Fault is the name of a ready-made rule.
	On    []string `json:"on,omitempty"`
	Then  *Then    `json:"then,omitempty"`
	Fault string   `json:"fault,omitempty"`
	Match Match    `json:"match"`

	ID   int    `json:"id,omitempty"`
	Hits int64  `json:"hits"` // requests that it has done something to
	Seen int64  `json:"seen"` // requests that it has matched
	What string `json:"what,omitempty"`
}

// Rules is the answer of GET /v1/rules.
type Rules struct {
	Rules []Rule `json:"rules"`
}

// rule is a rule as it was asked for, and those that were made of it.
type rule struct {
	asked Rule
	made  []*brokertest.Rule
}

func (r *rule) shown() Rule {
	out := r.asked
	for _, m := range r.made {
		out.Hits += m.Hits()
		out.Seen += m.Seen()
		out.What = m.String()
	}
	return out
}

// requestCodes are the codes of a name: a request code, or a group of them.
func requestCodes(name string) ([]int32, error) {
	switch name {
	case "send":
		return []int32{remoting.SendMessage, remoting.SendMessageV2, remoting.SendBatchMessage}, nil
	case "pull":
		return []int32{remoting.PullMessage, remoting.LitePullMessage, remoting.PopMessage, remoting.PopLiteMessage}, nil
	}
	code, ok := remoting.RequestCode(name)
	if !ok {
		return nil, bad("%q is no request code, nor send, pull or every", name)
	}
	return []int32{code}, nil
}

func (t *Then) decision() (brokertest.Decision, error) {
	d := brokertest.Pass()
	if t.Delay < 0 || t.Bytes < 0 {
		return d, bad("delay and bytes must not be negative")
	}
	code := remoting.SystemError
	if t.Code != "" {
		var ok bool
		if code, ok = remoting.ResponseCode(t.Code); !ok {
			return d, bad("%q is no response code", t.Code)
		}
	}
	delay := time.Duration(t.Delay)
	switch t.Do {
	case "":
		if delay == 0 {
			return d, bad("then has neither do nor delay")
		}
	case "fail":
		d = brokertest.Fail(code, t.Remark)
	case "answer":
		d = brokertest.Answer(t.answer(code))
	case "drop":
		d = brokertest.Drop()
	case "close":
		d = brokertest.Close()
	case "closeMidFrame":
		d = brokertest.CloseMidFrame()
	case "dropAnswer":
		d = brokertest.DropAnswer()
	case "delayAnswer":
		return brokertest.DelayAnswer(delay), nil
	case "cutAnswer":
		d = brokertest.CutAnswer(t.Bytes)
	case "failAnswer":
		d = brokertest.FailAnswer(code, t.Remark)
	default:
		return d, bad("do %q is not known", t.Do)
	}
	if delay > 0 {
		d = d.And(brokertest.Delay(delay))
	}
	return d, nil
}

func (t *Then) answer(code int32) *remoting.Command {
	if t.Code == "" {
		code = remoting.Success
	}
	answer := remoting.NewResponse(code)
	answer.Remark = t.Remark
	for _, key := range slices.Sorted(maps.Keys(t.Fields)) {
		answer.AddExt(key, t.Fields[key])
	}
	if t.Body != "" {
		answer.Body = []byte(t.Body)
	}
	return answer
}

// fault makes a ready-made rule.
func (s *Server) fault(name string, m *Match) (*brokertest.Rule, error) {
	matches, err := m.matches()
	if err != nil {
		return nil, err
	}
	b := s.broker
	needs := func(what, value string) error {
		if value == "" {
			return bad("fault %s needs match.%s", name, what)
		}
		return nil
	}
	switch name {
	case "busy":
		return b.Busy(matches...), nil
	case "loseSendAnswers":
		return b.LoseSendAnswers(matches...), nil
	case "breakSendAnswers":
		return b.BreakSendAnswers(matches...), nil
	case "namesrvAway":
		return b.NamesrvAway(matches...), nil
	case "staleRoute":
		if err := needs("topic", m.Topic); err != nil {
			return nil, err
		}
		return b.StaleRoute(m.Topic), nil
	case "noRoute":
		if err := needs("topic", m.Topic); err != nil {
			return nil, err
		}
		return b.NoRoute(m.Topic), nil
	case "flapConsumers":
		if err := needs("group", m.Group); err != nil {
			return nil, err
		}
		return b.FlapConsumers(m.Group), nil
	}
	return nil, bad("fault %q is not known", name)
}

// makeRules makes the rules that a Rule asks for.
func (s *Server) makeRules(asked *Rule) ([]*brokertest.Rule, error) {
	if (asked.Fault == "") == (len(asked.On) == 0) {
		return nil, bad("a rule has either on and then, or fault")
	}
	if asked.Fault != "" {
		made, err := s.fault(asked.Fault, &asked.Match)
		return []*brokertest.Rule{made}, err
	}
	if asked.Then == nil {
		return nil, bad("a rule with on has then")
	}
	d, err := asked.Then.decision()
	if err != nil {
		return nil, err
	}
	matches, err := asked.Match.matches()
	if err != nil {
		return nil, err
	}
	if slices.Equal(asked.On, []string{"every"}) {
		return []*brokertest.Rule{s.broker.OnEvery(brokertest.Always(d), matches...)}, nil
	}
	var codes []int32
	for _, name := range asked.On {
		more, err := requestCodes(name)
		if err != nil {
			return nil, err
		}
		codes = append(codes, more...)
	}
	// One rule, so that nth counts over all codes.
	return []*brokertest.Rule{s.broker.OnEvery(brokertest.Always(d), append(matches, brokertest.ForCode(codes...))...)}, nil
}

func (s *Server) addRule(r *http.Request) (any, error) {
	var asked Rule
	if err := read(r, &asked); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules) >= maxRules {
		return nil, bad("there are %d rules: remove some", len(s.rules))
	}
	made, err := s.makeRules(&asked)
	if err != nil {
		return nil, err
	}
	asked.ID, asked.Hits, asked.Seen, asked.What = s.next, 0, 0, ""
	s.next++
	kept := &rule{asked: asked, made: made}
	s.rules[asked.ID] = kept
	return kept.shown(), nil
}

func (s *Server) listRules(*http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Rules{Rules: []Rule{}}
	for _, id := range slices.Sorted(maps.Keys(s.rules)) {
		out.Rules = append(out.Rules, s.rules[id].shown())
	}
	return out, nil
}

// find looks up a rule by its id as text.
func (s *Server) find(text string) (*rule, error) {
	id, err := strconv.Atoi(text)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if found := s.rules[id]; found != nil {
			return found, nil
		}
	}
	f := bad("there is no rule %q", text)
	return nil, &failure{http.StatusNotFound, f}
}

func (s *Server) oneRule(r *http.Request) (any, error) {
	found, err := s.find(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return found.shown(), nil
}

func (s *Server) removeRule(r *http.Request) (any, error) {
	found, err := s.find(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rules, found.asked.ID)
	for _, m := range found.made {
		m.Remove()
	}
	return found.shown(), nil
}

func (s *Server) clearRules(*http.Request) (any, error) {
	s.forgetRules()
	return Done{true}, nil
}

func (s *Server) forgetRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.rules)
	s.broker.ClearRules()
}

package remoting

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// latencyBounds are the upper bounds of the reference's histogram of answer times, milliseconds (RemotingMetricsManager#getMetricsView).
var latencyBounds = [...]int64{1, 3, 5, 7, 10, 100, 1000, 2000, 3000}

// AnswerResult is what became of an answer (RemotingMetricsConstant).
type AnswerResult uint8

// What becomes of an answer.
const (
	Answered    AnswerResult = iota // handed to the connection
	NotWanted                       // the request was one-way
	ClientGone                      // the connection had closed
	answerKinds                     // their number
)

// String is the reference's word for it.
func (r AnswerResult) String() string {
	return [answerKinds]string{"success", "oneway", "write_channel_failed"}[r]
}

// Latency are the answers of one kind: AtMost[i] of them took at most Bounds[i] milliseconds from the turn in which the request came.
type Latency struct {
	Request, Response int32
	Held              bool // it waited for a message
	Result            AnswerResult
	Bounds, AtMost    []int64
	Count, SumMs      int64
}

// maxLatencies bounds the kinds of answers that are neither SUCCESS nor handed over: codes of relayed answers are the clients'. Beyond it
// answers count with the code SYSTEM_ERROR.
const maxLatencies = 2048

// timing is when a request came and which row it is for; the zero value is not counted.
type timing struct {
	slot    int32 // of latencies, from 1
	startMs int64
}

// latencyCell counts answers of one kind.
type latencyCell struct {
	buckets [len(latencyBounds) + 1]atomic.Int64
	sumMs   atomic.Int64
}

func (c *latencyCell) add(ms, n int64) {
	ms = max(ms, 0) // the wall clock may step
	i := 0
	for i < len(latencyBounds) && ms > latencyBounds[i] {
		i++
	}
	c.buckets[i].Add(n)
	if ms > 0 {
		c.sumMs.Add(ms * n)
	}
}

type latencyKey struct {
	slot, response int32
	held           bool
	result         AnswerResult
}

// latencies are a server's answer times. Successful answers, the many, are found by index.
type latencies struct {
	codes  []int32          // by slot-1
	common [][2]latencyCell // by slot-1: SUCCESS, handed over at once, after a hold
	mu     sync.RWMutex
	rare   map[latencyKey]*latencyCell // guarded by mu
}

func newLatencies(routes []Route) *latencies {
	t := &latencies{common: make([][2]latencyCell, len(routes)), rare: map[latencyKey]*latencyCell{}}
	for i := range routes {
		t.codes = append(t.codes, routes[i].Code)
	}
	return t
}

func (t *latencies) cell(k latencyKey) *latencyCell {
	if k.response == Success && k.result == Answered {
		pair := &t.common[k.slot-1]
		if k.held {
			return &pair[1]
		}
		return &pair[0]
	}
	t.mu.RLock()
	c := t.rare[k]
	t.mu.RUnlock()
	if c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rare) >= maxLatencies {
		k.response = SystemError
	}
	if c = t.rare[k]; c == nil {
		c = new(latencyCell)
		t.rare[k] = c
	}
	return c
}

// answeredCell is an answer of this turn whose time is taken when the turn's bytes are out.
type answeredCell struct {
	cell    *latencyCell
	startMs int64
}

// took notes an answer that is given on the loop.
func (l *Loop) took(t timing, response int32, held bool, result AnswerResult) {
	if t.slot == 0 {
		return
	}
	cell := l.server.latencies.cell(latencyKey{t.slot, response, held, result})
	l.answered = append(l.answered, answeredCell{cell, t.startMs})
}

// settle counts the answers of the turn, runs of the same kind at once.
func (l *Loop) settle() {
	now := l.server.opts.Clock.NowMs()
	run := l.answered[0]
	n := int64(0)
	for _, a := range l.answered {
		if a != run {
			run.cell.add(now-run.startMs, n)
			run, n = a, 0
		}
		n++
	}
	run.cell.add(now-run.startMs, n)
	l.answered = l.answered[:0]
}

// took counts an answer that is given from any goroutine.
func (s *Server) took(t timing, response int32, held bool, result AnswerResult) {
	if t.slot != 0 {
		s.latencies.cell(latencyKey{t.slot, response, held, result}).add(s.opts.Clock.NowMs()-t.startMs, 1)
	}
}

// Latencies are the answer times by kind, sorted by request, response, and the rest; nil without ServerOptions.Latencies. Safe from any goroutine.
func (s *Server) Latencies() []Latency {
	t := s.latencies
	if t == nil {
		return nil
	}
	var out []Latency
	add := func(k latencyKey, c *latencyCell) {
		v := Latency{
			Request: t.codes[k.slot-1], Response: k.response, Held: k.held, Result: k.result, Bounds: latencyBounds[:], SumMs: c.sumMs.Load(),
			AtMost: make([]int64, 0, len(latencyBounds)),
		}
		for i := range c.buckets {
			v.Count += c.buckets[i].Load()
			if i < len(latencyBounds) {
				v.AtMost = append(v.AtMost, v.Count)
			}
		}
		if v.Count > 0 {
			out = append(out, v)
		}
	}
	for i := range t.common {
		add(latencyKey{slot: int32(i) + 1}, &t.common[i][0])
		add(latencyKey{slot: int32(i) + 1, held: true}, &t.common[i][1])
	}
	t.mu.RLock()
	for k, c := range t.rare {
		add(k, c)
	}
	t.mu.RUnlock()
	held := map[bool]int{true: 1}
	slices.SortFunc(out, func(a, b Latency) int {
		return cmp.Or(cmp.Compare(a.Request, b.Request), cmp.Compare(a.Response, b.Response), held[a.Held]-held[b.Held], cmp.Compare(a.Result, b.Result))
	})
	return out
}

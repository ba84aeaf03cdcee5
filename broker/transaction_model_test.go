package broker

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// modelHalf is what the model knows of a transaction.
type modelHalf struct {
	handles  []half // what it was called when it was sent and at each check
	decision string // the first final one, "" while there is none
	settling int    // looks at questions in which one may come that was on its way when it was decided
}

// transactionModel is trivially correct: each transaction is open or has its first decision.
type transactionModel struct {
	*testBroker
	c     *testClient
	alive bool // the producer is connected as one
	all   []*modelHalf
	byKey map[string]*modelHalf
}

// TestModelOfTransactions does random things to transactions and compares with the model: the first final decision stands, across checks,
// giving up, stops and kills at any point; what is committed is visible once, and nothing else; nobody is asked about what is decided.
func TestModelOfTransactions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &transactionModel{testBroker: newTestBroker(t, withConfig(quickChecks)), byKey: map[string]*modelHalf{}}
		m.create("T", 2)
		m.begin()
		defer m.end()
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"send", "send", "decide", "decide", "decide", "pass", "pass", "pass", "away", "back", "stop", "kill"}).Draw(rt, "op") {
			case "send":
				key := fmt.Sprint("k", len(m.all))
				transaction := &modelHalf{handles: []half{m.c.sendHalf(key)}}
				m.all, m.byKey[key] = append(m.all, transaction), transaction
			case "decide":
				m.decideOne(rt)
			case "pass":
				m.pass(time.Duration(rapid.IntRange(1, 60_000).Draw(rt, "ms")) * time.Millisecond)
				m.questions(rt)
			case "away":
				m.away()
			case "back":
				m.c.produce()
				m.alive = true
			case "stop":
				m.c.close()
				m.testBroker = m.restart(withConfig(quickChecks))
				m.begin()
			case "kill":
				mem, at := m.mem.Clone(), m.manual.Now()
				m.end()
				m.testBroker = startTestBroker(t, mem, clock.NewManual(at), withConfig(quickChecks))
				m.begin()
			}
			m.visible(rt)
		}
		m.finish(rt)
	})
}

func (m *transactionModel) begin() {
	m.c = m.dial()
	m.c.produce()
	m.alive = true
}

func (m *transactionModel) end() {
	m.c.close()
	m.close()
}

// away is a producer without a heartbeat, as after a crash.
func (m *transactionModel) away() {
	m.c.close()
	m.c = m.dial()
	m.alive = false
	eventually(m.t, "the producer is gone", func() bool { return !m.producers.online("P") })
}

func (m *transactionModel) pass(d time.Duration) {
	const step = 5 * time.Second
	for ; d > 0; d -= step {
		if m.alive {
			m.c.produce()
		}
		m.manual.Advance(min(d, step))
		m.c.want(0, remoting.GetMaxOffset, fields{"topic", "T", "queueId", "0"}, nil)
	}
}

// questions takes what the producer was asked, and answers some of it.
func (m *transactionModel) questions(rt *rapid.T) {
	m.c.mu.Lock()
	var asked []*answer
	for _, a := range m.c.asked {
		if a.code == remoting.CheckTransactionState {
			asked = append(asked, a)
		}
	}
	m.c.asked = nil
	m.c.mu.Unlock()
	for _, a := range asked {
		transaction := m.byKey[a.ext["msgId"]]
		if transaction == nil {
			rt.Fatalf("asked about %q", a.ext["msgId"])
		}
		if transaction.decision != "" && transaction.settling == 0 {
			rt.Fatalf("asked about %s, which has its decision %s", a.ext["msgId"], transaction.decision)
		}
		transaction.handles = append(transaction.handles, half{a.ext["msgId"], a.num(m.t, "tranStateTableOffset"), a.num(m.t, "commitLogOffset")})
		if decision := rapid.SampledFrom([]string{"", "", commit, rollback}).Draw(rt, "answer"); decision != "" {
			m.decide(rt, transaction, len(transaction.handles)-1, decision)
		}
	}
	for _, transaction := range m.all {
		transaction.settling = max(0, transaction.settling-1)
	}
}

func (m *transactionModel) decideOne(rt *rapid.T) {
	if len(m.all) == 0 {
		return
	}
	transaction := m.all[rapid.IntRange(0, len(m.all)-1).Draw(rt, "which")]
	m.decide(rt, transaction, rapid.IntRange(0, len(transaction.handles)-1).Draw(rt, "handle"), rapid.SampledFrom([]string{commit, rollback}).Draw(rt, "decision"))
}

func (m *transactionModel) decide(rt *rapid.T, transaction *modelHalf, handle int, decision string) {
	h := transaction.handles[handle]
	want := remoting.Success
	switch transaction.decision {
	case "":
		transaction.decision, transaction.settling = decision, 2
	case decision:
	default:
		want = remoting.IllegalOperation
	}
	a := m.c.call(remoting.EndTransaction, endFields(h, decision), nil)
	// Of a rollback long ago nothing is left but that it is not pending.
	if a.code != want && (a.code != remoting.IllegalOperation || decision != rollback || transaction.decision != rollback) {
		rt.Fatalf("decision %s of %s, first decision %s: %d %s, want %d", decision, h.key, transaction.decision, a.code, a.remark, want)
	}
}

// visible checks what consumers can see.
func (m *transactionModel) visible(rt *rapid.T) {
	seen := map[string]int{}
	for i := range m.count("T", 1) {
		r := m.stored("T", 1, i)
		key, _ := r.Properties.Get(message.KeyUniqueKey)
		seen[key]++
	}
	for key, transaction := range m.byKey {
		want := 0
		if transaction.decision == commit {
			want = 1
		}
		if seen[key] != want {
			rt.Fatalf("%s with decision %q is visible %d times", key, transaction.decision, seen[key])
		}
	}
}

// finish decides what is open, also what was given up, and makes sure that nobody is asked any more.
func (m *transactionModel) finish(rt *rapid.T) {
	if !m.alive {
		m.c.produce()
		m.alive = true
	}
	m.pass(2 * time.Minute)
	m.questions(rt)
	for _, transaction := range m.all {
		if transaction.decision == "" {
			m.decide(rt, transaction, 0, commit)
		}
	}
	for range 2 {
		m.pass(time.Second)
		m.questions(rt)
	}
	m.visible(rt)
	m.pass(5 * time.Minute)
	m.questions(rt)
	m.visible(rt)
	eventually(m.t, "nothing is pending", func() bool { return m.inUse() == 0 })
}

package broker

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
)

// modelPopped is what the model knows of a message that is consumed by pop.
type modelPopped struct {
	held      bool  // given out and not acknowledged
	visibleMs int64 // when it may come again while held
	now       popped
	old       []popped // with handles that a change has replaced
	acked     bool
	times     int  // given out
	earlier   bool // its handle is from before a stop or kill: what became of a lapsed one since is not remembered
	unsure    bool // it may come all the same: done with when it had lapsed, or it had come back before a stop or kill
}

// popModel is trivially correct: a message is there, given out until a time, or acknowledged.
type popModel struct {
	*testBroker
	c        *testClient
	messages []*modelPopped
	byBody   map[string]*modelPopped
}

const popModelStep = 500 * time.Millisecond

// TestModelOfPop does random things to a group that pops and compares with the model: nothing comes while it is invisible or after an ack that
// was answered with success, also across stops and kills, and everything else comes.
func TestModelOfPop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &popModel{testBroker: newTestBroker(t), byBody: map[string]*modelPopped{}}
		m.create("T", 1)
		m.c = m.dial()
		defer m.end()
		ops := []string{"send", "send", "pop", "pop", "pop", "ack", "ack", "ack old", "change", "pass", "pass", "stop", "kill"}
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			switch op := rapid.SampledFrom(ops).Draw(rt, "op"); op {
			case "send":
				m.send(rapid.IntRange(1, 5).Draw(rt, "n"))
			case "pop":
				m.popSome(rt, rapid.IntRange(1, 8).Draw(rt, "most"), time.Duration(rapid.SampledFrom([]int{1, 3, 10, 30}).Draw(rt, "invisible"))*time.Second)
			case "ack":
				m.ackOne(rt)
			case "ack old":
				m.ackOld(rt)
			case "change":
				m.changeOne(rt)
			case "pass":
				m.pass(time.Duration(rapid.IntRange(1, 15_000).Draw(rt, "ms")) * time.Millisecond)
			case "stop":
				m.c.close()
				m.testBroker = m.restart()
				m.begin()
			case "kill":
				m.kill()
			}
		}
		m.drain(rt)
	})
}

func (m *popModel) end() {
	m.c.close()
	m.close()
}

func (m *popModel) pass(d time.Duration) {
	for ; d > 0; d -= popModelStep {
		m.manual.Advance(min(d, popModelStep))
	}
}

func (m *popModel) send(n int) {
	for range n {
		body := fmt.Sprint("m", len(m.messages))
		m.c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01"+body+"\x02"), []byte(body))
		message := new(modelPopped)
		m.messages = append(m.messages, message)
		m.byBody[body] = message
	}
}

// popSome pops and checks that nothing comes that must not.
func (m *popModel) popSome(rt *rapid.T, most int, invisible time.Duration) int {
	before := m.manual.NowMs()
	got := m.c.pop(popFields("G", "T", 0, most, invisible))
	for _, p := range got {
		message := m.byBody[string(p.Body)]
		switch {
		case message == nil:
			rt.Fatalf("unknown message %q", p.Body)
		case message.acked && !message.unsure:
			rt.Fatalf("%s came after its ack: %+v at %d, now with %s from %s %d, reconsumed %d", p.Body, message.now.handle, before, p.handle, p.topic, p.QueueOffset, p.ReconsumeTimes)
		case message.held && message.visibleMs > before && !message.unsure:
			rt.Fatalf("%s came %d ms before its invisible time is over", p.Body, message.visibleMs-before)
		}
		if want := int32(message.times); p.ReconsumeTimes != want && !message.unsure {
			rt.Fatalf("%s is given out for the %d. time with reconsumeTimes %d", p.Body, message.times+1, p.ReconsumeTimes)
		}
		message.held, message.acked, message.earlier = true, false, false
		message.times, message.old = int(p.ReconsumeTimes)+1, nil
		message.visibleMs, message.now = m.popTimeOf(p)+invisible.Milliseconds(), p
	}
	return len(got)
}

func (m *popModel) popTimeOf(p popped) int64 {
	handle, err := parsePopHandle(p.handle)
	if err != nil {
		m.t.Fatal(err)
	}
	return handle.popTime
}

// held picks a message that is given out.
func (m *popModel) held(rt *rapid.T) *modelPopped {
	var all []*modelPopped
	for _, message := range m.messages {
		if message.held {
			all = append(all, message)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(rt, "which")]
}

// ackOne acknowledges: what is still invisible must be taken, what has lapsed may be refused, or come all the same; a success in time holds.
func (m *popModel) ackOne(rt *rapid.T) {
	message := m.held(rt)
	if message == nil {
		return
	}
	lapsed := message.visibleMs <= m.manual.NowMs()
	a := m.c.call(remoting.AckMessage, message.now.fields("G"), nil)
	switch {
	case a.code == remoting.Success:
		message.acked, message.held, message.unsure = true, false, message.unsure || lapsed
	case a.code != remoting.NoMessage || !lapsed:
		rt.Fatalf("ack of %s: %d %s, lapsed %t", message.now.Body, a.code, a.remark, lapsed)
	}
}

// ackOld acknowledges with a handle that a change has replaced: refused, and without effect.
func (m *popModel) ackOld(rt *rapid.T) {
	message := m.held(rt)
	if message == nil || len(message.old) == 0 {
		return
	}
	old := message.old[rapid.IntRange(0, len(message.old)-1).Draw(rt, "old")]
	handle, err := parsePopHandle(old.handle)
	if err != nil {
		rt.Fatal(err)
	}
	if m.manual.NowMs()-handle.reviveTime() > flightRestMs/2 {
		return // forgotten soon
	}
	if a := m.c.call(remoting.AckMessage, old.fields("G"), nil); a.code != remoting.NoMessage {
		rt.Fatalf("ack of %s with an old handle: %d %s", old.Body, a.code, a.remark)
	}
}

func (m *popModel) changeOne(rt *rapid.T) {
	message := m.held(rt)
	if message == nil {
		return
	}
	invisible := time.Duration(rapid.SampledFrom([]int{1, 5, 20}).Draw(rt, "changed to")) * time.Second
	lapsed := message.visibleMs <= m.manual.NowMs()
	if a := m.c.call(remoting.ChangeMessageInvisibletime, message.now.fields("G").with("invisibleTime", itoa(int(invisible.Milliseconds()))), nil); a.code == remoting.Success {
		message.unsure = message.unsure || lapsed && message.earlier
		old := message.now
		if !message.earlier {
			message.old = append(message.old, old)
		}
		message.earlier = false
		message.now = changedHandle(a, old)
		message.visibleMs = m.popTimeOf(message.now) + invisible.Milliseconds()
	} else if a.code != remoting.NoMessage || !lapsed {
		rt.Fatalf("change of %s: %d %s, lapsed %t", message.now.Body, a.code, a.remark, lapsed)
	}
}

// kill loses what the process had not written: at most half a second of where the group stood.
func (m *popModel) kill() {
	if err := m.offsets.file.save(); err != nil {
		m.t.Fatal(err)
	}
	mem, at := m.mem.Clone(), m.manual.Now()
	m.end()
	m.testBroker = startTestBroker(m.t, mem, clock.NewManual(at))
	m.begin()
}

// begin goes on with a new process: which handles were replaced the old one knew alone, and a checkpoint that was done with before one in
// front of it is taken up again, so that what has come back may do so once more.
func (m *popModel) begin() {
	m.c = m.dial()
	for _, message := range m.messages {
		message.old, message.earlier = nil, true
		message.unsure = message.unsure || message.times > 1 || message.held && message.visibleMs <= m.manual.NowMs()
	}
}

// drain pops and acknowledges what is left: all of it comes, and then nothing.
func (m *popModel) drain(rt *rapid.T) {
	left := func() (n int) {
		for _, message := range m.messages {
			if !message.acked {
				n++
			}
		}
		return n
	}
	for range 2000 {
		for m.popSome(rt, 32, 10*time.Second) > 0 {
			for _, message := range m.messages {
				if message.held && message.visibleMs > m.manual.NowMs() {
					m.c.want(0, remoting.AckMessage, message.now.fields("G"), nil)
					message.acked, message.held = true, false
				}
			}
		}
		if left() == 0 {
			break
		}
		m.pass(time.Second)
	}
	if n := left(); n > 0 {
		rt.Fatalf("%d of %d messages did not come", n, len(m.messages))
	}
	for range 15 {
		m.pass(2 * time.Second)
		m.popSome(rt, 32, 10*time.Second) // fails when something comes
	}
}

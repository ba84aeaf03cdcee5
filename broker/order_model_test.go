package broker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
)

// orderModel is a group with ordered consumers: each asks for a queue's lock, pulls from the committed offset, consumes and commits.
type orderModel struct {
	*testBroker
	sender    *testClient
	consumers map[string]*testClient // by client id; nil when it is not there
	sent      map[string]int         // by key: how many
	seen      map[string][]int       // by key: numbers as they were consumed first
	owner     map[int32]string       // who the model says owns a queue
	owned     map[int32]time.Time    // since when
}

const orderQueues = 2

// TestModelOfOrder lets ordered consumers come, go and crash, and the broker stop and be killed: a queue never has two owners, each key is
// consumed in the order of its sends with nothing left out, and a crashed owner's queues are free within five seconds.
func TestModelOfOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &orderModel{
			testBroker: newTestBroker(t), consumers: map[string]*testClient{}, sent: map[string]int{}, seen: map[string][]int{},
			owner: map[int32]string{}, owned: map[int32]time.Time{},
		}
		m.create("T", orderQueues)
		m.sender = m.dial()
		defer m.end()
		for range rapid.IntRange(5, 50).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(rt, "client")
			queue := int32(rapid.IntRange(0, orderQueues-1).Draw(rt, "queue"))
			switch rapid.SampledFrom([]string{"send", "send", "come", "come", "consume", "consume", "consume", "consume", "unlock", "leave", "crash", "pass", "stop", "kill"}).Draw(rt, "op") {
			case "send":
				m.send(rt)
			case "come":
				m.come(id)
			case "consume":
				m.consume(rt, id, queue, rapid.Bool().Draw(rt, "commits"))
			case "unlock":
				if c := m.consumers[id]; c != nil {
					c.unlock("G", id, queue)
					m.free(id, queue)
				}
			case "leave":
				m.leave(id)
			case "crash":
				m.crash(rt, id)
			case "pass":
				m.pass(time.Duration(rapid.IntRange(1, 20_000).Draw(rt, "ms")) * time.Millisecond)
			case "stop":
				m.hangUp()
				m.testBroker = m.restart()
				m.sender = m.dial()
			case "kill":
				if err := m.offsets.file.save(); err != nil { // of that a kill loses half a second
					t.Fatal(err)
				}
				mem, at := m.mem.Clone(), m.manual.Now()
				m.end()
				m.testBroker = startTestBroker(t, mem, clock.NewManual(at))
				m.sender = m.dial()
			}
		}
		m.drain(rt)
	})
}

func (m *orderModel) hangUp() {
	m.sender.close()
	for id, c := range m.consumers {
		if c != nil {
			c.close()
		}
		delete(m.consumers, id)
	}
	clear(m.owner)
}

func (m *orderModel) end() {
	m.hangUp()
	m.close()
}

func (m *orderModel) pass(d time.Duration) {
	const step = time.Second
	for ; d > 0; d -= step {
		m.manual.Advance(min(d, step))
		for id, c := range m.consumers {
			m.heartbeat(c, id)
		}
	}
}

func (m *orderModel) heartbeat(c *testClient, id string) {
	c.want(0, remoting.HeartBeat, nil, heartbeatOf(id, "G", tagSub("T", "*", 1)))
}

// send sends the next message of a key; a key has one queue.
func (m *orderModel) send(rt *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(rt, "n") {
		key := rapid.IntRange(0, 3).Draw(rt, "key")
		name := fmt.Sprint(key)
		m.sender.want(0, remoting.SendMessage, sendFields("T", key%orderQueues, ""), fmt.Appendf(nil, "%s:%d", name, m.sent[name]))
		m.sent[name]++
	}
}

func (m *orderModel) come(id string) {
	if m.consumers[id] == nil {
		m.consumers[id] = m.dial()
		m.heartbeat(m.consumers[id], id)
	}
}

// lock asks for a queue as the client does before it consumes.
func (m *orderModel) lock(rt *rapid.T, id string, queue int32) bool {
	granted := slices.Contains(m.consumers[id].lock("G", id, queue), queue)
	owner, since := m.owner[queue], m.owned[queue]
	if granted && owner != "" && owner != id && m.manual.Now().Sub(since) < lockLife {
		rt.Fatalf("queue %d is given to %s while %s owns it", queue, id, owner)
	}
	if !granted && owner == id {
		rt.Fatalf("queue %d is refused to %s, which owns it", queue, id)
	}
	if granted {
		m.owner[queue], m.owned[queue] = id, m.manual.Now()
	}
	return granted
}

func (m *orderModel) free(id string, queue int32) {
	if m.owner[queue] == id {
		delete(m.owner, queue)
	}
}

// consume takes a queue's messages if the lock is granted. A client that does not commit crashes before: the next one has them again.
func (m *orderModel) consume(rt *rapid.T, id string, queue int32, commits bool) {
	c := m.consumers[id]
	if c == nil || !m.lock(rt, id, queue) {
		return
	}
	at := int64(0)
	if a := c.call(remoting.QueryConsumerOffset, fields{"consumerGroup", "G", "topic", "T", "queueId", itoa(queue), "setZeroIfNotFound", "true"}, nil); a.code == 0 {
		at = a.num(m.t, "offset")
	}
	a := c.call(remoting.PullMessage, pullFields("G", "T", int(queue), at).with("suspendTimeoutMillis", "0"), nil)
	if a.code != 0 {
		return
	}
	for _, r := range records(m.t, a.body) {
		var key string
		var n int
		if _, err := fmt.Sscanf(string(r.Body), "%1s:%d", &key, &n); err != nil {
			rt.Fatalf("%q: %v", r.Body, err)
		}
		seen := m.seen[key]
		switch {
		case n < len(seen): // again, after a crash
		case n == len(seen):
			m.seen[key] = append(seen, n)
		default:
			rt.Fatalf("key %s: %d after %d", key, n, len(seen)-1)
		}
	}
	if commits {
		c.want(0, remoting.UpdateConsumerOffset, fields{"consumerGroup", "G", "topic", "T", "queueId", itoa(queue), "commitOffset", a.ext["nextBeginOffset"]}, nil)
	}
}

func (m *orderModel) leave(id string) {
	if c := m.consumers[id]; c != nil {
		c.want(0, remoting.UnregisterClient, fields{"clientID", id, "consumerGroup", "G"}, nil)
		m.gone(id)
	}
}

func (m *orderModel) gone(id string) {
	m.consumers[id].close()
	delete(m.consumers, id)
	for queue, owner := range m.owner {
		if owner == id {
			delete(m.owner, queue)
		}
	}
}

// crash closes a consumer's connection; five seconds later its queues are another's if one asks.
func (m *orderModel) crash(rt *rapid.T, id string) {
	if m.consumers[id] == nil {
		return
	}
	var had []int32
	for queue, owner := range m.owner {
		if owner == id {
			had = append(had, queue)
		}
	}
	m.gone(id)
	eventually(m.t, "the broker knows", func() bool { return m.Broker.consumers.find("G", id) == nil })
	m.pass(5 * time.Second)
	other := "D"
	m.come(other)
	for _, queue := range had {
		eventually(m.t, "its queue is free", func() bool { return m.lock(rt, other, queue) })
	}
	m.leave(other)
}

// drain consumes the rest: all that was sent came.
func (m *orderModel) drain(rt *rapid.T) {
	for _, id := range []string{"A", "B", "C"} {
		m.leave(id)
	}
	m.come("E")
	m.pass(5 * time.Second)
	for queue := range int32(orderQueues) {
		for range 20 {
			m.consume(rt, "E", queue, true)
		}
	}
	for key, n := range m.sent {
		if len(m.seen[key]) != n {
			rt.Fatalf("key %s: %d of %d consumed", key, len(m.seen[key]), n)
		}
	}
}

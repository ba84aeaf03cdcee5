package broker

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestTransactionsSurvive a stop and a kill: what is undecided stays so, with its count of checks; what is decided stays decided.
func TestTransactionsSurvive(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			b := newTestBroker(t, withConfig(quickChecks))
			b.create("T", 2)
			c := b.dial()
			c.produce()
			committed, rolledBack := c.sendHalf("committed"), c.sendHalf("rolled back")
			c.sendHalf("open")
			c.end(committed, commit)
			c.end(rolledBack, rollback)
			b.manual.Advance(6 * time.Second)
			asked := b.asked(c, "open", "1", 20*time.Millisecond)
			eventually(t, "the copy is undecided", func() bool { return b.count(message.TopicTransHalf, 0) == 4 && b.inUse() == 1 })
			if killed {
				at := b.manual.Now()
				b = startTestBroker(t, b.mem.Clone(), clock.NewManual(at), withConfig(quickChecks))
			} else {
				b = b.restart(withConfig(quickChecks))
			}
			c = b.dial()
			c.produce()
			b.advanceUntil("one is undecided", 100*time.Millisecond, 5*time.Second, func() bool { return b.inUse() <= 2 })
			again := b.asked(c, "open", "2", time.Second)
			if b.inUse() != 1 {
				t.Errorf("%d undecided", b.inUse())
			}
			c.end(committed, commit)
			c.want(remoting.IllegalOperation, remoting.EndTransaction, endFields(committed, rollback), nil)
			if a := c.call(remoting.EndTransaction, endFields(rolledBack, commit), nil); a.code != remoting.IllegalOperation {
				t.Errorf("commit of what was rolled back: code %d, remark %q", a.code, a.remark)
			}
			c.end(asked, commit)
			c.end(again, commit)
			if b.count("T", 1) != 2 {
				t.Errorf("%d visible, want 2", b.count("T", 1))
			}
			b.quiet(c, 10*time.Minute)
		})
	}
}

// TestOpMessageLost: a kill loses an op message that nobody waited for. The index tells that the message was committed.
func TestOpMessageLost(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	h := c.sendHalf("k1")
	c.end(h, commit)
	if b.ops() != "" {
		t.Fatal("the op message was written at once, there is nothing to test")
	}
	b = startTestBroker(t, b.mem.Clone(), clock.NewManual(testNow), withConfig(quickChecks))
	c = b.dial()
	c.produce()
	if b.inUse() != 1 {
		t.Fatalf("%d undecided", b.inUse())
	}
	eventually(t, "it is found decided", func() bool { b.manual.Advance(time.Second); return b.inUse() == 0 })
	b.quiet(c, 10*time.Minute)
	c.end(h, commit)
	if b.count("T", 1) != 1 {
		t.Errorf("%d visible", b.count("T", 1))
	}
}

// TestReferencesTopics: half and op topics as the reference leaves them, two op forms, are understood.
func TestReferencesTopics(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	put := func(topic, properties, content string) {
		m := message.Message{
			Topic: topic, Body: []byte(content), StoreHost: b.identity.storeHost, BornHost: b.identity.storeHost, BornTimestamp: b.manual.NowMs(),
			Properties: message.Properties(properties), WaitStored: true,
		}
		if _, err := b.store.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range []string{"a", "b", "c", "d"} {
		checks := ""
		if i == 3 {
			checks = "TRANSACTION_CHECK_TIMES\x012\x02"
		}
		put(message.TopicTransHalf, "REAL_TOPIC\x01T\x02TRAN_MSG\x01true\x02UNIQ_KEY\x01"+key+"\x02WAIT\x01true\x02PGROUP\x01P\x02REAL_QID\x011\x02"+checks, "body of "+key)
	}
	put(message.TopicTransOpHalf, "WAIT\x01true\x02TAGS\x01d\x02", "0,0,")
	put(message.TopicTransOpHalf, "TAGS\x01d\x02UNIQ_KEY\x01x\x02", "1")
	put(message.TopicTransOpHalf, "TAGS\x01other\x02", "2")
	b = b.restart(withConfig(quickChecks))
	if b.inUse() != 2 {
		t.Fatalf("%d undecided, want 2", b.inUse())
	}
	c := b.dial()
	c.produce()
	b.manual.Advance(6 * time.Second)
	b.asked(c, "c", "1", 20*time.Millisecond)
	b.manual.Advance(24 * time.Second)
	b.asked(c, "d", "3", 20*time.Millisecond)
}

// TestDelayCountsFromCommit: scenario R-18: a delay level or a time that a half message carries takes effect when it is committed.
func TestDelayCountsFromCommit(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	level := c.sendHalf("level", "DELAY\x012\x02")
	timed := c.sendHalf("timed", "TIMER_DELAY_SEC\x0110\x02")
	b.manual.Advance(time.Minute)
	if b.inUse() != 2 {
		t.Fatalf("%d undecided", b.inUse())
	}
	c.end(level, commit)
	c.end(timed, commit)
	b.manual.Advance(4 * time.Second)
	if b.count("T", 1) != 0 {
		t.Error("visible before the delay was over")
	}
	b.manual.Advance(time.Second)
	eventually(t, "the level's time is over", func() bool { return b.count("T", 1) == 1 })
	b.advanceUntil("the timer's time is over", 200*time.Millisecond, 7*time.Second, func() bool { return b.count("T", 1) == 2 })
	if at := b.manual.Now().Sub(testNow) - time.Minute; at > 12*time.Second || at < 10*time.Second {
		t.Errorf("the timer came after %v", at)
	}
	for i, key := range []string{"level", "timed"} {
		if r := b.stored("T", 1, int64(i)); string(r.Body) != "body of "+key || r.TransactionType() != message.TransactionCommit {
			t.Errorf("%q type %d", r.Body, r.TransactionType())
		}
	}
	c.end(level, commit)
	c.end(timed, commit)
	c.produce()
	b.quiet(c, 5*time.Minute)
	if n, halves := b.count("T", 1), b.count(message.TopicTransHalf, 0); n != 2 || halves != 2 {
		t.Errorf("%d visible, the half topic has %d messages", n, halves)
	}
}

// TestDecisionsRace: of many decisions at once one stands.
func TestDecisionsRace(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	clients := []*testClient{b.dial(), b.dial(), b.dial(), b.dial()}
	for round := range 20 {
		h := clients[0].sendHalf(fmt.Sprint("k", round))
		before := b.count("T", 1)
		var wg sync.WaitGroup
		codes := make([]int32, 16)
		for i := range codes {
			wg.Go(func() {
				decision := commit
				if i%2 == 1 {
					decision = rollback
				}
				c := clients[i%len(clients)]
				codes[i] = c.await(c.send(c.request(remoting.EndTransaction, endFields(h, decision), nil))).code
			})
		}
		wg.Wait()
		visible := b.count("T", 1) - before
		for i, code := range codes {
			if won := (i%2 == 0) == (visible == 1); won != (code == 0) || !won != (code == remoting.IllegalOperation) {
				t.Errorf("round %d: visible %d, decision %d got %d", round, visible, i, code)
			}
		}
		if visible > 1 {
			t.Fatalf("visible %d times", visible)
		}
	}
	if b.inUse() != 0 {
		t.Errorf("%d undecided", b.inUse())
	}
}

// TestTransactionMetrics: counts of what is undecided, by topic, in config/transactionMetrics.
func TestTransactionMetrics(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	first := c.sendHalf("k1")
	c.sendHalf("k2")
	saved := func(want int64) func() bool {
		return func() bool {
			b.manual.Advance(time.Second)
			if !fileHas(b.mem, "/data/config/transactionMetrics", `"T"`) {
				return false
			}
			metrics, err := body.Decode[body.TransactionMetrics](mustRead(t, b, "/data/config/transactionMetrics"))
			return err == nil && metrics.TransactionCount["T"].Count == want
		}
	}
	eventually(t, "two are counted", saved(2))
	c.end(first, commit)
	eventually(t, "one is counted", saved(1))
	b = b.restart()
	if got := b.transactions.pendingByTopic(); got["T"] != 1 {
		t.Errorf("after a restart: %v", got)
	}
}

// TestProgressOfTransactions: the two offsets of CID_RMQ_SYS_TRANS say what need not be read again.
func TestProgressOfTransactions(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	var halves []half
	for i := range 10 {
		halves = append(halves, c.sendHalf(fmt.Sprint("k", i)))
	}
	for i, h := range halves {
		if i != 4 {
			c.end(h, rollback)
		}
	}
	progress := func() [2]int64 {
		return [2]int64{
			b.offsets.committed("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC", 0), b.offsets.committed("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_OP_HALF_TOPIC", 0),
		}
	}
	eventually(t, "all before the open one is done", func() bool { b.manual.Advance(time.Second); return progress() == [2]int64{4, 4} })
	c.end(halves[4], commit)
	eventually(t, "all is done", func() bool { b.manual.Advance(time.Second); return progress() == [2]int64{10, 10} })
	b = b.restart()
	if b.inUse() != 0 || b.transactions.op.position(math.MaxInt64) != 10 {
		t.Errorf("%d undecided", b.inUse())
	}
}

// TestRelocate: one undecided message does not hold the progress back for good.
func TestRelocate(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 100,000 messages")
	}
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.TransactionTimeOut = 120_000 }))
	b.create("T", 2)
	c := b.dial()
	c.produce()
	h := c.sendHalf("open")
	b.put(message.TopicTransHalf, 0, relocateSpan, "")
	eventually(t, "the progress moves on", func() bool {
		b.manual.Advance(time.Second)
		return b.offsets.committed("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC", 0) == relocateSpan+1
	})
	r := b.stored(message.TopicTransHalf, 0, relocateSpan+1)
	if property(&r, "TRAN_PREPARED_QUEUE_OFFSET") != "0" || string(r.Body) != "body of open" {
		t.Errorf("copy %q", r.Properties)
	}
	at := b.manual.Now()
	b.quiet(c, testNow.Add(119*time.Second).Sub(at))
	b.manual.Advance(2 * time.Second)
	b.asked(c, "open", "1", 20*time.Millisecond)
	c.end(h, commit)
	if b.count("T", 1) != 1 || b.inUse() != 0 {
		t.Errorf("%d visible, %d undecided", b.count("T", 1), b.inUse())
	}
}

func mustRead(t *testing.T, b *testBroker, name string) []byte {
	t.Helper()
	x := tables{fs: b.mem}
	return []byte(x.read(t, strings.TrimPrefix(name, "/data/config/")))
}

// TestLateRollbackStands: what was rolled back after it had been given up is not committed later, whatever happened in between.
func TestLateRollbackStands(t *testing.T) {
	for _, then := range []string{"at once", "stopped", "killed"} {
		t.Run(then, func(t *testing.T) {
			b := newTestBroker(t, withConfig(quickChecks))
			b.create("T", 2)
			c := b.dial()
			c.produce()
			h, other := c.sendHalf("k1"), c.sendHalf("k2")
			b.givenUp(c)
			c.end(h, rollback)
			switch then {
			case "stopped":
				b = b.restart(withConfig(quickChecks))
			case "killed":
				b = startTestBroker(t, b.mem.Clone(), clock.NewManual(b.manual.Now()), withConfig(quickChecks))
			}
			c = b.dial()
			c.want(remoting.IllegalOperation, remoting.EndTransaction, endFields(h, commit), nil)
			c.want(remoting.Success, remoting.EndTransaction, endFields(h, rollback), nil)
			if n := b.count("T", 1); n != 0 {
				t.Errorf("%d messages are visible", n)
			}
			c.end(other, commit) // the other one can still be
			if n := b.count("T", 1); n != 1 {
				t.Errorf("%d messages are visible, want the other one", n)
			}
			b.quiet(c, 10*time.Minute)
		})
	}
}

package broker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
)

// waitFields are those of a pull that waits.
func waitFields(group, topic string, queueID int, offset int64) fields {
	return pullFields(group, topic, queueID, offset).with("sysFlag", "6")
}

// hold sends a pull and waits until it is held.
func (x *testBroker) hold(c *testClient, f fields) <-chan *answer {
	x.t.Helper()
	before := x.holds.held()
	ch := c.send(c.request(remoting.PullMessage, f, nil))
	eventually(x.t, "the pull is held", func() bool { return x.holds.held() > before })
	return ch
}

func TestHeldPullIsWokenByItsMessage(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 3, "")
	c, producer := b.dial(), b.dial()
	held := b.hold(c, waitFields("G", "T", 0, 3))
	other := b.hold(c, waitFields("G", "T", 1, 0))
	producer.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("new"))
	a := c.await(held)
	if list := records(t, a.body); a.code != 0 || len(list) != 1 || string(list[0].Body) != "new" || a.num(t, "nextBeginOffset") != 4 {
		t.Errorf("code %d, %v", a.code, a.ext)
	}
	if b.holds.held() != 1 {
		t.Errorf("%d pulls are held, want that of the other queue", b.holds.held())
	}
	producer.want(0, remoting.SendMessage, sendFields("T", 1, ""), []byte("new"))
	if a := c.await(other); a.code != 0 {
		t.Errorf("code %d", a.code)
	}
}

// TestHeldPullOfAnEmptyQueueIsWoken: the queue comes into being with the message.
func TestHeldPullOfAnEmptyQueueIsWoken(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	held := b.hold(c, waitFields("G", "T", 0, 0))
	b.put("T", 0, 1, "")
	if a := c.await(held); a.code != 0 || a.num(t, "nextBeginOffset") != 1 {
		t.Errorf("code %d, %v", a.code, a.ext)
	}
}

// TestHeldPullWaitsForItsTag: what does not match does not wake, and is skipped by the answer.
func TestHeldPullWaitsForItsTag(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	tagged := b.hold(c, waitFields("G", "T", 0, 0).with("subscription", "A"))
	sql := b.hold(c, waitFields("H", "T", 0, 0).with("subscription", "a = 1").with("expressionType", "SQL92"))
	b.put("T", 0, 5, "TAGS\x01B\x02a\x012\x02")
	if b.holds.held() != 2 {
		t.Fatalf("%d pulls are held, want 2", b.holds.held())
	}
	b.put("T", 0, 1, "TAGS\x01A\x02a\x011\x02")
	for _, ch := range []<-chan *answer{tagged, sql} {
		if a := c.await(ch); a.code != 0 || len(records(t, a.body)) != 1 || a.num(t, "nextBeginOffset") != 6 {
			t.Errorf("code %d, %v", a.code, a.ext)
		}
	}
}

// TestHeldPullGivesUp: at its time it answers 19 with all its fields, or 20 and where to go on when other messages passed by.
func TestHeldPullGivesUp(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 3, "")
	c := b.dial()
	empty := b.hold(c, waitFields("G", "T", 0, 3).with("commitOffset", "1").with("sysFlag", "7"))
	passed := b.hold(c, waitFields("G", "T", 1, 0).with("subscription", "A"))
	b.put("T", 1, 4, "TAGS\x01B\x02")
	b.offsets.commit("G", "T", 0, 2, "")
	b.manual.Advance(15*time.Second - time.Millisecond)
	if got := b.holds.held(); got != 2 {
		t.Fatalf("%d pulls are held just before their time", got)
	}
	// The hold may have been about to set its timer when the clock moved: it looks again a second later.
	eventually(t, "they give up", func() bool { b.manual.Advance(time.Millisecond); return b.holds.held() == 0 })
	a := c.await(empty)
	if a.code != 19 || a.remark != "OFFSET_OVERFLOW_ONE" || a.num(t, "nextBeginOffset") != 3 || a.num(t, "minOffset") != 0 || a.num(t, "maxOffset") != 3 || a.ext["suggestWhichBrokerId"] != "0" {
		t.Errorf("code %d, remark %q, %v", a.code, a.remark, a.ext)
	}
	if got := b.offsets.query("G", "T", 0); got != 2 {
		t.Errorf("committed %d, want 2: a held pull commits once, when it comes", got)
	}
	if a := c.await(passed); a.code != 20 || a.num(t, "nextBeginOffset") != 4 {
		t.Errorf("code %d, %v", a.code, a.ext)
	}
}

// TestShortPolling: with longPollingEnable off a pull is held for shortPollingTimeMills.
func TestShortPolling(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.LongPollingEnable, c.Broker.ShortPollingTimeMills = false, 700 }))
	b.create("T", 1)
	c := b.dial()
	held := b.hold(c, waitFields("G", "T", 0, 0))
	b.manual.Advance(700 * time.Millisecond)
	if a := c.await(held); a.code != 19 {
		t.Errorf("code %d", a.code)
	}
}

// TestHeldPullIsWokenByAReset: an offset correction is not waited for.
func TestHeldPullIsWokenByAReset(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 5, "")
	c := b.dial()
	held, other := b.hold(c, waitFields("G", "T", 0, 5)), b.hold(c, waitFields("H", "T", 0, 5))
	b.offsets.assignReset("G", "T", 0, 1)
	if a := c.await(held); a.code != 21 || a.num(t, "nextBeginOffset") != 1 {
		t.Errorf("code %d, %v", a.code, a.ext)
	}
	if b.holds.held() != 1 {
		t.Errorf("%d are held, want the other group's", b.holds.held())
	}
	if _, err := b.topics.delete("T"); err != nil {
		t.Fatal(err)
	}
	if a := c.await(other); a.code != 17 {
		t.Errorf("topic deleted: code %d", a.code)
	}
}

func TestHeldPullsAreBounded(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Rocketd.MaxHeldPulls = 2 }))
	b.create("T", 1)
	c := b.dial()
	b.hold(c, waitFields("G", "T", 0, 0))
	b.hold(c, waitFields("G", "T", 0, 0))
	if a := c.call(remoting.PullMessage, waitFields("G", "T", 0, 0), nil); a.code != 2 || !strings.Contains(a.remark, "maxHeldPulls is 2") {
		t.Errorf("code %d, %q", a.code, a.remark)
	}
	c.close()
	eventually(t, "the pulls of a closed connection are gone", func() bool { return b.holds.held() == 0 })
	b.hold(b.dial(), waitFields("G", "T", 0, 0))
}

// TestManyHeldPullsAreWokenAtOnce: a message wakes every group's pull.
func TestManyHeldPullsAreWokenAtOnce(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	var waiting []<-chan *answer
	for i := range 500 {
		waiting = append(waiting, c.send(c.request(remoting.PullMessage, waitFields("G"+itoa(i%20), "T", 0, 0), nil)))
	}
	eventually(t, "500 are held", func() bool { return b.holds.held() == 500 })
	b.put("T", 0, 1, "")
	for _, ch := range waiting {
		if a := c.await(ch); a.code != 0 {
			t.Fatalf("code %d, %s", a.code, a.remark)
		}
	}
}

// TestNoWakeUpIsLost: producers and waiting consumers race for the moment between reading and being held.
func TestNoWakeUpIsLost(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	producer := b.dial()
	const messages = 300
	// The last message can be pulled before its send is answered: the test ends after both.
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for i := range messages {
			producer.call(remoting.SendMessage, sendFields("T", 0, ""), []byte(itoa(i)))
		}
	})
	c := b.dial()
	for next := int64(0); next < messages; {
		a := c.call(remoting.PullMessage, waitFields("G", "T", 0, next), nil)
		if a.code != 0 {
			t.Fatalf("offset %d: code %d, %s", next, a.code, a.remark)
		}
		for _, r := range records(t, a.body) {
			if string(r.Body) != itoa(next) {
				t.Fatalf("offset %d: body %q", next, r.Body)
			}
			next++
		}
	}
}

// TestCloseAnswersHeldPulls: clients hear at once that the broker stops.
func TestCloseAnswersHeldPulls(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	held := b.hold(c, waitFields("G", "T", 0, 0))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b.closed = true
	if err := b.Broker.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if a := c.await(held); a.code != 2 || !strings.HasPrefix(a.remark, "[STOPPING]") {
		t.Errorf("code %d, %q", a.code, a.remark)
	}
}

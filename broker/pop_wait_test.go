package broker

import (
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
)

// TestPopWaits: a pop without messages waits and is woken by one that it wants; at its time it goes away empty.
func TestPopWaits(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c, other := b.dial(), b.dial()
	wait := popFields("G", "T", -1, 32, 10*time.Second).with("pollTime", "15000")
	held := func(queueID int, n string) func() bool {
		return func() bool {
			return other.call(remoting.PollingInfo, fields{"consumerGroup", "G", "topic", "T", "queueId", itoa(queueID)}, nil).ext["pollingNum"] == n
		}
	}
	tagged := wait.with("queueId", "1").with("exp", "A || B")
	whichever, one := c.send(c.request(remoting.PopMessage, wait, nil)), c.send(c.request(remoting.PopMessage, tagged, nil))
	eventually(t, "both wait", func() bool { return held(-1, "1")() && held(1, "1")() })
	b.put("T", 0, 1, "TAGS\x01C\x02")
	if got := c.unpack(c.await(whichever), wait); len(got) != 1 || got[0].QueueID != 0 {
		t.Errorf("got %v", bodies(got))
	}
	b.put("T", 1, 1, "TAGS\x01C\x02")
	if !held(1, "1")() {
		t.Error("woken by a tag that it does not want")
	}
	b.put("T", 1, 1, "TAGS\x01B\x02")
	if got := c.unpack(c.await(one), tagged); len(got) != 1 || property(&got[0].Record, "TAGS") != "B" {
		t.Errorf("got %v", bodies(got))
	}

	empty := c.send(c.request(remoting.PopMessage, wait.with("consumerGroup", "H").with("queueId", "0").with("exp", "none"), nil))
	eventually(t, "it waits", func() bool { return b.pop.waits.polling("T", "H", 0) == 1 })
	b.manual.Advance(14 * time.Second)
	if b.pop.waits.polling("T", "H", 0) != 1 {
		t.Error("it gave up early")
	}
	b.manual.Advance(time.Second)
	if a := c.await(empty); a.code != remoting.PollingTimeout {
		t.Errorf("code %d", a.code)
	}

	// A waiting one that has gone does not swallow the message.
	gone, stays := b.dial(), b.dial()
	f := wait.with("consumerGroup", "K").with("queueId", "0").with("bornTime", itoa(b.manual.NowMs()))
	c.ack("K", c.pop(f)...)
	gone.send(gone.request(remoting.PopMessage, f, nil))
	eventually(t, "the first waits", func() bool { return b.pop.waits.polling("T", "K", 0) == 1 })
	second := stays.send(stays.request(remoting.PopMessage, f, nil))
	eventually(t, "the second waits", func() bool { return b.pop.waits.polling("T", "K", 0) == 2 })
	gone.close()
	eventually(t, "the first has gone", func() bool { return b.server.Stats().Connections == 3 })
	b.put("T", 0, 1, "")
	if got := stays.unpack(stays.await(second), f); len(got) != 1 {
		t.Errorf("got %v", bodies(got))
	}
}

// TestPopWaitsAreBounded by popPollingSize.
func TestPopWaitsAreBounded(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.PopPollingSize = 2 }))
	b.create("T", 1)
	c := b.dial()
	wait := popFields("G", "T", 0, 1, time.Second).with("pollTime", "15000")
	var held []<-chan *answer
	for range 3 {
		held = append(held, c.send(c.request(remoting.PopMessage, wait, nil)))
	}
	eventually(t, "three wait", func() bool { return b.pop.waits.polling("T", "G", 0) == 3 })
	c.want(remoting.PollingFull, remoting.PopMessage, wait, nil)
	b.put("T", 0, 3, "")
	for _, ch := range held {
		if a := c.await(ch); a.code != 0 {
			t.Errorf("code %d", a.code)
		}
	}
}

func TestNotification(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	f := fields{"consumerGroup", "G", "topic", "T", "queueId", "-1", "pollTime", "0", "bornTime", "0"}
	if a := c.want(0, remoting.Notification, f, nil); a.ext["hasMsg"] != "false" || a.ext["pollingFull"] != "false" {
		t.Errorf("fields %v", a.ext)
	}
	waiting := c.send(c.request(remoting.Notification, f.with("pollTime", "15000"), nil))
	eventually(t, "it waits", func() bool { return b.pop.notes.polling("T", "G", -1) == 1 })
	b.put("T", 1, 1, "")
	if a := c.await(waiting); a.code != 0 || a.ext["hasMsg"] != "true" {
		t.Errorf("woken: code %d, %v", a.code, a.ext)
	}
	if a := c.want(0, remoting.Notification, f.with("queueId", "1"), nil); a.ext["hasMsg"] != "true" {
		t.Errorf("backlog: %v", a.ext)
	}
	if a := c.want(0, remoting.Notification, f.with("queueId", "0"), nil); a.ext["hasMsg"] != "false" {
		t.Errorf("other queue: %v", a.ext)
	}
	got := c.pop(popFields("G", "T", 1, 1, 5*time.Second))
	if a := c.want(0, remoting.Notification, f, nil); a.ext["hasMsg"] != "false" {
		t.Errorf("all is given out: %v", a.ext)
	}
	// What comes back wakes as well.
	waiting = c.send(c.request(remoting.Notification, f.with("pollTime", "15000"), nil))
	eventually(t, "it waits", func() bool { return b.pop.notes.polling("T", "G", -1) == 1 })
	for range 100 {
		b.manual.Advance(100 * time.Millisecond)
		if b.pop.notes.polling("T", "G", -1) == 0 {
			break
		}
	}
	if a := c.await(waiting); a.ext["hasMsg"] != "true" {
		t.Errorf("%d given out, come back: %v", len(got), a.ext)
	}
}

func TestPeek(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 5, "")
	c := b.dial()
	f := fields{"consumerGroup", "G", "topic", "T", "queueId", "0", "maxMsgNums", "3"}
	for range 2 {
		a := c.want(0, remoting.PeekMessage, f, nil)
		if list := records(t, a.body); len(list) != 3 || string(list[0].Body) != "body 0" || a.ext["restNum"] != "5" {
			t.Errorf("%d messages, rest %s", len(list), a.ext["restNum"])
		}
	}
	if got := c.pop(popFields("G", "T", 0, 32, time.Second)); len(got) != 5 {
		t.Errorf("%d messages left to pop", len(got))
	}
	c.want(remoting.PullNotFound, remoting.PeekMessage, f, nil)
}

package broker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

// TestPopOrdered: a queue's next messages stay back until all before are acknowledged or visible again.
func TestPopOrdered(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 5, "")
	c := b.dial()
	f := popFields("G", "T", 0, 2, 10*time.Second).with("order", "true").with("attemptId", "a1")
	a := c.call(remoting.PopMessage, f, nil)
	if a.ext["reviveQid"] != "999" || a.ext["orderCountInfo"] != "0 0 0" {
		t.Errorf("fields %v", a.ext)
	}
	first := c.unpack(a, f)
	if !slices.Equal(bodies(first), []string{"body 0", "body 1"}) {
		t.Fatalf("got %v", bodies(first))
	}
	if got := c.pop(f); !slices.Equal(bodies(got), []string{"body 0", "body 1"}) {
		t.Errorf("the same attempt got %v", bodies(got))
	}
	other := f.with("attemptId", "a2")
	if got := c.pop(other); len(got) != 0 {
		t.Errorf("another attempt got %v", bodies(got))
	}
	first = c.pop(f)
	// A consumer that waits is woken by the last ack.
	waiting := c.send(c.request(remoting.PopMessage, other.with("pollTime", "15000"), nil))
	eventually(t, "it waits", func() bool { return b.pop.waits.polling("T", "G", 0) == 1 })
	c.ack("G", first[1])
	if offset := b.offsets.committed("G", "T", 0); offset != 0 {
		t.Errorf("committed %d", offset)
	}
	c.ack("G", first[0])
	if offset := b.offsets.committed("G", "T", 0); offset != 2 {
		t.Errorf("committed %d", offset)
	}
	second := c.unpack(c.await(waiting), other)
	if !slices.Equal(bodies(second), []string{"body 2", "body 3"}) {
		t.Fatalf("got %v", bodies(second))
	}
	// One is done with, the other one is given back for 3 s.
	c.ack("G", second[0])
	c.change("G", second[1], 3*time.Second)
	third := f.with("attemptId", "a3")
	b.nothing(c, third, 2900*time.Millisecond)
	var got []popped
	eventually(t, "it is visible again", func() bool {
		b.manual.Advance(10 * time.Millisecond)
		got = c.pop(third.with("maxMsgNums", "1"))
		return len(got) > 0
	})
	if string(got[0].Body) != "body 3" {
		t.Errorf("got %v", bodies(got))
	}
	// Not acknowledged, it is there again after its time, also after a restart, with its count.
	b = b.restart()
	c = b.dial()
	fourth := f.with("attemptId", "a4")
	if got := c.pop(fourth); len(got) != 0 {
		t.Errorf("got %v right after the restart", bodies(got))
	}
	b.manual.Advance(10 * time.Second)
	a = c.call(remoting.PopMessage, fourth, nil)
	if got := c.unpack(a, fourth); !slices.Equal(bodies(got), []string{"body 3", "body 4"}) || !strings.Contains(a.ext["orderCountInfo"], "0 qo0%3 2;") {
		t.Errorf("got %v, counts %q", bodies(got), a.ext["orderCountInfo"])
	}
	c.want(remoting.MessageIllegal, remoting.AckMessage, fields{
		"consumerGroup", "G", "topic", "T", "queueId", "0", "offset", "5", "extraInfo", "3 " + a.ext["popTime"] + " 10000 999 0 broker-a 0 5",
	}, nil)
}

package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
)

// TestPopSurvives a stop and a kill: what is acknowledged stays away, what is not comes back.
func TestPopSurvives(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			b := newTestBroker(t)
			b.create("T", 1)
			b.put("T", 0, 6, "")
			c := b.dial()
			f := popFields("G", "T", 0, 6, 10*time.Second)
			got := c.pop(f)
			c.ack("G", got[0], got[2])
			changed := c.change("G", got[3], 20*time.Second)
			b.manual.Advance(3 * time.Second)
			if killed {
				at := b.manual.Now()
				b.advanceUntil("offsets are written", 100*time.Millisecond, 5*time.Second, func() bool {
					return fileHas(b.mem, "/data/config/consumerOffset.json", "T@G")
				})
				b = startTestBroker(t, b.mem.Clone(), clock.NewManual(at))
			} else {
				b = b.restart()
			}
			c = b.dial()
			c.ack("G", got[4])
			back := b.collect(c, f, 2, 200*time.Millisecond)
			if !slices.Equal(bodies(back), []string{"body 1", "body 5"}) {
				t.Errorf("came back: %v", bodies(back))
			}
			if at := b.manual.Now().Sub(testNow); at < 10*time.Second || at > 14*time.Second {
				t.Errorf("they came back after %v", at)
			}
			c.ack("G", back...)
			if killed {
				c.ack("G", changed)
				b.nothing(c, f, 30*time.Second)
				return
			}
			last := b.collect(c, f, 1, 200*time.Millisecond)
			if string(last[0].Body) != "body 3" {
				t.Errorf("came back: %v", bodies(last))
			}
			c.ack("G", last...)
			b.nothing(c, f, 30*time.Second)
		})
	}
}

// TestPopRetryTopicV2: with enableRetryTopicV2 the retry topic's name is unambiguous.
func TestPopRetryTopicV2(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.EnableRetryTopicV2 = true }))
	b.create("T", 1)
	b.put("T", 0, 1, "")
	c := b.dial()
	f := popFields("G", "T", 0, 6, 5*time.Second)
	c.pop(f)
	back := b.collect(c, f, 1, 100*time.Millisecond)
	if back[0].topic != "%RETRY%G+T" || strings.Split(back[0].handle, " ")[4] != "2" {
		t.Errorf("topic %s, handle %s", back[0].topic, back[0].handle)
	}
	c.ack("G", back...)
	b.nothing(c, f, 30*time.Second)
}

// TestPopWithDelay: a delay or timer property that a message had does not hold it back a second time.
func TestPopWithDelay(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 1, "DELAY\x013\x02TIMER_DELIVER_MS\x011000\x02")
	c := b.dial()
	f := popFields("G", "T", 0, 6, 5*time.Second)
	c.pop(f)
	b.collect(c, f, 1, 100*time.Millisecond)
	if at := b.manual.Now().Sub(testNow); at > 7*time.Second {
		t.Errorf("it came back after %v", at)
	}
}

// TestPopOfDeletedTopic: nothing comes back, nothing fails.
func TestPopOfDeletedTopic(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 3, "")
	c := b.dial()
	f := popFields("G", "T", 0, 6, 5*time.Second)
	c.pop(f)
	c.want(0, remoting.DeleteTopicInBroker, fields{"topic", "T"}, nil)
	b.create("T", 1)
	b.manual.Advance(10 * time.Second)
	b.put("T", 0, 1, "")
	got := c.pop(f)
	if len(got) != 1 || got[0].QueueOffset != 0 || got[0].topic != "T" {
		t.Errorf("got %v", bodies(got))
	}
	if b.topics.get("%RETRY%G_T") != nil && b.count("%RETRY%G_T", 0) > 0 {
		t.Error("messages of the deleted topic came back")
	}
}

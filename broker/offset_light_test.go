package broker

import (
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
)

// TestOffsetsOfLightQueues: with enableLmq offsets lie in lmqConsumerOffset.json in the reference's form, and come from consumerOffset.json the
// first time.
func TestOffsetsOfLightQueues(t *testing.T) {
	light := withConfig(func(c *conf.Config) { c.Store.EnableLMQ, c.Store.EnableMultiDispatch = true, true })
	commit := func(b *testBroker, group, topic, offset string) {
		c := b.dial()
		c.want(0, remoting.PullMessage, pullFields(group, "T", 0, 0), nil) // makes the group
		c.want(0, remoting.UpdateConsumerOffset, fields{"consumerGroup", group, "topic", topic, "queueId", "0", "commitOffset", offset}, nil)
	}
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 3, "")
	commit(b, "G", "T", "2")
	b = b.restart(light)
	if got := b.offsets.committed("G", "T", 0); got != 2 {
		t.Errorf("of consumerOffset.json: %d", got)
	}
	b.offsets.commit("%LMQ%G", "%LMQ%Q", 0, 7, "")
	commit(b, "G", "T", "3")
	b = b.restart(light)
	if g, l := b.offsets.committed("G", "T", 0), b.offsets.committed("%LMQ%G", "%LMQ%Q", 0); g != 3 || l != 7 {
		t.Errorf("committed %d and %d", g, l)
	}
	data, err := vfs.ReadFile(b.mem, "/data/config/lmqConsumerOffset.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\"lmqOffsetTable\":{\n\t\t\"%LMQ%Q@%LMQ%G\":7\n\t}", "\"offsetTable\":{\n\t\t\"T@G\":{0:3}\n\t}"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in\n%s", part, data)
		}
	}
}

package broker

import (
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestConsumerWithALostHeartbeatIsAsked: its first pull is refused as in the reference; it is asked, and its next pull finds messages.
func TestConsumerWithALostHeartbeatIsAsked(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 1, "a\x017\x02")
	c := b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", sqlSub("T", "a > 9", 5)))
	pull := pullFields("G", "T", 0, 0).with("sysFlag", "0").with("subVersion", "6")
	for queue := range 2 {
		c.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pull.with("queueId", itoa(queue)), nil)
	}
	a := c.awaitAsked(remoting.GetConsumerRunningInfo)
	if a.ext["consumerGroup"] != "G" || a.ext["clientId"] != "c" || a.ext["jstackEnable"] != "false" {
		t.Errorf("asked with %v", a.ext)
	}
	if n := c.askedCount(remoting.GetConsumerRunningInfo); n != 0 {
		t.Errorf("asked %d times more for the other queue", n)
	}
	c.reply(a, body.Encode(&body.ConsumerRunningInfo{SubscriptionSet: []body.SubscriptionData{sqlSub("T", "a > 5", 6), tagSub("U", "*", 6)}}))
	eventually(t, "the subscription is learned", func() bool { return c.call(remoting.PullMessage, pull, nil).code == 0 })
	if sub, _ := b.consumers.lookup("G", "U"); sub != nil {
		t.Error("a topic came without a heartbeat")
	}
	// Not again at once; later, when it is needed again.
	c.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pull.with("subVersion", "7"), nil)
	b.manual.Advance(3 * time.Second)
	c.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pull.with("subVersion", "7"), nil)
	c.reply(c.awaitAsked(remoting.GetConsumerRunningInfo), []byte("not what was asked for"))
	c.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pull.with("subVersion", "7"), nil)
}

// TestStrangersAreNotAsked: a connection that is no member of the group.
func TestStrangersAreNotAsked(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	member, stranger := b.dial(), b.dial()
	member.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 5)))
	stranger.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pullFields("G", "T", 0, 0).with("sysFlag", "0").with("subVersion", "6"), nil)
	stranger.want(remoting.SubscriptionNotLatest, remoting.PullMessage, pullFields("G", "T", 0, 0).with("sysFlag", "0").with("subVersion", "6"), nil)
	if n := member.askedCount(remoting.GetConsumerRunningInfo) + stranger.askedCount(remoting.GetConsumerRunningInfo); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

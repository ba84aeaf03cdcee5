package broker

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func lockBody(group, clientID string, queues ...int32) []byte {
	l := body.LockBatchRequest{ConsumerGroup: group, ClientID: clientID}
	for _, q := range queues {
		l.MessageQueues = append(l.MessageQueues, body.MessageQueue{Topic: "T", BrokerName: "broker-a", QueueID: q})
	}
	return body.Encode(&l)
}

// lock asks for queues and gives the ids of those granted.
func (c *testClient) lock(group, clientID string, queues ...int32) []int32 {
	c.t.Helper()
	a := c.want(0, remoting.LockBatchMQ, nil, lockBody(group, clientID, queues...))
	var reply struct {
		LockOKMQSet []struct {
			QueueID int32
			Topic   string
		}
	}
	if err := json.Unmarshal(a.body, &reply); err != nil {
		c.t.Fatal(err)
	}
	ids := []int32{}
	for _, q := range reply.LockOKMQSet {
		ids = append(ids, q.QueueID)
	}
	slices.Sort(ids)
	return ids
}

func (c *testClient) unlock(group, clientID string, queues ...int32) {
	c.t.Helper()
	c.want(0, remoting.UnlockBatchMQ, nil, lockBody(group, clientID, queues...))
}

// TestQueueLocks: scenario R-22.
func TestQueueLocks(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	check := func(what string, got, want []int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("all are free", one.lock("G", "A", 0, 1, 2, 3), []int32{0, 1, 2, 3})
	one.unlock("G", "A", 2)
	check("what the other gave up", two.lock("G", "B", 0, 1, 2, 3), []int32{2})
	two.unlock("G", "B", 0)
	check("not unlocked by a stranger", two.lock("G", "B", 0), []int32{})
	check("its own again", one.lock("G", "A", 0, 1), []int32{0, 1})
	check("another group", two.lock("H", "B", 0), []int32{0})
	one.unlock("G", "A", 7)
	one.unlock("None", "A", 7)
	b.manual.Advance(59 * time.Second)
	check("kept alive", one.lock("G", "A", 0), []int32{0})
	b.manual.Advance(2 * time.Second)
	check("expired and alive", two.lock("G", "B", 0, 1), []int32{1})
}

// TestLocksOfAClientThatLeaves are free at once.
func TestLocksOfAClientThatLeaves(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	one.want(0, remoting.HeartBeat, nil, heartbeatOf("A", "G", tagSub("T", "*", 1)))
	one.lock("G", "A", 0, 1)
	one.want(0, remoting.UnregisterClient, fields{"clientID", "A", "consumerGroup", "G"}, nil)
	if got := two.lock("G", "B", 0, 1); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

// TestLocksOfAClientThatIsGone are free within 5 s of its last connection's end, and its group is told to ask for them.
func TestLocksOfAClientThatIsGone(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	one.want(0, remoting.HeartBeat, nil, heartbeatOf("A", "G", tagSub("T", "*", 1)))
	two.want(0, remoting.HeartBeat, nil, heartbeatOf("B", "G", tagSub("T", "*", 1)))
	one.lock("G", "A", 0, 1)
	one.close()
	eventually(t, "A is gone", func() bool { return len(b.consumers.members("G")) == 1 })
	if got := two.lock("G", "B", 0, 1); len(got) != 0 {
		t.Errorf("free at once: %v", got)
	}
	eventually(t, "B is told that A is gone", func() bool { return two.askedCount(remoting.NotifyConsumerIDsChanged) > 0 })
	before := two.askedCount(remoting.NotifyConsumerIDsChanged)
	b.manual.Advance(5 * time.Second)
	eventually(t, "B is told that the queues are free", func() bool { return two.askedCount(remoting.NotifyConsumerIDsChanged) > before })
	if got := two.lock("G", "B", 0, 1); len(got) != 2 {
		t.Errorf("after 5 s: %v", got)
	}
}

// TestLocksOfAClientThatComesBack stay its own, and go with its new connection.
func TestLocksOfAClientThatComesBack(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	one.want(0, remoting.HeartBeat, nil, heartbeatOf("A", "G", tagSub("T", "*", 1)))
	one.lock("G", "A", 0)
	one.close()
	eventually(t, "A is gone", func() bool { return len(b.consumers.members("G")) == 0 })
	again := b.dial()
	again.want(0, remoting.HeartBeat, nil, heartbeatOf("A", "G", tagSub("T", "*", 1)))
	b.manual.Advance(5 * time.Second)
	b.manual.Advance(5 * time.Second)
	if got := two.lock("G", "B", 0); len(got) != 0 {
		t.Errorf("B got %v", got)
	}
	again.close()
	eventually(t, "A is gone again", func() bool { return len(b.consumers.members("G")) == 0 })
	b.manual.Advance(5 * time.Second)
	eventually(t, "B gets the queue", func() bool { return len(two.lock("G", "B", 0)) == 1 })
}

func TestBadLockRequests(t *testing.T) {
	c := newTestBroker(t).dial()
	for _, code := range []int32{remoting.LockBatchMQ, remoting.UnlockBatchMQ} {
		c.want(1, code, nil, []byte(`{"mqSet":[`))
		c.want(0, code, nil, nil)
	}
}

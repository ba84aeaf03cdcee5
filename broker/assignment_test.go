package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/namesrv"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// idsOf lists queues as text.
func idsOf(queues []body.MessageQueue) string {
	var ids []string
	for _, q := range queues {
		ids = append(ids, itoa(q.QueueID))
	}
	return strings.Join(ids, " ")
}

// TestStrategies compares with AllocateMessageQueueAveragely, its circle, and QueryAssignmentProcessor#allocate4Pop.
func TestStrategies(t *testing.T) {
	queues := make([]body.MessageQueue, 8)
	for i := range queues {
		queues[i] = queue("T", int32(i))
	}
	for _, want := range []struct {
		name    string
		members int
		shares  []string
	}{
		{"AVG", 3, []string{"0 1 2", "3 4 5", "6 7"}},
		{"AVG", 8, []string{"0", "1", "2", "3", "4", "5", "6", "7"}},
		{"AVG", 10, []string{"0", "1", "2", "3", "4", "5", "6", "7", "", ""}},
		{"AVG_BY_CIRCLE", 3, []string{"0 3 6", "1 4 7", "2 5"}},
		{"AVG_BY_CIRCLE", 10, []string{"0", "1", "2", "3", "4", "5", "6", "7", "", ""}},
	} {
		share, ok := strategies(want.name)
		if !ok {
			t.Fatal(want.name)
		}
		for i, ids := range want.shares {
			if got := idsOf(share(i, queues, want.members)); got != ids {
				t.Errorf("%s, %d of %d: %q, want %q", want.name, i, want.members, got, ids)
			}
		}
		if got := share(-1, queues, want.members); len(got) != 0 {
			t.Errorf("%s: who is not a member gets %v", want.name, got)
		}
	}
	if _, ok := strategies("CONFIG"); ok {
		t.Error("CONFIG is known")
	}
	share, _ := strategies("AVG")
	members := []string{"a", "b", "c", "d"}
	for _, want := range []struct {
		client string
		queues int
		shared int
		ids    string
	}{
		{"b", 8, 0, "-1"}, {"b", 8, 3, "-1"}, {"b", 8, 1, "2 3 4 5"}, {"d", 8, 1, "6 7 0 1"}, {"x", 8, 1, ""}, {"d", 3, 1, "0"}, {"c", 3, 1, "2"},
	} {
		if got := idsOf(shareForPop(share, want.client, queues[:want.queues], members, want.shared)); got != want.ids {
			t.Errorf("%s of 4, %d queues, shared %d: %q, want %q", want.client, want.queues, want.shared, got, want.ids)
		}
	}
}

// TestQueryAssignment: members of a group share the queues; the mode is as set, also after a restart.
func TestQueryAssignment(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 4)
	c, other := b.dial(), b.dial()
	ask := func(change func(*body.QueryAssignment)) (string, *body.QueryAssignmentReply) {
		t.Helper()
		q := body.QueryAssignment{Topic: "T", ConsumerGroup: "G", ClientID: "c-1", StrategyName: "AVG", MessageModel: body.Clustering}
		if change != nil {
			change(&q)
		}
		reply := decoded[body.QueryAssignmentReply](t, c.want(0, remoting.QueryAssignment, nil, body.Encode(&q)))
		var ids []string
		for _, a := range reply.Assignments {
			ids = append(ids, fmt.Sprintf("%s%d", a.Mode, a.MessageQueue.QueueID))
		}
		slices.Sort(ids)
		return strings.Join(ids, " "), reply
	}
	if got, _ := ask(nil); got != "" {
		t.Errorf("without members: %q", got)
	}
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c-1", "G", tagSub("T", "*", 1)))
	if got, _ := ask(nil); got != "PULL0 PULL1 PULL2 PULL3" {
		t.Errorf("alone: %q", got)
	}
	other.want(0, remoting.HeartBeat, nil, heartbeatOf("c-2", "G", tagSub("T", "*", 1)))
	if got, _ := ask(nil); got != "PULL0 PULL1" {
		t.Errorf("one of two: %q", got)
	}
	if got, _ := ask(func(q *body.QueryAssignment) { q.StrategyName = "AVG_BY_CIRCLE" }); got != "PULL0 PULL2" {
		t.Errorf("in turn: %q", got)
	}
	if got, _ := ask(func(q *body.QueryAssignment) { q.MessageModel = body.Broadcasting }); got != "PULL0 PULL1 PULL2 PULL3" {
		t.Errorf("broadcasting: %q", got)
	}
	if _, reply := ask(func(q *body.QueryAssignment) { q.Topic = "X" }); reply.Assignments != nil {
		t.Errorf("unknown topic: %v", reply.Assignments)
	}
	set := body.SetMessageRequestMode{Topic: "T", ConsumerGroup: "G", Mode: body.ModePop}
	c.want(0, remoting.SetMessageRequestMode, nil, body.Encode(&set))
	if got, _ := ask(nil); got != "POP-1" {
		t.Errorf("pop: %q", got)
	}
	set.Topic = "%RETRY%G"
	if a := c.call(remoting.SetMessageRequestMode, nil, body.Encode(&set)); a.code != 16 || !strings.Contains(a.remark, "retry topic") {
		t.Errorf("code %d, remark %q", a.code, a.remark)
	}
	c.want(1, remoting.SetMessageRequestMode, nil, []byte("{"))
	c.want(1, remoting.QueryAssignment, nil, []byte("{"))
	b = b.restart()
	c = b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c-1", "G", tagSub("T", "*", 1)))
	if got, _ := ask(nil); got != "POP-1" {
		t.Errorf("after a restart: %q", got)
	}
	all := decoded[body.MessageRequestModeTable](t, c.want(0, remoting.GetAllMessageRequestMode, nil, nil))
	if all.Modes["T"]["G"].Mode != body.ModePop {
		t.Errorf("%+v", all)
	}
}

// TestAssignmentInCluster: the queues of other brokers are shared out too, known from a name server in the process or over the wire.
func TestAssignmentInCluster(t *testing.T) {
	names, err := namesrv.New(namesrv.Options{
		Config: conf.Default(), Log: newTables(t, nil).log, Clock: clock.NewManual(testNow), FS: vfs.NewMem(), Addrs: []string{"127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := names.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := names.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	named := func(name string) brokerOption {
		return withConfig(func(c *conf.Config) { c.Broker.BrokerName, c.Broker.NamesrvAddr = name, names.Addr().String() })
	}
	first, second := newTestBroker(t, named("broker-a")), newTestBroker(t, named("broker-b"))
	inProcess := newTestBroker(t, func(o *Options) { o.Config.Broker.BrokerName, o.NameServers = "broker-c", []NameServer{names} })
	for i, b := range []*testBroker{first, second, inProcess} {
		b.create("T", int32(i+1))
	}
	eventually(t, "all brokers are registered", func() bool {
		for _, b := range []*testBroker{first, second} {
			b.manual.Advance(100 * time.Millisecond)
		}
		route := names.Route("T")
		return route != nil && len(route.QueueDatas) == 3
	})
	first.manual.Advance(time.Minute) // what was known before is forgotten
	for _, b := range []*testBroker{first, second, inProcess} {
		var queues []string
		for _, q := range sortedQueues(b.readableQueues("T")) {
			queues = append(queues, q.BrokerName+itoa(q.QueueID))
		}
		if got, want := strings.Join(queues, " "), "broker-a0 broker-b0 broker-b1 broker-c0 broker-c1 broker-c2"; got != want {
			t.Errorf("%s knows %s, want %s", b.config().Broker.BrokerName, got, want)
		}
		if got := b.readableQueues("X"); got != nil {
			t.Errorf("%s: queues of an unknown topic: %v", b.config().Broker.BrokerName, got)
		}
	}
}

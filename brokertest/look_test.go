package brokertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

func TestLooks(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:2"), brokertest.WithFrozenClock(), brokertest.WithMessages(
		brokertest.Message{Topic: "x", Body: []byte("1")}.OnQueue(1), brokertest.Message{Topic: "x", Body: []byte("2")}.OnQueue(1)))
	at := b.Clock.Now()
	_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("level"), DelayLevel: 3},
		brokertest.Message{Topic: "x", Body: []byte("level"), DelayLevel: 2}, brokertest.Message{Topic: "x", Body: []byte("timer"), DeliverAt: at.Add(time.Hour)})
	must(t, err)
	r := newRaw(t, b)
	beat := remoting.NewRequest(remoting.HeartBeat, nil)
	beat.Body = []byte(`{"clientID":"me","consumerDataSet":[{"groupName":"g","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",` +
		`"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{"topic":"x","subString":"*","subVersion":1,"expressionType":"TAG"}],` +
		`"unitMode":false}],"producerDataSet":[{"groupName":"p"}]}`)
	r.call(beat)
	must(t, b.WaitMembers(within(t), "g", 1))
	must(t, b.WaitProducers(within(t), "p", 1))
	if lag, err := b.Lag("g"); err != nil || lag != 2 {
		t.Errorf("lag %d, %v, want 2", lag, err)
	}
	r.call(remoting.NewRequest(remoting.UpdateConsumerOffset, &remoting.UpdateConsumerOffsetRequestHeader{ConsumerGroup: "g", Topic: "x", QueueID: 1, CommitOffset: 1}))
	offsets, err := b.Offsets("g")
	must(t, err)
	if len(offsets) < 2 || offsets[0].Topic != "x" || offsets[0].Committed != -1 || offsets[0].Lag() != 0 || offsets[1].Committed != 1 || offsets[1].Max != 2 || offsets[1].Lag() != 1 {
		t.Errorf("offsets: %+v", offsets)
	}
	must(t, b.WaitLag(within(t), "g", 1))
	if lag, err := b.Lag("nobody"); err != nil || lag != -1 {
		t.Errorf("lag of a group that is not known: %d, %v", lag, err)
	}
	delayed, err := b.WaitDelayed(within(t), 2)
	must(t, err)
	if delayed[0].Level != 2 || delayed[0].Topic != "x" || delayed[1].Level != 3 || delayed[1].Due.UnixMilli()-at.UnixMilli() != 10_000 {
		t.Errorf("delayed: %v", delayed)
	}
	half := sendRequest("x", "p")
	half.Header = &remoting.SendMessageRequestHeader{
		ProducerGroup: "p", Topic: "x", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, SysFlag: 4,
		Properties: "TRAN_MSG\x01true\x02PGROUP\x01p\x02UNIQ_KEY\x01half\x02",
	}
	r.call(half)
	must(t, b.WaitUndecided(within(t), 1))
	must(t, b.Wait(within(t), "the timer to be enqueued", func() (any, bool) {
		p, err := b.Pending(t.Context())
		return err, err == nil && p.Timers.Total == 1
	}))
	p, err := b.Pending(t.Context())
	must(t, err)
	if len(p.Levels) != 2 || len(p.Transactions) != 1 || p.Transactions[0].UniqueKey != "half" || p.Transactions[0].Topic != "x" || p.Transactions[0].ProducerGroup != "p" {
		t.Errorf("pending: %+v", p)
	}
	seen := b.Seen()
	for _, want := range []string{"topic x: 2 messages", "group g: me (JAVA ", "x/1 committed 1 of 2", "delay level 3: 1 wait", "timers: next due", "undecided transaction half of p to x", "HEART_BEAT"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not in\n%s", want, seen)
		}
	}
	must(t, b.Stop(t.Context()))
	for what, err := range map[string]error{
		"messages": second(b.Messages("x")), "offsets": second(b.Offsets("g")), "delayed": second(b.Delayed()), "pending": second(b.Pending(t.Context())),
		"members": second(b.Members("g")), "lag": second(b.Lag("g")), "create": b.CreateTopics("y"), "groups": b.CreateGroups("y"),
		"send": second(b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m")})), "kill": b.Kill(),
	} {
		if err == nil {
			t.Errorf("%s of a stopped broker: no error", what)
		}
	}
	if !strings.Contains(b.Seen(), "the broker is stopped") {
		t.Error(b.Seen())
	}
}

func second[T any](_ T, err error) error { return err }

func TestAdvertiseTellsAnotherAddress(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	must(t, b.Advertise(within(t), "127.0.0.1:4711"))
	r := newRaw(t, b)
	r.addr = b.NamesrvAddr()
	route := r.call(remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "x"}))
	if !strings.Contains(string(route.Body), `"0":"127.0.0.1:4711"`) || b.Addr() != "127.0.0.1:4711" {
		t.Errorf("route %s, address %s", route.Body, b.Addr())
	}
	_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m")}) // it knows where the broker really is
	must(t, err)
}

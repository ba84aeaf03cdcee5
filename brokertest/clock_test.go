package brokertest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestTwoHoursOfDelayPassInMilliseconds(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("orders:1"))
	p := newProducer(t, b)
	in, _ := consume(t, b, "shop", "orders", nil)
	must(t, b.WaitMembers(within(t), "shop", 1))

	for name, set := range map[string]func(*primitive.Message){
		"delay level": func(m *primitive.Message) { m.WithDelayTimeLevel(18) },
		"timer": func(m *primitive.Message) {
			m.WithProperty("TIMER_DELIVER_MS", fmt.Sprint(b.Clock.Now().Add(2*time.Hour).UnixMilli()))
		},
	} {
		before := len(in.got())
		m := primitive.NewMessage("orders", []byte(name))
		set(m)
		_, err := p.SendSync(t.Context(), m)
		must(t, err)
		b.Clock.Advance(2*time.Hour - 5*time.Second)
		if got := in.got(); len(got) != before {
			t.Fatalf("%s: came before its time: %v", name, got)
		}
		begun := time.Now()
		b.Clock.Advance(10 * time.Second)
		got := in.wait(t, b, before+1)
		t.Logf("%s: consumed %v after the clock was moved", name, time.Since(begun))
		if got[before] != name {
			t.Errorf("%s: got %v", name, got)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestAdvanceDeliversInOrderAndAtTheirTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithTime(at), brokertest.WithFrozenClock())
	sent := []struct {
		body  string
		level int
		after time.Duration
	}{
		{"20 min", 15, 20 * time.Minute}, {"1 s", 1, time.Second}, {"2 h", 18, 2 * time.Hour}, {"5 min", 9, 5 * time.Minute},
		{"timer 90 s", 0, 90 * time.Second}, {"timer 110 min", 0, 110 * time.Minute},
	}
	for _, s := range sent {
		m := brokertest.Message{Topic: "x", Body: []byte(s.body), DelayLevel: s.level}
		if s.level == 0 {
			m.DeliverAt = at.Add(s.after)
		}
		_, err := b.Send(t.Context(), m)
		must(t, err)
	}
	begun := time.Now()
	b.Clock.Advance(3 * time.Hour)
	t.Log(time.Since(begun))
	got, err := b.Messages("x")
	must(t, err)
	slices.SortFunc(sent, func(a, b struct {
		body  string
		level int
		after time.Duration
	}) int {
		return int(a.after - b.after)
	})
	if len(got) != len(sent) {
		t.Fatalf("%d messages, want %d: %v", len(got), len(sent), got)
	}
	for i, s := range sent {
		late := got[i].StoreTime.Sub(at.Add(s.after))
		if string(got[i].Body) != s.body || late < 0 || late > time.Second {
			t.Errorf("number %d is %q, stored at %v; want %q at %v", i, got[i].Body, got[i].StoreTime.Sub(at), s.body, s.after)
		}
	}
	if now := b.Clock.Now(); !now.Equal(at.Add(3 * time.Hour)) {
		t.Errorf("the clock stands at %v", now)
	}
}

func TestRetryLadderFollowsTheClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g:3"), brokertest.WithMessages(
		brokertest.Message{Topic: "x", Body: []byte("m")}))
	in, _ := consume(t, b, "g", "x", func(*primitive.MessageExt) consumer.ConsumeResult { return consumer.ConsumeRetryLater },
		consumer.WithMaxReconsumeTimes(3))
	for i, pause := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute} {
		in.wait(t, b, i+1)
		waiting, err := b.WaitDelayed(within(t), 1)
		must(t, err)
		if left := waiting[0].Due.Sub(b.Clock.Now()); left > pause || left < pause-5*time.Second {
			t.Errorf("attempt %d comes again in %v, want about %v", i+1, left, pause)
		}
		b.Clock.Advance(pause)
	}
	in.wait(t, b, 4)
	dead, err := b.WaitMessages(within(t), "%DLQ%g", 1)
	must(t, err)
	if string(dead[0].Body) != "m" {
		t.Errorf("dead letters: %v", dead)
	}
}

// outbox is a transaction listener that leaves everything undecided until it is asked.
type outbox struct {
	asked  chan string
	answer primitive.LocalTransactionState
}

func (o *outbox) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.UnkonwnState
}

func (o *outbox) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	o.asked <- string(m.Body)
	return o.answer
}

func TestTransactionCheckFollowsTheClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	o := &outbox{asked: make(chan string, 10), answer: primitive.CommitMessageState}
	p, err := rocketmq.NewTransactionProducer(o, producer.WithNameServer([]string{b.NamesrvAddr()}), producer.WithGroupName("tx"),
		producer.WithInstanceName(instance()))
	must(t, err)
	must(t, p.Start())
	t.Cleanup(func() { _ = p.Shutdown() })
	_, err = p.SendMessageInTransaction(t.Context(), primitive.NewMessage("x", []byte("m")))
	must(t, err)
	must(t, b.WaitUndecided(within(t), 1))
	must(t, b.WaitProducers(within(t), "tx", 1))
	select {
	case <-o.asked:
		t.Fatal("asked before its time")
	default:
	}
	b.Clock.Advance(time.Minute)
	select {
	case body := <-o.asked:
		if body != "m" {
			t.Errorf("asked about %q", body)
		}
	case <-within(t).Done():
		t.Fatalf("not asked\n%s", b.Seen())
	}
	got, err := b.WaitMessages(within(t), "x", 1)
	must(t, err)
	must(t, b.WaitUndecided(within(t), 0))
	if string(got[0].Body) != "m" {
		t.Errorf("got %v", got)
	}
}

func TestQueueLocksExpireWithTheClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	r := newRaw(t, b)
	lock := func(client string) int {
		request := remoting.NewRequest(remoting.LockBatchMQ, nil)
		request.Body = fmt.Appendf(nil, `{"consumerGroup":"g","clientId":%q,"mqSet":[{"brokerName":"broker-a","queueId":0,"topic":"x"}]}`, client)
		reply, err := body.Decode[body.LockBatchReply](r.call(request).Body)
		must(t, err)
		return len(reply.LockOKMessageQueues)
	}
	if lock("a") != 1 || lock("b") != 0 {
		t.Fatal("the first one gets the lock, and the second does not")
	}
	b.Clock.Advance(59 * time.Second)
	if lock("b") != 0 {
		t.Fatal("the lock expired early")
	}
	b.Clock.Advance(2 * time.Second)
	if lock("b") != 1 {
		t.Fatal("the lock did not expire")
	}
	if b.ExpireLocks("g") != 1 || lock("a") != 1 {
		t.Fatal("ExpireLocks leaves the lock")
	}
}

func TestPopInvisibleTimeFollowsTheClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"),
		brokertest.WithMessages(brokertest.Message{Topic: "x", Body: []byte("m")}))
	r := newRaw(t, b)
	pop := func() int32 {
		return r.call(remoting.NewRequest(remoting.PopMessage, &remoting.PopMessageRequestHeader{
			ConsumerGroup: "g", Topic: "x", QueueID: -1, MaxMsgNums: 1, InvisibleTime: 60_000, BornTime: b.Clock.Now().UnixMilli(),
			ExpType: "TAG", Exp: "*",
		})).Code
	}
	if code := pop(); code != remoting.Success {
		t.Fatalf("first pop: %s", remoting.ResponseName(code))
	}
	if code := pop(); code == remoting.Success {
		t.Fatal("popped twice within its invisible time")
	}
	b.Clock.Advance(61 * time.Second)
	must(t, b.Wait(within(t), "the message to be there again, pop answers %v", func() (any, bool) {
		code := pop()
		return remoting.ResponseName(code), code == remoting.Success
	}))
}

func TestRetentionFollowsTheClock(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithConfig("mappedFileSizeCommitLog", "65536"))
	var messages []brokertest.Message
	for range 30 {
		messages = append(messages, brokertest.Message{Topic: "x", Body: make([]byte, 10_000)})
	}
	_, err := b.Send(t.Context(), messages...)
	must(t, err)
	b.Clock.Advance(71 * time.Hour)
	if all, err := b.Messages("x"); err != nil || len(all) != 30 {
		t.Fatalf("%d messages after 71 hours, %v", len(all), err)
	}
	for range 5 {
		b.Clock.Advance(time.Hour)
	}
	must(t, b.Wait(within(t), "old files to be deleted, %v messages are left", func() (any, bool) {
		b.Clock.Advance(time.Minute)
		all, err := b.Messages("x")
		return len(all), err == nil && len(all) < 10
	}))
}

func TestFrozenClockStandsStill(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithFrozenClock(), brokertest.WithTopics("x:1"))
	at := b.Clock.Now()
	_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m"), DelayLevel: 1})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Clock.Sleep(ctx, time.Millisecond); err == nil || !b.Clock.Now().Equal(at) || !b.Clock.Frozen() {
		t.Fatalf("the clock went on from %v to %v", at, b.Clock.Now())
	}
	b.Clock.Run()
	if _, err := b.WaitMessages(within(t), "x", 1); err != nil {
		t.Fatal(err)
	}
	b.Clock.Freeze()
	at = b.Clock.Now()
	b.Clock.Set(at.Add(-time.Hour))
	if got := b.Clock.Now(); !got.Equal(at.Add(-time.Hour)) {
		t.Errorf("set back by an hour: %v, want an hour before %v", got, at)
	}
	b.Clock.Set(at.Add(time.Hour))
	if got := b.Clock.Now(); !got.Equal(at.Add(time.Hour)) {
		t.Errorf("set forward: %v, want an hour after %v", got, at)
	}
}

func TestSystemClockCannotBeMoved(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithSystemClock())
	if d := time.Since(b.Clock.Now()); d < 0 || d > time.Minute {
		t.Errorf("the clock is %v off", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	b.Clock.Advance(time.Second)
}

//go:build !race

package brokertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketd/rocketd/brokertest"
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
	p := newTransactionProducer(t, b, o)
	_, err := p.SendMessageInTransaction(t.Context(), primitive.NewMessage("x", []byte("m")))
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

//go:build !race

package brokertest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// The Go producer tries again what it got no answer to, and only that: a busy broker's answer is the caller's to handle.
func TestGoProducerReportsABusyBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	p := newProducer(t, b, producer.WithRetry(2))
	busy := b.Busy(brokertest.First(1), brokertest.ForTopic("x"))
	if _, err := p.SendSync(t.Context(), message("x", "m")); err == nil || !strings.Contains(err.Error(), "system busy") || busy.Seen() != 1 {
		t.Errorf("%v after %d tries, want the broker's answer after one", err, busy.Seen())
	}
	_, err := p.SendSync(t.Context(), message("x", "m"))
	must(t, err)
	list, err := b.Messages("x")
	must(t, err)
	if len(list) != 1 {
		t.Errorf("stored: %v", list)
	}
}

func TestGoConsumerOutlastsABusyBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"), brokertest.WithMessages(
		brokertest.Message{Topic: "x", Body: []byte("m")}))
	busy := b.Busy(brokertest.First(1), brokertest.ForTopic("x"))
	in, _ := consume(t, b, "g", "x", nil)
	must(t, busy.Wait(within(t), 1))
	in.wait(t, b, 1)
}

func TestALostAnswerMakesADuplicate(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*brokertest.Broker) *brokertest.Rule{
		"timeout":           func(b *brokertest.Broker) *brokertest.Rule { return b.LoseSendAnswers(brokertest.Nth(1)) },
		"connection closed": func(b *brokertest.Broker) *brokertest.Rule { return b.BreakSendAnswers(brokertest.Nth(1)) },
		"cut in mid-frame": func(b *brokertest.Broker) *brokertest.Rule {
			return b.OnSend(brokertest.Always(brokertest.CutAnswer(30)), brokertest.Nth(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"))
			p := newProducer(t, b, producer.WithRetry(2), producer.WithSendMsgTimeout(500*time.Millisecond))
			rule := lose(b)
			sent, err := p.SendSync(t.Context(), message("x", "m"))
			must(t, err)
			must(t, rule.Wait(within(t), 1))
			list, err := b.Messages("x")
			must(t, err)
			if len(list) != 2 || list[0].ID != list[1].ID || list[0].ID != sent.MsgID {
				t.Errorf("stored %v, want two with the id %s", list, sent.MsgID)
			}
			in, _ := consume(t, b, "g", "x", nil)
			if got := in.wait(t, b, 2); !slices.Equal(got, []string{"m", "m"}) {
				t.Errorf("consumed %v", got)
			}
		})
	}
}

// The Go consumer does not notice at once that the connection under a pull has closed: the queue goes on when the pull's timeout of 30 s is
// over, at the latest.
func TestGoConsumerOutlastsBrokenPulls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	waiting := map[string]func() error{} // all at once: each takes half a minute
	for name, d := range map[string]brokertest.Decision{
		"closed":              brokertest.Close(),
		"closed in mid-frame": brokertest.CloseMidFrame(),
		"answer cut":          brokertest.CutAnswer(40),
		"answer lost":         brokertest.DropAnswer(),
	} {
		b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"), brokertest.WithMessages(
			brokertest.Message{Topic: "x", Body: []byte("m")}))
		rule := b.OnPull(brokertest.Always(d), brokertest.ForTopic("x"), brokertest.First(1))
		in, _ := consume(t, b, "g", "x", nil)
		must(t, rule.Wait(within(t), 1))
		waiting[name] = func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			defer cancel()
			return b.Wait(ctx, "the message to be consumed", func() (any, bool) { return nil, len(in.got()) > 0 })
		}
	}
	for name, wait := range waiting {
		if err := wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASlowDiskTimesOutSyncFlush(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithConfig("flushDiskType", "SYNC_FLUSH"),
		brokertest.WithConfig("syncFlushTimeout", "100"))
	p := newProducer(t, b)
	sent, err := p.SendSync(t.Context(), message("x", "quick"))
	must(t, err)
	if sent.Status != primitive.SendOK {
		t.Errorf("status %v", sent.Status)
	}
	b.SlowDisk(1500 * time.Millisecond)
	sent, err = p.SendSync(t.Context(), message("x", "slow"))
	must(t, err)
	if sent.Status != primitive.SendFlushDiskTimeout {
		t.Errorf("status %v, want SendFlushDiskTimeout", sent.Status)
	}
	b.HealDisk()
	must(t, b.Wait(within(t), "a send in time, status %v", func() (any, bool) {
		sent, err := p.SendSync(t.Context(), message("x", "again"))
		if err != nil {
			return err, false
		}
		return sent.Status, sent.Status == primitive.SendOK
	}))
}

func TestAFlushThatFailsEndsWriting(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithConfig("flushDiskType", "SYNC_FLUSH"))
	p := newProducer(t, b, producer.WithRetry(0))
	_, err := p.SendSync(t.Context(), message("x", "before"))
	must(t, err)
	b.FailFlush()
	for range 2 {
		if sent, err := p.SendSync(t.Context(), message("x", "m")); err == nil {
			t.Errorf("sent on a broken disk: %v", sent)
		}
	}
	b.HealDisk()
	if sent, err := p.SendSync(t.Context(), message("x", "m")); err == nil {
		t.Errorf("sent though the store must be opened anew: %v", sent)
	}
	must(t, b.Kill())
	must(t, b.Resume(within(t)))
	must(t, b.Wait(within(t), "a send after the restart: %v", func() (any, bool) {
		_, err := p.SendSync(t.Context(), message("x", "after"))
		return err, err == nil
	}))
	list, err := b.Messages("x")
	must(t, err)
	if got := bodies(list); got[0] != "before" || got[len(got)-1] != "after" {
		t.Errorf("stored %v", got)
	}
}

func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*brokertest.Broker){"full": (*brokertest.Broker).FillDisk, "failing": (*brokertest.Broker).FailWrites} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithMessages(brokertest.Message{Topic: "x", Body: []byte("first")}))
			p := newProducer(t, b, producer.WithRetry(0))
			fill(b)
			_, err := p.SendSync(t.Context(), message("x", "lost"))
			if err == nil {
				t.Fatal("sent")
			}
			t.Log(err)
			b.HealDisk()
			must(t, b.Wait(within(t), "sends to work again: %v", func() (any, bool) {
				b.Clock.Advance(time.Second)
				_, err := p.SendSync(t.Context(), message("x", "second"))
				return err, err == nil
			}))
			list, err := b.Messages("x")
			must(t, err)
			if got := bodies(list); !slices.Equal(got, []string{"first", "second"}) {
				t.Errorf("stored %v", got)
			}
		})
	}
}

func TestClientsThatKnowTheRouteOutlastTheNameServer(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*testing.T, *brokertest.Broker) (back func()){
		"stopped": func(t *testing.T, b *brokertest.Broker) func() {
			t.Helper()
			must(t, b.StopNamesrv(within(t)))
			return func() { must(t, b.ResumeNamesrv(within(t))) }
		},
		"closing": func(t *testing.T, b *brokertest.Broker) func() {
			t.Helper()
			return b.NamesrvAway().Remove
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, brokertest.WithTopics("x:1", "y:1"))
			p := newProducer(t, b, producer.WithRetry(0))
			_, err := p.SendSync(t.Context(), message("x", "1"))
			must(t, err)
			back := away(t, b)
			if _, err := p.SendSync(t.Context(), message("x", "2")); err != nil {
				t.Errorf("a known route: %v", err)
			}
			if _, err := p.SendSync(t.Context(), message("y", "1")); err == nil {
				t.Error("an unknown route: no error")
			}
			back()
			must(t, b.Wait(within(t), "a send to the other topic: %v", func() (any, bool) {
				_, err := p.SendSync(t.Context(), message("y", "2"))
				return err, err == nil
			}))
		})
	}
}

func TestAFlappingGroupLosesNothing(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:4"), brokertest.WithGroups("g"))
	one, _ := consume(t, b, "g", "x", nil)
	two, _ := consume(t, b, "g", "x", nil)
	must(t, b.WaitMembers(within(t), "g", 2))
	flap := b.FlapConsumers("g")
	for i := range 40 {
		_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: fmt.Append(nil, i)})
		must(t, err)
		if i%10 == 0 {
			b.NotifyConsumers("g")
		}
	}
	must(t, flap.Wait(within(t), 2))
	flap.Remove()
	b.NotifyConsumers("g")
	must(t, b.Wait(within(t), "all messages to be consumed, %v different ones are", func() (any, bool) {
		all := map[string]bool{}
		for _, body := range append(one.got(), two.got()...) {
			all[body] = true
		}
		return len(all), len(all) == 40
	}))
}

func TestRestartKeepsEverythingAndClientsComeBack(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"))
	p := newProducer(t, b, producer.WithRetry(0))
	in, _ := consume(t, b, "g", "x", nil)
	_, err := p.SendSync(t.Context(), message("x", "before"))
	must(t, err)
	in.wait(t, b, 1)
	must(t, b.WaitLag(within(t), "g", 0))
	addr := b.Addr()
	must(t, b.Restart(within(t)))
	if b.Addr() != addr {
		t.Errorf("address changed from %s to %s", addr, b.Addr())
	}
	must(t, b.Wait(within(t), "a send after the restart: %v", func() (any, bool) {
		_, err := p.SendSync(t.Context(), message("x", "after"))
		return err, err == nil
	}))
	got := in.wait(t, b, 2)
	if !slices.Equal(got, []string{"before", "after"}) {
		t.Errorf("consumed %v: what was committed before an orderly restart does not come again", got)
	}
}

func TestKillLosesWhatWasNotSaved(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"), brokertest.WithFrozenClock())
	p := newProducer(t, b, producer.WithRetry(0))
	in, _ := consume(t, b, "g", "x", nil)
	_, err := p.SendSync(t.Context(), message("x", "m"))
	must(t, err)
	in.wait(t, b, 1)
	must(t, b.WaitLag(within(t), "g", 0)) // committed in the broker's memory: it saves offsets every 5 s, and the clock stands still
	must(t, b.Kill())
	if _, err := b.Messages("x"); err == nil || b.Inside() != nil {
		t.Error("the broker is not gone")
	}
	if _, err := p.SendSync(t.Context(), message("x", "lost")); err == nil {
		t.Error("sent to a killed broker")
	}
	must(t, b.Resume(within(t)))
	list, err := b.Messages("x")
	must(t, err)
	if got := bodies(list); !slices.Equal(got, []string{"m"}) {
		t.Errorf("stored after the kill: %v", got)
	}
	offsets, err := b.Offsets("g")
	must(t, err)
	for _, o := range offsets {
		if o.Topic == "x" && o.Committed > 0 {
			t.Errorf("the offset %d was saved", o.Committed)
		}
	}
}

func TestCloseClientMakesItComeBack(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithGroups("g"))
	in, _ := consume(t, b, "g", "x", nil)
	must(t, b.WaitMembers(within(t), "g", 1))
	members, err := b.Members("g")
	must(t, err)
	if n := b.CloseClient(members[0].ClientID); n != 1 {
		t.Errorf("%d connections closed, want 1", n)
	}
	_, err = b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m")})
	must(t, err)
	in.wait(t, b, 1)
	if b.CloseClient("nobody") != 0 {
		t.Error("closed a client that is not there")
	}
}

func TestChecksOfTransactionsCanBeLost(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	asked := newTransactions(t, b, primitive.RollbackMessageState)
	must(t, b.WaitProducers(within(t), "tx", 1))
	lost := b.On(remoting.CheckTransactionState, brokertest.Always(brokertest.Drop()), brokertest.First(1))
	b.Clock.Advance(time.Minute)
	must(t, lost.Wait(within(t), 1))
	select {
	case body := <-asked:
		t.Fatalf("asked about %s though the request was dropped", body)
	default:
	}
	b.Clock.Advance(time.Minute)
	select {
	case <-asked:
	case <-within(t).Done():
		t.Fatalf("not asked again\n%s", b.Seen())
	}
	must(t, b.WaitUndecided(within(t), 0))
	if list, err := b.Messages("x"); err != nil || len(list) != 0 {
		t.Errorf("rolled back, and stored: %v", list)
	}
	exchange, err := b.WaitExchange(within(t), brokertest.ForCode(remoting.CheckTransactionState))
	must(t, err)
	if !exchange.ByServer || exchange.Fault != "dropped" || !strings.HasPrefix(exchange.String(), fmt.Sprint(exchange.Seq)) {
		t.Errorf("journal: %+v", exchange)
	}
}

func TestResetForgetsEverything(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithMessages(brokertest.Message{Topic: "x", Body: []byte("seed")}))
	addr := b.Addr()
	must(t, b.CreateTopics("y"))
	_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m")})
	must(t, err)
	b.Busy()
	b.FillDisk()
	must(t, b.StopNamesrv(within(t)))
	must(t, b.Kill())
	must(t, b.Reset(within(t)))
	list, err := b.Messages("x")
	must(t, err)
	if got := bodies(list); !slices.Equal(got, []string{"seed"}) || b.Inside().Topic("y") != nil || b.Addr() != addr || len(b.Journal()) != 0 {
		t.Errorf("after Reset: %v, topics %v, journal %v", got, b.Inside().Topics(), b.Journal())
	}
	p := newProducer(t, b, producer.WithRetry(0))
	_, err = p.SendSync(t.Context(), message("x", "again"))
	must(t, err)
}

// newTransactions sends one message of a transaction that stays undecided until the producer, which tells of it on the channel, is asked.
func newTransactions(t *testing.T, b *brokertest.Broker, answer primitive.LocalTransactionState) <-chan string {
	t.Helper()
	o := &outbox{asked: make(chan string, 100), answer: answer}
	p := newTransactionProducer(t, b, o)
	_, err := p.SendMessageInTransaction(t.Context(), message("x", "m"))
	must(t, err)
	must(t, b.WaitUndecided(within(t), 1))
	return o.asked
}

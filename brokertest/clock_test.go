package brokertest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestAdvanceDeliversInOrderAndAtTheirTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithTime(at), brokertest.WithFrozenClock())
	sent := []struct {
		body  string
		level int
		after time.Duration
	}{
		{"20 min", 15, 20 * time.Minute},
		{"1 s", 1, time.Second},
		{"2 h", 18, 2 * time.Hour},
		{"5 min", 9, 5 * time.Minute},
		{"timer 90 s", 0, 90 * time.Second},
		{"timer 110 min", 0, 110 * time.Minute},
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
	},
	) int {
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

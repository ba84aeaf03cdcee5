package broker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

// newTestStats samples by a clock that the test moves.
func newTestStats(t *testing.T, detail bool) (*stats, *clock.Manual) {
	t.Helper()
	c := clock.NewManual(testNow)
	s := newStats(c, "DefaultCluster", detail, -1)
	s.start()
	t.Cleanup(s.close)
	pass(t, c, 0)
	return s, c
}

// pass moves the clock by whole seconds, each with its sampling.
func pass(t *testing.T, c *clock.Manual, seconds int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range seconds {
		if err := c.AwaitWaiters(ctx, 1); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
	}
	if err := c.AwaitWaiters(ctx, 1); err != nil {
		t.Fatal(err)
	}
}

// TestStatsWindows puts 10 messages a second for two hours: the sum over the last minute is 600, over the last hour 36,000,
// and the rate is 10 everywhere.
func TestStatsWindows(t *testing.T) {
	s, c := newTestStats(t, false)
	for range 7200 {
		s.put("orders", 0, 1, 10, 1000, 4*time.Millisecond)
		pass(t, c, 1)
	}
	minute, hour, day, ok := s.view(statTopicPutNums, "orders")
	if !ok || minute.sum != 600 || hour.sum != 36_000 || day.sum != 72_000 {
		t.Fatalf("sums of a minute, an hour, a day: %d %d %d (%v)", minute.sum, hour.sum, day.sum, ok)
	}
	if minute.tps != 10 || hour.tps != 10 {
		t.Errorf("rates of a minute, an hour: %v %v", minute.tps, hour.tps)
	}
	if minute.times != 60 || minute.avgPT != 10 {
		t.Errorf("%d requests of %v messages in a minute", minute.times, minute.avgPT)
	}
	if latency, _, _, _ := s.view(statTopicPutLatency, "0@orders"); latency.sum != 240 || latency.avgPT != 4 {
		t.Errorf("latency over a minute %d ms, on average %v", latency.sum, latency.avgPT)
	}
	pass(t, c, 70)
	if minute, hour, _, _ = s.view(statTopicPutNums, "orders"); minute.sum != 0 || hour.sum != 36_000 {
		t.Errorf("a minute of rest later: minute %d, hour %d", minute.sum, hour.sum)
	}
}

// TestStatsCounters goes through what each counting call counts, under which names (BrokerStatsManager).
func TestStatsCounters(t *testing.T) {
	s, c := newTestStats(t, true)
	s.put("orders", 3, 1, 2, 300, 5*time.Millisecond)
	s.putInternal("orders", 50)
	s.putInternal("RMQ_SYS_TRANS_HALF_TOPIC", 70)
	s.get("billing", "orders", 3, 4, 600, 7*time.Millisecond)
	s.sendBack("billing", "orders")
	s.toDLQ("billing", "orders")
	s.ack("billing", "orders", 3)
	s.checkpoint("billing", "orders", 2)
	pass(t, c, 10)
	for _, want := range []struct {
		name, key string
		sum       int64
	}{
		{"TOPIC_PUT_NUMS", "orders", 3},
		{"TOPIC_PUT_SIZE", "orders", 350},
		{"TOPIC_PUT_LATENCY", "3@orders", 5},
		{"QUEUE_PUT_NUMS", "orders@3", 2},
		{"QUEUE_PUT_SIZE", "orders@3", 300},
		{"QUEUE_GET_NUMS", "orders@3@billing", 4},
		{"QUEUE_GET_SIZE", "orders@3@billing", 600},
		{"GROUP_GET_NUMS", "orders@billing", 4},
		{"GROUP_GET_SIZE", "orders@billing", 600},
		{"GROUP_GET_LATENCY", "3@orders@billing", 7},
		{"SNDBCK_PUT_NUMS", "orders@billing", 1},
		{"SNDBCK2DLQ_TIMES", "orders@billing", 1},
		{"GROUP_ACK_NUMS", "orders@billing", 3},
		{"GROUP_CK_NUMS", "orders@billing", 2},
		{"BROKER_PUT_NUMS", "DefaultCluster", 4},
		{"BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "DefaultCluster", 3},
		{"BROKER_GET_NUMS", "DefaultCluster", 4},
		{"BROKER_ACK_NUMS", "DefaultCluster", 3},
		{"BROKER_CK_NUMS", "DefaultCluster", 2},
	} {
		if minute, _, _, ok := s.view(want.name, want.key); !ok || minute.sum != want.sum {
			t.Errorf("%s %s: %d (%v), want %d", want.name, want.key, minute.sum, ok, want.sum)
		}
	}
	for _, none := range [][2]string{{"TOPIC_PUT_NUMS", "other"}, {"NO_SUCH", "orders"}, {"GROUP_GET_FALL_SIZE", "3@orders@billing"}} {
		if _, _, _, ok := s.view(none[0], none[1]); ok {
			t.Errorf("%v exists", none)
		}
	}
}

// TestStatsGoWithTopicAndGroup deletes and counts on.
func TestStatsGoWithTopicAndGroup(t *testing.T) {
	s, c := newTestStats(t, false)
	s.put("orders", 0, 1, 1, 10, 0)
	s.get("billing", "orders", 0, 1, 10, 0)
	s.get("audit", "orders", 0, 1, 10, 0)
	s.fallBehind("billing", "orders", 0, 100, 5)
	pass(t, c, 10)
	s.groupDeleted("billing")
	if _, _, _, ok := s.view(statGroupGetNums, "orders@billing"); ok {
		t.Error("counter of a deleted group is there")
	}
	if _, _, _, ok := s.view(statGroupGetNums, "orders@audit"); !ok {
		t.Error("counter of another group is gone")
	}
	s.topicDeleted("orders")
	for name, items := range s.items {
		for key, item := range items {
			if item.slot != nil {
				t.Errorf("%s %s is left", name, key)
			}
		}
	}
	s.put("orders", 0, 1, 5, 10, 0)
	pass(t, c, 10)
	if minute, _, _, ok := s.view(statTopicPutNums, "orders"); !ok || minute.sum != 5 {
		t.Errorf("after the topic was made anew: %d (%v), want 5", minute.sum, ok)
	}
}

// TestStatsAreBounded counts for more labels than there is room for: the broker as a whole still counts all of them.
func TestStatsAreBounded(t *testing.T) {
	s, c := newTestStats(t, false)
	for i := range maxStatItems {
		s.put(fmt.Sprintf("topic-%d", i), 0, 1, 1, 1, 0)
	}
	s.put("orders", 1<<30, 1, 1, 1, 0)
	s.put("orders", -1, 1, 1, 1, 0)
	if s.count > maxStatItems || len(s.topics) > maxStatItems {
		t.Errorf("%d counters of %d topics", s.count, len(s.topics))
	}
	pass(t, c, 10)
	if minute, _, _, _ := s.view(statBrokerPutNums, "DefaultCluster"); minute.sum != maxStatItems+2 {
		t.Errorf("the broker counted %d", minute.sum)
	}
}

// TestStatsDropIdle removes what rests longer than maxStatsIdleTimeInMinutes.
func TestStatsDropIdle(t *testing.T) {
	c := clock.NewManual(testNow)
	s := newStats(c, "DefaultCluster", false, 15)
	s.put("orders", 0, 1, 1, 1, 0)
	for range 4 {
		s.put("alive", 0, 1, 1, 1, 0)
		s.sampleItems(func(i *statItem) { i.sampleSeconds(c.NowMs()) })
		s.dropIdle(c.NowMs())
		c.Advance(10 * time.Minute)
	}
	if _, _, _, ok := s.view(statTopicPutNums, "orders"); ok {
		t.Error("idle counter is there")
	}
	if _, _, _, ok := s.view(statTopicPutNums, "alive"); !ok {
		t.Error("busy counter is gone")
	}
}

// TestStatsConcurrently counts, views and deletes at once; -race looks on.
func TestStatsConcurrently(t *testing.T) {
	s, c := newTestStats(t, true)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				s.put("orders", int32(i%8), 1, 1, 10, 0)
				s.get("billing", "orders", int32(i%8), 1, 10, 0)
				if g == 0 && i%100 == 0 {
					s.topicDeleted("orders")
				}
				if g == 1 && i%100 == 0 {
					s.view(statTopicPutNums, "orders")
				}
			}
		})
	}
	pass(t, c, 20)
	wg.Wait()
	pass(t, c, 10)
	if _, _, day, _ := s.view(statBrokerPutNums, "DefaultCluster"); day.sum > 8000 || s.brokerPut.value.Load() != 8000 {
		t.Errorf("counted %d, in the day %d", s.brokerPut.value.Load(), day.sum)
	}
}

// TestRuntimeRates: rates over 10 s, a minute, ten minutes, as the runtime information shows them.
func TestRuntimeRates(t *testing.T) {
	s, c := newTestStats(t, false)
	for range 60 {
		s.put("orders", 0, 1, 4, 400, 3*time.Millisecond)
		pass(t, c, 1)
	}
	of := func(r rateReading) int64 { return r.put }
	if got := s.runtime.rates(of); got != "4.0 4.0 4.0" {
		t.Errorf("rates %q", got)
	}
	if got, want := s.runtime.distribution(), "[<=0ms]:0 [0~10ms]:59 [10~50ms]:0 [50~100ms]:0 [100~200ms]:0 [200~500ms]:0 [500ms~1s]:0 "+
		"[1~2s]:0 [2~3s]:0 [3~4s]:0 [4~5s]:0 [5~10s]:0 [10s~]:0 "; got != want {
		t.Errorf("distribution %q", got)
	}
	pass(t, c, 20)
	if got := s.runtime.rates(of); got[:4] != "0.0 " {
		t.Errorf("rates at rest %q", got)
	}
}

// TestLatencyBuckets: the bounds are those of StoreStatsService (1 ms to 20, 2 to 50, 5 to 100, 10 to 200, 50 to 500, 100 to
// 1,000, 1,000 to 10,000).
func TestLatencyBuckets(t *testing.T) {
	for _, want := range []struct{ ms, bound int64 }{
		{0, 1},
		{1, 1},
		{2, 2},
		{20, 20},
		{21, 22},
		{22, 22},
		{50, 50},
		{51, 55},
		{100, 100},
		{101, 110},
		{200, 200},
		{201, 250},
		{500, 500},
		{501, 600},
		{1000, 1000},
		{1001, 2000},
		{10_000, 10_000},
	} {
		if got := latencyBound(latencyBucket(want.ms)); got != want.bound {
			t.Errorf("%d ms is counted up to %d ms, want %d", want.ms, got, want.bound)
		}
	}
	if latencyBucket(10_001) != latencyBuckets-1 || latencyBucket(1<<40) != latencyBuckets-1 {
		t.Error("long times are not in the last bucket")
	}
}

func TestStatsPutDoesNotAllocate(t *testing.T) {
	s := newStats(clock.NewManual(testNow), "DefaultCluster", true, -1)
	s.put("orders", 3, 1, 1, 100, time.Millisecond)
	s.get("billing", "orders", 3, 1, 100, time.Millisecond)
	if n := testing.AllocsPerRun(100, func() {
		s.put("orders", 3, 1, 1, 100, time.Millisecond)
		s.get("billing", "orders", 3, 1, 100, time.Millisecond)
		s.fallBehind("billing", "orders", 3, 100, 1)
	}); n != 1 && n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStatsPut(b *testing.B) {
	s := newStats(clock.NewManual(testNow), "DefaultCluster", false, -1)
	b.ReportAllocs()
	for b.Loop() {
		s.put("orders", 3, 1, 1, 1100, 0)
	}
}

func BenchmarkStatsGet(b *testing.B) {
	s := newStats(clock.NewManual(testNow), "DefaultCluster", false, -1)
	b.ReportAllocs()
	for b.Loop() {
		s.get("billing", "orders", 3, 32, 35_200, 0)
	}
}

package brokertest_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/brokertest"
)

func TestStartGivesWhatWasAskedFor(t *testing.T) {
	b := brokertest.Start(t, brokertest.WithTopics("orders:2", "bills"), brokertest.WithGroups("shop:3"),
		brokertest.WithMessages(
			brokertest.Message{Topic: "orders", Body: []byte("a"), Tags: "new", Keys: "k1"},
			brokertest.Message{Topic: "orders", Body: []byte("b"), Properties: map[string]string{"color": "red"}},
			brokertest.Message{Topic: "bills", Body: []byte("c")}.OnQueue(3),
		))
	orders, err := b.Messages("orders")
	if err != nil {
		t.Fatal(err)
	}
	if len(orders) != 2 || string(orders[0].Body) != "a" || orders[0].Tags != "new" || orders[0].Keys != "k1" ||
		string(orders[1].Body) != "b" || orders[1].Properties["color"] != "red" || orders[0].QueueID == orders[1].QueueID {
		t.Errorf("orders: %v", orders)
	}
	bills, err := b.Messages("bills")
	if err != nil {
		t.Fatal(err)
	}
	if len(bills) != 1 || bills[0].QueueID != 3 {
		t.Errorf("bills: %v", bills)
	}
	if got := b.Inside().Topic("orders").WriteQueueNums; got != 2 {
		t.Errorf("orders has %d queues, want 2", got)
	}
	if len(b.Journal()) != 0 {
		t.Errorf("seeds are in the journal: %v", b.Journal())
	}
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for range 3 {
		b, err := brokertest.New(t.Context(), brokertest.WithTopics("x"), brokertest.WithMessages(brokertest.Message{Topic: "x", Body: []byte("x")}))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Fatalf("second close: %v", err)
		}
	}
	if err := goleak.Find(append(ignoreLibraries(), before)...); err != nil {
		t.Error(err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, option := range map[string]brokertest.Option{
		"topic without name": brokertest.WithTopics(":4"),
		"unknown key":        brokertest.WithConfig("flushDiskTyp", "SYNC_FLUSH"),
		"journal":            brokertest.WithJournal(-1),
		"version":            brokertest.WithVersion("3.2"),
		"directory":          brokertest.WithDir(""),
	} {
		if b, err := brokertest.New(t.Context(), option); err == nil {
			_ = b.Close(t.Context())
			t.Errorf("%s: no error", name)
		}
	}
}

func TestHundredAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			b, err := brokertest.New(t.Context(), brokertest.WithTopics("x"))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: fmt.Append(nil, i)}); err != nil {
				t.Error(err)
			}
			if got, err := b.Messages("x"); err != nil || len(got) != 1 || string(got[0].Body) != fmt.Sprint(i) {
				t.Errorf("broker %d: %v, %v", i, got, err)
			}
			if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// BenchmarkStartStop tells ms to start, ms to stop.
func BenchmarkStartStop(b *testing.B) {
	var stopping time.Duration
	for b.Loop() {
		broker, err := brokertest.New(b.Context(), brokertest.WithTopics("a", "b"))
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		if err := broker.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		stopping += time.Since(begun)
	}
	perOp := b.Elapsed() / time.Duration(b.N)
	stop := stopping / time.Duration(b.N)
	b.ReportMetric(float64((perOp-stop).Microseconds())/1000, "start-ms/op")
	b.ReportMetric(float64(stop.Microseconds())/1000, "stop-ms/op")
}

// BenchmarkMemory tells what one idle broker of a hundred takes.
func BenchmarkMemory(b *testing.B) {
	const brokers = 100
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		var list []*brokertest.Broker
		for range brokers {
			broker, err := brokertest.New(b.Context(), brokertest.WithTopics("a"))
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, broker)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse-before.HeapInuse+after.StackInuse-before.StackInuse)/brokers/1024, "KiB/broker")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/brokers, "goroutines/broker")
		for _, broker := range list {
			if err := broker.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

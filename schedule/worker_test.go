package schedule

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// counting counts the queues asked for: once for each level in each round.
type counting struct {
	relay.Store
	looks atomic.Int64
}

func (c *counting) Queue(topic string, id int32) relay.Queue {
	c.looks.Add(1)
	return c.Store.Queue(topic, id)
}

// running starts a Schedule with its goroutines.
func running(t *testing.T, levels string) (*Schedule, *relaytest.Log, *counting) {
	t.Helper()
	l, err := ParseLevels(levels)
	if err != nil {
		t.Fatal(err)
	}
	log := relaytest.New(clock.System{})
	log.DeliverTime = l.DeliverTime
	store := &counting{Store: log}
	s, err := New(Options{Store: store, FS: vfs.NewMem(), Dir: "store", Clock: clock.System{}, Log: quiet(), Levels: l})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s, log, store
}

func sendTo(t *testing.T, s *Schedule, log *relaytest.Log, level int, body string) {
	t.Helper()
	m := message.Message{Topic: "T", Body: []byte(body), Properties: message.Properties("DELAY\x01" + strconv.Itoa(level) + "\x02")}
	if done, err := s.Transform(&m); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := log.Send(m); err != nil {
		t.Fatal(err)
	}
}

func TestTheWorkerWakesWhenAMessageIsDueAndNotMuchElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, store := running(t, "1h 2s")
		start := store.looks.Load()
		sendTo(t, s, log, 1, "hour")
		time.Sleep(time.Hour - time.Millisecond)
		if n := log.Count("T", 0); n != 0 {
			t.Errorf("%d messages came early", n)
		}
		before := store.looks.Load() - start
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := log.Count("T", 0); n != 1 {
			t.Errorf("%d messages after an hour, want 1", n)
		}
		if before > 50 {
			t.Errorf("looked at queues %d times while nothing was due", before)
		}
		sendTo(t, s, log, 2, "seconds")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := log.Count("T", 0); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWithoutStart(t *testing.T) {
	l, err := ParseLevels("1s")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Store: relaytest.New(clock.System{}), FS: vfs.NewMem(), Dir: "store", Clock: clock.System{}, Log: quiet(), Levels: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s.Start() // does nothing any more
}

func TestSteadyLoadIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, _ := running(t, "1s 3s")
		const n = 3000
		for i := range n {
			sendTo(t, s, log, 1+i%2, strconv.Itoa(i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := log.Count("T", 0); got != n {
			t.Errorf("%d messages, want %d", got, n)
		}
		if late := s.Stats().MaxLateness; late > 0 {
			t.Errorf("as late as %d ms", late)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkDeliver measures one message from being due to being stored again, in a backlog.
func BenchmarkDeliver(b *testing.B) {
	bench := newBench(b, "1s")
	m := message.Message{Topic: "TopicTest", Body: make([]byte, 256), Properties: message.Properties(
		"UNIQ_KEY\x017F00000100002A9F0000000000000064\x02DELAY\x011\x02WAIT\x01true\x02TAGS\x01TagA\x02")}
	if done, err := bench.s.Transform(&m); !done || err != nil {
		b.Fatal(done, err)
	}
	log := &discard{Log: bench.log}
	bench.s.o.Store = log
	for range b.N {
		if err := bench.log.Send(m); err != nil {
			b.Fatal(err)
		}
	}
	bench.clock.Advance(time.Second)
	b.ReportAllocs()
	b.ResetTimer()
	for {
		if _, busy := bench.s.round(); !busy {
			break
		}
	}
	b.StopTimer()
	if log.messages != b.N {
		b.Fatalf("delivered %d of %d", log.messages, b.N)
	}
}

// discard is a log that counts what is put and forgets it.
type discard struct {
	*relaytest.Log
	messages int
}

func (d *discard) Put(batch []message.Message) (int, int64, error) {
	d.messages += len(batch)
	return len(batch), 0, nil
}

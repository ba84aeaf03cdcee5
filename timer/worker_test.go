package timer

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// running starts a Timer with its goroutines, on the clock of a synctest bubble.
func running(tb testing.TB, fs vfs.FS, log *relaytest.Log) *Timer {
	tb.Helper()
	return runningBy(tb, fs, log, clock.System{})
}

func runningBy(tb testing.TB, fs vfs.FS, log *relaytest.Log, by clock.Clock) *Timer {
	tb.Helper()
	return runningOn(tb, fs, log, log, by)
}

func runningOn(tb testing.TB, fs vfs.FS, log *relaytest.Log, store relay.Store, by clock.Clock) *Timer {
	tb.Helper()
	b := &bench{t: tb}
	c := conf.Default().Store
	log.Detach()
	tm, err := Open(Options{Store: store, FS: fs, Dir: "store", Clock: by, Log: b.logger(), Config: &c})
	if err != nil {
		tb.Fatal(err)
	}
	tm.Start()
	return tm
}

func sendAt(tb testing.TB, tm *Timer, log *relaytest.Log, body string, due time.Time) {
	tb.Helper()
	m := message.Message{Topic: "T", Body: []byte(body), Properties: message.Properties("UNIQ_KEY\x01K" + body + "\x02TIMER_DELIVER_MS\x01" +
		strconv.FormatInt(due.UnixMilli(), 10) + "\x02")}
	if _, err := tm.Transform(&m); err != nil {
		tb.Fatal(err)
	}
	if err := log.Send(m); err != nil {
		tb.Fatal(err)
	}
}

func TestTheWorkerWakesWhenATimerIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		tm := running(t, vfs.NewMem(), log)
		due := time.Now().Add(2*time.Hour + 345*time.Millisecond)
		sendAt(t, tm, log, "a", due)
		time.Sleep(time.Until(due) - time.Millisecond)
		synctest.Wait()
		if n := log.Count("T", 0); n != 0 {
			t.Errorf("%d came early", n)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := log.Count("T", 0); n != 1 {
			t.Errorf("%d came, want 1", n)
		}
		if late := tm.Stats().MaxLateness; late != 0 {
			t.Errorf("%d ms late", late)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
		tm.Start() // does nothing any more
	})
}

func TestASteadyLoadOfTimersIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		fs := vfs.NewMem()
		tm := running(t, fs, log)
		const n = 5000
		start := time.Now()
		for i := range n {
			sendAt(t, tm, log, strconv.Itoa(i), start.Add(7*time.Second+time.Duration(i*7919%n)*time.Millisecond))
			time.Sleep(time.Millisecond)
			if i == n/2 { // a clean restart in between
				if err := tm.Close(); err != nil {
					t.Fatal(err)
				}
				tm = running(t, fs, log)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		seen := map[string]int{}
		for _, m := range log.Messages("T", 0) {
			due, _ := m.Properties.Get("TIMER_DELIVER_MS")
			ms, err := strconv.ParseInt(due, 10, 64)
			if err != nil || m.StoreTimestamp != ms {
				t.Errorf("%s came at %d, due %s", m.Body, m.StoreTimestamp, due)
			}
			seen[string(m.Body)]++
		}
		if len(seen) != n || log.Count("T", 0) != n {
			t.Errorf("%d came, %d different ones, want %d", log.Count("T", 0), len(seen), n)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsSentWhileOthersGatherIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		tm := running(t, vfs.NewMem(), log)
		for i := range 20 {
			sendAt(t, tm, log, "far"+strconv.Itoa(i), time.Now().Add(time.Hour))
			synctest.Wait() // the worker gathers now
			sendAt(t, tm, log, "near"+strconv.Itoa(i), time.Now().Add(time.Millisecond))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if n := log.Count("T", 0); n != i+1 {
				t.Fatalf("%d came, want %d", n, i+1)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if late := tm.Stats().MaxLateness; late != 0 {
			t.Errorf("%d ms late", late)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWhileArrivalsGatherLosesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		fs := vfs.NewMem()
		for range 3 { // gathered, enqueued by the next one, delivered by the last
			tm := running(t, fs, log)
			synctest.Wait()
			sendAt(t, tm, log, "a", time.Now().Add(time.Minute))
			synctest.Wait()
			before := time.Now()
			if err := tm.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(before); took >= gatherPause {
				t.Errorf("Close waited %v", took)
			}
		}
		tm := running(t, fs, log)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := log.Count("T", 0); n != 3 {
			t.Errorf("%d came, want 3", n)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestATimerThatTheDiskShowsLateIsNeverEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		log.Lag = true // SYNC_FLUSH: it becomes visible with the flush
		tm := running(t, vfs.NewMem(), log)
		due := time.Now().Add(60 * time.Millisecond)
		sendAt(t, tm, log, "a", due)
		time.Sleep(59*time.Millisecond + 500*time.Microsecond)
		if err := log.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(gatherPause)
		synctest.Wait()
		if err := log.Flush(); err != nil { // so that it is seen
			t.Fatal(err)
		}
		got := log.Messages("T", 0)
		if len(got) != 1 {
			t.Fatalf("%d came, want 1", len(got))
		}
		if late := got[0].StoreTimestamp - due.UnixMilli(); late < 0 || late > gatherPause.Milliseconds() {
			t.Errorf("%d ms late, want 0 to %v", late, gatherPause)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAStepOfTheClockWhileArrivalsGather(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": 2 * time.Hour, "back": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				manual := clock.NewManual(time.Now())
				log := relaytest.New(manual)
				tm := runningBy(t, vfs.NewMem(), log, manual)
				sendAt(t, tm, log, "a", manual.Now().Add(time.Hour))
				synctest.Wait() // the worker gathers now
				manual.Step(step)
				time.Sleep(gatherPause)
				synctest.Wait()
				want := 0
				if step > 0 {
					want = 1
				}
				if n := log.Count("T", 0); n != want {
					t.Errorf("%d came, want %d", n, want)
				}
				if err := tm.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// watched counts what a Timer asks of its store.
type watched struct {
	*relaytest.Log
	queues, records atomic.Int64
}

func (w *watched) Queue(topic string, queueID int32) relay.Queue {
	w.queues.Add(1)
	return w.Log.Queue(topic, queueID)
}

func (w *watched) Record(physicalOffset int64, size int32) (relay.Record, error) {
	w.records.Add(1)
	return w.Log.Record(physicalOffset, size)
}

func TestWhileNothingIsDueTheWorkerLooksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := relaytest.New(clock.System{})
		store := &watched{Log: log}
		tm := runningOn(t, vfs.NewMem(), log, store, clock.System{})
		due := time.Now().Add(5 * time.Second)
		for i := range 2000 {
			sendAt(t, tm, log, strconv.Itoa(i), due.Add(time.Duration(i%2)*time.Hour)) // half of them come before the worker is watched
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := log.Count("T", 0); n != 1000 {
			t.Fatalf("%d came, want 1000", n)
		}
		const seconds = 60
		queues, records := store.queues.Load(), store.records.Load()
		time.Sleep(seconds * time.Second)
		synctest.Wait()
		if n := store.queues.Load() - queues; n > 3*seconds {
			t.Errorf("the queue was asked for %d times in %d s", n, seconds)
		}
		if n := store.records.Load() - records; n != 0 {
			t.Errorf("%d records were read", n)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWithoutStart(t *testing.T) {
	b := newBench(t)
	if err := b.tm.Close(); err != nil {
		t.Error(err)
	}
}

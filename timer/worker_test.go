package timer

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// running starts a Timer with its goroutines, on the clock of a synctest bubble.
func running(tb testing.TB, fs vfs.FS, log *relaytest.Log) *Timer {
	tb.Helper()
	b := &bench{t: tb}
	c := conf.Default().Store
	log.Detach()
	tm, err := Open(Options{Store: log, FS: fs, Dir: "store", Clock: clock.System{}, Log: b.logger(), Config: &c})
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

func TestCloseWithoutStart(t *testing.T) {
	b := newBench(t)
	if err := b.tm.Close(); err != nil {
		t.Error(err)
	}
}

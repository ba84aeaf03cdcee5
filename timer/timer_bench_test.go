package timer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// load is a store with a Timer whose rounds the benchmark runs itself, on a movable clock.
type load struct {
	tb    testing.TB
	clock *clock.Manual
	st    *store.Store
	tm    *Timer
	body  []byte
	n     int
}

func newLoad(tb testing.TB, dir string) *load {
	tb.Helper()
	b := &bench{t: tb}
	l := &load{tb: tb, clock: clock.NewManual(time.UnixMilli(begin)), body: make([]byte, 100)}
	c := conf.Default().Store
	c.MessageIndexEnable = false
	c.FileReservedTime = 240
	var err error
	if l.st, err = store.Open(store.Options{Dir: dir, FS: vfs.OS{}, Clock: l.clock, Log: b.logger(), Config: &c}); err != nil {
		tb.Fatal(err)
	}
	if l.tm, err = Open(Options{Store: relay.FromStore(l.st), FS: vfs.OS{}, Dir: dir, Clock: l.clock, Log: b.logger(), Config: &c}); err != nil {
		tb.Fatal(err)
	}
	l.st.Start()
	return l
}

// send puts n timers that are due within spread after the clock.
func (l *load) send(n int, after, spread time.Duration) {
	l.tb.Helper()
	r := rand.New(rand.NewPCG(1, uint64(l.n)))
	var last store.Placed
	for i := range n {
		due := l.clock.NowMs() + after.Milliseconds() + r.Int64N(max(1, spread.Milliseconds()))
		p := message.Properties("UNIQ_KEY\x017F00000100002A9F" + fmt.Sprintf("%016X", l.n) + "\x02WAIT\x01true\x02TAGS\x01TagA\x02TIMER_DELIVER_MS\x01" +
			strconv.FormatInt(due, 10) + "\x02")
		m := message.Message{Topic: "TopicTest", Body: l.body, Properties: p}
		l.n++
		if out, err := l.tm.Transform(&m); out == 0 || err != nil {
			l.tb.Fatal(out, err)
		}
		placed, err := l.st.Stage(&m)
		if err != nil {
			l.tb.Fatal(err)
		}
		last = placed
		if i%64 == 63 || i == n-1 {
			if err := l.st.Commit(last.Ticket); err != nil {
				l.tb.Fatal(err)
			}
		}
	}
}

func (l *load) settle() {
	for {
		if _, busy := l.tm.round(); !busy && !l.tm.arrived.Load() {
			return
		}
	}
}

func (l *load) close() {
	if err := l.tm.Close(); err != nil {
		l.tb.Error(err)
	}
	if err := l.st.Close(); err != nil {
		l.tb.Error(err)
	}
}

func BenchmarkTransform(b *testing.B) {
	t := newBench(b).tm
	p := message.Properties("UNIQ_KEY\x017F00000100002A9F0000000000000064\x02WAIT\x01true\x02TAGS\x01TagA\x02TIMER_DELAY_MS\x0160000\x02")
	b.ReportAllocs()
	for b.Loop() {
		m := message.Message{Topic: "TopicTest", QueueID: 5, Properties: p}
		if out, err := t.Transform(&m); out == 0 || err != nil {
			b.Fatal(out, err)
		}
	}
}

// BenchmarkEnqueue measures one timer from the system topic into wheel and log, with so many pending ones.
func BenchmarkEnqueue(b *testing.B) {
	for _, pending := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("pending=", pending), func(b *testing.B) {
			l := newLoad(b, b.TempDir())
			l.send(pending, time.Hour, 47*time.Hour)
			l.settle()
			l.send(b.N, time.Hour, 47*time.Hour)
			b.ReportAllocs()
			cpu := cpuTime(b)
			b.ResetTimer()
			l.settle()
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N), "cpu-ns/op")
			if got := l.tm.Stats().Enqueued; got != int64(pending+b.N) {
				b.Fatalf("enqueued %d", got)
			}
			l.close()
		})
	}
}

// BenchmarkDequeue measures one timer from its slot's opening to being stored again, with so many pending ones.
func BenchmarkDequeue(b *testing.B) {
	for _, pending := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("pending=", pending), func(b *testing.B) {
			l := newLoad(b, b.TempDir())
			l.send(pending, time.Hour, 47*time.Hour)
			l.settle()
			l.send(b.N, 10*time.Second, time.Duration(b.N)*time.Millisecond/20)
			l.settle()
			b.ReportAllocs()
			cpu := cpuTime(b)
			b.ResetTimer()
			for l.tm.Stats().Delivered < int64(b.N) {
				l.clock.Advance(100 * time.Millisecond)
				l.settle()
			}
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N), "cpu-ns/op")
			l.close()
		})
	}
}

// lateness are milliseconds, sorted.
type lateness []int64

func (l lateness) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(l[len(l)/2]), "p50-ms")
	b.ReportMetric(float64(l[len(l)*99/100]), "p99-ms")
	b.ReportMetric(float64(l[len(l)-1]), "max-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLateness sends 1,000 timers a second for ten seconds, on the machine's clock, and tells how late they are stored.
func BenchmarkLateness(b *testing.B) {
	for range b.N {
		r := openRooms(b, vfs.OS{}, b.TempDir(), func(c *conf.Store) { c.MappedFileSizeCommitLog = 256 << 20 })
		const n = 10_000
		tick := time.NewTicker(time.Millisecond)
		start := time.Now()
		for i := 0; i < n; i++ {
			<-tick.C
			r.send("T", strconv.Itoa(i), start.Add(3*time.Second+time.Duration(i)*time.Millisecond))
		}
		tick.Stop()
		r.await("T", n)
		collect(b, r, "T", n).report(b)
		r.close()
	}
}

// BenchmarkBurst has 100,000 timers due in one and the same second.
func BenchmarkBurst(b *testing.B) {
	for range b.N {
		r := openRooms(b, vfs.OS{}, b.TempDir(), func(c *conf.Store) { c.MappedFileSizeCommitLog, c.MappedFileSizeTimerLog = 256<<20, 100<<20 })
		const n = 100_000
		due := time.Now().Add(15 * time.Second).Truncate(time.Second)
		for i := range n {
			r.send("T", strconv.Itoa(i), due.Add(time.Duration(i%1000)*time.Millisecond))
		}
		if time.Now().After(due) {
			b.Fatal("sending took too long")
		}
		r.await("T", n)
		collect(b, r, "T", n).report(b)
		r.close()
	}
}

func collect(b *testing.B, r *rooms, topic string, n int) lateness {
	b.Helper()
	var all lateness
	for body, late := range r.delivered(topic) {
		if len(late) != 1 || late[0] < 0 {
			b.Errorf("%s came with lateness %v", body, late)
		}
		all = append(all, late...)
	}
	if len(all) != n {
		b.Errorf("%d came, want %d", len(all), n)
	}
	slices.Sort(all)
	return all
}

// BenchmarkPending is what so many pending timers, spread over three days, cost in memory, and how long a start with them takes. The number is in
// ROCKETD_TIMERS, else a million.
func BenchmarkPending(b *testing.B) {
	n := 1_000_000
	if text := os.Getenv("ROCKETD_TIMERS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	l := newLoad(b, dir)
	before := statusKB(b, "VmRSS:")
	begun := time.Now()
	const chunk = 100_000
	var enqueueing time.Duration
	for sent := 0; sent < n; sent += chunk {
		l.send(min(chunk, n-sent), time.Minute, 71*time.Hour)
		t := time.Now()
		l.settle()
		enqueueing += time.Since(t)
		if err := l.tm.flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/enqueueing.Seconds(), "enqueued/s")
	b.ReportMetric(float64(n)/time.Since(begun).Seconds(), "sent+enqueued/s")
	b.ReportMetric(float64(statusKB(b, "VmRSS:")-before)/1024, "rss-MB")
	b.ReportMetric(float64(statusKB(b, "RssAnon:"))/1024, "anonymous-MB")
	l.close()
	begun = time.Now()
	l2 := newLoad(b, dir)
	b.ReportMetric(float64(time.Since(begun).Milliseconds()), "start-ms")
	if got, err := l2.tm.Pending(b.Context(), PendingQuery{}); err != nil || got.Total != int64(n) {
		b.Errorf("%d pending after the restart, %v, want %d", got.Total, err, n)
	}
	l2.close()
	b.ReportMetric(0, "ns/op")
}

// cpuTime is what the process has used of the processors, ns; other processes do not count.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const tick = 10_000_000
	var total int64
	for _, text := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += n * tick
	}
	return total
}

// statusKB reads a field of the process's state.
func statusKB(b *testing.B, field string) int64 {
	b.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc")
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb
		}
	}
	b.Fatalf("no %s in /proc/self/status", field)
	return 0
}

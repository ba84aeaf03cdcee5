package timer

import (
	"strconv"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// rooms is a store with a Timer on it.
type rooms struct {
	t   testing.TB
	fs  vfs.FS
	dir string
	b   *bench // for its log
	c   conf.Store
	st  *store.Store
	tm  *Timer
}

func openRooms(tb testing.TB, fs vfs.FS, dir string, change func(c *conf.Store)) *rooms {
	tb.Helper()
	r := &rooms{t: tb, fs: fs, dir: dir, b: &bench{t: tb}, c: conf.Default().Store}
	r.c.MappedFileSizeCommitLog = 64 << 20
	r.c.MappedFileSizeTimerLog = 1 << 20
	r.c.MaxHashSlotNum, r.c.MaxIndexNum = 1000, 100_000
	if change != nil {
		change(&r.c)
	}
	r.open()
	return r
}

func (r *rooms) open() {
	r.t.Helper()
	log := r.b.logger()
	var err error
	r.st, err = store.Open(store.Options{Dir: r.dir, FS: r.fs, Clock: clock.System{}, Log: log, Config: &r.c})
	if err != nil {
		r.t.Fatal(err)
	}
	r.tm, err = Open(Options{Store: relay.FromStore(r.st), FS: r.fs, Dir: r.dir, Clock: clock.System{}, Log: log, Config: &r.c})
	if err != nil {
		r.t.Fatal(err)
	}
	r.st.Start()
	r.tm.Start()
}

func (r *rooms) close() {
	r.t.Helper()
	if err := r.tm.Close(); err != nil {
		r.t.Error(err)
	}
	if err := r.st.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *rooms) send(topic, body string, due time.Time) {
	r.t.Helper()
	m := message.Message{Topic: topic, Body: []byte(body), WaitStored: true, Properties: message.Properties("UNIQ_KEY\x01K" + body +
		"\x02TIMER_DELIVER_MS\x01" + strconv.FormatInt(due.UnixMilli(), 10) + "\x02")}
	if _, err := r.tm.Transform(&m); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.st.Put(&m); err != nil {
		r.t.Fatal(err)
	}
}

// delivered returns the bodies that came to queue 0 of a topic with how late they were stored, ms.
func (r *rooms) delivered(topic string) map[string][]int64 {
	r.t.Helper()
	out := make(map[string][]int64)
	q := r.st.Queue(topic, 0)
	if q == nil {
		return out
	}
	err := q.Range(0, func(e store.Entry) bool {
		rec, err := r.st.Record(e.PhysicalOffset)
		if err != nil {
			r.t.Fatal(err)
		}
		defer rec.Release()
		var m message.Record
		if _, err := message.DecodeRecord(rec.Bytes(), &m, true); err != nil {
			r.t.Fatal(err)
		}
		due, _ := m.Properties.Get("TIMER_DELIVER_MS")
		ms, err := strconv.ParseInt(due, 10, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		out[string(m.Body)] = append(out[string(m.Body)], m.StoreTimestamp-ms)
		return true
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// await returns when n messages came to a topic.
func (r *rooms) await(topic string, n int) {
	r.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if q := r.st.Queue(topic, 0); q != nil && q.MaxOffset() >= int64(n) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatalf("not all of %d messages came to %s: %+v", n, topic, r.tm.Stats())
		}
	}
}

func TestOnTheStore(t *testing.T) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		r := openRooms(t, vfs.OS{}, t.TempDir(), func(c *conf.Store) { c.FlushDiskType = flush })
		const n = 400
		start := time.Now()
		for i := range n {
			r.send("T", strconv.Itoa(i), start.Add(2500*time.Millisecond+time.Duration(i)*time.Millisecond))
			if i == n/2 {
				r.close()
				r.open()
			}
		}
		r.await("T", n/3)
		r.close() // while they come
		r.open()
		r.await("T", n)
		got := r.delivered("T")
		for body, late := range got {
			if len(late) != 1 || late[0] < 0 {
				t.Errorf("%s: %s came with lateness %v ms", flush, body, late)
			}
		}
		if len(got) != n {
			t.Errorf("%s: %d messages, want %d", flush, len(got), n)
		}
		r.close()
	}
}

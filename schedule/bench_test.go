package schedule

import (
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// BenchmarkLateness sends 1,000 messages a second with a delay of two seconds for ten seconds, on the machine's clock, and tells how late they
// are stored again.
func BenchmarkLateness(b *testing.B) {
	for range b.N {
		levels, err := ParseLevels("2s")
		if err != nil {
			b.Fatal(err)
		}
		log := logrus.New()
		log.SetOutput(io.Discard)
		c := conf.Default().Store
		dir := b.TempDir()
		st, err := store.Open(store.Options{
			Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: logrus.NewEntry(log), Config: &c, DeliverTime: levels.DeliverTime,
		})
		if err != nil {
			b.Fatal(err)
		}
		s, err := New(Options{Store: relay.FromStore(st), FS: vfs.OS{}, Dir: dir, Clock: clock.System{}, Log: logrus.NewEntry(log), Levels: levels})
		if err != nil {
			b.Fatal(err)
		}
		st.Start()
		s.Start()
		const n = 10_000
		tick := time.NewTicker(time.Millisecond)
		for i := 0; i < n; i++ {
			<-tick.C
			m := message.Message{Topic: "T", Body: []byte(strconv.Itoa(i)), Properties: message.Properties("DELAY\x011\x02")}
			if done, err := s.Transform(&m); !done || err != nil {
				b.Fatal(done, err)
			}
			if _, err := st.Put(&m); err != nil {
				b.Fatal(err)
			}
		}
		for st.Queue("T", 0) == nil || st.Queue("T", 0).MaxOffset() < n {
			<-tick.C
		}
		tick.Stop()
		reportLateness(b, st, n)
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	}
}

// reportLateness compares the store times of what was delayed and of what came of it.
func reportLateness(b *testing.B, st *store.Store, n int) {
	b.Helper()
	times := func(topic string) (out []int64) {
		err := st.Queue(topic, 0).Range(0, func(e store.Entry) bool {
			out = append(out, st.Queue(topic, 0).StoreTime(e.QueueOffset))
			return true
		})
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
	sent, came := times(message.TopicSchedule), times("T")
	if len(sent) != n || len(came) != n {
		b.Fatalf("%d sent, %d came, want %d", len(sent), len(came), n)
	}
	late := make([]int64, n)
	for i := range late {
		late[i] = came[i] - sent[i] - 2000
	}
	slices.Sort(late)
	if late[0] < 0 {
		b.Errorf("%d ms early", -late[0])
	}
	b.ReportMetric(float64(late[n/2]), "p50-ms")
	b.ReportMetric(float64(late[n*99/100]), "p99-ms")
	b.ReportMetric(float64(late[n-1]), "max-ms")
	b.ReportMetric(0, "ns/op")
}

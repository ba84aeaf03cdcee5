package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestArrivals: callbacks see every visible message once, in log order, when it can be read.
func TestArrivals(t *testing.T) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			st := newStoreTest(t)
			st.conf.FlushDiskType = flush
			s, err := Open(st.options())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var got []string
			s.OnArrival(func(a Arrival) {
				var r message.Record
				if _, err := message.DecodeRecord(a.Record(), &r, true); err != nil {
					t.Error(err)
				}
				if r.QueueOffset != a.QueueOffset || r.PhysicalOffset != a.PhysicalOffset || r.Size != a.Size || r.StoreTimestamp != a.StoreTimestamp || r.TagsCode() != a.TagsCode {
					t.Errorf("arrival %+v of record %+v", a, r)
				}
				if e, ok := s.Queue(a.Topic, a.QueueID).Entry(a.QueueOffset); !ok || e.PhysicalOffset != a.PhysicalOffset {
					t.Error("the message is not in its queue yet")
				}
				got = append(got, fmt.Sprintf("%s/%d:%s", a.Topic, a.QueueID, r.Body))
			})
			s.Start()
			var want []string
			for i := range 100 {
				st.put(s, newMessage("T", int32(i%3), fmt.Sprint(i), message.KeyTags, fmt.Sprint("tag", i)))
				want = append(want, fmt.Sprintf("T/%d:%d", i%3, i))
			}
			half := newMessage("T", 0, "not visible")
			half.SysFlag = message.TransactionPrepared
			if p := st.put(s, half); p.QueueOffset != 0 {
				t.Errorf("a prepared message got offset %d, want 0", p.QueueOffset)
			}
			committed := newMessage("T", 0, "committed")
			committed.SysFlag = message.TransactionCommit
			if p := st.put(s, committed); p.QueueOffset != 34 {
				t.Errorf("the committed message got offset %d, want 34", p.QueueOffset)
			}
			want = append(want, "T/0:committed")
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("arrived: %v", got)
			}
		})
	}
}

// TestBatch: consecutive offsets, one file, all or nothing.
func TestBatch(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	var want []string
	for b := range 40 {
		var ms []message.Message
		for i := range 10 {
			body := fmt.Sprintf("%d-%d %s", b, i, strings.Repeat("x", 200))
			ms = append(ms, *newMessage("T", 0, body))
			want = append(want, body)
		}
		placed, err := s.StageBatch(ms)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range placed {
			if p.QueueOffset != int64(b*10+i) {
				t.Fatalf("message %d of batch %d has offset %d", i, b, p.QueueOffset)
			}
			if i > 0 && p.PhysicalOffset != placed[i-1].PhysicalOffset+int64(placed[i-1].Size) {
				t.Fatalf("batch %d is torn between files", b)
			}
		}
		if err := s.Commit(placed[9].Ticket); err != nil {
			t.Fatal(err)
		}
	}
	st.wantBodies(s, "T", 0, want...)
	if placed, err := s.StageBatch(nil); err != nil || len(placed) != 0 {
		t.Errorf("an empty batch: %v, %v", placed, err)
	}
	st.checked(s)
}

// TestScheduleTagsCode: an entry of SCHEDULE_TOPIC_XXXX holds the time of delivery (messages.md §5).
func TestScheduleTagsCode(t *testing.T) {
	st := newStoreTest(t)
	st.clock = clock.NewManual(time.UnixMilli(1_700_000_000_000))
	s := st.open()
	for _, c := range []struct {
		level string
		want  int64
	}{
		{"3", 1_700_000_010_000},
		{"18", 1_700_007_200_000},
		{"19", 1_700_007_200_000},
		{"0", message.TagsHash("TagA")},
		{"-1", message.TagsHash("TagA")},
		{"x", message.TagsHash("TagA")},
	} {
		p := st.put(s, newMessage(message.TopicSchedule, 2, "x", message.KeyTags, "TagA", message.KeyDelayLevel, c.level))
		e, ok := s.Queue(message.TopicSchedule, 2).Entry(p.QueueOffset)
		if !ok || e.TagsCode != c.want {
			t.Errorf("level %s: tags code %d, want %d", c.level, e.TagsCode, c.want)
		}
	}
	p := st.put(s, newMessage("T", 2, "x", message.KeyTags, "TagA", message.KeyDelayLevel, "3"))
	if e, _ := s.Queue("T", 2).Entry(p.QueueOffset); e.TagsCode != 2598919 {
		t.Errorf("another topic: tags code %d, want 2598919", e.TagsCode)
	}
	want := readEntries(t, s, message.TopicSchedule, 2)
	st.kill(s)
	if err := st.fs.RemoveAll("/store/consumequeue"); err != nil {
		t.Fatal(err)
	}
	s = st.open()
	if got := readEntries(t, s, message.TopicSchedule, 2); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("built again: %v, want %v", got, want)
	}
}

func readEntries(t *testing.T, s *Store, topic string, id int32) []Entry {
	t.Helper()
	var out []Entry
	if err := s.Queue(topic, id).Range(0, func(e Entry) bool {
		out = append(out, e)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLightQueues: a message is also in the light queues it names, and their offsets are in its properties (LmqDispatch).
func TestLightQueues(t *testing.T) {
	st := newStoreTest(t)
	st.conf.EnableLMQ, st.conf.EnableMultiDispatch = true, true
	st.conf.MaxLMQConsumeQueueNum = 3
	s := st.open()
	send := func(topic, names, body string) error {
		_, err := s.Put(newMessage(topic, 1, body, message.KeyWait, "true", message.KeyInnerMultiDispatch, names))
		return err
	}
	for i := range 20 {
		names := "%LMQ%a"
		if i%2 == 0 {
			names = "%LMQ%a,%LMQ%b"
		}
		if err := send("T", names, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(message.RetryTopic("G"), "%LMQ%c", "no light queue"); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		for name, count := range map[string]int64{"%LMQ%a": 20, "%LMQ%b": 10} {
			q := s.Queue(name, 0)
			if q == nil || q.MaxOffset() != count {
				t.Fatalf("%s: %v, want %d messages", name, q, count)
			}
		}
		if s.Queue("%LMQ%c", 0) != nil {
			t.Error("a retry topic was dispatched to a light queue")
		}
		e, ok := s.Queue("%LMQ%b", 0).Entry(3)
		if !ok {
			t.Fatal("no entry 3")
		}
		slice, err := s.Record(e.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		defer slice.Release()
		var r message.Record
		if _, err := message.DecodeRecord(slice.Bytes(), &r, true); err != nil {
			t.Fatal(err)
		}
		offsets, _ := r.Properties.Get(message.KeyInnerMultiQueueOffset)
		if string(r.Body) != "6" || offsets != "6,3" || r.Properties.Has(message.KeyWait) {
			t.Errorf("body %s, offsets %s, properties %q", r.Body, offsets, r.Properties)
		}
		var out GetResult
		s.Get(&GetRequest{Topic: "%LMQ%b", Offset: 3, MaxCount: 2}, &out)
		if out.Status != Found || out.Count != 2 {
			t.Errorf("pull from a light queue: %s, %d messages", out.Status, out.Count)
		}
		out.Release()
	}
	check(s)
	if err := send("T", "%LMQ%c,%LMQ%d", "too many"); err == nil || !strings.Contains(err.Error(), "maxLmqConsumeQueueNum") {
		t.Errorf("too many light queues: %v", err)
	}
	if err := send("T", "ordinary", "x"); err == nil {
		t.Error("an ordinary topic was taken for a light queue")
	}
	st.kill(s)
	if err := st.fs.RemoveAll("/store/consumequeue"); err != nil {
		t.Fatal(err)
	}
	s = st.open()
	check(s)
}

// TestHotOnly answers Cold rather than wait for the disk.
func TestHotOnly(t *testing.T) {
	st := newStoreTest(t)
	st.fs = vfs.OS{}
	st.dir = t.TempDir()
	st.conf.MappedFileSizeConsumeQueue = 6_000_000
	s := st.open()
	for i := range 20_000 {
		st.put(s, newMessage("T", 0, fmt.Sprint(i)))
	}
	get := func(offset int64) (GetStatus, int) {
		var out GetResult
		defer out.Release()
		s.Get(&GetRequest{Topic: "T", Offset: offset, MaxCount: 32, HotOnly: true}, &out)
		return out.Status, out.Count
	}
	if status, n := get(19_990); status != Found || n != 10 {
		t.Errorf("what was just written: %s, %d messages", status, n)
	}
	if err := s.queues.files.forget(s.Queue("T", 0), -1); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(0); status != Cold {
		t.Errorf("entries that are only in a file that is not open: %s, want COLD", status)
	}
	if status, _ := get(20_000); status != OffsetOverflowOne {
		t.Errorf("at the end: %s", status)
	}
	st.close(s)
	s = st.open()
	if status, _ := get(19_990); status != Cold {
		t.Errorf("after the restart: %s, want COLD", status)
	}
	var out GetResult
	s.Get(&GetRequest{Topic: "T", MaxCount: 32}, &out)
	if out.Status != Found || len(out.Parts) != 1 {
		t.Errorf("not hot only: %s in %d parts", out.Status, len(out.Parts))
	}
	out.Release()
}

// TestManyQueues keeps the memory of idle queues and the number of open files small.
func TestManyQueues(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 4 << 20
	s := st.open()
	const queues = 3000
	for round := range 3 {
		for i := range queues {
			p := st.put(s, newMessage(fmt.Sprint("T", i/10), int32(i%10), fmt.Sprint(round)))
			if p.QueueOffset != int64(round) {
				t.Fatalf("offset %d in round %d", p.QueueOffset, round)
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.queues.files.open); n > maxOpenQueueFiles {
		t.Errorf("%d queue files are open, the bound is %d", n, maxOpenQueueFiles)
	}
	for range idleTicks + 2 {
		if err := s.queues.write(0); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range s.queues.all() {
		if q.tail != nil {
			t.Fatalf("%s keeps %d bytes in memory", q, cap(q.tail))
		}
	}
	for i := range queues {
		st.wantBodies(s, fmt.Sprint("T", i/10), int32(i%10), "0", "1", "2")
	}
	st.checked(s)
}

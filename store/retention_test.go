package store

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// aged returns a store with messages of every hour of the last hundred hours. It must be called in a bubble of synctest; then it is 14 o'clock.
func (t *storeTest) aged(before func(*Store)) *Store {
	t.Helper()
	start := time.Date(2024, 1, 10, 10, 0, 0, 0, time.Local)
	time.Sleep(time.Until(start))
	t.conf.MappedFileSizeCommitLog = 8 << 10
	t.conf.DeleteWhen = "04"
	t.conf.FileReservedTime = 48
	t.conf.DeleteCommitLogFilesInterval = 0
	t.conf.MaxIndexNum = 60
	s, err := Open(t.options())
	if err != nil {
		t.Fatal(err)
	}
	for hour := range 100 {
		for i := range 5 {
			t.put(s, newMessage("T", 0, fmt.Sprintf("%d-%d-%s", hour, i, strings.Repeat("x", 100)), message.KeyKeys, fmt.Sprintf("k%d-%d", hour, i)))
		}
		if hour == 0 {
			t.put(s, newMessage("Old", 0, "old"))
		}
		time.Sleep(time.Hour)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(s)
	}
	s.Start()
	t.Cleanup(func() { _ = s.Close() }) // closed before where it matters
	return s
}

// pass lets time pass and everybody do what is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inBubble runs a test with a clock that moves when everybody waits.
func inBubble(t *testing.T, run func(st *storeTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(newStoreTest(t)) })
}

// firstHour is the hour of the first message that is left.
func (t *storeTest) firstHour(s *Store) int {
	t.Helper()
	var hour int
	got := t.bodies(s, "T", 0, s.Queue("T", 0).MinOffset())
	if _, err := fmt.Sscanf(got[0], "%d-", &hour); err != nil {
		t.Fatal(err)
	}
	return hour
}

// TestCleaning removes files whose last message is older than fileReservedTime, at the hour of deleteWhen.
func TestCleaning(t *testing.T) { inBubble(t, testCleaning) }

func testCleaning(t *storeTest) {
	st := t
	s := st.aged(nil)
	pass(13*time.Hour + 59*time.Minute)
	if s.MinPhysicalOffset() != 0 {
		t.Fatal("cleaned before deleteWhen")
	}
	pass(10 * time.Minute)
	// 114 hours after the first message, those of the last 48 hours stay; files are removed as a whole.
	if hour := st.firstHour(s); hour < 59 || hour > 66 {
		t.Errorf("first message of hour %d, want one just before 66", hour)
	}
	q := s.Queue("T", 0)
	if e, ok := q.Entry(q.MinOffset()); !ok || e.PhysicalOffset < s.MinPhysicalOffset() {
		t.Errorf("minimum %d leads to %d, the log begins at %d", q.MinOffset(), e.PhysicalOffset, s.MinPhysicalOffset())
	}
	if _, ok := q.Entry(q.MinOffset() - 1); ok {
		t.Error("an entry below the minimum is there")
	}
	for _, c := range []struct {
		key  string
		want int
	}{{"k0-0", 0}, {"k99-4", 1}} {
		found, err := s.Query("T", c.key, 10, 0, 1<<62)
		if err != nil || len(found) != c.want {
			t.Errorf("key %s: %d found, %v; want %d", c.key, len(found), err, c.want)
		}
		for _, f := range found {
			f.Release()
		}
	}
	if s.index.files[0].header.endPhysical < s.MinPhysicalOffset() {
		t.Error("an index file below the log's beginning is left")
	}
	files, err := st.fs.ReadDir(filepath.Join(st.dir, "consumequeue", "T", "0"))
	if err != nil {
		t.Fatal(err)
	}
	if want := offsetName(s.queues.files.base(q.MinOffset())); files[0].Name() != want {
		t.Errorf("first file of the queue is %s, want %s", files[0].Name(), want)
	}
	// The queue without messages keeps its offsets until it is cleaned away.
	old := s.Queue("Old", 0)
	if old.MinOffset() != 1 || old.MaxOffset() != 1 {
		t.Errorf("queue without messages: %d to %d, want 1 to 1", old.MinOffset(), old.MaxOffset())
	}
	minOffset := q.MinOffset()
	st.close(s)
	s = st.open()
	if got := s.Queue("T", 0).MinOffset(); got != minOffset {
		t.Errorf("minimum %d after the restart, want %d", got, minOffset)
	}
	if n := s.CleanExpiredQueues(); n != 1 || s.Queue("Old", 0) != nil {
		t.Errorf("%d expired queues removed, want 1", n)
	}
	st.checked(s)
}

// TestManualCleaning does not wait for deleteWhen.
func TestManualCleaning(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		s := t.aged(nil)
		s.CleanExpired()
		pass(time.Minute)
		if hour := t.firstHour(s); hour < 45 || hour > 52 {
			t.Errorf("first message of hour %d, want one just before 52", hour)
		}
	})
}

// TestCleaningKeepsPending: what somebody still needs stays although it is expired.
func TestCleaningKeepsPending(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		const needed = 20_000
		s := t.aged(func(s *Store) {
			s.Keep("delay levels", func() int64 { return needed })
			s.Keep("timers", func() int64 { return math.MaxInt64 })
		})
		s.CleanExpired()
		pass(time.Minute)
		if first := s.MinPhysicalOffset(); first != needed/8192*8192 {
			t.Errorf("the log begins at %d, want the file with offset %d", first, needed)
		}
	})
}

// TestForcedCleaning: a disk that is nearly full is cleaned regardless of age, pending messages last.
func TestForcedCleaning(t *testing.T) {
	for _, needed := range []int64{math.MaxInt64, 0} {
		t.Run(fmt.Sprint("needed from ", needed), func(t *testing.T) {
			inBubble(t, func(t *storeTest) {
				mem := vfs.NewMem()
				mem.SetUsage(1000, 500)
				t.fs = mem
				s := t.aged(func(s *Store) {
					set := *s.settings.Load().conf
					set.DeleteFileBatchMax = 1
					set.FileReservedTime = 1000 // nothing is expired
					s.Configure(&set)
					s.Keep("timers", func() int64 { return needed })
				})
				mem.SetUsage(1000, 130)
				pass(2 * time.Minute)
				first := s.MinPhysicalOffset()
				if first < 4*8192 || first > 8*8192 {
					t.Errorf("the log begins at %d after a minute of cleaning", first)
				}
				mem.SetUsage(1000, 500)
				pass(2 * time.Second)
				first = s.MinPhysicalOffset()
				pass(time.Minute)
				if s.MinPhysicalOffset() != first {
					t.Error("cleaning went on although there was room")
				}
			})
		})
	}
}

// TestReadersOutliveCleaning: a file that is being read stays readable until it is given back.
func TestReadersOutliveCleaning(t *testing.T) {
	st := newStoreTest(t)
	st.fs = vfs.OS{}
	st.dir = t.TempDir()
	st.conf.MappedFileSizeCommitLog = 8 << 10
	s := st.open()
	for i := range 200 {
		st.put(s, newMessage("T", 0, fmt.Sprint("body", i)))
	}
	var out GetResult
	s.Get(&GetRequest{Topic: "T", MaxCount: 32}, &out)
	slice, err := s.Record(0)
	if err != nil {
		t.Fatal(err)
	}
	st.expire(s)
	if out.Count != 32 || !strings.Contains(string(out.Parts[0]), "body31") {
		t.Error("the pulled messages are gone")
	}
	if !strings.Contains(string(slice.Bytes()), "body0") {
		t.Error("the record is gone")
	}
	slice.Release()
	out.Release()
	if _, err := s.Record(0); err == nil {
		t.Error("a record of a removed file is read")
	}
}

// TestDeleteTopic: the queues go for good, and the topic begins at offset 0 again.
func TestDeleteTopic(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for i := range 50 {
		st.put(s, newMessage("T", 0, fmt.Sprint("old", i)))
		st.put(s, newMessage("Stays", 0, fmt.Sprint(i)))
	}
	if err := s.DeleteTopic("T"); err != nil {
		t.Fatal(err)
	}
	if s.Queue("T", 0) != nil {
		t.Error("the queue is still there")
	}
	if err := s.DeleteTopic("Nobody"); err != nil {
		t.Error(err)
	}
	if p := st.put(s, newMessage("T", 0, "new")); p.QueueOffset != 0 {
		t.Errorf("offset %d in the new topic, want 0", p.QueueOffset)
	}
	st.wantBodies(s, "T", 0, "new")
	st.kill(s)
	s = st.open()
	st.wantBodies(s, "T", 0, "new")
	if got := st.bodies(s, "Stays", 0, 0); len(got) != 50 {
		t.Errorf("%d messages of another topic, want 50", len(got))
	}
	if err := s.DeleteTopic("T"); err != nil {
		t.Fatal(err)
	}
	st.kill(s)
	s = st.open()
	if s.Queue("T", 0) != nil {
		t.Error("the deleted queue came back after a kill")
	}
	st.checked(s)
	// From the log alone the newest generation is found.
	s = st.open()
	st.put(s, newMessage("T", 0, "third"))
	st.close(s)
	report, err := Rebuild(st.options())
	if err != nil {
		t.Fatal(err)
	}
	if report.RebuiltQueues != 2 {
		t.Errorf("%d queues built again, want 2", report.RebuiltQueues)
	}
	s = st.open()
	st.wantBodies(s, "T", 0, "third")
	st.checked(s)
}

func TestCleanUnusedTopics(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for _, topic := range []string{"Used", "Unused", "Unused2", message.TopicSchedule, "%LMQ%light"} {
		st.put(s, newMessage(topic, 0, "x"))
		st.put(s, newMessage(topic, 1, "x"))
	}
	if n := s.CleanUnusedTopics(func(topic string) bool { return topic == "Used" }); n != 2 {
		t.Errorf("%d topics removed, want 2", n)
	}
	var left []string
	s.Queues(func(q *ConsumeQueue) bool {
		if q.QueueID() == 0 {
			left = append(left, q.Topic())
		}
		return true
	})
	if len(left) != 3 || s.Queue("Unused", 0) != nil || s.Queue("Unused2", 1) != nil {
		t.Errorf("left: %v", left)
	}
}

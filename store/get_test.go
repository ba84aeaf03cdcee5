package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// expire removes the first file of the log, whose messages are then gone.
func (t *storeTest) expire(s *Store) {
	t.Helper()
	f := s.files.all()[0]
	s.files.drop(f)
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if err := s.queues.raiseMin(s.files.first()); err != nil {
		t.Fatal(err)
	}
}

// TestGetStatus follows DefaultMessageStore.getMessage (behaviour.md §2) and R-30.
func TestGetStatus(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for i := range 1000 {
		st.put(s, newMessage("T", 0, fmt.Sprint("m", i)))
	}
	st.expire(s)
	minOffset := s.Queue("T", 0).MinOffset()
	if minOffset <= 0 || minOffset >= 1000 {
		t.Fatalf("min offset %d after the first file went", minOffset)
	}
	s.queues.obtain("Empty", 0)
	for _, c := range []struct {
		name   string
		topic  string
		offset int64
		status string
		next   int64
	}{
		{"below the minimum", "T", minOffset - 1, "OFFSET_TOO_SMALL", minOffset},
		{"negative", "T", -1, "OFFSET_TOO_SMALL", minOffset},
		{"at the minimum", "T", minOffset, "FOUND", minOffset + 32},
		{"the last one", "T", 999, "FOUND", 1000},
		{"at the end", "T", 1000, "OFFSET_OVERFLOW_ONE", 1000},
		{"behind the end", "T", 1001, "OFFSET_OVERFLOW_BADLY", 1000},
		{"far behind the end", "T", 5_000_000, "OFFSET_OVERFLOW_BADLY", 1000},
		{"empty queue at 0", "Empty", 0, "NO_MESSAGE_IN_QUEUE", 0},
		{"empty queue at 7", "Empty", 7, "NO_MESSAGE_IN_QUEUE", 0},
		{"unknown queue", "Nowhere", 3, "NO_MESSAGE_IN_QUEUE", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out GetResult
			s.Get(&GetRequest{Topic: c.topic, Offset: c.offset, MaxCount: 32}, &out)
			defer out.Release()
			if out.Status.String() != c.status || out.NextOffset != c.next {
				t.Errorf("offset %d: %s, next %d; want %s, %d", c.offset, out.Status, out.NextOffset, c.status, c.next)
			}
			if c.topic == "T" && (out.MinOffset != minOffset || out.MaxOffset != 1000) {
				t.Errorf("range %d to %d, want %d to 1000", out.MinOffset, out.MaxOffset, minOffset)
			}
		})
	}
}

func TestGetLimits(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 4 << 20
	st.conf.MappedFileSizeConsumeQueue = 6_000_000
	s := st.open()
	const size = 10_000
	for range 200 {
		st.put(s, newMessage("Big", 0, strings.Repeat("x", size)))
		st.put(s, newMessage("Small", 0, "x"))
	}
	huge := st.put(s, newMessage("Huge", 0, strings.Repeat("x", 300_000)))
	record := int(st.put(s, newMessage("Big", 0, strings.Repeat("x", size))).Size)
	get := func(topic string, count, bytes int32) (int, int) {
		var out GetResult
		defer out.Release()
		s.Get(&GetRequest{Topic: topic, MaxCount: count, MaxBytes: bytes}, &out)
		if out.NextOffset != int64(out.Count) {
			t.Errorf("%s: next offset %d after %d messages", topic, out.NextOffset, out.Count)
		}
		return out.Count, out.Bytes
	}
	if n, _ := get("Small", 1000, 0); n != 32 {
		t.Errorf("%d messages, maxTransferCountOnMessageInMemory is 32", n)
	}
	if n, _ := get("Small", 5, 0); n != 5 {
		t.Errorf("%d messages of at most 5", n)
	}
	if n, bytes := get("Big", 32, 0); n != 262144/record || bytes > 262144 {
		t.Errorf("%d messages with %d bytes, maxTransferBytesOnMessageInMemory is 262144", n, bytes)
	}
	if n, _ := get("Big", 32, 30_500); n != 3 {
		t.Errorf("%d messages within 30500 bytes, want 3", n)
	}
	if n, bytes := get("Huge", 32, 100); n != 1 || bytes != int(huge.Size) {
		t.Errorf("%d messages with %d bytes; one that is too large comes alone", n, bytes)
	}
	// Far from the log's end messages count as being on disk.
	far := *s.settings.Load()
	far.hotBytes = 0
	s.settings.Store(&far)
	if n, _ := get("Small", 32, 0); n != 8 {
		t.Errorf("%d messages from disk, maxTransferCountOnMessageInDisk is 8", n)
	}
	if n, _ := get("Big", 32, 0); n != 65536/record {
		t.Errorf("%d messages from disk, maxTransferBytesOnMessageInDisk is 65536", n)
	}
	var out GetResult
	s.Get(&GetRequest{Topic: "Small", MaxCount: 1}, &out)
	if !out.SuggestSlave {
		t.Error("no slave is suggested for old messages")
	}
	out.Release()
}

type tagFilter struct {
	code   int64
	record func([]byte) bool
}

func (f tagFilter) MatchTagsCode(code int64) bool { return code == f.code }
func (f tagFilter) MatchRecord(record []byte) bool {
	return f.record == nil || f.record(record)
}

func TestGetFilter(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 4 << 20
	s := st.open()
	for i := range 2000 {
		tag := "A"
		if i%1000 == 999 {
			tag = "B"
		}
		st.put(s, newMessage("T", 0, fmt.Sprint(i), message.KeyTags, tag))
	}
	var out GetResult
	req := GetRequest{Topic: "T", MaxCount: 32, Filter: tagFilter{code: message.TagsHash("B")}}
	s.Get(&req, &out)
	// maxFilterMessageSize 16000 bytes of entries are 800 entries.
	if out.Status != NoMatchedMessage || out.NextOffset != 800 {
		t.Errorf("%s, next %d; want NO_MATCHED_MESSAGE, 800", out.Status, out.NextOffset)
	}
	out.Release()
	req.Offset = 800
	s.Get(&req, &out)
	if out.Status != Found || out.Count != 1 || out.NextOffset != 1600 {
		t.Errorf("%s, %d messages, next %d; want FOUND, 1, 1600", out.Status, out.Count, out.NextOffset)
	}
	out.Release()
	req.Filter = tagFilter{code: message.TagsHash("B"), record: func([]byte) bool { return false }}
	s.Get(&req, &out)
	if out.Status != NoMatchedMessage || out.Filtered != 1 {
		t.Errorf("%s, %d filtered; want NO_MATCHED_MESSAGE, 1", out.Status, out.Filtered)
	}
	out.Release()
}

// TestOffsetByTime follows R-37: stamps t1 < t2 = t2 < t3.
func TestOffsetByTime(t *testing.T) {
	st := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1000))
	st.clock = manual
	s := st.open()
	stamps := []int64{1000, 2000, 2000, 2000, 3000, 3000, 5000}
	for _, ms := range stamps {
		manual.Set(time.UnixMilli(ms))
		st.put(s, newMessage("T", 0, "x"))
		st.put(s, newMessage("Other", 0, "y"))
	}
	q := s.Queue("T", 0)
	for _, c := range []struct {
		ms           int64
		lower, upper int64
	}{
		{0, 0, 0}, {999, 0, 0}, {1000, 0, 0}, {1001, 1, 0}, {2000, 1, 3}, {2500, 4, 3}, {3000, 4, 5}, {4999, 6, 5}, {5000, 6, 6}, {5001, 7, 6}, {1 << 50, 7, 6},
	} {
		if got := q.OffsetByTime(c.ms, Lower); got != c.lower {
			t.Errorf("first at or after %d: %d, want %d", c.ms, got, c.lower)
		}
		if got := q.OffsetByTime(c.ms, Upper); got != c.upper {
			t.Errorf("last at or before %d: %d, want %d", c.ms, got, c.upper)
		}
	}
	if got := q.StoreTime(4); got != 3000 {
		t.Errorf("store time %d, want 3000", got)
	}
	if got := q.StoreTime(7); got != -1 {
		t.Errorf("store time of what is not there: %d, want -1", got)
	}
	if got := s.EarliestTime(); got != 1000 {
		t.Errorf("earliest time %d, want 1000", got)
	}
	empty := s.queues.obtain("Empty", 0)
	if l, u := empty.OffsetByTime(5, Lower), empty.OffsetByTime(5, Upper); l != 0 || u != 0 {
		t.Errorf("empty queue: %d and %d, want 0", l, u)
	}
}

// TestQueryHashCollision follows R-38: AaTopic#BB and BBTopic#Aa have one Java hash.
func TestQueryHashCollision(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for _, topic := range []string{"AaTopic", "BBTopic"} {
		for _, key := range []string{"Aa", "BB"} {
			if topic == "AaTopic" && key == "BB" {
				continue
			}
			st.put(s, newMessage(topic, 0, topic+key, message.KeyKeys, key))
		}
	}
	st.put(s, newMessage("T", 0, "three", message.KeyKeys, "k1 k2 k3"))
	st.put(s, newMessage("T", 0, "first", message.KeyUniqueKey, "same"))
	st.put(s, newMessage("T", 0, "second", message.KeyUniqueKey, "same", message.KeyTags, "Tag"))
	query := func(topic, key string, limit int) []string {
		found, err := s.Query(topic, key, limit, 0, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, slice := range found {
			var r message.Record
			if _, err := message.DecodeRecord(slice.Bytes(), &r, true); err != nil {
				t.Fatal(err)
			}
			out = append(out, string(r.Body))
			slice.Release()
		}
		return out
	}
	for _, c := range []struct {
		topic, key string
		limit      int
		want       string
	}{
		{"AaTopic", "BB", 32, "[]"},
		{"AaTopic", "Aa", 32, "[AaTopicAa]"},
		{"BBTopic", "Aa", 32, "[BBTopicAa]"},
		{"BBTopic", "BB", 32, "[BBTopicBB]"},
		{"T", "k1", 32, "[three]"},
		{"T", "k2", 32, "[three]"},
		{"T", "k3", 32, "[three]"},
		{"T", "k1 k2", 32, "[]"},
		{"T", "same", 32, "[first second]"},
		{"T", "same", 1, "[second]"},
		{"T", "", 32, "[]"},
	} {
		if got := fmt.Sprint(query(c.topic, c.key, c.limit)); got != c.want {
			t.Errorf("%s/%s at most %d: %s, want %s", c.topic, c.key, c.limit, got, c.want)
		}
	}
	found, err := s.QueryTag("T", "Tag", 32, 0, 1<<62)
	if err != nil || len(found) != 1 {
		t.Fatalf("by tag: %d found, %v", len(found), err)
	}
	found[0].Release()
}

// TestQueryOverFiles fills several index files; old keys are found, also after a restart and a kill.
func TestQueryOverFiles(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MaxIndexNum = 100
	s := st.open()
	for i := range 500 {
		st.put(s, newMessage("T", 0, fmt.Sprint("m", i), message.KeyKeys, fmt.Sprint("k", i)))
	}
	check := func(s *Store) {
		t.Helper()
		for i := range 500 {
			found, err := s.Query("T", fmt.Sprint("k", i), 32, 0, 1<<62)
			if err != nil || len(found) != 1 {
				t.Fatalf("key %d: %d found, %v", i, len(found), err)
			}
			found[0].Release()
		}
	}
	check(s)
	if n := len(s.index.files); n != 6 {
		t.Errorf("%d index files of 99 keys for 500 keys, want 6", n)
	}
	st.close(s)
	s = st.open()
	check(s)
	st.kill(s)
	s = st.open()
	check(s)
	st.close(s)
	// Without its files the index is built again.
	if err := st.fs.RemoveAll(indexDir(st.dir)); err != nil {
		t.Fatal(err)
	}
	s = st.open()
	check(s)
}

// TestHotFromFile: what lies in a queue's file and in the system's memory is read without waiting for the disk.
func TestHotFromFile(t *testing.T) {
	st := newStoreTest(t)
	st.fs, st.dir = vfs.OS{}, t.TempDir()
	probe, err := st.fs.OpenFile(filepath.Join(st.dir, "probe"), osUpdate|osCreate, filePerm)
	if err != nil {
		t.Fatal(err)
	}
	_, err = probe.WriteAt([]byte("x"), 0)
	r, ok := probe.(vfs.CachedReader)
	ok = ok && r.ReadCached(make([]byte, 1), 0)
	if err := errors.Join(err, probe.Close()); err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("this file system cannot tell what is in memory")
	}
	st.conf.MappedFileSizeCommitLog, st.conf.MappedFileSizeConsumeQueue = 64<<20, 20*300_000
	s := st.open()
	const messages = 3 * keptEntriesMost
	for i := range messages {
		p, err := s.Stage(newMessage("T", 0, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(p.Ticket); err != nil {
			t.Fatal(err)
		}
	}
	if n, inFile := s.Queue("T", 0).readTail(0, make([]byte, entrySize)); n > 0 || inFile == 0 {
		t.Fatal("everything is in memory")
	}
	var out GetResult
	count := 0
	for at := int64(0); at < messages; at = out.NextOffset {
		s.Get(&GetRequest{Topic: "T", Offset: at, MaxCount: 32, HotOnly: true}, &out)
		if out.Status != Found {
			t.Fatalf("offset %d: %v", at, out.Status)
		}
		count += out.Count
		out.Release()
	}
	if count != messages {
		t.Errorf("%d of %d messages", count, messages)
	}
}

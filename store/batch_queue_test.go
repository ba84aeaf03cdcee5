package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
)

// innerTopic is the topic with batch queues.
const innerTopic = "Inner"

func innerKind(topic string) QueueKind {
	if topic == innerTopic {
		return BatchQueue
	}
	return SimpleQueue
}

// newInner is a batch that is stored as one record.
func newInner(queueID int32, bodies ...string) *message.Message {
	var batch []byte
	for _, body := range bodies {
		batch, _ = message.AppendBatchEntry(batch, message.BatchEntry{Body: []byte(body)}) // without properties there is no error
	}
	m := newMessage(innerTopic, queueID, string(batch), message.KeyUniqueKey, "u"+bodies[0], message.KeyInnerNum, fmt.Sprint(len(bodies)))
	m.SysFlag = message.SysInnerBatch | message.SysNeedUnwrap
	return m
}

// innerBodies is what a client makes of a record.
func innerBodies(r *message.Record) []string {
	if r.SysFlag&message.SysInnerBatch == 0 {
		return []string{string(r.Body)}
	}
	var list []string
	for rest := r.Body; len(rest) > 0; {
		e, next, err := message.CutBatchEntry(rest)
		if err != nil {
			return append(list, err.Error())
		}
		list, rest = append(list, string(e.Body)), next
	}
	return list
}

// putInner sends an inner batch in the model.
func (m *model) putInner(n int) {
	key := queueKey{innerTopic, rapid.Int32Range(0, 2).Draw(m.rt, "queue")}
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprint(m.sent, strings.Repeat(".", rapid.IntRange(0, 300).Draw(m.rt, "size")))
		m.sent++
	}
	p, err := m.s.Put(newInner(key.id, bodies...))
	if err != nil {
		m.rt.Fatal(err)
	}
	if p.QueueOffset != m.next[key] {
		m.rt.Fatalf("%v: batch got offset %d, %d follows", key, p.QueueOffset, m.next[key])
	}
	if m.queues[key] == nil {
		m.queues[key] = map[int64]modelMessage{}
	}
	end := p.PhysicalOffset + int64(p.Size)
	for i, body := range bodies {
		m.queues[key][p.QueueOffset+int64(i)] = modelMessage{body, end}
	}
	m.next[key] += int64(n)
	if m.st.conf.FlushDiskType == "SYNC_FLUSH" {
		m.flushed = end
	}
}

// innerStore is a store with 60 inner batches of 1 to 5 messages in queue 0, each stored a second after the one before.
func innerStore(t *testing.T) (st *storeTest, s *Store, starts []int64, end int64) {
	t.Helper()
	st = newStoreTest(t)
	st.kind = innerKind
	now := clock.NewManual(time.UnixMilli(1_796_000_000_000))
	st.clock = now
	s = st.open()
	for i := range 60 {
		now.Advance(time.Second)
		bodies := make([]string, 1+i%5)
		for j := range bodies {
			bodies[j] = fmt.Sprint(end + int64(j))
		}
		p := st.put(s, newInner(0, bodies...))
		if p.QueueOffset != end {
			t.Fatalf("batch %d got offset %d, want %d", i, p.QueueOffset, end)
		}
		starts = append(starts, p.QueueOffset)
		end += int64(len(bodies))
	}
	return st, s, starts, end
}

// wantInner pulls at every offset: the record that holds it comes first, and the bodies are the offsets.
func (t *storeTest) wantInner(s *Store, starts []int64, end int64) {
	t.Helper()
	var out GetResult
	q := s.Queue(innerTopic, 0)
	if q == nil || q.Kind() != BatchQueue || q.MaxOffset() != end || q.MinOffset() != starts[0] {
		t.Fatalf("queue %v, want a batch queue from %d to %d", q, starts[0], end)
	}
	for at := starts[0]; at < end; at++ {
		i, found := slices.BinarySearch(starts, at)
		if !found {
			i--
		}
		s.Get(&GetRequest{Topic: innerTopic, QueueID: 0, Offset: at, MaxCount: 1}, &out)
		next := end
		if i+1 < len(starts) {
			next = starts[i+1]
		}
		if out.Status != Found || out.NextOffset != next || out.Count != int(next-starts[i]) {
			t.Fatalf("pull at %d: %v next %d count %d, want %d and %d", at, out.Status, out.NextOffset, out.Count, next, next-starts[i])
		}
		var r message.Record
		if _, err := message.DecodeRecord(out.Parts[0], &r, true); err != nil || r.QueueOffset != starts[i] {
			t.Fatalf("pull at %d: record %d %v, want %d", at, r.QueueOffset, err, starts[i])
		}
		for j, body := range innerBodies(&r) {
			if want := fmt.Sprint(r.QueueOffset + int64(j)); body != want {
				t.Fatalf("message %s has body %s", want, body)
			}
		}
		if e, ok := q.Entry(at); !ok || e.QueueOffset != starts[i] {
			t.Fatalf("entry of %d: %+v %t", at, e, ok)
		}
		out.Release()
	}
	var ranged []int64
	if err := q.Range(0, func(e Entry) bool { ranged = append(ranged, e.QueueOffset); return true }); err != nil || !slices.Equal(ranged, starts) {
		t.Fatalf("range: %v, %v, want %v", ranged, err, starts)
	}
	s.Get(&GetRequest{Topic: innerTopic, QueueID: 0, Offset: end, MaxCount: 1}, &out)
	if out.Status != OffsetOverflowOne {
		t.Errorf("pull at the end: %v", out.Status)
	}
}

// TestBatchQueue: messages of inner batches are found by every offset: from memory, from files, after a stop, a kill, a lost queue and a
// rebuild, with and without somebody who knows the kind of the topic.
func TestBatchQueue(t *testing.T) {
	st, s, starts, end := innerStore(t)
	st.wantInner(s, starts, end)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	st.kill(s)
	for _, known := range []bool{true, false} {
		st.kind = nil
		if known {
			st.kind = innerKind
		}
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"killed", func() {}},
			{"stopped", func() { s = st.open(); st.close(s) }},
			{"queue lost", func() {
				if err := st.fs.RemoveAll(filepath.Join(st.dir, batchQueueDir)); err != nil {
					t.Fatal(err)
				}
			}},
			{"state lost", func() {
				if err := st.fs.Remove(filepath.Join(st.dir, queueStateName)); err != nil {
					t.Fatal(err)
				}
			}},
			{"file cut short", func() {
				st.edit(filepath.Join(batchQueueDir, innerTopic, "0", offsetName(0)), func(b []byte) []byte { return b[:100] })
			}},
			{"rebuild", func() {
				if _, err := Rebuild(st.options()); err != nil {
					t.Fatal(err)
				}
			}},
			{"in the other directory", func() {
				if st.kind == nil {
					return
				}
				ordinary := filepath.Join(st.dir, queueDir, innerTopic, "0")
				if err := errors.Join(st.fs.RemoveAll(filepath.Join(st.dir, batchQueueDir)), st.fs.Remove(filepath.Join(st.dir, queueStateName)), st.fs.MkdirAll(ordinary, dirPerm)); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(fmt.Sprintf("%s, known %t", step.name, known), func(t *testing.T) {
				outer := st.T
				defer func() { st.T = outer }()
				st.T = t
				step.do()
				s = st.open()
				st.wantInner(s, starts, end)
				if p := st.put(s, newInner(0, fmt.Sprint(end))); p.QueueOffset != end {
					t.Fatalf("the next batch got offset %d, want %d", p.QueueOffset, end)
				}
				starts, end = append(starts, end), end+1
				st.wantInner(s, starts, end)
				st.checked(s)
			})
		}
	}
}

// TestBatchQueueBytes: an entry has the bytes that Apache writes (testdata/batchcq.txt says where they come from).
func TestBatchQueueBytes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "batchcq.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var u batchUnit
		var tail string
		if _, err := fmt.Sscan(line, &u.PhysicalOffset, &u.Size, &u.TagsCode, &u.storeMs, &u.QueueOffset, &u.messages, &tail); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		b, err := hex.DecodeString(tail)
		if err != nil || len(b) != batchUnitSize {
			t.Fatalf("%s: %v", line, err)
		}
		if got := decodeBatchUnit(b); got != u {
			t.Errorf("decoded %+v, want %+v", got, u)
		}
		if got := hex.EncodeToString(appendBatchUnit(nil, u)); got != tail {
			t.Errorf("encoded %s, want %s", got, tail)
		}
	}
}

// TestBatchQueueTimes: a time finds the first message of a record.
func TestBatchQueueTimes(t *testing.T) {
	_, s, starts, end := innerStore(t)
	q := s.Queue(innerTopic, 0)
	ms := func(i int) int64 { return 1_796_000_000_000 + int64(i+1)*1000 }
	for _, row := range []struct {
		ms   int64
		b    Boundary
		want int64
	}{
		{ms(0) - 1, Lower, 0},
		{ms(0) - 1, Upper, 0},
		{ms(7), Lower, starts[7]},
		{ms(7), Upper, starts[7]},
		{ms(7) + 1, Lower, starts[8]},
		{ms(7) + 1, Upper, starts[7]},
		{ms(59), Upper, starts[59]},
		{ms(59) + 1, Upper, starts[59]},
		{ms(59) + 1, Lower, end},
	} {
		if got := q.OffsetByTime(row.ms, row.b); got != row.want {
			t.Errorf("time %d %d: offset %d, want %d", row.ms, row.b, got, row.want)
		}
	}
	if got := q.StoreTime(starts[8] + 1); got != ms(8) {
		t.Errorf("store time %d, want %d", got, ms(8))
	}
}

// TestBatchQueueExpires: with the log's files the entries go, and the minimum is the first message of the first record that is left.
func TestBatchQueueExpires(t *testing.T) {
	st := newStoreTest(t)
	st.kind = innerKind
	s := st.open()
	var first []Placed
	for i := range 200 {
		first = append(first, st.put(s, newInner(0, fmt.Sprint(2*i), strings.Repeat("x", 2000))))
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	begin := s.files.all()[2].base
	for range 2 {
		f := s.files.all()[0]
		s.files.drop(f)
		if err := f.remove(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.queues.raiseMin(begin); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(first, func(p Placed) bool { return p.PhysicalOffset >= begin })
	want := first[i].QueueOffset
	for range 2 {
		q := s.Queue(innerTopic, 0)
		if q.MinOffset() != want || q.MaxOffset() != 400 {
			t.Errorf("queue from %d to %d, want %d to 400", q.MinOffset(), q.MaxOffset(), want)
		}
		st.close(s)
		s = st.open()
	}
	files, err := st.fs.ReadDir(filepath.Join(st.dir, batchQueueDir, innerTopic, "0"))
	if err != nil || files[0].Name() != offsetName(int64(i)*46/(46*16)*(46*16)) {
		t.Errorf("the first file is %v, %v", files[0].Name(), err)
	}
	st.close(s)
	if _, err := Rebuild(st.options()); err != nil {
		t.Fatal(err)
	}
	s = st.open()
	if q := s.Queue(innerTopic, 0); q.MinOffset() != want || q.MaxOffset() != 400 {
		t.Errorf("rebuilt queue from %d to %d, want %d to 400", q.MinOffset(), q.MaxOffset(), want)
	}
}

// TestInnerBatchRefused: a batch goes into batch queues only, and must say how many messages it holds.
func TestInnerBatchRefused(t *testing.T) {
	st := newStoreTest(t)
	st.kind = innerKind
	s := st.open()
	other := newInner(0, "x")
	other.Topic = "Ordinary"
	if _, err := s.Put(other); !errors.Is(err, ErrMessageIllegal) || !strings.Contains(err.Error(), "queue.type") {
		t.Errorf("into an ordinary queue: %v", err)
	}
	for _, n := range []string{"0", "-1", "32768", "x", ""} {
		m := newInner(0, "x")
		m.Properties = m.Properties.With(message.KeyInnerNum, n)
		if _, err := s.Put(m); !errors.Is(err, ErrMessageIllegal) || !strings.Contains(err.Error(), message.KeyInnerNum) {
			t.Errorf("%s messages: %v", n, err)
		}
	}
}

// TestKindTurnsOut: when it is known only at the next start that a topic has batch queues, they are built again.
func TestKindTurnsOut(t *testing.T) {
	for _, closed := range []bool{true, false} {
		st := newStoreTest(t)
		s := st.open()
		for i := range 20 {
			st.put(s, newMessage(innerTopic, 0, fmt.Sprint(i)))
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if closed {
			st.close(s)
		} else {
			st.kill(s)
		}
		st.kind = innerKind
		s = st.open()
		starts := make([]int64, 20)
		for i := range starts {
			starts[i] = int64(i)
		}
		st.wantInner(s, starts, 20)
		st.checked(s)
	}
}

// TestKindChangesWhileAQueueGoes makes a queue of the other kind while its predecessor's files are being removed: it keeps its own.
func TestKindChangesWhileAQueueGoes(t *testing.T) {
	st := newQuietTest(t)
	table := st.idle().queues
	key := queueKey{"T", 0}
	const n = 3 * keptEntriesMost
	old := table.obtainKind(key, false)
	old.append(Entry{PhysicalOffset: 1, Size: 1})
	table.detach([]*ConsumeQueue{old})
	fresh := table.obtainKind(key, true)
	for i := range int64(n) {
		fresh.appendUnit(batchUnit{Entry{QueueOffset: i, PhysicalOffset: i, Size: 1}, 1, 1})
	}
	if err := errors.Join(table.write(0), table.removeQueues([]*ConsumeQueue{old})); err != nil {
		t.Fatal(err)
	}
	fresh.mu.Lock()
	fresh.trimLocked(0)
	written := fresh.written
	fresh.mu.Unlock()
	for _, offset := range []int64{0, n - 1} {
		if e, ok := fresh.Entry(offset); !ok || e.PhysicalOffset != offset {
			t.Errorf("entry %d: %v %t", offset, e, ok)
		}
	}
	if left := table.unwritten.Load(); written != n || left != 0 {
		t.Errorf("%d entries are written, %d bytes are not, want %d and 0", written, left, n)
	}
}

// TestBatchGetAllocates: a walk over the newest entries of a batch queue allocates nothing once its result has been used.
func TestBatchGetAllocates(t *testing.T) {
	st := newStoreTest(t)
	st.kind = innerKind
	s := st.open()
	for i := range 20 {
		st.put(s, newInner(0, fmt.Sprint(i), "more"))
	}
	req := GetRequest{Topic: innerTopic, Offset: 7, MaxCount: 8, Filter: tagFilter{code: 1}} // matches nothing: no record is read
	var out GetResult
	get := func() {
		s.Get(&req, &out)
		if out.Status != NoMatchedMessage || out.NextOffset != 40 {
			t.Errorf("%v, next offset %d, want 40", out.Status, out.NextOffset)
		}
		out.Release()
	}
	if n := testing.AllocsPerRun(100, get); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

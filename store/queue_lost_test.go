package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
)

// newQuietTest is a store in which nothing happens in the background: what was not flushed by the test is in memory only.
func newQuietTest(t *testing.T) *storeTest {
	t.Helper()
	st := newStoreTest(t)
	st.clock = clock.NewManual(time.UnixMilli(1_796_000_000_000))
	st.conf.FlushDiskType = "ASYNC_FLUSH"
	return st
}

func (t *storeTest) flush(s *Store) {
	t.Helper()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestEntriesOfLostMessages opens stores whose queues hold, after a crash, entries of messages that the log has lost: nothing of them
// may be left when the store is open, wherever they lie.
func TestEntriesOfLostMessages(t *testing.T) {
	const perFile = 1000 // 20,000 bytes, five pages
	name := func(queue string, base int64) string {
		return "consumequeue/" + queue + "/" + offsetName(base*entrySize)
	}
	lost := appendEntry(nil, Entry{PhysicalOffset: 300, Size: 120, TagsCode: 7})
	for _, c := range []struct {
		what string
		file string
		at   int64 // entry in the file
	}{
		{"right behind the end", name("T/0", 0), 50},
		{"in a later page", name("T/0", 0), 600},
		{"in the next file", name("T/0", perFile), 0},
		{"in the middle of the next file", name("T/0", perFile), 600},
		{"of another queue of the topic", name("T/5", 0), 0},
		{"of another queue, in its middle", name("T/5", 0), 600},
		{"of another topic", name("U/0", 0), 2},
		{"of another topic, in its second file", name("U/0", perFile), 2},
		{"of a queue whose first message is behind the checkpoint", name("T/1", 0), 600},
		{"of the same, in its second file", name("T/1", perFile), 3},
	} {
		t.Run(c.what, func(t *testing.T) {
			st := newQuietTest(t)
			st.conf.MappedFileSizeConsumeQueue = perFile * entrySize
			s := st.open()
			for i := range 50 {
				st.put(s, newMessage("T", 0, fmt.Sprint(i)))
			}
			st.flush(s)
			st.put(s, newMessage("T", 1, "new"))
			if err := s.queues.write(0); err != nil {
				t.Fatal(err)
			}
			st.kill(s)
			st.writeFile(c.file, perFile*entrySize, c.at*entrySize, lost)
			s = st.open()
			if err := leftovers(s); err != nil {
				t.Fatalf("after the start: %v", err)
			}
			for _, q := range []struct {
				topic string
				id    int32
				next  int64
			}{{"T", 0, 50}, {"T", 1, 1}, {"T", 5, 0}, {"U", 0, 0}} {
				if p := st.put(s, newMessage(q.topic, q.id, "after")); p.QueueOffset != q.next {
					t.Errorf("%s/%d: the next message got offset %d, want %d", q.topic, q.id, p.QueueOffset, q.next)
				}
			}
			st.close(s)
			if report := st.check(); len(report.Problems) > 0 {
				t.Errorf("check: %v", report.Problems)
			}
			// Without the file of the checkpoint the queues' own files tell what they hold.
			st.remove(queueStateName)
			st.writeFile(abortName, 1, 0, []byte("1"))
			s = st.open()
			if got := s.Queue("T", 0).MaxOffset(); got != 51 {
				t.Errorf("T/0 ends at %d, want 51", got)
			}
		})
	}
}

// TestHolesInQueueFiles opens a store without a checkpoint of ours, as one that was written by the reference, whose last crash kept a later page of a
// queue's file and not the one before.
func TestHolesInQueueFiles(t *testing.T) {
	st := newQuietTest(t)
	st.conf.MappedFileSizeConsumeQueue = 1000 * entrySize
	s := st.open()
	var want []string
	for i := range 900 {
		want = append(want, fmt.Sprint(i))
		st.put(s, newMessage("T", 0, want[i]))
	}
	st.close(s)
	st.remove(queueStateName)
	st.remove(checkpointName)
	st.writeFile(abortName, 1, 0, []byte("1"))
	// The page in the middle, on which halving would not look.
	st.writeFile("consumequeue/T/0/"+offsetName(0), 1000*entrySize, 4096, make([]byte, 4096))
	s = st.open()
	st.wantBodies(s, "T", 0, want...)
	st.close(s)
	if report := st.check(); report.Damaged() {
		t.Errorf("check: %v", report.Problems)
	}
}

// TestQueueWhoseFirstMessagesAreLost opens a store whose crash took the first messages of a queue and left its file without entries: the
// reference needs fillers there, or takes the queue for empty.
func TestQueueWhoseFirstMessagesAreLost(t *testing.T) {
	st := newQuietTest(t)
	s := st.open()
	lost := st.put(s, newMessage("T", 0, strings.Repeat("x", 200)))
	st.put(s, newMessage("T", 0, "y"))
	st.put(s, newMessage("T", 0, "z"))
	st.kill(s)
	st.edit("commitlog/"+offsetName(0), func(b []byte) []byte {
		clear(b[:lost.Size])
		return b
	})
	st.writeFile("consumequeue/T/0/"+offsetName(0), int64(st.conf.MappedFileSizeConsumeQueue), 0, []byte{0})
	s = st.open()
	if got := st.bodies(s, "T", 0, 1); fmt.Sprint(got) != "[y z]" {
		t.Errorf("T/0 holds %v, want [y z]", got)
	}
	st.close(s)
	for offset, want := range []Entry{{Size: fillerSize}, {QueueOffset: 1, PhysicalOffset: int64(lost.Size)}} {
		var got Entry
		st.edit("consumequeue/T/0/"+offsetName(0), func(b []byte) []byte {
			got = decodeEntry(b[offset*entrySize:], int64(offset))
			return b
		})
		if got.PhysicalOffset != want.PhysicalOffset || want.Size != 0 && got.Size != want.Size {
			t.Errorf("entry %d is %+v, want %+v", offset, got, want)
		}
	}
}

// TestLogThatEndsWithABlankRecord lets a crash take the first record of the log's second file, so that the log ends where the first file does,
// behind its blank record. The checkpoint written then must count: a start without one would bring back the topic that was deleted.
func TestLogThatEndsWithABlankRecord(t *testing.T) {
	st := newQuietTest(t)
	s := st.open()
	for i := range 3 {
		st.put(s, newMessage("Gone", 0, fmt.Sprint(i)))
	}
	for s.MaxPhysicalOffset() <= st.files() {
		st.put(s, newMessage("T", 0, strings.Repeat("x", 3000)))
	}
	st.kill(s)
	st.edit("commitlog/"+offsetName(st.files()), func(b []byte) []byte {
		clear(b)
		return b
	})
	s = st.open()
	if got := s.MaxPhysicalOffset(); got != st.files() {
		t.Fatalf("the log ends at %d, want %d", got, st.files())
	}
	if err := s.DeleteTopic("Gone"); err != nil {
		t.Fatal(err)
	}
	st.flush(s)
	st.kill(s)
	s = st.open()
	if got := s.Recovery().ScannedFrom; got != st.files() {
		t.Errorf("the log was read from %d on, want %d", got, st.files())
	}
	if p := st.put(s, newMessage("Gone", 0, "new")); p.QueueOffset != 0 {
		t.Errorf("the first message of a new topic got offset %d, want 0", p.QueueOffset)
	}
}

// TestLossUpToTheEndOfAFile lets a crash take the end of one file of the log: what stands in its place tells later starts too that messages are
// missing, so that the only one behind them stays.
func TestLossUpToTheEndOfAFile(t *testing.T) {
	st := newQuietTest(t)
	s := st.open()
	st.put(s, newMessage("T", 0, "first"))
	st.flush(s)
	var from, next int64
	for s.MaxPhysicalOffset() <= st.files() {
		p := st.put(s, newMessage("T", 0, strings.Repeat("x", 3000), message.KeyKeys, "k"))
		if from == 0 {
			from = p.PhysicalOffset
		}
		next = p.QueueOffset
	}
	st.kill(s)
	st.edit("commitlog/"+offsetName(0), func(b []byte) []byte {
		clear(b[from:])
		return b
	})
	for start := range 3 {
		s = st.open()
		got := st.bodies(s, "T", 0, 0)
		if len(got) != 2 || s.Queue("T", 0).MaxOffset() != next+1 {
			t.Fatalf("start %d: T/0 holds %d messages and ends at %d, want 2 and %d", start, len(got), s.Queue("T", 0).MaxOffset(), next+1)
		}
		st.kill(s)
	}
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/modeltest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

func TestMain(m *testing.M) {
	modeltest.FixTo(100)
	goleak.VerifyTestMain(m)
}

// quiet is a logger that writes nothing.
func quiet() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// smallConf is a configuration with files small enough to get several of each.
func smallConf() *conf.Store {
	c := conf.Default().Store
	c.MappedFileSizeCommitLog = 64 << 10
	c.MappedFileSizeConsumeQueue = 20 * 64
	c.MapperFileSizeBatchConsumeQueue = 46 * 16
	c.MaxHashSlotNum = 97
	c.MaxIndexNum = 1000
	return &c
}

// storeTest opens stores in tests.
type storeTest struct {
	*testing.T
	fs    vfs.FS
	dir   string
	clock clock.Clock
	conf  *conf.Store
	kind  func(topic string) QueueKind
}

func newStoreTest(t *testing.T) *storeTest {
	t.Helper()
	return &storeTest{T: t, fs: vfs.NewMem(), dir: "/store", clock: clock.System{}, conf: smallConf()}
}

func (t *storeTest) options() Options {
	return Options{Dir: t.dir, FS: t.fs, Clock: t.clock, Log: quiet(), Config: t.conf, QueueKind: t.kind}
}

// open opens and starts a store that the test closes at its end at the latest.
func (t *storeTest) open() *Store {
	t.Helper()
	s, err := Open(t.options())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s.Start()
	t.Cleanup(func() { _ = s.Close() }) // closed before where it matters
	return s
}

func (t *storeTest) close(s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// kill ends a store as the kill of its process would: what is in memory is lost, what was written stays.
func (t *storeTest) kill(s *Store) {
	t.Helper()
	mem, ok := t.fs.(*vfs.Mem)
	if !ok {
		t.Fatal("only a store in memory can be killed")
	}
	t.fs = mem.Clone()
	t.close(s)
}

var (
	bornHost  = netip.MustParseAddrPort("127.0.0.1:1234")
	storeHost = netip.MustParseAddrPort("127.0.0.1:10911")
)

func newMessage(topic string, queueID int32, body string, properties ...string) *message.Message {
	m := &message.Message{
		Topic:         topic,
		QueueID:       queueID,
		BornTimestamp: 1700000000000,
		BornHost:      bornHost,
		StoreHost:     storeHost,
		Body:          []byte(body),
		WaitStored:    true,
	}
	for i := 0; i < len(properties); i += 2 {
		m.Properties = m.Properties.Append(properties[i], properties[i+1])
	}
	return m
}

func (t *storeTest) put(s *Store, m *message.Message) Placed {
	t.Helper()
	p, err := s.Put(m)
	if err != nil {
		t.Fatalf("put to %s/%d: %v", m.Topic, m.QueueID, err)
	}
	return p
}

// bodies reads all messages of a queue from an offset on by Get.
func (t *storeTest) bodies(s *Store, topic string, queueID int32, from int64) []string {
	t.Helper()
	var out []string
	var res GetResult
	for {
		s.Get(&GetRequest{Topic: topic, QueueID: queueID, Offset: from, MaxCount: 32}, &res)
		if res.Status != Found {
			res.Release()
			return out
		}
		for _, part := range res.Parts {
			for len(part) > 0 {
				var r message.Record
				n, err := message.DecodeRecord(part, &r, true)
				if err != nil {
					t.Fatalf("record of %s/%d: %v", topic, queueID, err)
				}
				if r.Topic != topic || r.QueueID != queueID {
					t.Fatalf("record of %s/%d in queue %s/%d", r.Topic, r.QueueID, topic, queueID)
				}
				out = append(out, string(r.Body))
				part = part[n:]
			}
		}
		from = res.NextOffset
		res.Release()
	}
}

func (t *storeTest) wantBodies(s *Store, topic string, queueID int32, want ...string) {
	t.Helper()
	got := t.bodies(s, topic, queueID, 0)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s/%d holds %d messages %.300v, want %d %.300v", topic, queueID, len(got), got, len(want), want)
	}
}

func TestPutThenGet(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for i := range 300 {
		p := st.put(s, newMessage("T", int32(i%2), fmt.Sprint("body", i), message.KeyTags, "A"))
		if p.QueueOffset != int64(i/2) {
			t.Fatalf("message %d got offset %d, want %d", i, p.QueueOffset, i/2)
		}
	}
	var want [2][]string
	for i := range 300 {
		want[i%2] = append(want[i%2], fmt.Sprint("body", i))
	}
	st.wantBodies(s, "T", 0, want[0]...)
	st.wantBodies(s, "T", 1, want[1]...)
	st.close(s)
	s = st.open()
	if !s.Recovery().Clean || s.Recovery().Records != 0 {
		t.Errorf("after a clean stop: %+v, want clean and nothing read", s.Recovery())
	}
	st.wantBodies(s, "T", 0, want[0]...)
	if p := st.put(s, newMessage("T", 0, "more")); p.QueueOffset != 150 {
		t.Errorf("offset %d after restart, want 150", p.QueueOffset)
	}
	st.wantBodies(s, "T", 0, append(want[0], "more")...)
}

func TestKillThenOpen(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	var want []string
	for i := range 500 {
		body := fmt.Sprint("body", i)
		st.put(s, newMessage("T", 0, body, message.KeyKeys, fmt.Sprint("k", i)))
		want = append(want, body)
	}
	st.kill(s)
	s = st.open()
	if s.Recovery().Clean {
		t.Error("a killed store counts as closed")
	}
	if len(s.Recovery().Problems) > 0 {
		t.Errorf("problems: %v", s.Recovery().Problems)
	}
	st.wantBodies(s, "T", 0, want...)
	for _, i := range []int{0, 250, 499} {
		found, err := s.Query("T", fmt.Sprint("k", i), 10, 0, 1<<62)
		if err != nil || len(found) != 1 {
			t.Fatalf("key k%d: %d found, %v", i, len(found), err)
		}
		if !bytes.Contains(found[0].Bytes(), []byte(want[i])) {
			t.Errorf("key k%d found another record", i)
		}
		found[0].Release()
	}
}

// TestRecordBytes compares the log's bytes with those the reference's encoder gives (messages.md §9.2).
func TestRecordBytes(t *testing.T) {
	st := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1700000000001))
	st.clock = manual
	s := st.open()
	p := st.put(s, newMessage("T", 3, "hi", message.KeyTags, "A"))
	st.close(s)
	f, err := st.fs.OpenFile(filepath.Join(st.dir, "commitlog", "00000000000000000000"), osRead, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, p.Size+16)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	want := "00000065daa320a758932aac00000003000000000000000000000000" + "0000000000000000" + "00000000" + "0000018bcfe56800" + "7f000001000004d2" +
		"0000018bcfe56801" + "7f00000100002a9f" + "00000000" + "0000000000000000" + "000000026869" + "0154" + "000754414753014102" + "00000000000000000000000000000000"
	if got := fmt.Sprintf("%x", b); got != want {
		t.Errorf("log holds\n%s\nwant\n%s", got, want)
	}
}

func TestConcurrentStageAndCommit(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < each; i += 4 {
				var last Placed
				for j := range 4 {
					p, err := s.Stage(newMessage("T", int32(w), fmt.Sprint(i+j)))
					if err != nil {
						t.Error(err)
						return
					}
					last = p
				}
				if err := s.Commit(last.Ticket); err != nil {
					t.Error(err)
					return
				}
				if q := s.Queue("T", int32(w)); q.MaxOffset() != int64(i+4) {
					t.Errorf("writer %d: max offset %d after commit, want %d", w, q.MaxOffset(), i+4)
				}
			}
		})
	}
	wg.Wait()
	for w := range writers {
		got := st.bodies(s, "T", int32(w), 0)
		if len(got) != each || got[0] != "0" || got[each-1] != fmt.Sprint(each-1) {
			t.Errorf("writer %d: %d messages %v", w, len(got), got)
		}
	}
}

func TestSyncFlush(t *testing.T) {
	st := newStoreTest(t)
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s := st.open()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			p, err := s.Put(newMessage("T", 0, fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			if s.FlushedOffset() < p.PhysicalOffset+int64(p.Size) {
				t.Errorf("acknowledged before flushed")
			}
			if s.Queue("T", 0).MaxOffset() <= p.QueueOffset {
				t.Errorf("acknowledged before visible")
			}
		})
	}
	wg.Wait()
	if got := st.bodies(s, "T", 0, 0); len(got) != 20 {
		t.Errorf("%d messages, want 20", len(got))
	}
	st.close(s)
	if _, err := s.Put(newMessage("T", 0, "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("put after close: %v, want ErrClosed", err)
	}
}

// writeFile makes a file of size bytes with content at a place, as a crash or another broker may leave it: pages of zeros are holes.
func (t *storeTest) writeFile(name string, size, at int64, content []byte) {
	t.Helper()
	path := filepath.Join(t.dir, filepath.FromSlash(name))
	if err := t.fs.MkdirAll(filepath.Dir(path), dirPerm); err != nil {
		t.Fatal(err)
	}
	f, err := t.fs.OpenFile(path, osUpdate|osCreate, filePerm)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(content, pageSize) {
		if !allZero(page) {
			if _, err := f.WriteAt(page, at); err != nil {
				t.Fatal(err)
			}
		}
		at += int64(len(page))
	}
}

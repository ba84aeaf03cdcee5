package store

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// FuzzQueueState: what can be decoded is encoded to the same bytes again.
func FuzzQueueState(f *testing.F) {
	state := queueState{closed: true, logEnd: 500, lastRecord: 400, queues: []queueSummary{
		{topic: "T", id: 3, min: 1, max: 5, firstBase: 0, lastBase: 6_000_000, lastEnd: 500},
		{topic: "%RETRY%G", firstBase: -1, lastBase: -1},
	}}
	f.Add(state.append(nil))
	f.Add([]byte(queueStateMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeQueueState(b)
		if err != nil {
			return
		}
		again, err := decodeQueueState(s.append(nil))
		if err != nil || len(again.queues) != len(s.queues) {
			t.Fatalf("decoded %+v, encoded and decoded again %+v, %v", s, again, err)
		}
		for i := range s.queues {
			if s.queues[i] != again.queues[i] {
				t.Fatalf("queue %+v became %+v", s.queues[i], again.queues[i])
			}
		}
	})
}

// fuzzStore is a small store that was killed.
func fuzzStore(t *testing.T) *storeTest {
	t.Helper()
	st := newStoreTest(t)
	st.clock = clock.NewManual(time.UnixMilli(1_700_000_000_000))
	st.conf.MappedFileSizeCommitLog = 2048
	st.conf.MappedFileSizeConsumeQueue = 20 * 8
	st.conf.MaxHashSlotNum = 7
	st.conf.MaxIndexNum = 30
	s := st.open()
	for i := range 20 {
		st.put(s, newMessage("T", int32(i%2), "some body", message.KeyKeys, "k"))
		if i == 10 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.index.catchUpAll(); err != nil {
		t.Fatal(err)
	}
	if err := s.index.flush(); err != nil {
		t.Fatal(err)
	}
	st.kill(s)
	return st
}

// overwrite puts bytes into a file.
func (t *storeTest) overwrite(name string, at int, b []byte) {
	t.Helper()
	path := filepath.Join(t.dir, name)
	info, err := t.fs.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	at %= int(info.Size())
	b = b[:min(len(b), int(info.Size())-at)]
	f, err := t.fs.OpenFile(path, osUpdate, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// drain pulls everything: bodies may be damaged, records and their places not.
func (t *storeTest) drain(s *Store, topic string, queueID int32) {
	t.Helper()
	var out GetResult
	for from := int64(0); ; from = out.NextOffset {
		s.Get(&GetRequest{Topic: topic, QueueID: queueID, Offset: from, MaxCount: 32}, &out)
		for _, part := range out.Parts {
			for len(part) > 0 {
				var r message.Record
				n, err := message.DecodeRecord(part, &r, false)
				if err != nil || r.Topic != topic || r.QueueID != queueID {
					t.Fatalf("pulled from %s/%d: record of %s/%d, %v", topic, queueID, r.Topic, r.QueueID, err)
				}
				part = part[n:]
			}
		}
		status, next := out.Status, out.NextOffset
		out.Release()
		if status != Found && status != NoMatchedMessage && status != OffsetTooSmall && status != OffsetFoundNull || next <= from {
			return
		}
	}
}

// FuzzDamage overwrites a part of any file: the store opens, takes messages and finds them, whatever it lost, and the next start is
// clean.
func FuzzDamage(f *testing.F) {
	f.Add(uint8(0), uint16(100), []byte{0, 0, 0, 0})
	f.Add(uint8(1), uint16(0), bytes.Repeat([]byte{0xFF}, 500))
	f.Add(uint8(3), uint16(28), []byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint8(7), uint16(36), []byte{0x7F, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, which uint8, at uint16, b []byte) {
		st := fuzzStore(t)
		files := st.listFiles()
		name := files[int(which)%len(files)]
		if len(b) == 0 || name == lockName || name == abortName {
			return
		}
		st.overwrite(name, int(at), b)
		s, err := Open(st.options())
		if err != nil {
			t.Fatalf("open with damaged %s: %v", name, err)
		}
		s.Start()
		st.drain(s, "T", 0)
		p := st.put(s, newMessage("T", 0, "after", message.KeyKeys, "after"))
		if got := st.bodies(s, "T", 0, p.QueueOffset); len(got) != 1 || got[0] != "after" {
			t.Fatalf("damaged %s: the next message is %v", name, got)
		}
		found, err := s.Query("T", "after", 10, 0, 1<<62)
		if err != nil || len(found) != 1 {
			t.Fatalf("damaged %s: key of the next message: %d found, %v", name, len(found), err)
		}
		found[0].Release()
		st.close(s)
		s, err = Open(st.options())
		if err != nil || !s.Recovery().Clean || len(s.Recovery().Problems) > 0 {
			t.Fatalf("damaged %s: second open: %v %+v", name, err, s.Recovery())
		}
		st.close(s)
	})
}

// FuzzLog takes any bytes for a log.
func FuzzLog(f *testing.F) {
	m := newMessage("T", 0, "body", message.KeyKeys, "k")
	record, err := message.AppendRecord(nil, m, message.Placement{StoreTimestamp: 1})
	if err != nil {
		f.Fatal(err)
	}
	second, err := message.AppendRecord(nil, m, message.Placement{StoreTimestamp: 2, PhysicalOffset: int64(len(record)), QueueOffset: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(record, second...))
	f.Add(append(bytes.Clone(record), bytes.Repeat([]byte{0xDA, 0xA3, 0x20, 0xA7}, 30)...))
	f.Add(message.AppendBlank(nil, 4096))
	f.Fuzz(func(t *testing.T, log []byte) {
		st := &storeTest{T: t, fs: vfs.NewMem(), dir: "/store", clock: clock.NewManual(time.UnixMilli(1)), conf: smallConf()}
		st.conf.MappedFileSizeCommitLog = 4096
		st.writeFile("commitlog/00000000000000000000", 4096, 0, log[:min(len(log), 4096)])
		if _, err := Check(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}); err != nil {
			t.Fatalf("check: %v", err)
		}
		err := Dump(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}, AllMessages(), func(Dumped) error { return nil }, nil)
		if err != nil {
			t.Fatalf("dump: %v", err)
		}
		s, err := Open(st.options())
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		s.Start()
		if p, err := s.Put(newMessage("U", 0, "after")); err != nil {
			t.Fatalf("put: %v", err)
		} else if got := st.bodies(s, "U", 0, p.QueueOffset); len(got) != 1 || got[0] != "after" {
			t.Fatalf("messages %v", got)
		}
		st.close(s)
		s, err = Open(st.options())
		if err != nil || len(s.Recovery().Problems) > 0 {
			t.Fatalf("second open: %v %+v", err, s.Recovery())
		}
		st.close(s)
	})
}

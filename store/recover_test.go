package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// edit changes bytes of a file.
func (t *storeTest) edit(name string, change func(b []byte) []byte) {
	t.Helper()
	path := filepath.Join(t.dir, name)
	b, err := readFile(t.fs, path)
	if err != nil {
		t.Fatal(err)
	}
	b = change(b)
	f, err := t.fs.OpenFile(path, osUpdate|osTrunc, filePerm)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

func (t *storeTest) logName(n int) string {
	return filepath.Join("commitlog", offsetName(int64(n)*int64(t.conf.MappedFileSizeCommitLog)))
}

// filled writes n messages to queue 0 of topic T, every tenth also one to another queue, and kills the store or closes it.
func (t *storeTest) filled(n int, closed bool) (placed []Placed, want []string) {
	t.Helper()
	s := t.open()
	for i := range n {
		body := fmt.Sprintf("body %d %s", i, strings.Repeat("x", i%50))
		placed = append(placed, t.put(s, newMessage("T", 0, body, message.KeyKeys, fmt.Sprint("k", i), message.KeyTags, "A")))
		want = append(want, body)
		if i%10 == 0 {
			t.put(s, newMessage("Other", 1, fmt.Sprint("other", i)))
		}
	}
	if closed {
		t.close(s)
	} else {
		t.kill(s)
	}
	return placed, want
}

// checked closes the store and checks it.
func (t *storeTest) checked(s *Store) *CheckReport {
	t.Helper()
	t.close(s)
	report, err := Check(CheckOptions{Dir: t.dir, FS: t.fs, Config: t.conf})
	if err != nil {
		t.Fatal(err)
	}
	if report.Damaged() {
		t.Errorf("check: %v", report.Problems)
	}
	return report
}

func (t *storeTest) clone() *storeTest {
	mem, ok := t.fs.(*vfs.Mem)
	if !ok {
		t.Fatal("no store in memory")
	}
	return &storeTest{T: t.T, fs: mem.Clone(), dir: t.dir, clock: t.clock, conf: t.conf}
}

// TestTornLastRecord cuts the last record at each byte, and changes each of its bytes: the messages before it stay, what is no record is
// kept aside, and the log goes on.
func TestTornLastRecord(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 8 << 10
	placed, want := st.filled(20, false)
	last := placed[len(placed)-1]
	name := st.logName(int(last.PhysicalOffset / st.files()))
	at := int(last.PhysicalOffset % st.files())
	for _, mode := range []string{"cut", "flip"} {
		for i := range int(last.Size) {
			c := st.clone()
			c.edit(name, func(b []byte) []byte {
				if mode == "cut" {
					clear(b[at+i : at+int(last.Size)])
				} else {
					b[at+i] ^= 0xFF
				}
				return b
			})
			s := c.open()
			got := c.bodies(s, "T", 0, 0)
			if len(got) < len(want)-1 || fmt.Sprint(got[:len(want)-1]) != fmt.Sprint(want[:len(want)-1]) {
				t.Fatalf("%s at byte %d: %d messages, want %d\n%v", mode, i, len(got), len(want)-1, s.Recovery().Problems)
			}
			if mode == "cut" && i >= 4 && len(got) == len(want)-1 && len(s.Recovery().Problems) == 0 {
				t.Fatalf("cut at byte %d: nothing reported", i)
			}
			p := c.put(s, newMessage("T", 0, "next"))
			if mode == "cut" && (p.PhysicalOffset != last.PhysicalOffset || p.QueueOffset != last.QueueOffset) && len(got) == len(want)-1 {
				t.Fatalf("cut at byte %d: next message at %d/%d, want %d/%d", i, p.PhysicalOffset, p.QueueOffset, last.PhysicalOffset, last.QueueOffset)
			}
			if all := c.bodies(s, "T", 0, 0); len(all) == 0 || all[len(all)-1] != "next" {
				t.Fatalf("%s at byte %d: the next message is not readable", mode, i)
			}
			c.close(s)
		}
	}
}

func (t *storeTest) files() int64 { return int64(t.conf.MappedFileSizeCommitLog) }

// TestRottenRecordInTheMiddle loses that record alone, after a kill as after a clean stop with a full reading.
func TestRottenRecordInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b []byte)
	}{
		{"body", func(b []byte) { b[90] ^= 1 }},
		{"total size", func(b []byte) { b[3] ^= 0x10 }},
		{"huge total size", func(b []byte) { b[0] = 0x7F }},
		{"magic", func(b []byte) { b[4] = 0 }},
		{"physical offset", func(b []byte) { b[33] ^= 0x80 }},
		{"all zero", func(b []byte) { clear(b) }},
		{"all ones", func(b []byte) {
			for i := range b {
				b[i] = 0xFF
			}
		}},
		{"topic length", func(b []byte) { b[len(b)-21] ^= 0x7F }},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStoreTest(t)
			placed, want := st.filled(200, false)
			bad := placed[100]
			st.edit(st.logName(int(bad.PhysicalOffset/st.files())), func(b []byte) []byte {
				at := bad.PhysicalOffset % st.files()
				c.damage(b[at : at+int64(bad.Size)])
				return b
			})
			s := st.open()
			got := st.bodies(s, "T", 0, 0)
			left := append(append([]string{}, want[:100]...), want[101:]...)
			if fmt.Sprint(got) != fmt.Sprint(left) {
				t.Fatalf("%d messages, want %d\n%v", len(got), len(left), s.Recovery().Problems)
			}
			if len(s.Recovery().Problems) == 0 {
				t.Error("nothing reported")
			}
			if _, ok := s.Queue("T", 0).Entry(100); ok {
				t.Error("the lost message has an entry")
			}
			if e, ok := s.Queue("T", 0).Entry(101); !ok || e.PhysicalOffset != placed[101].PhysicalOffset {
				t.Error("the message behind it has no entry")
			}
			found, err := s.Query("T", "k150", 10, 0, 1<<62)
			if err != nil || len(found) != 1 {
				t.Errorf("key behind the damage: %d found, %v", len(found), err)
			}
			for _, f := range found {
				f.Release()
			}
			if report := st.checked(s); report.Sealed == 0 {
				t.Error("the place of the damage is not sealed")
			}
			// The damaged bytes are kept.
			entries, err := st.fs.ReadDir(filepath.Join(st.dir, "lost"))
			if err != nil || len(entries) != 1 {
				t.Errorf("%d files are kept aside, want 1 (%v)", len(entries), err)
			}
			s = st.open()
			if n := len(s.Recovery().Problems); n != 0 {
				t.Errorf("the next start reports %v", s.Recovery().Problems)
			}
		})
	}
}

// TestDamagedRecordIsNotServed damages a record of an open store.
func TestDamagedRecordIsNotServed(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	var placed []Placed
	for i := range 10 {
		placed = append(placed, st.put(s, newMessage("T", 0, fmt.Sprint("m", i))))
	}
	f, err := st.fs.OpenFile(filepath.Join(st.dir, st.logName(0)), osUpdate, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0, 0, 0, 0}, placed[4].PhysicalOffset); err != nil {
		t.Fatal(err)
	}
	log, hook := logtest.NewNullLogger()
	s.logger = logrus.NewEntry(log)
	st.wantBodies(s, "T", 0, "m0", "m1", "m2", "m3", "m5", "m6", "m7", "m8", "m9")
	if _, err := s.Record(placed[4].PhysicalOffset); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		t.Errorf("record: %v", err)
	}
	line := hook.LastEntry()
	if line == nil {
		t.Fatal("nothing was logged")
	}
	for name, want := range map[string]any{"file": f.Name(), "offset": placed[4].PhysicalOffset, "topic": "T", "queue": int32(0), "queueOffset": int64(4)} {
		if got := line.Data[name]; got != want {
			t.Errorf("logged %s = %v, want %v", name, got, want)
		}
	}
}

// TestDamagedSmallFiles empties, halves and zeroes each file besides the log, of a store that was closed and of one that was killed, and
// removes it; everything is there again after the start.
func TestDamagedSmallFiles(t *testing.T) {
	changes := map[string]func([]byte) []byte{
		"emptied": func([]byte) []byte { return nil },
		"halved":  func(b []byte) []byte { return b[:len(b)/2] },
		"zeroed":  func(b []byte) []byte { clear(b); return b },
	}
	for _, closed := range []bool{true, false} {
		st := newStoreTest(t)
		st.conf.MaxIndexNum = 200
		s := st.open()
		st.put(s, newMessage("T", 0, "before"))
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		st.close(s)
		_, want := st.filled(300, closed)
		want = append([]string{"before"}, want...)
		for _, name := range st.listFiles() {
			if strings.HasPrefix(name, "commitlog") || name == "lock" || name == "abort" {
				continue
			}
			for how := range changes {
				t.Run(fmt.Sprintf("closed=%v/%s/%s", closed, name, how), func(t *testing.T) {
					c := st.clone()
					c.T = t
					c.edit(name, changes[how])
					c.wantAll(want)
				})
			}
			t.Run(fmt.Sprintf("closed=%v/%s/removed", closed, name), func(t *testing.T) {
				c := st.clone()
				c.T = t
				if err := c.fs.Remove(filepath.Join(c.dir, name)); err != nil {
					t.Fatal(err)
				}
				c.wantAll(want)
			})
		}
		for _, dir := range []string{"consumequeue", "consumequeue/T", "consumequeue/T/0", "index"} {
			t.Run(fmt.Sprintf("closed=%v/%s/removed", closed, dir), func(t *testing.T) {
				c := st.clone()
				c.T = t
				if err := c.fs.RemoveAll(filepath.Join(c.dir, dir)); err != nil {
					t.Fatal(err)
				}
				c.wantAll(want)
			})
		}
	}
}

// wantAll opens the store and wants all messages of filled, by queue and by key.
func (t *storeTest) wantAll(want []string) {
	t.Helper()
	s := t.open()
	t.wantBodies(s, "T", 0, want...)
	if got := t.bodies(s, "Other", 1, 0); len(got) != 30 {
		t.Errorf("Other/1 holds %d messages, want 30", len(got))
	}
	for _, key := range []string{"k0", "k150", "k299"} {
		found, err := s.Query("T", key, 10, 0, 1<<62)
		if err != nil || len(found) != 1 {
			t.Fatalf("key %s: %d found, %v", key, len(found), err)
		}
		found[0].Release()
	}
	if p := t.put(s, newMessage("T", 0, "next")); p.QueueOffset != int64(len(want)) {
		t.Errorf("next offset %d, want %d", p.QueueOffset, len(want))
	}
	t.checked(s)
}

func (t *storeTest) listFiles() []string {
	t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := t.fs.ReadDir(filepath.Join(t.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if e.IsDir() {
				walk(name)
			} else {
				out = append(out, name)
			}
		}
	}
	walk("")
	return out
}

// TestMissingLogFile loses the messages in it and no others.
func TestMissingLogFile(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 8 << 10
	placed, _ := st.filled(300, false)
	if err := st.fs.Remove(filepath.Join(st.dir, st.logName(2))); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, p := range placed {
		if p.PhysicalOffset/st.files() == 2 {
			lost++
		}
	}
	s := st.open()
	if got := st.bodies(s, "T", 0, 0); len(got) != 300-lost || lost == 0 {
		t.Errorf("%d messages, want 300 - %d", len(got), lost)
	}
	if s.Recovery().Problems == nil {
		t.Error("nothing reported")
	}
}

// TestShortLogFile opens a store whose last file was cut: it gets its length again and keeps what is whole.
func TestShortLogFile(t *testing.T) {
	st := newStoreTest(t)
	placed, want := st.filled(20, false)
	cut := placed[15].PhysicalOffset + 30
	st.edit(st.logName(0), func(b []byte) []byte { return b[:cut] })
	s := st.open()
	st.wantBodies(s, "T", 0, want[:15]...)
	if size, err := st.fs.Stat(filepath.Join(st.dir, st.logName(0))); err != nil || size.Size() != st.files() {
		t.Errorf("size %v, want %d", size, st.files())
	}
	st.checked(s)
}

// TestForeignLayout refuses what it does not understand, and names it.
func TestForeignLayout(t *testing.T) {
	for _, c := range []struct {
		name, path string
		size       int64
	}{
		{"a file of the log with another name", "commitlog/readme.txt", 5},
		{"a longer file of the log", "commitlog/00000000000000000000", 64<<10 + 1},
		{"a file of the log between two", "commitlog/00000000000000000001", 64 << 10},
		{"a file of a queue with another name", "consumequeue/T/0/x", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStoreTest(t)
			path := filepath.Join(st.dir, c.path)
			st.writeFile(c.path, c.size, 0, nil)
			if _, err := Open(st.options()); !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), path) {
				t.Errorf("open: %v, want ErrLayout that names %s", err, path)
			}
			// Nothing is left locked.
			if err := st.fs.Remove(path); err != nil {
				t.Fatal(err)
			}
			st.close(st.open())
		})
	}
}

func TestLockedTwice(t *testing.T) {
	st := newStoreTest(t)
	st.open()
	if _, err := Open(st.options()); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("second open: %v, want ErrLocked", err)
	}
}

// TestLeftoversOfAnOlderLog: a log that was cut and written again, as the reference does it without erasing, does not get its old
// records back.
func TestLeftoversOfAnOlderLog(t *testing.T) {
	st := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1_000_000))
	st.clock = manual
	placed, want := st.filled(30, false)
	old := st.clone()
	// The reference stops at damage, and writes on there.
	st.edit(st.logName(0), func(b []byte) []byte {
		clear(b[placed[10].PhysicalOffset:])
		return b
	})
	manual.Advance(time.Minute)
	s := st.open()
	st.put(s, newMessage("T", 0, "a new message that is longer than the old one was"))
	st.kill(s)
	before, err := readFile(old.fs, filepath.Join(old.dir, old.logName(0)))
	if err != nil {
		t.Fatal(err)
	}
	end := int(s.MaxPhysicalOffset())
	st.edit(st.logName(0), func(b []byte) []byte {
		copy(b[end:], before[end:])
		return b
	})
	s = st.open()
	st.wantBodies(s, "T", 0, append(want[:10:10], "a new message that is longer than the old one was")...)
	st.checked(s)
}

// TestExtAddresses: entries whose tags code is an address into consumequeue_ext are served by the tags of their records, and kept as they
// are.
func TestExtAddresses(t *testing.T) {
	st := newStoreTest(t)
	s := st.open()
	for i := range 4 {
		st.put(s, newMessage("T", 0, fmt.Sprint(i), message.KeyTags, []string{"A", "B"}[i%2]))
	}
	st.close(s)
	path := filepath.Join(st.dir, "consumequeue", "T", "0", offsetName(0))
	f, err := st.fs.OpenFile(path, osUpdate, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) {
		address := binary.BigEndian.AppendUint64(nil, uint64(math.MinInt64+100*i))
		if _, err := f.WriteAt(address, i*entrySize+12); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = st.open()
	st.wantBodies(s, "T", 0, "0", "1", "2", "3")
	st.close(s)
	if report, err := Check(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}); err != nil || report.Damaged() {
		t.Errorf("check: %v %v", err, report.Problems)
	}
}

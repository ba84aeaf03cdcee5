package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

func (t *storeTest) check() *CheckReport {
	t.Helper()
	report, err := Check(CheckOptions{Dir: t.dir, FS: t.fs, Config: t.conf})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestCheckNamesDamage damages a store that was closed in one place each, and wants to read where.
func TestCheckNamesDamage(t *testing.T) {
	base := newStoreTest(t)
	base.conf.MappedFileSizeConsumeQueue = 20 * 512
	placed, _ := base.filled(100, true)
	if report := base.check(); len(report.Problems) > 0 || report.Records != 110 || report.Entries != 110 || report.Queues != 2 || report.Keys != 200 || !report.Closed {
		t.Fatalf("undamaged: %+v", report)
	}
	index := ""
	for _, name := range base.listFiles() {
		if strings.HasPrefix(name, "index") {
			index = name
		}
	}
	record := func(st *storeTest, n, at int, with byte) {
		st.overwrite(st.logName(0), int(placed[n].PhysicalOffset)+at, []byte{with})
	}
	queue := filepath.Join("consumequeue", "T", "0", offsetName(0))
	shape := indexShape{slots: base.conf.MaxHashSlotNum, entries: base.conf.MaxIndexNum}
	for _, c := range []struct {
		name   string
		damage func(st *storeTest)
		want   []string // parts of one problem
	}{
		{"body of a record", func(st *storeTest) { record(st, 50, 89, 'X') }, []string{"damage", "commitlog", "checksum"}},
		{"size of a record", func(st *storeTest) { record(st, 50, 2, 0xEE) }, []string{"damage", "commitlog", "no record"}},
		{"queue offset of a record", func(st *storeTest) { record(st, 50, 27, 77) }, []string{"damage", "commitlog", "it is 77 of queue T/0, where 50 follows"}},
		{"place of an entry", func(st *storeTest) { st.overwrite(queue, 50*20+7, []byte{1}) }, []string{"damage", queue, "entry 50 of T/0"}},
		{"tags code of an entry", func(st *storeTest) { st.overwrite(queue, 50*20+19, []byte{0}) }, []string{"damage", queue, "tags code"}},
		{"empty entry", func(st *storeTest) { st.overwrite(queue, 50*20, make([]byte, 20)) }, []string{"damage", queue, "entry 50 of T/0 is empty"}},
		{"entry behind the last", func(st *storeTest) { st.overwrite(queue, 102*20, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99}) }, []string{"damage", queue, "is empty"}},
		{"missing queue", func(st *storeTest) { st.remove("consumequeue/T") }, []string{"damage", "commitlog", "consume queue T/0 of this record is missing"}},
		{"short queue file", func(st *storeTest) { st.edit(queue, func(b []byte) []byte { return b[:len(b)/2] }) }, []string{"damage", queue, "mappedFileSizeConsumeQueue"}},
		{"key leads elsewhere", func(st *storeTest) { st.overwrite(index, int(shape.entryAt(50))+4+7, []byte{9}) }, []string{index, "key 50 leads to"}},
		{"chain of keys", func(st *storeTest) { st.overwrite(index, int(shape.entryAt(50))+16, []byte{0x11}) }, []string{"damage", index, "key 50 is chained"}},
		{"slot", func(st *storeTest) { st.overwrite(index, 40, bytes.Repeat([]byte{0}, 97*4)) }, []string{"damage", index, "slot"}},
		{"index header", func(st *storeTest) { st.overwrite(index, 36, []byte{0x7F}) }, []string{"damage", index, "header"}},
		{"missing log file", func(st *storeTest) { st.remove(st.logName(0)) }, []string{"damage", "consumequeue/T/0", "entries 0 to 99 of T/0 point behind the log's end"}},
		{"checkpoint", func(st *storeTest) { st.remove(checkpointName) }, []string{"warning", checkpointName, "missing"}},
		{"queue table", func(st *storeTest) { st.overwrite(queueStateName, 20, []byte{1, 2, 3}) }, []string{"warning", queueStateName, "checksum"}},
		{"foreign file among queues", func(st *storeTest) { st.writeFile("consumequeue/T/x", 1, 0, []byte("x")) }, []string{"warning", "consumequeue/T/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := base.clone()
			st.T = t
			c.damage(st)
			report := st.check()
			found := false
			for _, p := range report.Problems {
				all := true
				for _, part := range c.want {
					all = all && strings.Contains(p.String(), part)
				}
				found = found || all
			}
			if !found {
				t.Errorf("no problem with %q in %v", c.want, report.Problems)
			}
			if c.want[0] == "damage" != report.Damaged() && c.want[0] != index {
				t.Errorf("damaged is %v", report.Damaged())
			}
		})
	}
}

func (t *storeTest) remove(name string) {
	t.Helper()
	if err := t.fs.RemoveAll(filepath.Join(t.dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestCheckReportForms(t *testing.T) {
	st := newStoreTest(t)
	st.filled(30, true)
	st.overwrite(filepath.Join("consumequeue", "T", "0", offsetName(0)), 0, []byte{1})
	report := st.check()
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"store /store was closed", "33 records", "2 with", "damage: /store/consumequeue/T/0/00000000000000000000 at 0", "warnings"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("text lacks %q:\n%s", part, text.String())
		}
	}
	b, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Records  int64
		Damages  int64
		Problems []struct{ Severity, File, Text string }
	}
	if err := json.Unmarshal(b, &decoded); err != nil || decoded.Records != 33 || decoded.Damages == 0 || len(decoded.Problems) == 0 || decoded.Problems[0].Severity != "damage" {
		t.Errorf("json: %v %s", err, b)
	}
}

// TestCheckOfAKilledStore: what the next start puts right is no damage.
func TestCheckOfAKilledStore(t *testing.T) {
	st := newStoreTest(t)
	st.filled(100, false)
	report := st.check()
	if report.Damaged() || report.Closed {
		t.Errorf("%+v", report)
	}
}

func TestDump(t *testing.T) {
	st := newStoreTest(t)
	placed, want := st.filled(100, true)
	dump := func(q DumpQuery) []string {
		t.Helper()
		var out []string
		err := Dump(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}, q, func(d Dumped) error {
			out = append(out, fmt.Sprintf("%s/%d/%d %s", d.Record.Topic, d.Record.QueueID, d.Record.QueueOffset, d.Record.Body))
			if d.Offset != d.Record.PhysicalOffset || !strings.HasSuffix(d.File, st.logName(0)) || len(d.Raw) != int(d.Record.Size) {
				t.Errorf("place %s %d of %+v", d.File, d.Offset, d.Record)
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := AllMessages()
	if got := dump(all); len(got) != 110 {
		t.Errorf("everything: %d messages, want 110", len(got))
	}
	q := all
	q.Topic, q.QueueID, q.QueueOffset, q.Limit = "T", 0, 98, 10
	if got := dump(q); fmt.Sprint(got) != fmt.Sprintf("[T/0/98 %s T/0/99 %s]", want[98], want[99]) {
		t.Errorf("from an offset: %v", got)
	}
	q = all
	q.Key = "k42"
	if got := dump(q); fmt.Sprint(got) != fmt.Sprintf("[T/0/42 %s]", want[42]) {
		t.Errorf("by key: %v", got)
	}
	q = all
	q.Topic = "Other"
	if got := dump(q); len(got) != 10 {
		t.Errorf("by topic: %v", got)
	}
	q = all
	q.PhysicalOffset, q.Limit = placed[7].PhysicalOffset, 1
	if got := dump(q); fmt.Sprint(got) != fmt.Sprintf("[T/0/7 %s]", want[7]) {
		t.Errorf("by physical offset: %v", got)
	}
	q = all
	q.End = 1
	if got := dump(q); len(got) != 0 {
		t.Errorf("before everything: %v", got)
	}
	q = all
	q.PhysicalOffset = 1 << 40
	if err := Dump(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}, q, nil, nil); err == nil {
		t.Error("an offset outside the log: no error")
	}
	// Damage is left out and told.
	st.overwrite(st.logName(0), int(placed[50].PhysicalOffset)+89, []byte{'!'})
	var problems []Problem
	n := 0
	err := Dump(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}, all, func(Dumped) error { n++; return nil }, func(p Problem) { problems = append(problems, p) })
	if err != nil || n != 109 || len(problems) != 1 || problems[0].Offset != placed[50].PhysicalOffset {
		t.Errorf("damaged: %d messages, %v, %v", n, problems, err)
	}
}

// TestRebuild makes queues and index again whatever they hold.
func TestRebuild(t *testing.T) {
	st := newStoreTest(t)
	_, want := st.filled(300, true)
	for _, name := range st.listFiles() {
		if strings.HasPrefix(name, "consumequeue") || strings.HasPrefix(name, "index") {
			st.overwrite(name, 0, bytes.Repeat([]byte{0x5A}, 1000))
		}
	}
	report, err := Rebuild(st.options())
	if err != nil || report.RebuiltQueues != 2 || report.Records != 330 {
		t.Fatalf("rebuild: %+v, %v", report, err)
	}
	if checked := st.check(); len(checked.Problems) > 0 || checked.Entries != 330 || checked.Keys != 600 {
		t.Errorf("check: %+v", checked)
	}
	st.wantAll(want)
}

// TestSeveralPaths spreads the log over the directories of storePathCommitLog, and writes into none of readOnlyCommitLogStorePaths.
func TestSeveralPaths(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MappedFileSizeCommitLog = 8 << 10
	st.conf.StorePathCommitLog = "/a/log,/b/log"
	_, want := st.filled(300, true)
	count := func(dir string) int {
		entries, err := st.fs.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	a, b := count("/a/log"), count("/b/log")
	if a < 3 || b < 3 {
		t.Errorf("%d and %d files", a, b)
	}
	s := st.open()
	st.wantBodies(s, "T", 0, want...)
	st.close(s)
	st.conf.ReadOnlyCommitLogStorePaths = "/a/log"
	s = st.open()
	for i := range 100 {
		body := fmt.Sprint("more", i, strings.Repeat("x", 200))
		st.put(s, newMessage("T", 0, body))
		want = append(want, body)
	}
	st.wantBodies(s, "T", 0, want...)
	if count("/a/log") != a || count("/b/log") <= b {
		t.Errorf("%d and %d files after writing", count("/a/log"), count("/b/log"))
	}
	if report := st.checked(s); report.Records != 430 {
		t.Errorf("%d records", report.Records)
	}
	st.conf.ReadOnlyCommitLogStorePaths = "/a/log,/b/log"
	if _, err := Open(st.options()); err == nil || !strings.Contains(err.Error(), "readOnlyCommitLogStorePaths") {
		t.Errorf("nowhere to write: %v", err)
	}
}

// TestLongTopics: a topic over 127 bytes makes records of version 2.
func TestLongTopics(t *testing.T) {
	st := newStoreTest(t)
	topic := message.RetryTopic(strings.Repeat("g", 200))
	s := st.open()
	for i := range 20 {
		st.put(s, newMessage(topic, 0, fmt.Sprint(i)))
	}
	st.kill(s)
	s = st.open()
	if got := st.bodies(s, topic, 0, 0); len(got) != 20 {
		t.Errorf("%d messages, want 20", len(got))
	}
	st.checked(s)
}

// TestCheckOfAnOlderIndex: versions before 5.5 do not index tags.
func TestCheckOfAnOlderIndex(t *testing.T) {
	st := newStoreTest(t)
	st.filled(30, true)
	st.remove("index")
	shape := indexShape{slots: st.conf.MaxHashSlotNum, entries: st.conf.MaxIndexNum}
	if err := makeDir(st.fs, indexDir(st.dir)); err != nil {
		t.Fatal(err)
	}
	x, err := createIndexFile(st.fs, filepath.Join(indexDir(st.dir), "20240101000000000"), shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = Dump(CheckOptions{Dir: st.dir, FS: st.fs, Config: st.conf}, AllMessages(), func(d Dumped) error {
		for _, k := range appendIndexKeys(nil, d.Record) {
			if !k.tag {
				if err := x.put(k); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.sync(); err != nil {
		t.Fatal(err)
	}
	if report := st.check(); len(report.Problems) > 0 || report.Keys != 30 {
		t.Errorf("%d keys, %v", report.Keys, report.Problems)
	}
	s := st.open()
	st.put(s, newMessage("T", 0, "x", message.KeyTags, "A", message.KeyKeys, "new"))
	if report := st.checked(s); len(report.Problems) > 0 || report.Keys != 33 {
		t.Errorf("continued: %d keys, %v", report.Keys, report.Problems)
	}
}

package cli

import (
	"encoding/json"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

func quiet() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

// fill makes a store with three messages.
func fill(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	host := netip.MustParseAddrPort("127.0.0.1:1")
	for i, body := range []string{"plain", "two\nlines", "\x00\x01\xff"} {
		properties := message.Properties(nil).With(message.KeyUniqueKey, "U"+string(rune('0'+i))).With(message.KeyTags, "t")
		m := message.Message{Topic: "a", QueueID: int32(i % 2), BornHost: host, StoreHost: host, BornTimestamp: 1, Body: []byte(body), Properties: properties}
		if _, err := s.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStoreCheck(t *testing.T) {
	dir := fill(t)
	code, out, log := run(t, nil, "store", "check", dir)
	if code != ExitOK || !strings.Contains(out, "3 records") || log != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	code, out, _ = run(t, nil, "store", "check", "--json", dir)
	var report store.CheckReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != ExitOK || report.Records != 3 || report.Queues != 2 {
		t.Errorf("exit %d, %v, report %+v", code, err, report)
	}

	log0 := filepath.Join(dir, "commitlog", "00000000000000000000")
	f, err := vfs.OS{}.OpenFile(log0, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("broken"), 4); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, log = run(t, nil, "store", "check", dir); code != ExitFailure || !strings.Contains(log, dir+" is damaged in ") {
		t.Errorf("broken record: exit %d, stdout %q, stderr %q", code, out, log)
	}
}

func TestStoreDump(t *testing.T) {
	dir := fill(t)
	code, out, log := run(t, nil, "store", "dump", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != ExitOK || len(lines) != 3 || log != "" {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	for i, want := range []string{`a/0@0 id=U0 tags="t" keys="" size=5 body="plain"`, `a/1@0 id=U1 tags="t" keys="" size=9 body="two\nlines"`, `a/0@1 id=U2 tags="t" keys="" size=3 body=0x0001ff`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d %q lacks %q", i, lines[i], want)
		}
	}
	_, out, _ = run(t, nil, "store", "dump", "--json", "--topic", "a", "--queue", "0", "--from", "1", dir)
	var m dumpedMessage
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.QueueOffset != 1 || string(m.Body) != "\x00\x01\xff" || m.Properties["UNIQ_KEY"] != "U2" {
		t.Errorf("%v: %+v", err, m)
	}
	if _, out, _ = run(t, nil, "store", "dump", "--key", "U1", "--limit", "5", dir); strings.Count(out, "\n") != 1 || !strings.Contains(out, "id=U1") {
		t.Errorf("by key: %q", out)
	}
	if _, out, _ = run(t, nil, "store", "dump", "--begin", "2100-01-01T00:00:00Z", dir); out != "" {
		t.Errorf("in the future: %q", out)
	}
}

// TestStoreDumpInnerBatch: of a batch that is one record each message is shown, with its own offset.
func TestStoreDumpInnerBatch(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(store.Options{
		Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: quiet(), QueueKind: func(string) store.QueueKind { return store.BatchQueue },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	host := netip.MustParseAddrPort("127.0.0.1:1")
	for i := range 2 {
		var batch []byte
		for _, body := range []string{"one", "two"} {
			entry := message.BatchEntry{Body: []byte(body), Properties: message.Properties(nil).With(message.KeyUniqueKey, body)}
			if batch, err = message.AppendBatchEntry(batch, entry); err != nil {
				t.Fatal(err)
			}
		}
		m := message.Message{
			Topic: "b", BornHost: host, StoreHost: host, BornTimestamp: int64(i), Body: batch, SysFlag: message.SysInnerBatch | message.SysNeedUnwrap,
			Properties: message.Properties(nil).With(message.KeyInnerNum, "2"),
		}
		if _, err := s.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, log := run(t, nil, "store", "dump", "--topic", "b", "--queue", "0", "--from", "3", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != ExitOK || len(lines) != 2 || !strings.Contains(lines[0], `b/0@2 id=one`) || !strings.Contains(lines[1], `b/0@3 id=two tags="" keys="" size=3 body="two"`) || log != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	// Nobody tells a rebuild of the kind: the records do.
	if code, out, log := run(t, nil, "store", "rebuild", dir); code != ExitOK {
		t.Errorf("rebuild: exit %d, stdout %q, stderr %q", code, out, log)
	}
	if code, out, log := run(t, nil, "store", "check", dir); code != ExitOK || !strings.Contains(out, "consume queues 1 with 2 entries") {
		t.Errorf("check: exit %d, stdout %q, stderr %q", code, out, log)
	}
}

func TestStoreRebuild(t *testing.T) {
	dir := fill(t)
	if err := (vfs.OS{}).RemoveAll(filepath.Join(dir, "consumequeue")); err != nil {
		t.Fatal(err)
	}
	code, out, log := run(t, nil, "store", "rebuild", dir)
	if code != ExitOK || !strings.Contains(out, "read 3 records") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	if code, out, _ = run(t, nil, "store", "check", dir); code != ExitOK || !strings.Contains(out, "consume queues 2 with 3 entries") {
		t.Errorf("after rebuild: exit %d, %q", code, out)
	}
	s := open(t, dir)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if code, _, log = run(t, nil, "store", "rebuild", dir); code != ExitLocked || !strings.Contains(log, "is used by another broker process") {
		t.Errorf("while the store is open: exit %d, %q", code, log)
	}
}

func TestStoreWithoutDirectory(t *testing.T) {
	for _, command := range []string{"check", "dump", "rebuild"} {
		missing := filepath.Join(t.TempDir(), "missing")
		if code, _, log := run(t, nil, "store", command, missing); code != ExitUsage || !strings.Contains(log, missing+": there is no such directory") {
			t.Errorf("%s: exit %d, %q", command, code, log)
		}
		if code, _, _ := run(t, nil, "store", command); code != ExitUsage {
			t.Errorf("%s without a directory: exit %d", command, code)
		}
	}
}

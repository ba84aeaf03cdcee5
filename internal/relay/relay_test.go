package relay_test

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

func record(t *testing.T, m message.Message) *message.Record {
	t.Helper()
	data, err := message.AppendRecord(nil, &m, message.Placement{StoreTimestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	var r message.Record
	if _, err := message.DecodeRecord(data, &r, true); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestRebuilderGoesByRealTopicAndKeepsTheProperties(t *testing.T) {
	p := message.Properties("").Append("DELAY", "3").Append("REAL_TOPIC", "T").Append("REAL_QID", "7").Append("x", "y")
	r := record(t, message.Message{
		Topic: "SCHEDULE_TOPIC_XXXX", QueueID: 2, Body: []byte("b"), Properties: p, Flag: 5, SysFlag: message.TransactionCommit,
		ReconsumeTimes: 2, PreparedTransactionOffset: 9, BornTimestamp: 11,
	})
	var b relay.Rebuilder
	var m message.Message
	if err := b.Real(r, &m); err != nil {
		t.Fatal(err)
	}
	if m.Topic != "T" || m.QueueID != 7 || m.PreparedTransactionOffset != 0 || m.WaitStored || m.ReconsumeTimes != 2 || m.Flag != 5 ||
		m.BornTimestamp != 11 || string(m.Properties) != string(p) || string(m.Body) != "b" {
		t.Errorf("got %+v", m)
	}
	if err := (&relay.Rebuilder{}).Real(r, &m); err != nil || m.Topic != "T" {
		t.Errorf("second rebuilder: %v, %+v", err, m)
	}
	b.Again(r, &m)
	if m.Topic != "SCHEDULE_TOPIC_XXXX" || m.QueueID != 2 {
		t.Errorf("again: %+v", m)
	}
}

func TestRebuilderRefusesRecordsWithoutTarget(t *testing.T) {
	for name, p := range map[string]message.Properties{
		"no topic":      message.Properties("").Append("REAL_QID", "7"),
		"no queue":      message.Properties("").Append("REAL_TOPIC", "T"),
		"bad queue":     message.Properties("").Append("REAL_TOPIC", "T").Append("REAL_QID", "x"),
		"negative":      message.Properties("").Append("REAL_TOPIC", "T").Append("REAL_QID", "-1"),
		"half messages": message.Properties("").Append("REAL_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC").Append("REAL_QID", "0"),
	} {
		var m message.Message
		r := record(t, message.Message{Topic: "S", Body: []byte{}, Properties: p})
		if err := (&relay.Rebuilder{}).Real(r, &m); !errors.Is(err, relay.ErrNoTarget) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRebuilderMakesTheChecksumTailAnew(t *testing.T) {
	p := message.Properties("").Append("REAL_TOPIC", "T").Append("REAL_QID", "0")
	r := record(t, message.Message{Topic: "S", Body: []byte{}, Properties: p, PropertyCRC: true})
	var m message.Message
	if err := (&relay.Rebuilder{}).Real(r, &m); err != nil {
		t.Fatal(err)
	}
	if !m.PropertyCRC || string(m.Properties) != string(p) {
		t.Errorf("got %q, tail %v, want %q and a tail", m.Properties, m.PropertyCRC, p)
	}
}

func TestQuoteKeysReadsFastjson(t *testing.T) {
	// config/delayOffset.json as the reference's 5.5.0 broker writes it.
	in := "{\n\t\"dataVersion\":{\n\t\t\"counter\":2,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t},\n\t\"offsetTable\":{3:1,\n\t\t4:25,-1:0, \"a:{5:\\\"\":6}\n}"
	var got struct {
		OffsetTable map[string]int64 `json:"offsetTable"`
	}
	if err := json.Unmarshal(relay.QuoteKeys([]byte(in)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"3": 1, "4": 25, "-1": 0, "a:{5:\"": 6}
	if len(got.OffsetTable) != len(want) {
		t.Errorf("got %v, want %v", got.OffsetTable, want)
	}
	for k, v := range want {
		if got.OffsetTable[k] != v {
			t.Errorf("key %q: got %d, want %d", k, got.OffsetTable[k], v)
		}
	}
}

func FuzzQuoteKeysLeavesStandardJSON(f *testing.F) {
	f.Add(`{"a":[1,2,{"3":4}],"b":"{5:6}"}`)
	f.Fuzz(func(t *testing.T, s string) {
		quoted := relay.QuoteKeys([]byte(s))
		if json.Valid([]byte(s)) && string(quoted) != s {
			t.Errorf("%q became %q", s, quoted)
		}
	})
}

func TestReplaceFileMakesTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "x.json")
	for _, content := range []string{"one", "2"} {
		if err := relay.ReplaceFile(vfs.OS{}, path, []byte(content), relay.Synced); err != nil {
			t.Fatal(err)
		}
		got, err := vfs.ReadFile(vfs.OS{}, path, relay.MaxStateFile)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
}

func TestLateness(t *testing.T) {
	var l relay.Lateness
	for _, ms := range []int64{0, 1, 2, 3, 70_000} {
		l.Add(ms)
	}
	counts := map[int64]int64{}
	for _, c := range l.Classes() {
		counts[c.Ms] = c.Count
	}
	for ms, want := range map[int64]int64{0: 1, 1: 1, 2: 1, 5: 1, 10: 0, math.MaxInt64: 1} {
		if counts[ms] != want {
			t.Errorf("up to %d ms: got %d, want %d", ms, counts[ms], want)
		}
	}
	if l.Max() != 70_000 {
		t.Errorf("max: got %d", l.Max())
	}
}

func TestThrottle(t *testing.T) {
	var th relay.Throttle
	steps := []struct {
		now, missed int64
		ok          bool
	}{{0, 0, true}, {1, 0, false}, {9_999, 0, false}, {10_000, 2, true}, {5_000, 0, true}}
	for _, s := range steps {
		if missed, ok := th.Allow(s.now); missed != s.missed || ok != s.ok {
			t.Errorf("at %d: got %d, %v, want %d, %v", s.now, missed, ok, s.missed, s.ok)
		}
	}
}

func TestAwaitSafe(t *testing.T) {
	l := relaytest.New(clock.NewManual(time.UnixMilli(1)))
	l.Lag = true
	if err := l.Send(message.Message{Topic: strings.Clone("T"), Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	relay.AwaitSafe(l, l.MaxPhysicalOffset(), 20*time.Millisecond)
	if l.SafeOffset() != 0 {
		t.Error("nothing was flushed")
	}
	go func() { _ = l.Flush() }()
	relay.AwaitSafe(l, l.MaxPhysicalOffset(), time.Minute)
	if l.SafeOffset() != l.MaxPhysicalOffset() {
		t.Error("returned before the flush")
	}
}

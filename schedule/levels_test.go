package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
)

func TestParseLevels(t *testing.T) {
	for _, c := range []struct {
		text string
		want []time.Duration // nil: refused
	}{
		{"1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h", []time.Duration{
			time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute,
			4 * time.Minute, 5 * time.Minute, 6 * time.Minute, 7 * time.Minute, 8 * time.Minute, 9 * time.Minute, 10 * time.Minute,
			20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
		}},
		{"1s 3s 7s", []time.Duration{time.Second, 3 * time.Second, 7 * time.Second}},
		{" 2d\t0s  1h ", []time.Duration{48 * time.Hour, 0, time.Hour}},
		{"1s 5q", nil},
		{"1s 5", nil},
		{"1s s", nil},
		{"1s -5s", nil},
		{"1s 5 s", nil},
		{"9223372036854775807d", nil},
		{"99999999999999999999s", nil},
		{"", nil},
		{"  ", nil},
		{strings.Repeat("1s ", MaxLevels+1), nil},
	} {
		l, err := ParseLevels(c.text)
		if c.want == nil {
			if !errors.Is(err, ErrLevels) {
				t.Errorf("%.40q: got %v, want refused", c.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if int(l.Max()) != len(c.want) {
			t.Errorf("%q: %d levels, want %d", c.text, l.Max(), len(c.want))
		}
		for i, want := range c.want {
			if got := l.Delay(int32(i) + 1); got != want {
				t.Errorf("%q: level %d: got %v, want %v", c.text, i+1, got, want)
			}
		}
	}
}

func TestARefusedSetLeavesTheOldLevels(t *testing.T) {
	l, err := ParseLevels("1s 3s 7s")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Set("2s 5q"); err == nil || !strings.Contains(err.Error(), `level 2 is "5q"`) {
		t.Errorf("got %v, want one that names level 2 and 5q", err)
	}
	if l.Max() != 3 || l.Delay(1) != time.Second || l.String() != "1s 3s 7s" {
		t.Errorf("levels are now %v", l)
	}
}

func TestDeliverTime(t *testing.T) {
	l, err := ParseLevels("1s 3s 7s")
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int32]int64{-1: 1_700_000_000_000, 0: 1_700_000_000_000, 1: 1_700_000_001_000, 3: 1_700_000_007_000, 4: 1_700_000_007_000, 1959: 1_700_000_007_000} {
		if got := l.DeliverTime(level, 1_700_000_000_000); got != want {
			t.Errorf("level %d: got %d, want %d", level, got, want)
		}
	}
}

func TestTransform(t *testing.T) {
	l, err := ParseLevels(DefaultLevels)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, properties string
		sysFlag          int32
		queue            int32 // -1: not a delayed message; -2: an error
		want             string
	}{
		{"no delay", "a\x01b\x02", 0, -1, ""},
		{"0 is no delay", "DELAY\x010\x02", 0, -1, ""},
		{"-1 is no delay", "DELAY\x01-1\x02", 0, -1, ""},
		{"a level", "DELAY\x013\x02a\x01b\x02", 0, 2, "DELAY\x013\x02a\x01b\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{"without the last separator", "DELAY\x013", 0, 2, "DELAY\x013\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{"the highest level", "DELAY\x0118\x02", 0, 17, "DELAY\x0118\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{"one beyond", "DELAY\x0119\x02", 0, 17, "DELAY\x0118\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{"far beyond", "a\x01b\x02DELAY\x011959\x02", 0, 17, "a\x01b\x02DELAY\x0118\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{"no number", "DELAY\x014x\x02", 0, -2, ""},
		{"too large a number", "DELAY\x0199999999999\x02", 0, -2, ""},
		{"a half message waits for its commit", "DELAY\x013\x02", message.TransactionPrepared, -1, ""},
		{"a committed one is delayed", "DELAY\x011\x02", message.TransactionCommit, 0, "DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
		{
			"the level wins over timers", "TIMER_DELIVER_MS\x019\x02DELAY\x011\x02TIMER_DELAY_SEC\x013\x02TIMER_DELAY_MS\x014\x02", 0, 0,
			"DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02",
		},
		{"a target from an earlier delay is replaced", "REAL_TOPIC\x01Old\x02DELAY\x011\x02REAL_QID\x011\x02", 0, 0, "DELAY\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x015\x02"},
	} {
		m := message.Message{Topic: "T", QueueID: 5, SysFlag: c.sysFlag, Properties: message.Properties(c.properties)}
		done, err := l.Transform(&m)
		switch c.queue {
		case -2:
			if !errors.Is(err, ErrLevel) || m.Topic != "T" || string(m.Properties) != c.properties {
				t.Errorf("%s: got %v and %+v, want ErrLevel and the message as it was", c.name, err, m)
			}
		case -1:
			if err != nil || done || m.Topic != "T" || m.QueueID != 5 || string(m.Properties) != c.properties {
				t.Errorf("%s: got %v, %v, %+v, want the message as it was", c.name, done, err, m)
			}
		default:
			if err != nil || !done || m.Topic != "SCHEDULE_TOPIC_XXXX" || m.QueueID != c.queue || string(m.Properties) != c.want {
				t.Errorf("%s: got %v, %v, %s/%d with %q, want queue %d with %q", c.name, done, err, m.Topic, m.QueueID, m.Properties, c.queue, c.want)
			}
		}
	}
}

func BenchmarkTransform(b *testing.B) {
	l, err := ParseLevels(DefaultLevels)
	if err != nil {
		b.Fatal(err)
	}
	p := message.Properties("UNIQ_KEY\x017F00000100002A9F0000000000000064\x02DELAY\x013\x02WAIT\x01true\x02TAGS\x01TagA\x02")
	b.ReportAllocs()
	for b.Loop() {
		m := message.Message{Topic: "TopicTest", QueueID: 5, Properties: p}
		if done, err := l.Transform(&m); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}

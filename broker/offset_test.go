package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
)

func offsetFields(group, topic string, queueID int) fields {
	return fields{"consumerGroup", group, "topic", topic, "queueId", itoa(queueID)}
}

// TestFirstOffset: scenario R-31 and observed.md: 0 for a young topic, unless the client or the configuration wants to know.
func TestFirstOffset(t *testing.T) {
	for _, row := range []struct {
		name, setZero string
		strict        bool
		queue         int
		code          int32
		remark        string
	}{
		{"young topic", "", false, 0, 0, ""},
		{"young topic, asked for zero", "true", false, 0, 0, ""},
		{"young topic, asked not to", "false", false, 0, 22, "Not found, do not set to zero, maybe this group boot first"},
		{"strict", "", true, 0, 22, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"},
		{"empty queue", "", false, 1, 22, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Rocketd.StrictFirstOffset = row.strict }))
			b.create("T", 2)
			b.put("T", 0, 100, "")
			f := offsetFields("G", "T", row.queue)
			if row.setZero != "" {
				f = f.with("setZeroIfNotFound", row.setZero)
			}
			a := b.dial().call(remoting.QueryConsumerOffset, f, nil)
			if a.code != row.code || a.remark != row.remark || row.code == 0 && a.ext["offset"] != "0" {
				t.Errorf("got code %d, remark %q, %v", a.code, a.remark, a.ext)
			}
		})
	}
}

func TestUpdateOffset(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	update := func(f fields, offset string) *answer {
		return c.call(remoting.UpdateConsumerOffset, f.with("commitOffset", offset), nil)
	}
	if a := update(offsetFields("G", "T", 0), "5"); a.code != 26 || a.remark != "Group G not exist!" {
		t.Errorf("unknown group: %d, %q", a.code, a.remark)
	}
	b.groups.getOrCreate("G")
	for _, row := range []struct {
		name   string
		fields fields
		offset string
		code   int32
		remark string
	}{
		{"good", offsetFields("G", "T", 0), "5", 0, ""},
		{"unknown topic", offsetFields("G", "None", 0), "5", 17, "Topic None not exist!"},
		{"negative offset", offsetFields("G", "T", 0), "-1", 29, "commitOffset[-1] of topic T queueId[0] is negative"},
		{"queue beyond the topic's", offsetFields("G", "T", 2), "5", 29, "queueId[2] is illegal, topic:[T] has 2 queues to read and 2 to write"},
		{"negative queue", offsetFields("G", "T", -1), "5", 29, "queueId[-1] is illegal"},
		{"no number", offsetFields("G", "T", 0), "x", 1, `the custom field <commitOffset> has value "x"`},
		{"back", offsetFields("G", "T", 0), "3", 0, ""},
	} {
		if a := update(row.fields, row.offset); a.code != row.code || !strings.HasPrefix(a.remark, row.remark) {
			t.Errorf("%s: got code %d, remark %q", row.name, a.code, a.remark)
		}
	}
	a := c.want(0, remoting.QueryConsumerOffset, offsetFields("G", "T", 0), nil)
	if a.ext["offset"] != "3" {
		t.Errorf("offset %s, want 3", a.ext["offset"])
	}
	b.offsets.assignReset("G", "T", 0, 1)
	if a := update(offsetFields("G", "T", 0), "9"); a.code != 0 || a.remark != "Offset has been previously reset" {
		t.Errorf("during a reset: %d, %q", a.code, a.remark)
	}
	if a := c.want(0, remoting.QueryConsumerOffset, offsetFields("G", "T", 0), nil); a.ext["offset"] != "1" {
		t.Errorf("offset %s, want the reset 1", a.ext["offset"])
	}
	c.oneway(remoting.UpdateConsumerOffset, offsetFields("G", "T", 1).with("commitOffset", "7"), nil)
	if got := b.offsets.query("G", "T", 1); got != 7 {
		t.Errorf("one-way: got %d", got)
	}
}

// TestQueueWithFewerQueuesKeepsItsOffsets: a topic that shrank still takes commits of queues it had.
func TestShrunkTopicTakesCommits(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 4)
	b.groups.getOrCreate("G")
	c := b.dial()
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 3).with("commitOffset", "1"), nil)
	b.create("T", 2)
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 3).with("commitOffset", "2"), nil)
	c.want(29, remoting.UpdateConsumerOffset, offsetFields("G", "T", 2).with("commitOffset", "2"), nil)
}

func TestQueueOffsets(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 5, "")
	c := b.dial()
	for _, row := range []struct {
		name  string
		code  int32
		topic string
		key   string
		want  int64
	}{
		{"max", remoting.GetMaxOffset, "T", "offset", 5},
		{"max of nothing", remoting.GetMaxOffset, "None", "offset", 0},
		{"min", remoting.GetMinOffset, "T", "offset", 0},
		{"min of nothing", remoting.GetMinOffset, "None", "offset", 0},
		{"earliest", remoting.GetEarliestMsgStoretime, "T", "timestamp", testNow.UnixMilli()},
		{"earliest of nothing", remoting.GetEarliestMsgStoretime, "None", "timestamp", -1},
	} {
		a := c.want(0, row.code, fields{"topic", row.topic, "queueId", "0"}, nil)
		if got := a.num(t, row.key); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
	c.want(1, remoting.GetMaxOffset, fields{"topic", "T"}, nil)
}

// TestSearchByTime: scenario R-37: t1 < t2 = t2 < t3.
func TestSearchByTime(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	t1 := testNow.UnixMilli()
	b.put("T", 0, 1, "")
	b.manual.Advance(10 * time.Second)
	b.put("T", 0, 2, "")
	b.manual.Advance(10 * time.Second)
	b.put("T", 0, 1, "")
	t2, t3 := t1+10_000, t1+20_000
	c := b.dial()
	for _, row := range []struct {
		name     string
		at       int64
		boundary string
		want     int64
	}{
		{"before the first", t1 - 5, "", 0},
		{"the first", t1, "", 0},
		{"between", t1 + 5, "", 1},
		{"two equal", t2, "", 1},
		{"two equal", t2, "LOWER", 1},
		{"two equal", t2, "UPPER", 2},
		{"the last", t3, "", 3},
		{"after the last", t3 + 5, "", 4},
		{"after the last", t3 + 5, "UPPER", 3},
		{"before the first", t1 - 5, "UPPER", 0},
	} {
		f := fields{"topic", "T", "queueId", "0", "timestamp", itoa(row.at)}
		if row.boundary != "" {
			f = f.with("boundaryType", row.boundary)
		}
		if got := c.want(0, remoting.SearchOffsetByTimestamp, f, nil).num(t, "offset"); got != row.want {
			t.Errorf("%s %s: got %d, want %d", row.name, row.boundary, got, row.want)
		}
	}
	if got := c.want(0, remoting.SearchOffsetByTimestamp, fields{"topic", "T", "queueId", "1", "timestamp", itoa(t1)}, nil).num(t, "offset"); got != 0 {
		t.Errorf("empty queue: got %d", got)
	}
}

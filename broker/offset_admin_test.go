package broker

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func resetFields(group, topic string, timestamp int64) fields {
	return fields{"group", group, "topic", topic, "timestamp", itoa(timestamp), "isForce", "true"}
}

// fiveSeconds puts a message a second into queue 0 of a topic with two queues.
func fiveSeconds(t *testing.T, options ...brokerOption) *testBroker {
	b := newTestBroker(t, options...)
	b.create("T", 2)
	for range 5 {
		b.put("T", 0, 1, "")
		b.manual.Advance(time.Second)
	}
	return b
}

// TestResetOffset on the broker's side: by time, to the end, one queue, and the group's next pull begins there.
func TestResetOffset(t *testing.T) {
	b := fiveSeconds(t)
	c := b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", "5"), nil)
	reset := func(f fields) map[body.MessageQueue]int64 {
		t.Helper()
		return decoded[body.ResetOffset](t, c.want(0, remoting.InvokeBrokerToResetOffset, f, nil)).OffsetTable
	}
	second := testNow.Add(time.Second).UnixMilli()
	if got := reset(resetFields("G", "T", second)); got[queue("T", 0)] != 1 || got[queue("T", 1)] != 0 || len(got) != 2 {
		t.Errorf("by time: %v", got)
	}
	a := c.want(remoting.PullOffsetMoved, remoting.PullMessage, pullFields("G", "T", 0, 5), nil)
	if a.ext["nextBeginOffset"] != "1" {
		t.Errorf("next pull begins at %s", a.ext["nextBeginOffset"])
	}
	if a := c.want(0, remoting.QueryConsumerOffset, offsetFields("G", "T", 0), nil); a.ext["offset"] != "1" {
		t.Errorf("offset %s", a.ext["offset"])
	}
	if got := reset(resetFields("G", "T", -1)); got[queue("T", 0)] != 5 {
		t.Errorf("to the end: %v", got)
	}
	if got := reset(resetFields("G", "T", second+1)); got[queue("T", 0)] != 2 {
		t.Errorf("between two messages: %v", got)
	}
	one := resetFields("G", "T", -1).with("queueId", "0").with("offset", "3")
	if got := reset(one); len(got) != 1 || got[queue("T", 0)] != 3 {
		t.Errorf("one queue: %v", got)
	}
	if got := reset(one.with("offset", "6")); got[queue("T", 0)] != 5 {
		t.Errorf("one behind the end: %v", got)
	}
	if got := reset(one.without("offset").with("timestamp", itoa(second))); got[queue("T", 0)] != 1 {
		t.Errorf("one queue by time: %v", got)
	}
	for _, bad := range []struct {
		f      fields
		code   int32
		remark string
	}{
		{one.with("offset", "7"), 1, "Target offset 7 not in consume queue range [0-5]"},
		{one.with("offset", "-2"), 1, "Target offset -2"},
		{resetFields("G", "X", 0), 17, "Topic X does not exist"},
		{resetFields("G", "T", 0).without("timestamp"), 1, "timestamp"},
	} {
		if a := c.call(remoting.InvokeBrokerToResetOffset, bad.f, nil); a.code != bad.code || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%v: code %d, remark %q", bad.f, a.code, a.remark)
		}
	}
}

// TestResetOffsetByClients: without the reset on the broker's side the group's clients are told.
func TestResetOffsetByClients(t *testing.T) {
	b := fiveSeconds(t, withConfig(func(c *conf.Config) { c.Broker.UseServerSideResetOffset = false }))
	c := b.dial()
	f := resetFields("G", "T", testNow.Add(time.Second).UnixMilli())
	if a := c.want(1, remoting.InvokeBrokerToResetOffset, f, nil); !strings.Contains(a.remark, "<G> not exist") {
		t.Errorf("remark %q", a.remark)
	}
	for _, id := range []int{0, 1} {
		b.offsets.commit("G", "T", int32(id), 0, "")
	}
	c.want(remoting.ConsumerNotOnline, remoting.InvokeBrokerToResetOffset, f, nil)
	c.want(17, remoting.InvokeBrokerToResetOffset, resetFields("G", "X", 0), nil)
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
	got := decoded[body.ResetOffset](t, c.want(0, remoting.InvokeBrokerToResetOffset, f, nil))
	told := c.awaitAsked(remoting.ResetConsumerClientOffset)
	if want := decoded[body.ResetOffset](t, told); want.OffsetTable[queue("T", 0)] != 1 || got.OffsetTable[queue("T", 0)] != 1 ||
		told.ext["topic"] != "T" || told.ext["group"] != "G" || !told.oneway {
		t.Errorf("told %v %v, answered %v", told.ext, want, got)
	}
	// Without force a group does not move on.
	got = decoded[body.ResetOffset](t, c.want(0, remoting.InvokeBrokerToResetOffset, f.with("isForce", "false"), nil))
	if got.OffsetTable[queue("T", 0)] != 0 {
		t.Errorf("without force: %v", got)
	}
}

// TestConsumerStatus asks all members of a group, or one.
func TestConsumerStatus(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	f := fields{"topic", "T", "group", "G"}
	if a := c.want(1, remoting.InvokeBrokerToGetConsumerStatus, f, nil); !strings.Contains(a.remark, "No Any Consumer online") {
		t.Errorf("remark %q", a.remark)
	}
	offsets := func(n int64) func(*remoting.Command) *remoting.Command {
		return func(req *remoting.Command) *remoting.Command {
			if req.Code != remoting.GetConsumerStatusFromClient {
				return nil
			}
			resp := remoting.NewResponse(remoting.Success)
			resp.Body = body.Encode(&body.ConsumerStatus{MessageQueueTable: map[body.MessageQueue]int64{queue("T", 0): n}})
			return resp
		}
	}
	respond(t, b, heartbeatOf("c-1", "G", tagSub("T", "*", 1)), offsets(11))
	respond(t, b, heartbeatOf("c-2", "G", tagSub("T", "*", 1)), offsets(22))
	got := decoded[body.ConsumerStatus](t, c.want(0, remoting.InvokeBrokerToGetConsumerStatus, f, nil)).ConsumerTable
	if len(got) != 2 || got["c-1"][queue("T", 0)] != 11 || got["c-2"][queue("T", 0)] != 22 {
		t.Errorf("%v", got)
	}
	got = decoded[body.ConsumerStatus](t, c.want(0, remoting.InvokeBrokerToGetConsumerStatus, f.with("clientAddr", "c-2"), nil)).ConsumerTable
	if len(got) != 1 || got["c-2"][queue("T", 0)] != 22 {
		t.Errorf("%v", got)
	}
	got = decoded[body.ConsumerStatus](t, c.want(0, remoting.InvokeBrokerToGetConsumerStatus, f.with("clientAddr", "none"), nil)).ConsumerTable
	if len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestCloneOffsets(t *testing.T) {
	b := fiveSeconds(t)
	b.create("U", 1)
	c := b.dial()
	b.offsets.commit("G", "T", 0, 3, "")
	b.offsets.commit("G", "U", 0, 1, "")
	c.want(0, remoting.CloneGroupOffset, fields{"srcGroup", "G", "destGroup", "H", "topic", "T", "offline", "false"}, nil)
	if got, other := b.offsets.committed("H", "T", 0), b.offsets.committed("H", "U", 0); got != 3 || other >= 0 {
		t.Errorf("offsets %d and %d", got, other)
	}
	c.want(0, remoting.CloneGroupOffset, fields{"srcGroup", "G", "destGroup", "K", "offline", "true"}, nil)
	if got, other := b.offsets.committed("K", "T", 0), b.offsets.committed("K", "U", 0); got != 3 || other != 1 {
		t.Errorf("offsets %d and %d", got, other)
	}
}

// TestCorrectionOffset: the smallest offset of the other groups, and a large number where the compared group is behind.
func TestCorrectionOffset(t *testing.T) {
	b := fiveSeconds(t)
	b.put("T", 1, 5, "")
	for group, offsets := range map[string][2]int64{"A": {3, 1}, "B": {2, 4}, "C": {0, 0}} {
		for id, offset := range offsets {
			b.offsets.commit(group, "T", int32(id), offset, "")
		}
	}
	c := b.dial()
	got := decoded[body.CorrectionOffsets](t, c.want(0, remoting.QueryCorrectionOffset, fields{"topic", "T", "compareGroup", "none", "filterGroups", "C"}, nil)).Offsets
	if len(got) != 2 || got[0] != 2 || got[1] != 1 {
		t.Errorf("%v", got)
	}
	got = decoded[body.CorrectionOffsets](t, c.want(0, remoting.QueryCorrectionOffset, fields{"topic", "T", "compareGroup", "C", "filterGroups", "C"}, nil)).Offsets
	if got[0] != math.MaxInt64 || got[1] != math.MaxInt64 {
		t.Errorf("%v", got)
	}
	if b.offsets.committed("C", "T", 0) != 0 {
		t.Error("a question changed an offset")
	}
}

// TestAllOffsets are what slaves and tools copy.
func TestAllOffsets(t *testing.T) {
	b := fiveSeconds(t)
	c := b.dial()
	b.offsets.commit("G", "T", 0, 3, "")
	table := decoded[body.ConsumerOffsetTable](t, c.want(0, remoting.GetAllConsumerOffset, nil, nil))
	if table.OffsetTable["T@G"][0] != 3 {
		t.Errorf("%+v", table)
	}
	c.want(0, remoting.SendMessage, sendFields("T", 0, "DELAY\x011\x02"), []byte("x"))
	eventually(t, "the level moves on", func() bool {
		b.manual.Advance(time.Second)
		a := c.want(0, remoting.GetAllDelayOffset, nil, nil)
		text := strings.NewReplacer(`"`, "", " ", "", "\t", "", "\n", "").Replace(string(a.body))
		return strings.Contains(text, "offsetTable:{1:1}")
	})
}

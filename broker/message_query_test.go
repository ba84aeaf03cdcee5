package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestViewMessage(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 3, "KEYS\x01k\x02")
	c := b.dial()
	r := b.stored("T", 0, 1)
	a := c.want(0, remoting.ViewMessageByID, fields{"offset", itoa(r.PhysicalOffset)}, nil)
	if list := records(t, a.body); len(list) != 1 || string(list[0].Body) != "body 1" || list[0].QueueOffset != 1 {
		t.Errorf("%d records", len(list))
	}
	for _, offset := range []int64{-1, r.PhysicalOffset + 1, 1 << 40} {
		if a := c.want(1, remoting.ViewMessageByID, fields{"offset", itoa(offset)}, nil); a.remark != "can not find message by the offset, "+itoa(offset) {
			t.Errorf("remark %q", a.remark)
		}
	}
	c.want(1, remoting.ViewMessageByID, nil, nil)
}

// TestQueryMessage finds by key, unique key and tag, within a time.
func TestQueryMessage(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.create("U", 1)
	begin := b.manual.NowMs()
	for i, p := range []string{"KEYS\x01order-1 alias\x02UNIQ_KEY\x01u1\x02TAGS\x01A\x02", "KEYS\x01order-1\x02UNIQ_KEY\x01u2\x02TAGS\x01B\x02", "KEYS\x01other\x02UNIQ_KEY\x01u3\x02"} {
		b.put("T", int32(i%2), 1, p)
		b.manual.Advance(time.Second)
	}
	b.put("U", 0, 1, "KEYS\x01order-1\x02UNIQ_KEY\x01u1\x02")
	c := b.dial()
	f := func(topic, key string) fields {
		return fields{"topic", topic, "key", key, "maxNum", "10", "beginTimestamp", itoa(begin), "endTimestamp", itoa(begin + 60_000)}
	}
	for _, want := range []struct {
		name string
		f    fields
		keys string
	}{
		{"key", f("T", "order-1"), "u1 u2"},
		{"one of two keys", f("T", "alias"), "u1"},
		{"key of another topic", f("U", "order-1"), "u1"},
		{"key with its type", f("T", "order-1").with("indexType", "K"), "u1 u2"},
		{"unique key", f("T", "u2").with("_UNIQUE_KEY_QUERY", "true"), "u2"},
		{"unique key with its type", f("T", "u2").with("indexType", "U"), "u2"},
		{"tag", f("T", "B").with("indexType", "T"), "u2"},
		{"in time", f("T", "order-1").with("beginTimestamp", itoa(begin+500)), "u2"},
		{"the newest one", f("T", "order-1").with("maxNum", "1"), "u2"},
	} {
		a := c.call(remoting.QueryMessage, want.f, nil)
		var keys []string
		for _, r := range records(t, a.body) {
			keys = append(keys, property(&r, "UNIQ_KEY"))
		}
		if a.code != 0 || strings.Join(keys, " ") != want.keys {
			t.Errorf("%s: code %d, found %v, want %s", want.name, a.code, keys, want.keys)
		}
		if a.num(t, "indexLastUpdateTimestamp") == 0 || a.ext["indexLastUpdatePhyoffset"] == "" {
			t.Errorf("%s: fields %v", want.name, a.ext)
		}
	}
	for _, want := range []struct {
		name string
		f    fields
		code int32
	}{
		{"no such key", f("T", "none"), remoting.QueryNotFound},
		{"no such topic", f("X", "order-1"), remoting.QueryNotFound},
		{"too late", f("T", "order-1").with("beginTimestamp", itoa(begin+30_000)), remoting.QueryNotFound},
		{"none wanted", f("T", "order-1").with("maxNum", "0"), remoting.QueryNotFound},
		{"unknown type", f("T", "order-1").with("indexType", "Z"), remoting.InvalidParameter},
		{"missing field", f("T", "order-1").without("key"), 1},
	} {
		if a := c.call(remoting.QueryMessage, want.f, nil); a.code != want.code || a.remark == "" {
			t.Errorf("%s: code %d, remark %q", want.name, a.code, a.remark)
		}
	}
}

// TestQueryConsumeQueue shows entries and whether a group's subscription wants them.
func TestQueryConsumeQueue(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 2, "TAGS\x01A\x02")
	b.put("T", 0, 2, "TAGS\x01B\x02")
	c := b.dial()
	f := fields{"topic", "T", "queueId", "0", "index", "1", "count", "2", "consumerGroup", "G"}
	got := decoded[body.QueryConsumeQueueReply](t, c.want(0, remoting.QueryConsumeQueue, f, nil))
	if got.MinQueueIndex != 0 || got.MaxQueueIndex != 4 || len(got.QueueData) != 2 || got.FilterData != "G@T is not online!" {
		t.Errorf("%+v", got)
	}
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "A", 1)))
	got = decoded[body.QueryConsumeQueueReply](t, c.want(0, remoting.QueryConsumeQueue, f, nil))
	first, second := b.stored("T", 0, 1), b.stored("T", 0, 2)
	if got.SubscriptionData == nil || got.SubscriptionData.SubString != "A" || !got.QueueData[0].Eval || got.QueueData[1].Eval ||
		got.QueueData[0].PhysicOffset != first.PhysicalOffset || got.QueueData[1].PhysicSize != second.Size ||
		got.QueueData[0].TagsCode != int64(message.JavaHash("A")) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []fields{f.with("topic", "X"), f.with("queueId", "1"), f.with("index", "4"), f.with("index", "-1")} {
		c.want(1, remoting.QueryConsumeQueue, bad, nil)
	}
}

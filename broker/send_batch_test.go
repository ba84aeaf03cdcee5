package broker

import (
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func batchOf(t *testing.T, entries ...message.BatchEntry) []byte {
	t.Helper()
	var data []byte
	for _, e := range entries {
		var err error
		if data, err = message.AppendBatchEntry(data, e); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// TestBatchIsStoredAsSingleMessages: messages.md §6: consecutive offsets, the entries' own properties and nothing added.
func TestBatchIsStoredAsSingleMessages(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	data := batchOf(t,
		message.BatchEntry{Body: []byte("one"), Flag: 1, Properties: message.Properties("UNIQ_KEY\x01k1\x02TAGS\x01A\x02")},
		message.BatchEntry{Body: []byte("two"), Flag: 2, Properties: message.Properties("UNIQ_KEY\x01k2\x02")},
		message.BatchEntry{Body: []byte{}, Properties: message.Properties("a\x01b\x02")},
	)
	a := b.dial().want(remoting.Success, remoting.SendBatchMessage, v2Fields("T", 1, "UNIQ_KEY\x01outer\x02WAIT\x01true\x02", true), data)
	ids := strings.Split(a.ext["msgId"], ",")
	if len(ids) != 3 || a.num(t, "queueOffset") != 0 || a.num(t, "queueId") != 1 {
		t.Fatalf("ext fields %v", a.ext)
	}
	for i, want := range []struct {
		body, properties string
		flag             int32
	}{{"one", "UNIQ_KEY\x01k1\x02TAGS\x01A\x02", 1}, {"two", "UNIQ_KEY\x01k2\x02", 2}, {"", "a\x01b\x02", 0}} {
		r := b.stored("T", 1, int64(i))
		if string(r.Body) != want.body || string(r.Properties) != want.properties || r.Flag != want.flag {
			t.Errorf("message %d: body %q, properties %q, flag %d", i, r.Body, r.Properties, r.Flag)
		}
		if id := message.OffsetMessageID(r.StoreHost, r.PhysicalOffset); ids[i] != id {
			t.Errorf("message %d: id %s, want %s", i, ids[i], id)
		}
	}
}

func TestBatchRefusals(t *testing.T) {
	good := message.BatchEntry{Body: []byte("x")}
	for _, row := range []struct {
		name   string
		fields fields
		data   func(t *testing.T) []byte
		remark string
	}{
		{"to a retry topic", v2Fields("%RETRY%G", 0, "", true), nil, "batch request does not support retry group %RETRY%G"},
		{"to a topic with a long name", v2Fields("%DLQ%"+strings.Repeat("g", 123), 0, "", true), nil, "message topic length too long 128"},
		{"delayed", v2Fields("T", 0, "DELAY\x011\x02", true), nil, "a batch cannot be delayed"},
		{"timed", v2Fields("T", 0, "TIMER_DELAY_SEC\x011\x02", true), nil, "a batch cannot be delayed"},
		{"transactional", v2Fields("T", 0, "", true).with("f", "4"), nil, "a batch cannot be transactional"},
		{"delayed inside", v2Fields("T", 0, "", true), func(t *testing.T) []byte {
			t.Helper()
			return batchOf(t, good, message.BatchEntry{Body: []byte("y"), Properties: message.Properties("TIMER_DELAY_SEC\x015\x02")})
		}, "message 1 of the batch is delayed"},
		{"cut off", v2Fields("T", 0, "", true), func(t *testing.T) []byte { t.Helper(); return batchOf(t, good)[:15] }, "message 0 of the batch: "},
		{"no batch", v2Fields("T", 0, "", true), func(*testing.T) []byte { return []byte("hello, this is text") }, "message 0 of the batch: "},
		{"marked as inner batch", v2Fields("T", 0, "INNER_NUM\x011\x02", true).with("f", "128"), nil, "sysFlag bit 0x80 marks an inner batch, and topic[T] does not have queue.type=BatchCQ"},
		{"delayed inside an inner batch", v2Fields("B", 0, "UNIQ_KEY\x01k\x02", true), func(t *testing.T) []byte {
			t.Helper()
			return batchOf(t, message.BatchEntry{Body: []byte("y"), Properties: message.Properties("DELAY\x015\x02")})
		}, "message 0 of the batch is delayed"},
		{"too large", v2Fields("T", 0, "", true), func(t *testing.T) []byte {
			t.Helper()
			return batchOf(t, message.BatchEntry{Body: make([]byte, 600)}, message.BatchEntry{Body: make([]byte, 600)})
		}, "the body of the batch has "},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Store.MaxMessageSize = 1000 }))
			b.create("T", 1)
			b.create("%RETRY%G", 1)
			b.create("%DLQ%"+strings.Repeat("g", 123), 1)
			b.create("B", 1, func(topic *body.TopicConfig) { topic.Attributes = map[string]string{"+queue.type": "BatchCQ"} })
			data := batchOf(t, good)
			if row.data != nil {
				data = row.data(t)
			}
			a := b.dial().want(remoting.MessageIllegal, remoting.SendBatchMessage, row.fields, data)
			limits := "the message is illegal, maybe msg body or properties length not matched. msg body length limit 1000B, msg properties length limit 32KB. "
			if !strings.HasPrefix(strings.TrimPrefix(a.remark, limits), row.remark) {
				t.Errorf("remark %q, want %q", a.remark, row.remark)
			}
			if b.store.MaxPhysicalOffset() != 0 {
				t.Error("something is stored")
			}
		})
	}
}

package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func backFields(group string, offset int64, level int) fields {
	return fields{"offset", itoa(offset), "group", group, "delayLevel", itoa(level), "originMsgId", "m", "originTopic", "T", "unitMode", "false"}
}

// TestSendBack follows a message through its retries to the dead letters: scenario R-25 and messages.md §9.4.
func TestSendBack(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	first := c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01k\x02TAGS\x01A\x02KEYS\x01k1\x02").with("flag", "5"), []byte("x"))
	r := b.stored("T", 0, 0)
	limit := backFields("G", 0, 0).with("maxReconsumeTimes", "3")
	for try, delay := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute} {
		c.want(0, remoting.ConsumerSendMsgBack, limit.with("offset", itoa(r.PhysicalOffset)), nil)
		level := int32(3 + try)
		waiting := b.stored("SCHEDULE_TOPIC_XXXX", level-1, 0)
		for key, value := range map[string]string{
			"DELAY": itoa(level), "REAL_TOPIC": "%RETRY%G", "REAL_QID": "0", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": first.ext["msgId"],
			"TAGS": "A", "KEYS": "k1", "UNIQ_KEY": "k", "WAIT": "false",
		} {
			if got := property(&waiting, key); got != value {
				t.Errorf("try %d: property %s is %q, want %q", try, key, got, value)
			}
		}
		b.manual.Advance(delay)
		eventually(t, "the retry is due", func() bool { return b.count("%RETRY%G", 0) == int64(try+1) })
		r = b.stored("%RETRY%G", 0, int64(try))
		if r.ReconsumeTimes != int32(try+1) || r.Flag != 5 || string(r.Body) != "x" || r.BornTimestamp != 1700000000000 {
			t.Errorf("try %d: %+v", try, r)
		}
		if e, _ := b.store.Queue("%RETRY%G", 0).Entry(int64(try)); e.TagsCode != message.TagsHash("A") {
			t.Errorf("try %d: tags code %d", try, e.TagsCode)
		}
	}
	c.want(0, remoting.ConsumerSendMsgBack, limit.with("offset", itoa(r.PhysicalOffset)), nil)
	dead := b.stored("%DLQ%G", 0, 0)
	if dead.ReconsumeTimes != 4 || property(&dead, "DELAY") != "0" || property(&dead, "RETRY_TOPIC") != "T" || property(&dead, "ORIGIN_MESSAGE_ID") != first.ext["msgId"] {
		t.Errorf("dead letter %+v, properties %q", dead, dead.Properties)
	}
	if got := b.topics.get("%DLQ%G"); got == nil || got.Perm != 6 || got.WriteQueueNums != 1 {
		t.Errorf("dead-letter topic %+v", got)
	}
	// it can be read, and sent back.
	a := c.want(0, remoting.PullMessage, pullFields("H", "%DLQ%G", 0, 0), nil)
	if len(records(t, a.body)) != 1 {
		t.Error("the dead letter cannot be read")
	}
	c.want(0, remoting.ConsumerSendMsgBack, backFields("H", dead.PhysicalOffset, 1), nil)
	b.manual.Advance(time.Second)
	eventually(t, "the dead letter is retried", func() bool { return b.count("%RETRY%H", 0) == 1 })
}

func TestSendBackRules(t *testing.T) {
	for _, row := range []struct {
		name   string
		config func(*conf.Config)
		group  func(*body.SubscriptionGroupConfig)
		retry  func(*body.TopicConfig)
		fields fields
		code   int32
		remark string
		topic  string // where the message is stored; "": nowhere
	}{
		{name: "by default", fields: backFields("G", 0, 0), topic: "SCHEDULE_TOPIC_XXXX"},
		{name: "a level", fields: backFields("G", 0, 1), topic: "SCHEDULE_TOPIC_XXXX"},
		{name: "a level beyond the highest", fields: backFields("G", 0, 99), topic: "SCHEDULE_TOPIC_XXXX"},
		{name: "for good", fields: backFields("G", 0, -1), topic: "%DLQ%G"},
		{name: "no retries in the group", group: func(g *body.SubscriptionGroupConfig) { g.RetryMaxTimes = 0 }, fields: backFields("G", 0, 0), topic: "%DLQ%G"},
		{name: "the request's limit goes before the group's", group: func(g *body.SubscriptionGroupConfig) { g.RetryMaxTimes = 0 }, fields: backFields("G", 0, 0).with("maxReconsumeTimes", "1"), topic: "SCHEDULE_TOPIC_XXXX"},
		{name: "group without retry queues", group: func(g *body.SubscriptionGroupConfig) { g.RetryQueueNums = 0 }, fields: backFields("G", 0, 0)},
		{name: "unknown group", config: func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }, fields: backFields("None", 0, 0), code: 26, remark: "subscription group not exist, None "},
		{name: "broker not writable", config: func(c *conf.Config) { c.Broker.BrokerPermission = 4 }, fields: backFields("G", 0, 0), code: 16, remark: "the broker[127.0.0.1] sending message is forbidden"},
		{name: "retry topic not writable", retry: func(topic *body.TopicConfig) { topic.Perm = 4 }, fields: backFields("G", 0, 0), code: 16, remark: "the topic[%RETRY%G] sending message is forbidden"},
		{name: "no such message", fields: backFields("G", 12345, 0), code: 1, remark: "look message by offset failed, 12345"},
		{name: "negative offset", fields: backFields("G", -1, 0), code: 1, remark: "look message by offset failed, -1"},
		{name: "slave", config: func(c *conf.Config) { c.Store.BrokerRole = "SLAVE" }, fields: backFields("G", 0, 0), code: 1, remark: "no master available along with 127.0.0.1"},
		{name: "missing field", fields: backFields("G", 0, 0).without("group"), code: 1, remark: "the custom field <group> is null"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) {
				if row.config != nil {
					row.config(c)
				}
			}))
			b.create("T", 1)
			b.put("T", 0, 1, "")
			g := *body.NewSubscriptionGroupConfig("G")
			if row.group != nil {
				row.group(&g)
			}
			if err := b.groups.update(g); err != nil {
				t.Fatal(err)
			}
			if row.retry != nil {
				b.create("%RETRY%G", 1, row.retry)
			}
			before := b.store.MaxPhysicalOffset()
			a := b.dial().call(remoting.ConsumerSendMsgBack, row.fields, nil)
			if a.code != row.code || !strings.HasPrefix(a.remark, row.remark) {
				t.Errorf("got code %d, remark %q, want %d, %q", a.code, a.remark, row.code, row.remark)
			}
			if stored := b.store.MaxPhysicalOffset() > before; stored != (row.topic != "") {
				t.Fatalf("stored %t, want it in %q", stored, row.topic)
			}
			if row.topic == "" {
				return
			}
			slice, err := b.store.Record(before)
			if err != nil {
				t.Fatal(err)
			}
			defer slice.Release()
			var r message.Record
			if _, err := message.DecodeRecord(slice.Bytes(), &r, true); err != nil || r.Topic != row.topic {
				t.Errorf("stored in %q, want %q, %v", r.Topic, row.topic, err)
			}
		})
	}
}

// TestSendToARetryTopic is the clients' way when giving back fails: behaviour.md §1 step 12 and §21.
func TestSendToARetryTopic(t *testing.T) {
	retry := sendFields("%RETRY%G", 0, "RETRY_TOPIC\x01T\x02ORIGIN_MESSAGE_ID\x01m\x02DELAY\x013\x02")
	for _, row := range []struct {
		name   string
		fields fields
		before func(b *testBroker, c *testClient)
		topic  string
	}{
		{"first", retry.with("reconsumeTimes", "1"), nil, "SCHEDULE_TOPIC_XXXX"},
		{"at the group's limit", retry.with("reconsumeTimes", "16"), nil, "SCHEDULE_TOPIC_XXXX"},
		{"beyond the group's limit", retry.with("reconsumeTimes", "17"), nil, "%DLQ%G"},
		{"beyond the request's limit", retry.with("reconsumeTimes", "3").with("maxReconsumeTimes", "2"), nil, "%DLQ%G"},
		{"in order", retry.with("reconsumeTimes", "1"), func(_ *testBroker, c *testClient) { c.lock("G", "A", 0) }, "%DLQ%G"},
		{"in order, long ago", retry.with("reconsumeTimes", "1"), func(b *testBroker, c *testClient) {
			c.lock("G", "A", 0)
			b.manual.Advance(61 * time.Second)
		}, "SCHEDULE_TOPIC_XXXX"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t)
			c := b.dial()
			if row.before != nil {
				row.before(b, c)
			}
			a := c.want(0, remoting.SendMessage, row.fields, []byte("x"))
			if row.topic == "%DLQ%G" {
				r := b.stored("%DLQ%G", 0, 0)
				if property(&r, "DELAY") != "-1" || property(&r, "RETRY_TOPIC") != "T" || a.num(t, "queueId") != 0 {
					t.Errorf("properties %q", r.Properties)
				}
			} else if b.count("SCHEDULE_TOPIC_XXXX", 2) != 1 {
				t.Error("it is not delayed")
			}
		})
	}
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }))
	a := b.dial().want(26, remoting.SendMessage, retry, []byte("x"))
	if !strings.HasPrefix(a.remark, "subscription group not exist, G ") {
		t.Errorf("remark %q", a.remark)
	}
}

// TestLargeMessageIsRetried: scenario R-53: a message just under the limit comes back and dies as it is.
func TestLargeMessageIsRetried(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.want(0, remoting.SendMessage, sendFields("T", 0, ""), make([]byte, 4<<20))
	c.want(0, remoting.ConsumerSendMsgBack, backFields("G", 0, 1), nil)
	b.manual.Advance(time.Second)
	eventually(t, "it comes back", func() bool { return b.count("%RETRY%G", 0) == 1 })
	r := b.stored("%RETRY%G", 0, 0)
	c.want(0, remoting.ConsumerSendMsgBack, backFields("G", r.PhysicalOffset, -1), nil)
	if r := b.stored("%DLQ%G", 0, 0); len(r.Body) != 4<<20 {
		t.Errorf("%d bytes", len(r.Body))
	}
}

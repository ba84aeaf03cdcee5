package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestSendStoresWhatApacheStores: record and answer of one message, from messages.md §9.4 and codes.md §1.
func TestSendStoresWhatApacheStores(t *testing.T) {
	for _, form := range []remoting.SerializeType{remoting.JSON, remoting.RocketMQ} {
		b := newTestBroker(t)
		b.create("T", 4)
		c := b.dial()
		c.form = form
		const unique = "7F0000010001AAAA00000000000000AB"
		a := c.want(remoting.Success, remoting.SendMessage, sendFields("T", 3, "KEYS\x01k1\x02UNIQ_KEY\x01"+unique+"\x02TAGS\x01A\x02WAIT\x01true\x02").with("flag", "9"), []byte("hi"))
		want := map[string]string{
			"queueId": "3", "queueOffset": "0", "transactionId": unique, "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
			"msgId": message.OffsetMessageID(b.identity.storeHost, 0),
		}
		for key, value := range want {
			if a.ext[key] != value {
				t.Errorf("ext field %s is %q, want %q", key, a.ext[key], value)
			}
		}
		if a.remark != "" || len(a.ext) != len(want) {
			t.Errorf("remark %q, ext fields %v", a.remark, a.ext)
		}
		r := b.stored("T", 3, 0)
		if string(r.Body) != "hi" || r.Flag != 9 || r.SysFlag != 0 || r.QueueID != 3 || r.BornTimestamp != 1700000000000 ||
			r.StoreTimestamp != testNow.UnixMilli() || r.StoreHost != b.identity.storeHost || r.BornHost.String() != c.conn.LocalAddr().String() {
			t.Errorf("record %+v", r)
		}
		for key, value := range map[string]string{
			"KEYS": "k1", "UNIQ_KEY": unique, "TAGS": "A", "WAIT": "true", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "DefaultCluster",
		} {
			if got := property(&r, key); got != value {
				t.Errorf("property %s is %q, want %q", key, got, value)
			}
		}
	}
}

func TestSendMakesAUniqueKey(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	a := b.dial().want(remoting.Success, remoting.SendMessage, sendFields("T", 0, ""), []byte("hi"))
	r := b.stored("T", 0, 0)
	if key := property(&r, "UNIQ_KEY"); len(key) != 32 || key != a.ext["transactionId"] {
		t.Errorf("UNIQ_KEY %q, transactionId %q", key, a.ext["transactionId"])
	}
}

// TestSendReplacesTheBrokersProperties: what a client copies from a message it got does not double.
func TestSendReplacesTheBrokersProperties(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.dial().want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "MSG_REGION\x01other\x02CLUSTER\x01other\x02TRACE_ON\x01false\x02POP_CK\x010 1 2\x02a\x01b"), []byte("hi"))
	r := b.stored("T", 0, 0)
	if got := strings.Count(string(r.Properties), "CLUSTER"); got != 1 {
		t.Errorf("CLUSTER stands there %d times", got)
	}
	if property(&r, "MSG_REGION") != "DefaultRegion" || property(&r, "TRACE_ON") != "true" || property(&r, "POP_CK") != "" || property(&r, "a") != "b" {
		t.Errorf("properties %q", r.Properties)
	}
}

// TestSendRefusals has the checks of SEND in the reference's order, with its codes and the beginnings of its remarks.
func TestSendRefusals(t *testing.T) {
	long := strings.Repeat("t", 128)
	for _, row := range []struct {
		name   string
		config func(*conf.Config)
		fields fields
		body   string
		code   int32
		remark string
	}{
		{"no body", nil, sendFields("T", 0, ""), "", 13, "the message is illegal"},
		{"missing field", nil, sendFields("T", 0, "").without("queueId"), "x", 1, "the custom field <queueId> is null"},
		{"malformed field", nil, sendFields("T", 0, "").with("queueId", "one"), "x", 1, `the custom field <queueId> has value "one"`},
		{"not yet", func(c *conf.Config) { c.Broker.StartAcceptSendRequestTimeStamp = testNow.UnixMilli() + 1 }, sendFields("T", 0, ""), "x", 1, "broker unable to service, until "},
		{"slave", func(c *conf.Config) { c.Store.BrokerRole = "SLAVE" }, sendFields("T", 0, ""), "x", 2, "[REJECTREQUEST]system busy, start flow control for a while"},
		{"broker not writable, ordered topic", func(c *conf.Config) { c.Broker.BrokerPermission = 4 }, sendFields("O", 0, ""), "x", 16, "the broker[127.0.0.1] sending message is forbidden"},
		{"broker not writable, other topic", func(c *conf.Config) { c.Broker.BrokerPermission = 4 }, sendFields("T", 0, ""), "x", 0, ""},
		{"blank topic", nil, sendFields(" ", 0, ""), "x", 29, "The specified topic is blank."},
		{"illegal topic", nil, sendFields("a b", 0, ""), "x", 29, "The specified topic: a b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"},
		{"long topic", nil, sendFields(long, 0, ""), "x", 29, "The specified topic: " + long + ", is longer than topic max length: 127"},
		{"forbidden topic", nil, sendFields("SCHEDULE_TOPIC_XXXX", 0, ""), "x", 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."},
		{"half topic", nil, sendFields("RMQ_SYS_TRANS_HALF_TOPIC", 0, ""), "x", 16, "Sending message to topic[RMQ_SYS_TRANS_HALF_TOPIC] is forbidden."},
		{"unknown topic", func(c *conf.Config) { c.Broker.AutoCreateTopicEnable = false }, sendFields("New", 0, ""), "x", 17, "topic[New] not exist, apply first please!"},
		{"unknown default topic", nil, sendFields("New", 0, "").with("defaultTopic", "nothing"), "x", 17, "topic[New] not exist, apply first please!"},
		{"queue beyond the topic's", nil, sendFields("T", 4, ""), "x", 29, "request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, perm=RW-, "},
		{"delay level that is no number", nil, sendFields("T", 0, "DELAY\x014x\x02"), "x", 1, `property DELAY has value "4x"`},
		{"transactions are off", func(c *conf.Config) { c.Broker.RejectTransactionMessage = true }, sendFields("T", 0, "TRAN_MSG\x01true\x02"), "x", 16, "the broker[127.0.0.1] sending transaction message is forbidden"},
		{"compaction topic without keys", nil, sendFields("C", 0, ""), "x", 13, "Required message key is missing"},
		{"marks of an inner batch", nil, sendFields("T", 0, "INNER_NUM\x012\x02"), "x", 13, "the message is illegal"},
		{
			"body too large", func(c *conf.Config) { c.Store.MaxMessageSize = 10 }, sendFields("T", 0, ""), "12345678901", 13,
			"the message is illegal, maybe msg body or properties length not matched. msg body length limit 10B, msg properties length limit 32KB.",
		},
		{"body just not too large", func(c *conf.Config) { c.Store.MaxMessageSize = 10 }, sendFields("T", 0, ""), "1234567890", 0, ""},
		{"properties too large", nil, sendFields("T", 0, "a\x01"+strings.Repeat("b", 32768)+"\x02"), "x", 13, "the message is illegal, maybe msg body or properties length not matched."},
		{"timer that is no number", nil, sendFields("T", 0, "TIMER_DELIVER_MS\x01soon\x02"), "x", 13, "timer message illegal, the delay time should not be bigger than the max delay 259200000ms"},
		{"timer too far ahead", nil, sendFields("T", 0, "TIMER_DELAY_SEC\x01259300\x02"), "x", 13, "timer message illegal, the delay time should not be bigger than the max delay 259200000ms"},
		{"timers are off", func(c *conf.Config) { c.Store.TimerWheelEnable = false }, sendFields("T", 0, "TIMER_DELAY_SEC\x015\x02"), "x", 1, "accurate timer message is not enabled, timerWheelEnable is false"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) {
				if row.config != nil {
					row.config(c)
				}
			}))
			b.create("T", 4)
			b.create("O", 4, func(topic *body.TopicConfig) { topic.Order = true })
			b.create("C", 4, func(topic *body.TopicConfig) { topic.Attributes = map[string]string{"+cleanup.policy": "COMPACTION"} })
			a := b.dial().call(remoting.SendMessage, row.fields, []byte(row.body))
			if a.code != row.code || !strings.HasPrefix(a.remark, row.remark) {
				t.Errorf("got code %d, remark %q, want %d, %q", a.code, a.remark, row.code, row.remark)
			}
			if a.ext["MSG_REGION"] != "DefaultRegion" || a.ext["TRACE_ON"] != "true" {
				t.Errorf("ext fields %v", a.ext)
			}
			if row.code != 0 && b.store.MaxPhysicalOffset() != 0 {
				t.Errorf("%d bytes are stored", b.store.MaxPhysicalOffset())
			}
		})
	}
}

// TestSendCreatesTopics: scenario R-43 on: as many queues as the client asks for, not more than the broker's default.
func TestSendCreatesTopics(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	c.want(remoting.Success, remoting.SendMessage, sendFields("FromGo", 0, ""), []byte("x"))
	c.want(remoting.Success, remoting.SendMessage, sendFields("FromJava", 0, "").with("defaultTopicQueueNums", "16"), []byte("x"))
	for topic, queues := range map[string]int32{"FromGo": 4, "FromJava": 8} {
		if got := b.topics.get(topic); got == nil || got.WriteQueueNums != queues || got.ReadQueueNums != queues || got.Perm != 6 {
			t.Errorf("%s: got %+v, want %d queues", topic, got, queues)
		}
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("FromUnit", 0, "").with("unitMode", "true"), []byte("x"))
	if got := b.topics.get("FromUnit"); got.TopicSysFlag != 1 {
		t.Errorf("topicSysFlag %d, want 1", got.TopicSysFlag)
	}
}

// TestManySendToOneNewTopic: scenario R-59: all of them succeed at the first try.
func TestManySendToOneNewTopic(t *testing.T) {
	b := newTestBroker(t)
	var waiting []<-chan *answer
	var clients []*testClient
	for range 50 {
		c := b.dial()
		clients = append(clients, c)
		waiting = append(waiting, c.send(c.request(remoting.SendMessage, sendFields("New", 0, ""), []byte("x"))))
	}
	for i, ch := range waiting {
		if a := clients[i].await(ch); a.code != 0 {
			t.Errorf("send %d: code %d, %s", i, a.code, a.remark)
		}
	}
	if n := b.count("New", 0); n != 50 {
		t.Errorf("%d messages are stored", n)
	}
}

// TestNegativeQueueIsAnyQueue: the queue is chosen by the broker and told to the client.
func TestNegativeQueueIsAnyQueue(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 4)
	c := b.dial()
	seen := map[int64]bool{}
	for range 64 {
		a := c.want(remoting.Success, remoting.SendMessage, sendFields("T", -1, ""), []byte("x"))
		seen[a.num(t, "queueId")] = true
	}
	if len(seen) != 4 || !seen[0] || !seen[3] {
		t.Errorf("queues %v", seen)
	}
}

// v2Fields are the short-named fields of a send.
func v2Fields(topic string, queueID int, properties string, batch bool) fields {
	return fields{
		"a", "P", "b", topic, "c", "TBW102", "d", "4", "e", itoa(queueID), "f", "0", "g", "1700000000000", "h", "0",
		"i", properties, "j", "0", "k", "false", "m", fmt.Sprint(batch), "n", "broker-a",
	}
}

func TestSendV2(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.want(remoting.Success, remoting.SendMessageV2, v2Fields("T", 0, "", false), []byte("x"))
	c.want(remoting.SystemError, remoting.SendMessageV2, sendFields("T", 0, ""), []byte("x"))
	c.want(remoting.SystemError, remoting.SendMessage, v2Fields("T", 0, "", false), []byte("x"))
	if n := b.count("T", 0); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

// TestOnewaySendIsStored: and nothing comes back.
func TestOnewaySendIsStored(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	for range 100 {
		c.oneway(remoting.SendMessage, sendFields("New", 0, ""), []byte("x"))
	}
	eventually(t, "100 messages", func() bool { return b.count("New", 0) == 100 })
}

// TestPipelinedSendsAreAnsweredEach: one turn holds many frames; each gets its own answer and offset.
func TestPipelinedSendsAreAnsweredEach(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	var data []byte
	var waiting []<-chan *answer
	for i := range 200 {
		cmd := c.request(remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01key-"+itoa(i)+"\x02"), []byte("body "+itoa(i)))
		ch := make(chan *answer, 1)
		c.mu.Lock()
		c.waiting[cmd.Opaque] = ch
		c.mu.Unlock()
		waiting = append(waiting, ch)
		data = remoting.AppendFrame(data, cmd)
	}
	c.write(data)
	for i, ch := range waiting {
		a := c.await(ch)
		if a.code != 0 || a.num(t, "queueOffset") != int64(i) || a.ext["transactionId"] != "key-"+itoa(i) {
			t.Fatalf("send %d: code %d, %v", i, a.code, a.ext)
		}
		if r := b.stored("T", 0, int64(i)); string(r.Body) != "body "+itoa(i) || a.ext["msgId"] != message.OffsetMessageID(r.StoreHost, r.PhysicalOffset) {
			t.Fatalf("send %d: body %q, id %s", i, r.Body, a.ext["msgId"])
		}
	}
}

// TestDelayLevels: scenario R-03: where the message lies and what its properties say.
func TestDelayLevels(t *testing.T) {
	for _, row := range []struct {
		delay   string
		queue   int32 // of SCHEDULE_TOPIC_XXXX; -1: not delayed
		deliver int64 // s
	}{
		{"0", -1, 0}, {"-1", -1, 0}, {"", -1, 0}, {"1", 0, 1}, {"18", 17, 7200}, {"19", 17, 7200}, {"1959", 17, 7200},
	} {
		b := newTestBroker(t)
		b.create("T", 2)
		a := b.dial().want(remoting.Success, remoting.SendMessage, sendFields("T", 1, "DELAY\x01"+row.delay+"\x02"), []byte("x"))
		if a.num(t, "queueId") != 1 {
			t.Errorf("DELAY=%s: queueId %s, want that of the topic", row.delay, a.ext["queueId"])
		}
		if row.queue < 0 {
			if b.count("T", 1) != 1 {
				t.Errorf("DELAY=%s: not stored at once", row.delay)
			}
			continue
		}
		r := b.stored("SCHEDULE_TOPIC_XXXX", row.queue, 0)
		if property(&r, "REAL_TOPIC") != "T" || property(&r, "REAL_QID") != "1" {
			t.Errorf("DELAY=%s: properties %q", row.delay, r.Properties)
		}
		if e, _ := b.store.Queue("SCHEDULE_TOPIC_XXXX", row.queue).Entry(0); e.TagsCode != testNow.UnixMilli()+row.deliver*1000 {
			t.Errorf("DELAY=%s: tags code %d, want %d", row.delay, e.TagsCode, testNow.UnixMilli()+row.deliver*1000)
		}
	}
}

// TestLevelWinsOverTimer: scenario R-10: the timer properties are gone from the stored message.
func TestLevelWinsOverTimer(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	a := b.dial().want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "DELAY\x011\x02TIMER_DELIVER_MS\x01"+itoa(testNow.UnixMilli()+20000)+"\x02"), []byte("x"))
	r := b.stored("SCHEDULE_TOPIC_XXXX", 0, 0)
	if property(&r, "TIMER_DELIVER_MS") != "" || a.ext["recallHandle"] != "" {
		t.Errorf("properties %q, recall handle %q", r.Properties, a.ext["recallHandle"])
	}
}

func TestTimerMessagesGoToTheWheel(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	a := c.want(remoting.Success, remoting.SendMessage, sendFields("T", 1, "UNIQ_KEY\x01k\x02TIMER_DELAY_MS\x015500\x02"), []byte("x"))
	r := b.stored("rmq_sys_wheel_timer", 0, 0)
	if property(&r, "REAL_TOPIC") != "T" || property(&r, "REAL_QID") != "1" || property(&r, "TIMER_OUT_MS") == "" {
		t.Errorf("properties %q", r.Properties)
	}
	// RecallMessageHandle: base 64 of "v1 topic broker time key", padded.
	if handle := a.ext["recallHandle"]; !strings.HasPrefix(handle, "djEgVCBicm9rZXItYSA") || len(handle)%4 != 0 {
		t.Errorf("recall handle %q", handle)
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "TIMER_DELIVER_MS\x01"+itoa(testNow.UnixMilli()-1000)+"\x02"), []byte("x"))
	if b.count("T", 0) != 1 {
		t.Error("a time in the past is not delivered at once")
	}
}

// TestHalfMessage: messages.md §9.4 and behaviour.md §1: offsets in the answer are those of the half topic.
func TestHalfMessage(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	f := sendFields("T", 1, "TRAN_MSG\x01true\x02PGROUP\x01P\x02UNIQ_KEY\x01k\x02TAGS\x01A\x02DELAY\x013\x02").with("sysFlag", "4")
	a := c.want(remoting.Success, remoting.SendMessage, f, []byte("x"))
	if a.num(t, "queueId") != 1 || a.num(t, "queueOffset") != 0 || a.ext["transactionId"] != "k" {
		t.Errorf("ext fields %v", a.ext)
	}
	r := b.stored("RMQ_SYS_TRANS_HALF_TOPIC", 0, 0)
	if r.SysFlag != 0 || property(&r, "REAL_TOPIC") != "T" || property(&r, "REAL_QID") != "1" || property(&r, "__transactionId__") != "k" || property(&r, "DELAY") != "3" {
		t.Errorf("sysFlag %d, properties %q", r.SysFlag, r.Properties)
	}
	if b.count("T", 1) != 0 || b.count("SCHEDULE_TOPIC_XXXX", 2) != 0 {
		t.Error("a half message is visible or delayed")
	}
}

// TestPriorityChoosesTheQueue: messages.md §10.
func TestPriorityChoosesTheQueue(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 4)
	c := b.dial()
	for priority, queue := range map[string]int64{"2": 2, "9": 3} {
		a := c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "_SYS_MSG_PRIORITY_\x01"+priority+"\x02"), []byte("x"))
		if a.num(t, "queueId") != queue {
			t.Errorf("priority %s: queue %s, want %d", priority, a.ext["queueId"], queue)
		}
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 1, "_SYS_MSG_PRIORITY_\x012\x02__SHARDINGKEY\x01s\x02"), []byte("x"))
	r := b.stored("T", 1, 0)
	if property(&r, "_SYS_MSG_PRIORITY_") != "" || property(&r, "__SHARDINGKEY") != "s" {
		t.Errorf("properties %q", r.Properties)
	}
}

// TestSendAtTheLimits: scenario R-53: what is just not over a limit is stored and read back.
func TestSendAtTheLimits(t *testing.T) {
	b := newTestBroker(t)
	topic := strings.Repeat("t", 127)
	b.create(topic, 1)
	c := b.dial()
	large := []byte(strings.Repeat("b", 4<<20))
	c.want(remoting.Success, remoting.SendMessage, sendFields(topic, 0, ""), large)
	c.want(remoting.MessageIllegal, remoting.SendMessage, sendFields(topic, 0, ""), append(large, 'b'))
	a := c.want(remoting.Success, remoting.PullMessage, pullFields("G", topic, 0, 0), nil)
	if list := records(t, a.body); len(list) != 1 || len(list[0].Body) != 4<<20 {
		t.Errorf("%d records", len(list))
	}

	b.create("P", 1)
	const most = 32767 // bytes of stored properties, those that the broker adds among them
	c.want(remoting.Success, remoting.SendMessage, sendFields("P", 0, "UNIQ_KEY\x01k\x02"), []byte("x"))
	r := b.stored("P", 0, 0)
	added := len(r.Properties)
	of := func(size int) string { return "UNIQ_KEY\x01k\x02a\x01" + strings.Repeat("v", size-added-3) + "\x02" }
	c.want(remoting.Success, remoting.SendMessage, sendFields("P", 0, of(most)), []byte("x"))
	if r := b.stored("P", 0, 1); len(r.Properties) != most {
		t.Errorf("%d bytes of properties stored, want %d", len(r.Properties), most)
	}
	c.want(remoting.MessageIllegal, remoting.SendMessage, sendFields("P", 0, of(most+1)), []byte("x"))

	entry := func(size int) message.BatchEntry {
		return message.BatchEntry{Body: []byte("x"), Properties: message.Properties("a\x01" + strings.Repeat("v", size-3) + "\x02")}
	}
	c.want(remoting.Success, remoting.SendBatchMessage, v2Fields("P", 0, "WAIT\x01true\x02", true), batchOf(t, entry(most), entry(10)))
	if r := b.stored("P", 0, 2); len(r.Properties) != most {
		t.Errorf("%d bytes of properties stored from a batch, want %d", len(r.Properties), most)
	}
}

// TestMessageTypes: with checkMessageType a topic takes only messages of its type.
func TestMessageTypes(t *testing.T) {
	properties := map[string]string{
		"NORMAL": "a\x01b\x02", "FIFO": "__SHARDINGKEY\x01s\x02", "DELAY": "DELAY\x011\x02", "TRANSACTION": "TRAN_MSG\x01true\x02PGROUP\x01P\x02",
	}
	for _, on := range []bool{false, true} {
		b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Rocketd.CheckMessageType = on }))
		c := b.dial()
		for _, topicType := range []string{"", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED"} {
			name := "T" + topicType
			b.create(name, 1, func(topic *body.TopicConfig) {
				if topicType != "" {
					topic.Attributes = map[string]string{"+message.type": topicType}
				}
			})
			for is, p := range properties {
				want := int32(0)
				if on && topicType != "" && topicType != "MIXED" && topicType != is {
					want = 13
				}
				a := c.call(remoting.SendMessage, sendFields(name, 0, p), []byte("x"))
				if a.code != want || want == 13 && !strings.HasPrefix(a.remark, "TopicMessageType validate failed, the expected type is "+topicType+", but actual type is "+is) {
					t.Errorf("check %t, topic %q, message %s: code %d, %q", on, topicType, is, a.code, a.remark)
				}
			}
		}
	}
}

// TestLightQueues: with enableLmq and enableMultiDispatch a message is in the light queues that it names, besides its own.
func TestLightQueues(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Store.EnableLMQ, c.Store.EnableMultiDispatch = true, true }))
	b.create("T", 1)
	c := b.dial()
	c.want(0, remoting.SendMessage, sendFields("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"), []byte("x"))
	for _, topic := range []string{"T", "%LMQ%a", "%LMQ%b"} {
		a := c.call(remoting.PullMessage, pullFields("%LMQ%g", topic, 0, 0), nil)
		if a.code != 0 || len(records(t, a.body)) != 1 {
			t.Errorf("%s: code %d, %s", topic, a.code, a.remark)
		}
	}
	held := b.hold(c, waitFields("%LMQ%g", "%LMQ%a", 0, 1))
	c.want(0, remoting.SendMessage, sendFields("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%a\x02"), []byte("y"))
	if a := c.await(held); a.code != 0 {
		t.Errorf("held: code %d, %s", a.code, a.remark)
	}
}

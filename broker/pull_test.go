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

// put stores n messages in a queue of a topic that exists.
func (x *testBroker) put(topic string, queueID int32, n int, properties string) {
	x.t.Helper()
	for i := range n {
		m := message.Message{
			Topic: topic, QueueID: queueID, Body: []byte("body " + itoa(i)), StoreHost: x.identity.storeHost, BornHost: x.identity.storeHost,
			BornTimestamp: 1, Properties: message.Properties(properties), WaitStored: true,
		}
		if _, err := x.store.Put(&m); err != nil {
			x.t.Fatal(err)
		}
	}
}

// TestPullByOffset: scenario R-30 on a queue that begins at 0: codes, remarks and the four offsets in every answer.
func TestPullByOffset(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 200, "")
	c := b.dial()
	for _, row := range []struct {
		name                   string
		queue                  int
		offset                 int64
		code                   int32
		remark                 string
		next, minimum, maximum int64
		count                  int
	}{
		{"the beginning", 0, 0, 0, "FOUND", 32, 0, 200, 32},
		{"the last message", 0, 199, 0, "FOUND", 200, 0, 200, 1},
		{"the end", 0, 200, 19, "OFFSET_OVERFLOW_ONE", 200, 0, 200, 0},
		{"one beyond the end", 0, 201, 21, "OFFSET_OVERFLOW_BADLY", 200, 0, 200, 0},
		{"far beyond the end", 0, 5000, 21, "OFFSET_OVERFLOW_BADLY", 200, 0, 200, 0},
		{"before the beginning", 0, -1, 21, "OFFSET_TOO_SMALL", 0, 0, 200, 0},
		{"an empty queue at 0", 1, 0, 19, "NO_MESSAGE_IN_QUEUE", 0, 0, 0, 0},
		{"an empty queue at 7", 1, 7, 21, "NO_MESSAGE_IN_QUEUE", 0, 0, 0, 0},
	} {
		for _, code := range []int32{remoting.PullMessage, remoting.LitePullMessage} {
			a := c.call(code, pullFields("G", "T", row.queue, row.offset), nil)
			if a.code != row.code || a.remark != row.remark {
				t.Errorf("%s: got code %d, remark %q, want %d, %q", row.name, a.code, a.remark, row.code, row.remark)
			}
			if next, low, high := a.num(t, "nextBeginOffset"), a.num(t, "minOffset"), a.num(t, "maxOffset"); next != row.next || low != row.minimum || high != row.maximum {
				t.Errorf("%s: next %d, min %d, max %d, want %d, %d, %d", row.name, next, low, high, row.next, row.minimum, row.maximum)
			}
			if a.ext["suggestWhichBrokerId"] != "0" || a.ext["topicSysFlag"] != "0" || a.ext["groupSysFlag"] != "0" {
				t.Errorf("%s: ext fields %v", row.name, a.ext)
			}
			if got := records(t, a.body); len(got) != row.count {
				t.Errorf("%s: %d records, want %d", row.name, len(got), row.count)
			}
		}
	}
}

// TestPullRefusals has the checks of PULL in the reference's order.
func TestPullRefusals(t *testing.T) {
	online := func(t *testing.T, b *testBroker, c *testClient, subs ...body.SubscriptionData) {
		t.Helper()
		c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", subs...))
	}
	plain := pullFields("G", "T", 0, 0).with("sysFlag", "0")
	for _, row := range []struct {
		name      string
		config    func(*conf.Config)
		before    func(t *testing.T, b *testBroker, c *testClient)
		request   int32
		fields    fields
		code      int32
		remark    string
		forbidden string
	}{
		{name: "slave", config: func(c *conf.Config) { c.Store.BrokerRole = "SLAVE" }, fields: plain, code: 2, remark: "[REJECTREQUEST]system busy, start flow control for a while"},
		{name: "broker not readable", config: func(c *conf.Config) { c.Broker.BrokerPermission = 2 }, fields: plain, code: 16, remark: "the broker[127.0.0.1] pulling message is forbidden", forbidden: "1"},
		{name: "lite pull is off", config: func(c *conf.Config) { c.Broker.LitePullMessageEnable = false }, request: remoting.LitePullMessage, fields: plain, code: 16, remark: "the broker[127.0.0.1] for lite pull consumer is forbidden", forbidden: "1"},
		{name: "unknown group", config: func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }, fields: plain, code: 26, remark: "subscription group [G] does not exist, "},
		{name: "group with a bad name", fields: plain.with("consumerGroup", "a b"), code: 26, remark: "subscription group [a b] does not exist, "},
		{name: "group may not consume", before: func(t *testing.T, b *testBroker, _ *testClient) {
			t.Helper()
			g := *body.NewSubscriptionGroupConfig("G")
			g.ConsumeEnable = false
			if err := b.groups.update(g); err != nil {
				t.Fatal(err)
			}
		}, fields: plain, code: 16, remark: "subscription group no permission, G", forbidden: "2"},
		{name: "unknown topic", fields: plain.with("topic", "None"), code: 17, remark: "topic[None] not exist, apply first please! "},
		{name: "topic not readable", fields: plain.with("topic", "W"), code: 16, remark: "the topic[W] pulling message is forbidden", forbidden: "3"},
		{name: "negative queue", fields: plain.with("queueId", "-1"), code: 29, remark: "queueId[-1] is illegal, topic:[T] topicConfig.readQueueNums:[2] consumer:["},
		{name: "queue beyond the topic's", fields: plain.with("queueId", "2"), code: 29, remark: "queueId[2] is illegal, topic:[T] topicConfig.readQueueNums:[2] consumer:["},
		{name: "bad tag expression", fields: plain.with("sysFlag", "4").with("subscription", "||"), code: 23, remark: "parse the consumer's subscription failed"},
		{name: "bad SQL expression", fields: plain.with("sysFlag", "4").with("subscription", "a >").with("expressionType", "SQL92"), code: 23, remark: "parse the consumer's subscription failed"},
		{name: "unknown expression type", fields: plain.with("sysFlag", "4").with("expressionType", "REGEX"), code: 23, remark: "parse the consumer's subscription failed"},
		{name: "group is not online", fields: plain, code: 24, remark: "the consumer's group info not exist"},
		{name: "broadcasting is off", before: func(t *testing.T, b *testBroker, c *testClient) {
			t.Helper()
			g := *body.NewSubscriptionGroupConfig("G")
			g.ConsumeBroadcastEnable = false
			if err := b.groups.update(g); err != nil {
				t.Fatal(err)
			}
			c.want(0, remoting.HeartBeat, nil, []byte(`{"clientID":"c","consumerDataSet":[{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"BroadCasting","subscriptionDataSet":[{"topic":"T","subString":"*"}]}]}`))
		}, fields: plain, code: 16, remark: "the consumer group[G] can not consume by broadcast way", forbidden: "4"},
		{name: "forbidden for the topic", before: func(t *testing.T, b *testBroker, c *testClient) {
			t.Helper()
			online(t, b, c, tagSub("T", "*", 5))
			if err := b.groups.forbid("G", "T", true); err != nil {
				t.Fatal(err)
			}
		}, fields: plain, code: 16, remark: "the consumer group[G] is forbidden for topic[T]", forbidden: "5"},
		{name: "topic is not subscribed", before: func(t *testing.T, b *testBroker, c *testClient) { t.Helper(); online(t, b, c, tagSub("U", "*", 5)) }, fields: plain, code: 24, remark: "the consumer's subscription not exist"},
		{name: "subscription is old", before: func(t *testing.T, b *testBroker, c *testClient) { t.Helper(); online(t, b, c, tagSub("T", "*", 5)) }, fields: plain.with("subVersion", "6"), code: 25, remark: "the consumer's subscription not latest"},
		{name: "subscription is not older", before: func(t *testing.T, b *testBroker, c *testClient) { t.Helper(); online(t, b, c, tagSub("T", "*", 5)) }, fields: plain.with("subVersion", "5"), code: 19, remark: "NO_MESSAGE_IN_QUEUE"},
		{name: "expression of the heartbeat was refused", before: func(t *testing.T, b *testBroker, c *testClient) { t.Helper(); online(t, b, c, sqlSub("T", "a >", 5)) }, fields: plain, code: 27, remark: "The broker's consumer filter data is not exist!Your expression may be wrong!"},
		{name: "SQL is off", config: func(c *conf.Config) { c.Broker.EnablePropertyFilter = false }, fields: plain.with("sysFlag", "4").with("subscription", "a > 1").with("expressionType", "SQL92"), code: 1, remark: "The broker does not support consumer to filter message by SQL92"},
		{name: "pull consumers are rejected", config: func(c *conf.Config) { c.Broker.RejectPullConsumerEnable = true }, fields: plain.with("sysFlag", "4"), code: 24, remark: "the consumer's group info not exist, or the pull consumer is rejected by server."},
		{name: "pull consumers are rejected, but not tools", config: func(c *conf.Config) { c.Broker.RejectPullConsumerEnable = true }, fields: plain.with("sysFlag", "4").with("consumerGroup", "TOOLS_CONSUMER"), code: 19, remark: "NO_MESSAGE_IN_QUEUE"},
		{name: "missing field", fields: plain.without("queueOffset"), code: 1, remark: "the custom field <queueOffset> is null"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) {
				if row.config != nil {
					row.config(c)
				}
			}))
			b.create("T", 2)
			b.create("W", 2, func(topic *body.TopicConfig) { topic.Perm = 2 })
			c := b.dial()
			if row.before != nil {
				row.before(t, b, c)
			}
			request := remoting.PullMessage
			if row.request != 0 {
				request = row.request
			}
			a := c.call(request, row.fields, nil)
			if a.code != row.code || !strings.HasPrefix(a.remark, row.remark) {
				t.Errorf("got code %d, remark %q, want %d, %q", a.code, a.remark, row.code, row.remark)
			}
			if a.ext["forbiddenType"] != row.forbidden {
				t.Errorf("forbiddenType %q, want %q", a.ext["forbiddenType"], row.forbidden)
			}
		})
	}
}

func TestPullFiltersTags(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	for range 10 {
		b.put("T", 0, 1, "TAGS\x01A\x02")
		b.put("T", 0, 1, "TAGS\x01B\x02")
		b.put("T", 0, 1, "")
	}
	c := b.dial()
	for expression, count := range map[string]int{"A": 10, "A || B": 20, "*": 30, "": 30} {
		a := c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0).with("subscription", expression), nil)
		if got := records(t, a.body); len(got) != count || a.num(t, "nextBeginOffset") < int64(count) {
			t.Errorf("%q: %d records, next %s", expression, len(got), a.ext["nextBeginOffset"])
		}
	}
	a := c.want(remoting.PullRetryImmediately, remoting.PullMessage, pullFields("G", "T", 0, 0).with("subscription", "C"), nil)
	if a.remark != "NO_MATCHED_MESSAGE" || a.num(t, "nextBeginOffset") != 30 {
		t.Errorf("remark %q, next %s", a.remark, a.ext["nextBeginOffset"])
	}
}

func TestPullFiltersSQL(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	for i := range 10 {
		b.put("T", 0, 1, "a\x01"+itoa(i)+"\x02")
	}
	b.put("T", 0, 1, "")
	c := b.dial()
	a := c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0).with("subscription", "a > 5").with("expressionType", "SQL92"), nil)
	if got := records(t, a.body); len(got) != 4 || string(got[0].Body) != "body 0" || property(&got[0], "a") != "6" {
		t.Errorf("%d records", len(got))
	}
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "H", sqlSub("T", "a BETWEEN 2 AND 3", 1)))
	a = c.want(0, remoting.PullMessage, pullFields("H", "T", 0, 0).with("sysFlag", "0"), nil)
	if got := records(t, a.body); len(got) != 2 {
		t.Errorf("%d records by heartbeat", len(got))
	}
}

// TestRetryTopicFilters: scenario R-26: SQL of the original topic counts in the retry topic only with filterSupportRetry.
func TestRetryTopicFilters(t *testing.T) {
	for _, on := range []bool{false, true} {
		b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.FilterSupportRetry = on }))
		c := b.dial()
		c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", sqlSub("T", "a > 5", 1), tagSub("%RETRY%G", "*", 1)))
		b.put("%RETRY%G", 0, 1, "RETRY_TOPIC\x01T\x02a\x017\x02")
		b.put("%RETRY%G", 0, 1, "RETRY_TOPIC\x01T\x02a\x013\x02")
		a := c.want(0, remoting.PullMessage, pullFields("G", "%RETRY%G", 0, 0).with("sysFlag", "0"), nil)
		want := 2
		if on {
			want = 1
		}
		if got := records(t, a.body); len(got) != want {
			t.Errorf("filterSupportRetry %t: %d records, want %d", on, len(got), want)
		}
	}
}

// TestPullCommits: sysFlag bit 1 commits on the first pass; the position of the reader is always known.
func TestPullCommits(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 3, "")
	c := b.dial()
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0).with("commitOffset", "2"), nil)
	if got := b.offsets.query("G", "T", 0); got != -1 {
		t.Errorf("committed %d without the flag", got)
	}
	if got := b.offsets.queryPulled("G", "T", 0); got != 3 {
		t.Errorf("pulled %d, want 3", got)
	}
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0).with("commitOffset", "2").with("sysFlag", "5"), nil)
	if got := b.offsets.query("G", "T", 0); got != 2 {
		t.Errorf("committed %d, want 2", got)
	}
}

// TestPullAfterReset: the next pull is sent to the reset offset, once.
func TestPullAfterReset(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 10, "")
	c := b.dial()
	b.offsets.assignReset("G", "T", 0, 4)
	a := c.want(remoting.PullOffsetMoved, remoting.PullMessage, pullFields("G", "T", 0, 9).with("commitOffset", "9").with("sysFlag", "5"), nil)
	if a.remark != "OFFSET_RESET" || a.num(t, "nextBeginOffset") != 4 || a.num(t, "maxOffset") != 10 || a.num(t, "minOffset") != 0 {
		t.Errorf("remark %q, ext fields %v", a.remark, a.ext)
	}
	if got := b.offsets.query("G", "T", 0); got != 4 {
		t.Errorf("committed %d, want 4: the pull's own offset must not undo the reset", got)
	}
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 4), nil)
}

// TestPullSuggestsTheSlave: behaviour.md §2.
func TestPullSuggestsABroker(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.SlaveReadEnable = true }))
	b.create("T", 1)
	g := *body.NewSubscriptionGroupConfig("G")
	g.BrokerID = 7
	if err := b.groups.update(g); err != nil {
		t.Fatal(err)
	}
	a := b.dial().want(remoting.PullNotFound, remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
	if a.ext["suggestWhichBrokerId"] != "7" {
		t.Errorf("suggestWhichBrokerId %q", a.ext["suggestWhichBrokerId"])
	}
}

// TestPulledBytesAreTheStoredOnes: the body is the records as they lie in the log.
func TestPulledBytesAreTheStoredOnes(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	for i := range 10 {
		c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01k"+itoa(i)+"\x02"), []byte(strings.Repeat("x", i*100)+"x"))
	}
	a := c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 3).with("maxMsgNums", "4"), nil)
	first, _ := b.store.Queue("T", 0).Entry(3)
	var want []byte
	for i := int64(3); i < 7; i++ {
		e, _ := b.store.Queue("T", 0).Entry(i)
		slice, err := b.store.Record(e.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, slice.Bytes()...)
		slice.Release()
	}
	if string(a.body) != string(want) || first.PhysicalOffset == 0 {
		t.Errorf("%d bytes, want %d", len(a.body), len(want))
	}
}

// TestOnewayPullIsNothing: nobody waits for what it would bring.
func TestOnewayPullIsNothing(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.oneway(remoting.PullMessage, pullFields("G", "T", 0, 0).with("sysFlag", "6"), nil)
	if got := b.holds.held(); got != 0 {
		t.Errorf("%d pulls are held", got)
	}
}

// TestUnreadAnswersStopPulls: a client that pulls and does not read gets no more messages, and others do.
func TestUnreadAnswersStopPulls(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.want(0, remoting.SendMessage, sendFields("T", 0, ""), make([]byte, 1<<20))
	deaf := b.dialRaw()
	var data []byte
	for i := range 200 {
		cmd := c.request(remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
		cmd.Opaque = int32(i)
		data = remoting.AppendFrame(data, cmd)
	}
	if _, err := deaf.Write(data); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		a := c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
		if len(a.body) < 1<<20 {
			t.Fatalf("%d bytes", len(a.body))
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	busy := 0
	if err := deaf.SetReadDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		frame, err := readFrame(deaf)
		if err != nil {
			t.Fatal(err)
		}
		var cmd remoting.Command
		if err := remoting.DecodeFrame(frame, &cmd); err != nil {
			t.Fatal(err)
		}
		if cmd.Code == remoting.SystemBusy && strings.HasPrefix(cmd.Remark, "this connection does not read its answers") {
			busy++
		}
	}
	if busy == 0 {
		t.Error("no pull was refused")
	}
}

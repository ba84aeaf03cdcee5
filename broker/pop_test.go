package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// popped is one message of a pop as the consumer holds it.
type popped struct {
	message.Record
	handle string
	topic  string // where it lies: the topic or a retry topic
}

func popFields(group, topic string, queueID, most int, invisible time.Duration) fields {
	return fields{
		"consumerGroup", group, "topic", topic, "queueId", itoa(queueID), "maxMsgNums", itoa(most), "invisibleTime", itoa(int(invisible.Milliseconds())),
		"pollTime", "0", "bornTime", "0", "initMode", "0", "expType", "TAG", "exp", "*", "order", "false",
	}
}

// pop gets messages and makes their handles as clients do (ExtraInfoUtil, MQClientAPIImpl#processPopResponse).
func (c *testClient) pop(f fields) []popped {
	c.t.Helper()
	return c.unpack(c.call(remoting.PopMessage, f, nil), f)
}

func (c *testClient) unpack(a *answer, f fields) []popped {
	c.t.Helper()
	if a.code != 0 {
		if a.code != remoting.PollingTimeout {
			c.t.Errorf("pop: code %d, remark %q", a.code, a.remark)
		}
		return nil
	}
	at := func(key string) string {
		for i := 0; i < len(f); i += 2 {
			if f[i] == key {
				return f[i+1]
			}
		}
		return ""
	}
	starts := map[string]string{}
	for part := range strings.SplitSeq(a.ext["startOffsetInfo"], ";") {
		i := strings.LastIndexByte(part, ' ')
		starts[part[:i]] = part[i+1:]
	}
	var handles []popped
	for part := range strings.SplitSeq(a.ext["msgOffsetInfo"], ";") {
		words := strings.Split(part, " ")
		topic, err := popTopicOfFlag(at("topic"), at("consumerGroup"), words[0])
		if err != nil {
			c.t.Fatal(err)
		}
		for offset := range strings.SplitSeq(words[2], ",") {
			handles = append(handles, popped{topic: topic, handle: fmt.Sprintf("%s %s %s %s %s broker-a %s %s", starts[words[0]+" "+words[1]],
				a.ext["popTime"], a.ext["invisibleTime"], a.ext["reviveQid"], words[0], words[1], offset)})
		}
	}
	list := records(c.t, a.body)
	if len(list) != len(handles) {
		c.t.Fatalf("%d records, offsets %q", len(list), a.ext["msgOffsetInfo"])
	}
	for i := range list {
		handles[i].Record = list[i]
		if ck := property(&list[i], message.KeyPopCheckpoint); ck != "" && ck != handles[i].handle {
			c.t.Errorf("POP_CK %q, made %q", ck, handles[i].handle)
		}
		if list[i].Topic != at("topic") {
			c.t.Errorf("message of topic %s", list[i].Topic)
		}
	}
	return handles
}

func (p *popped) fields(group string) fields {
	return fields{
		"consumerGroup", group, "topic", p.topic, "queueId", itoa(p.QueueID), "extraInfo", p.handle, "offset", itoa(p.QueueOffset),
	}
}

func (c *testClient) ack(group string, list ...popped) {
	c.t.Helper()
	for i := range list {
		c.want(0, remoting.AckMessage, list[i].fields(group), nil)
	}
}

// change gives a message another invisible time and returns it with its new handle.
func (c *testClient) change(group string, p popped, invisible time.Duration) popped {
	c.t.Helper()
	a := c.want(0, remoting.ChangeMessageInvisibletime, p.fields(group).with("invisibleTime", itoa(int(invisible.Milliseconds()))), nil)
	return changedHandle(a, p)
}

// changedHandle is a message with the handle that the answer to a change of its invisible time makes.
func changedHandle(a *answer, p popped) popped {
	words := strings.Split(p.handle, " ")
	words[1], words[2], words[3] = a.ext["popTime"], a.ext["invisibleTime"], a.ext["reviveQid"]
	if words[3] != "999" {
		words[0] = itoa(p.QueueOffset)
	}
	p.handle = strings.Join(words, " ")
	return p
}

func bodies(list []popped) []string {
	var out []string
	for i := range list {
		out = append(out, string(list[i].Body))
	}
	slices.Sort(out)
	return out
}

// collect pops in steps of time until so many messages came.
func (x *testBroker) collect(c *testClient, f fields, n int, step time.Duration) []popped {
	x.t.Helper()
	var list []popped
	x.advanceUntil(fmt.Sprint(n, " messages"), step, 400*step, func() bool {
		for {
			got := c.pop(f)
			if list = append(list, got...); len(got) == 0 {
				return len(list) >= n
			}
		}
	})
	if len(list) != n {
		x.t.Fatalf("%d messages came, want %d: %v", len(list), n, bodies(list))
	}
	return list
}

// nothing makes sure that time brings no message back.
func (x *testBroker) nothing(c *testClient, f fields, d time.Duration) {
	x.t.Helper()
	for range 10 {
		x.manual.Advance(d / 10)
		if got := c.pop(f); len(got) > 0 {
			x.t.Fatalf("got %v at %v", bodies(got), x.manual.Now().Sub(testNow))
		}
	}
}

// TestPopAndAck: fields of the answer, what is acknowledged stays away, what is not comes back once with its count.
func TestPopAndAck(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 5, "TAGS\x01A\x02KEYS\x01k\x02")
	c := b.dial()
	f := popFields("G", "T", 0, 3, 10*time.Second)
	a := c.call(remoting.PopMessage, f, nil)
	for key, want := range map[string]string{
		"popTime": itoa(testNow.UnixMilli()), "invisibleTime": "10000", "restNum": "2", "startOffsetInfo": "0 0 0", "msgOffsetInfo": "0 0 0,1,2", "orderCountInfo": "",
	} {
		if a.ext[key] != want {
			t.Errorf("field %s is %q, want %q", key, a.ext[key], want)
		}
	}
	first := c.unpack(a, f)
	second := c.pop(f)
	if !slices.Equal(bodies(first), []string{"body 0", "body 1", "body 2"}) || !slices.Equal(bodies(second), []string{"body 3", "body 4"}) {
		t.Fatalf("got %v and %v", bodies(first), bodies(second))
	}
	if offset := b.offsets.committed("G", "T", 0); offset != 5 {
		t.Errorf("committed %d", offset)
	}
	c.ack("G", first[0], first[2], second[0], second[1])
	b.nothing(c, f, 9990*time.Millisecond)
	back := b.collect(c, f, 1, 20*time.Millisecond)
	if late := b.manual.Now().Sub(testNow) - 10*time.Second; late > time.Second {
		t.Errorf("it came back %v late", late)
	}
	r := &back[0]
	if string(r.Body) != "body 1" || r.topic != "%RETRY%G_T" || r.ReconsumeTimes != 1 || property(&r.Record, "1ST_POP_TIME") != itoa(testNow.UnixMilli()) ||
		property(&r.Record, "TAGS") != "A" || property(&r.Record, "KEYS") != "k" {
		t.Errorf("came back: %q of %s, %d times, %q", r.Body, r.topic, r.ReconsumeTimes, r.Properties)
	}
	if topic := b.topics.get("%RETRY%G_T"); topic == nil || topic.ReadQueueNums != 1 || topic.Perm != 6 {
		t.Errorf("retry topic %+v", topic)
	}
	// It lapses once more: the count goes on in the same retry topic.
	again := b.collect(c, f, 1, 50*time.Millisecond)
	if r := &again[0]; r.ReconsumeTimes != 2 || r.topic != "%RETRY%G_T" || property(&r.Record, "1ST_POP_TIME") != itoa(testNow.UnixMilli()) {
		t.Errorf("came back: %d times, of %s, %q", r.ReconsumeTimes, r.topic, r.Properties)
	}
	c.ack("G", again...)
	c.ack("G", again...)
	b.nothing(c, f, 30*time.Second)
}

// TestPopInBinary: the binary header has 16 bits for the code.
func TestPopInBinary(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 2, "")
	c := b.dial()
	c.form = remoting.RocketMQ
	f := popFields("G", "T", 0, 2, 5*time.Second)
	got := c.pop(f)
	if len(got) != 2 {
		t.Fatalf("%d messages", len(got))
	}
	c.ack("G", got[0])
	c.ack("G", c.change("G", got[1], time.Minute))
	b.nothing(c, f, 2*time.Minute)
}

// TestPopScenario is R-58: acks, a changed invisible time, an old handle, and what lapses.
func TestPopScenario(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 10, "")
	c := b.dial()
	f := popFields("G", "T", 0, 32, 10*time.Second)
	got := c.pop(f)
	if len(got) != 10 {
		t.Fatalf("%d messages", len(got))
	}
	c.ack("G", got[:4]...)
	longer := c.change("G", got[4], 30*time.Second)
	replaced := c.change("G", got[5], 20*time.Second)
	if a := c.want(remoting.NoMessage, remoting.AckMessage, got[5].fields("G"), nil); !strings.Contains(a.remark, "old one") {
		t.Errorf("ack by the old handle: %q", a.remark)
	}
	c.want(remoting.NoMessage, remoting.ChangeMessageInvisibletime, got[5].fields("G").with("invisibleTime", "1000"), nil)
	c.want(remoting.NoMessage, remoting.ChangeMessageInvisibletime, got[0].fields("G").with("invisibleTime", "1000"), nil)

	b.nothing(c, f, 9900*time.Millisecond)
	lapsed := b.collect(c, f, 4, 50*time.Millisecond)
	if want := []string{"body 6", "body 7", "body 8", "body 9"}; !slices.Equal(bodies(lapsed), want) {
		t.Fatalf("lapsed: %v, want %v", bodies(lapsed), want)
	}
	if a := c.call(remoting.ChangeMessageInvisibletime, got[6].fields("G").with("invisibleTime", "1000"), nil); a.code != remoting.NoMessage {
		t.Errorf("change of what is over: code %d", a.code)
	}
	c.ack("G", lapsed...)
	c.ack("G", longer) // 30 s from the change, we are at 10 to 11 s
	b.nothing(c, f, 8*time.Second)
	back := b.collect(c, f, 1, 50*time.Millisecond)
	if string(back[0].Body) != "body 5" || back[0].ReconsumeTimes != 1 {
		t.Errorf("came back: %q, %d times", back[0].Body, back[0].ReconsumeTimes)
	}
	c.ack("G", replaced) // too late: it is back already, under another handle
	c.ack("G", back...)
	b.nothing(c, f, time.Minute)
	if c := b.count("%RETRY%G_T", 0); c != 5 {
		t.Errorf("%d messages came back, want 5", c)
	}
}

// TestPopBatchAck acknowledges messages of several queues in one request.
func TestPopBatchAck(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 4, "")
	b.put("T", 1, 3, "")
	c := b.dial()
	f := popFields("G", "T", -1, 32, 10*time.Second)
	got := b.collect(c, f, 7, time.Millisecond)
	batch := body.BatchAckRequest{BrokerName: "broker-a"}
	for queueID := range int32(2) {
		for _, m := range got {
			if m.QueueID != queueID || m.QueueOffset == 1 {
				continue
			}
			h, err := parsePopHandle(m.handle)
			if err != nil {
				t.Fatal(err)
			}
			ack := body.BatchAck{
				ConsumerGroup: "G", Topic: "T", Retry: "0", StartOffset: h.startOffset, QueueID: queueID, ReviveQueueID: h.reviveQueue,
				PopTime: h.popTime, InvisibleTime: h.invisibleTime,
			}
			ack.BitSet = body.BitSet{byte(1 << (m.QueueOffset - h.startOffset))}
			batch.Acks = append(batch.Acks, ack)
		}
	}
	c.want(0, remoting.BatchAckMessage, nil, body.Encode(&batch))
	back := b.collect(c, f, 2, 100*time.Millisecond)
	if !slices.Equal(bodies(back), []string{"body 1", "body 1"}) {
		t.Errorf("came back: %v", bodies(back))
	}
	c.want(remoting.NoMessage, remoting.BatchAckMessage, nil, nil)
	c.want(remoting.NoMessage, remoting.BatchAckMessage, nil, []byte(`{"acks":[],"brokerName":"broker-a"}`))
	c.want(remoting.SystemError, remoting.BatchAckMessage, nil, []byte(`{"acks":`))
	// Offsets out of range are left out without a word.
	c.want(0, remoting.BatchAckMessage, nil, []byte(`{"acks":[{"b":"//8=","c":"G","it":10000,"pt":1,"q":0,"r":"0","rq":0,"so":4,"t":"T"},`+
		`{"b":"AQ==","c":"G","it":10000,"pt":1,"q":7,"r":"0","rq":0,"so":4,"t":"T"}],"brokerName":"broker-a"}`))
}

// TestPopRefused goes through the checks of the five requests.
func TestPopRefused(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }))
	b.create("T", 2)
	b.create("W", 1, func(c *body.TopicConfig) { c.Perm = 2 })
	b.put("T", 0, 3, "")
	c := b.dial()
	c.want(0, remoting.UpdateAndCreateSubscriptiongroup, nil, []byte(`{"groupName":"G","consumeEnable":true}`))
	c.want(0, remoting.UpdateAndCreateSubscriptiongroup, nil, []byte(`{"groupName":"OFF","consumeEnable":false}`))
	f := popFields("G", "T", 0, 1, 10*time.Second)
	got := c.pop(f)[0]
	ack, change := got.fields("G"), got.fields("G").with("invisibleTime", "5000")
	now := testNow.UnixMilli()
	for _, bad := range []struct {
		name   string
		code   int32
		f      fields
		want   int32
		remark string
	}{
		{"no topic", remoting.PopMessage, f.with("topic", "X"), 17, "topic[X] not exist"},
		{"write only", remoting.PopMessage, f.with("topic", "W"), 16, "forbidden"},
		{"no such queue", remoting.PopMessage, f.with("queueId", "2"), 29, "readQueueNums:[2]"},
		{"33 messages", remoting.PopMessage, f.with("maxMsgNums", "33"), 29, "greater than 32"},
		{"no group", remoting.PopMessage, f.with("consumerGroup", "X"), 26, "subscription group [X] does not exist"},
		{"group off", remoting.PopMessage, f.with("consumerGroup", "OFF"), 16, "no permission, OFF"},
		{"bad expression", remoting.PopMessage, f.with("expType", "SQL92").with("exp", "a >"), 23, "parse"},
		{"too late", remoting.PopMessage, f.with("bornTime", itoa(now-1000)), 210, "timeout too much"},
		{"invisible too long", remoting.PopMessage, f.with("invisibleTime", "259200001"), 29, "259200000 (timerMaxDelaySec)"},
		{"missing field", remoting.PopMessage, f.without("invisibleTime"), 1, "invisibleTime"},
		{"ack no topic", remoting.AckMessage, ack.with("topic", "X"), 17, "topic[X]"},
		{"ack no queue", remoting.AckMessage, ack.with("queueId", "2"), 13, "readQueueNums:[2]"},
		{"ack negative queue", remoting.AckMessage, ack.with("queueId", "-1"), 13, "queueId[-1]"},
		{"ack out of range", remoting.AckMessage, ack.with("offset", "4"), 208, "store:0~3"},
		{"ack no handle", remoting.AckMessage, ack.with("extraInfo", "x"), 1, "extraInfo"},
		{"ack bad revive queue", remoting.AckMessage, ack.with("extraInfo", "0 1 2 8 0 broker-a 0 0"), 13, "reviveQid"},
		{"change no topic", remoting.ChangeMessageInvisibletime, change.with("topic", "X"), 17, "topic[X]"},
		{"change no queue", remoting.ChangeMessageInvisibletime, change.with("queueId", "9"), 13, "queueId[9]"},
		{"change out of range", remoting.ChangeMessageInvisibletime, change.with("offset", "3"), 208, "store:0~3"},
		{"change too long", remoting.ChangeMessageInvisibletime, change.with("invisibleTime", "259200001"), 29, "timerMaxDelaySec"},
		{"change negative", remoting.ChangeMessageInvisibletime, change.with("invisibleTime", "-1"), 29, "invisibleTime"},
		{"peek no topic", remoting.PeekMessage, fields{"consumerGroup", "G", "topic", "X", "queueId", "0", "maxMsgNums", "1"}, 17, "topic[X]"},
		{"notification no group", remoting.Notification, fields{"consumerGroup", "X", "topic", "T", "queueId", "0", "pollTime", "0", "bornTime", "0"}, 26, "[X]"},
		{"polling no queue", remoting.PollingInfo, fields{"consumerGroup", "G", "topic", "T", "queueId", "5"}, 29, "queueId[5]"},
	} {
		if a := c.call(bad.code, bad.f, nil); a.code != bad.want || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%s: code %d, remark %q, want %d, %q", bad.name, a.code, a.remark, bad.want, bad.remark)
		}
	}
	c.ack("G", got)
}

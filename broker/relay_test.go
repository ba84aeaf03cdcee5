package broker

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// respond connects a client that announces itself by a heartbeat and answers the broker's requests; no answer for nil.
func respond(t *testing.T, b *testBroker, heartbeat []byte, answer func(*remoting.Command) *remoting.Command) {
	t.Helper()
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hello := remoting.NewRequest(remoting.HeartBeat, nil)
	hello.Opaque, hello.Body, hello.Language = 1, heartbeat, remoting.Java
	if _, err := conn.Write(remoting.AppendFrame(nil, hello)); err != nil {
		t.Fatal(err)
	}
	welcome := make(chan struct{})
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			frame, err := readFrame(conn)
			if err != nil {
				return
			}
			var cmd remoting.Command
			if err := remoting.DecodeFrame(frame, &cmd); err != nil {
				t.Error(err)
				return
			}
			if cmd.IsResponse() {
				close(welcome)
				continue
			}
			if resp := answer(&cmd); resp != nil && !cmd.IsOneway() {
				resp.Opaque = cmd.Opaque
				resp.Flag |= 1
				if _, err := conn.Write(remoting.AppendFrame(nil, resp)); err != nil {
					return
				}
			}
		}
	}()
	select {
	case <-welcome:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer to the heartbeat")
	}
}

// TestRelayRunningInfo hands a client's answer through, and tells when there is none.
func TestRelayRunningInfo(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	f := fields{"consumerGroup", "G", "clientId", "c-1", "jstackEnable", "true"}
	if a := c.want(1, remoting.GetConsumerRunningInfo, f, nil); a.remark != "The Consumer <G> <c-1> not online" {
		t.Errorf("remark %q", a.remark)
	}
	respond(t, b, heartbeatOf("c-1", "G", tagSub("T", "*", 1)), func(req *remoting.Command) *remoting.Command {
		if req.Code != remoting.GetConsumerRunningInfo {
			return nil
		}
		resp := remoting.NewResponse(remoting.Success)
		stack, _ := req.ExtValue("jstackEnable")
		id, _ := req.ExtValue("clientId")
		resp.Remark, resp.Body = "hello", []byte(`{"jstack":"`+stack+`","id":"`+id+`"}`)
		resp.AddExt("x", "y")
		return resp
	})
	a := c.want(0, remoting.GetConsumerRunningInfo, f, nil)
	if string(a.body) != `{"jstack":"true","id":"c-1"}` || a.remark != "hello" || a.ext["x"] != "y" {
		t.Errorf("%q %q %v", a.body, a.remark, a.ext)
	}
	respond(t, b, heartbeatOf("mute", "G", tagSub("T", "*", 1)), func(*remoting.Command) *remoting.Command { return nil })
	waiting := c.send(c.request(remoting.GetConsumerRunningInfo, f.with("clientId", "mute"), nil))
	c.want(0, remoting.GetConsumerRunningInfo, f, nil) // nobody else waits for the mute one
	eventually(t, "the time is over", func() bool {
		b.manual.Advance(time.Second)
		return len(waiting) > 0
	})
	if a := <-waiting; a.code != remoting.ConsumeMsgTimeout || !strings.Contains(a.remark, "<G> <mute> Timeout") {
		t.Errorf("code %d, remark %q", a.code, a.remark)
	}
}

// TestRelayConsumeDirectly gives a client the message it is to consume.
func TestRelayConsumeDirectly(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1, func(c *body.TopicConfig) { c.TopicSysFlag = 2 })
	b.put("T", 0, 1, "KEYS\x01k\x02")
	c := b.dial()
	r := b.stored("T", 0, 0)
	id := message.OffsetMessageID(r.StoreHost, r.PhysicalOffset)
	respond(t, b, heartbeatOf("c-1", "G", tagSub("T", "*", 1)), func(req *remoting.Command) *remoting.Command {
		if req.Code != remoting.ConsumeMessageDirectly {
			return nil
		}
		list := records(t, req.Body)
		resp := remoting.NewResponse(remoting.Success)
		for _, key := range []string{"brokerName", "topicSysFlag", "groupSysFlag", "msgId"} {
			value, _ := req.ExtValue(key)
			resp.AddExt(key, value)
		}
		resp.Body = list[0].Body
		return resp
	})
	f := fields{"consumerGroup", "G", "clientId", "c-1", "msgId", id, "topic", "T"}
	a := c.want(0, remoting.ConsumeMessageDirectly, f, nil)
	if string(a.body) != "body 0" || a.ext["brokerName"] != "broker-a" || a.ext["topicSysFlag"] != "2" || a.ext["groupSysFlag"] != "0" || a.ext["msgId"] != id {
		t.Errorf("%q %v", a.body, a.ext)
	}
	c.want(1, remoting.ConsumeMessageDirectly, f.with("msgId", "nonsense"), nil)
	c.want(1, remoting.ConsumeMessageDirectly, f.with("msgId", message.OffsetMessageID(r.StoreHost, 1<<40)), nil)
	c.want(1, remoting.ConsumeMessageDirectly, f.with("clientId", "none"), nil)
}

// TestReply: the answer of request-reply is stored and pushed to the client that asked.
func TestReply(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	push := make(chan *remoting.Command, 1)
	producer := func(id string) []byte {
		return body.Encode(&body.HeartbeatData{ClientID: id, ProducerDataSet: []body.ProducerData{{GroupName: "ASK"}}})
	}
	respond(t, b, producer("asker"), func(req *remoting.Command) *remoting.Command {
		if req.Code != remoting.PushReplyMessageToClient {
			return nil
		}
		push <- &remoting.Command{Ext: cloneFields(req.Ext), Body: append([]byte(nil), req.Body...)}
		return remoting.NewResponse(remoting.Success)
	})
	respond(t, b, producer("grumpy"), func(*remoting.Command) *remoting.Command { return remoting.NewResponse(remoting.SystemError) })
	f := func(to string) fields {
		return sendFields("DefaultCluster_REPLY_TOPIC", 0, "MSG_TYPE\x01reply\x02CORRELATION_ID\x01c1\x02REPLY_TO_CLIENT\x01"+to+"\x02")
	}
	a := c.want(0, remoting.SendReplyMessage, f("asker"), []byte("the answer"))
	got := <-push
	fieldsOf := map[string]string{}
	for _, field := range got.Ext {
		fieldsOf[field.Key] = field.Value
	}
	properties := message.Properties(fieldsOf["properties"])
	at, _ := properties.Get("PUSH_REPLY_TIME")
	if string(got.Body) != "the answer" || fieldsOf["topic"] != "DefaultCluster_REPLY_TOPIC" || at != itoa(testNow.UnixMilli()) ||
		fieldsOf["bornHost"] != c.conn.LocalAddr().String() || fieldsOf["storeTimestamp"] != itoa(testNow.UnixMilli()) {
		t.Errorf("pushed %q, %v", got.Body, fieldsOf)
	}
	stored := b.stored("DefaultCluster_REPLY_TOPIC", 0, 0)
	if string(stored.Body) != "the answer" || a.ext["msgId"] != message.OffsetMessageID(stored.StoreHost, stored.PhysicalOffset) || a.ext["queueOffset"] != "0" {
		t.Errorf("stored %q, answered %v", stored.Body, a.ext)
	}
	for to, remark := range map[string]string{
		"nobody": "push reply message fail, channel of <nobody> not found.", "grumpy": "push reply message to grumpyfail.",
	} {
		if a := c.call(remoting.SendReplyMessage, f(to), []byte("x")); a.code != 1 || a.remark != remark {
			t.Errorf("%s: code %d, remark %q", to, a.code, a.remark)
		}
	}
	if a := c.call(remoting.SendReplyMessage, sendFields("DefaultCluster_REPLY_TOPIC", 0, ""), []byte("x")); a.code != 1 || !strings.Contains(a.remark, "REPLY_TO_CLIENT") {
		t.Errorf("code %d, remark %q", a.code, a.remark)
	}
}

// TestRecall takes a timer message back.
func TestRecall(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.RecallMessageEnable = true }))
	b.create("T", 1)
	c := b.dial()
	send := func(key string) string {
		a := c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01"+key+"\x02TIMER_DELAY_SEC\x0110\x02"), []byte(key))
		return a.ext["recallHandle"]
	}
	stays, goes := send("stays"), send("goes")
	if stays == "" || goes == "" {
		t.Fatalf("handles %q, %q", stays, goes)
	}
	b.manual.Advance(3 * time.Second)
	f := fields{"producerGroup", "P", "topic", "T", "recallHandle", goes}
	if a := c.want(0, remoting.RecallMessage, f, nil); a.ext["msgId"] != "goes" {
		t.Errorf("recalled %v", a.ext)
	}
	eventually(t, "the other one is there", func() bool { b.manual.Advance(200 * time.Millisecond); return b.count("T", 0) > 0 })
	b.manual.Advance(10 * time.Second)
	if r := b.stored("T", 0, 0); b.count("T", 0) != 1 || string(r.Body) != "stays" {
		t.Errorf("%d messages, the first is %q", b.count("T", 0), r.Body)
	}
	for _, bad := range []struct {
		f      fields
		code   int32
		remark string
	}{
		{f, remoting.IllegalOperation, "timestamp invalid"},
		{f.with("topic", "X"), 17, "the topic[X] not exist"},
		{f.with("topic", "SELF_TEST_TOPIC"), remoting.IllegalOperation, "topic not match"},
		{f.with("recallHandle", "%%%"), remoting.IllegalOperation, "recall handle is invalid"},
		{f.without("recallHandle"), 1, "recallHandle"},
	} {
		if a := c.call(remoting.RecallMessage, bad.f, nil); a.code != bad.code || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%v: code %d, remark %q", bad.f, a.code, a.remark)
		}
	}
	off := newTestBroker(t)
	off.dial().want(16, remoting.RecallMessage, f, nil)
}

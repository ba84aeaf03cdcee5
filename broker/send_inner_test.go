package broker

import (
	"os"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func batchQueues(topic *body.TopicConfig) {
	topic.Attributes = map[string]string{"+queue.type": "BatchCQ"}
}

// TestInnerBatchIsStoredAsOneRecord: messages.md §6: one record with the cluster and the number of its messages added, which takes up as many
// offsets, is pulled by each of them, and whose answer names the batch.
func TestInnerBatchIsStoredAsOneRecord(t *testing.T) {
	b := newTestBroker(t)
	b.create("B", 2, batchQueues)
	c := b.dial()
	data := batchOf(t, message.BatchEntry{Body: []byte("one")}, message.BatchEntry{Body: []byte("two")}, message.BatchEntry{Body: []byte("three")})
	for i := range 2 {
		a := c.want(remoting.Success, remoting.SendBatchMessage, v2Fields("B", 1, "UNIQ_KEY\x01outer\x02WAIT\x01true\x02INNER_NUM\x0199\x02", true), data)
		r := b.stored("B", 1, int64(3*i+2))
		if a.num(t, "queueOffset") != int64(3*i) || a.ext["batchUniqId"] != "outer" || a.ext["transactionId"] != "outer" || a.ext["msgId"] != message.OffsetMessageID(r.StoreHost, r.PhysicalOffset) {
			t.Fatalf("ext fields %v", a.ext)
		}
		if string(r.Body) != string(data) || r.QueueOffset != int64(3*i) || r.SysFlag&0xC0 != 0xC0 {
			t.Errorf("record at %d with sysFlag 0x%x and body %q", r.QueueOffset, r.SysFlag, r.Body)
		}
		want := "UNIQ_KEY\x01outer\x02WAIT\x01true\x02CLUSTER\x01DefaultCluster\x02INNER_NUM\x013\x02INNER_BASE\x01" + itoa(int64(3*i)) + "\x02"
		if string(r.Properties) != want {
			t.Errorf("properties %q, want %q", r.Properties, want)
		}
	}
	if b.count("B", 1) != 6 || b.count("B", 0) != 0 {
		t.Errorf("queues end at %d and %d, want 6 and 0", b.count("B", 1), b.count("B", 0))
	}
	// A single message takes up one offset.
	if a := c.want(remoting.Success, remoting.SendMessageV2, v2Fields("B", 1, "", false), []byte("single")); a.num(t, "queueOffset") != 6 {
		t.Errorf("ext fields %v", a.ext)
	}
	if r := b.stored("B", 1, 6); string(r.Body) != "single" || r.SysFlag != 0 {
		t.Errorf("body %q, sysFlag 0x%x", r.Body, r.SysFlag)
	}
	// One that says itself that it is an inner batch must be one.
	marked := v2Fields("B", 0, "INNER_NUM\x013\x02", false).with("f", "192")
	if a := c.want(remoting.Success, remoting.SendMessageV2, marked, data); a.num(t, "queueOffset") != 0 || b.count("B", 0) != 3 {
		t.Errorf("ext fields %v, the queue ends at %d", a.ext, b.count("B", 0))
	}
	if a := c.want(remoting.MessageIllegal, remoting.SendMessageV2, marked.with("i", "INNER_NUM\x014\x02"), data); !strings.Contains(a.remark, "INNER_NUM") {
		t.Errorf("remark %q", a.remark)
	}
}

// TestInnerBatchElsewhere: Apache has no inner batches in other topics: what would bring one there is refused with its code. Clients then send the
// single message to the retry topic.
func TestInnerBatchElsewhere(t *testing.T) {
	b := newTestBroker(t)
	b.create("B", 1, batchQueues)
	c := b.dial()
	data := batchOf(t, message.BatchEntry{Body: []byte("one")}, message.BatchEntry{Body: []byte("two")})
	c.want(remoting.Success, remoting.SendBatchMessage, v2Fields("B", 0, "UNIQ_KEY\x01outer\x02", true), data)
	r := b.stored("B", 0, 0)
	if a := c.want(remoting.SystemError, remoting.ConsumerSendMsgBack, backFields("G", r.PhysicalOffset, 3), nil); !strings.HasPrefix(a.remark, "MESSAGE_ILLEGAL") {
		t.Errorf("sent back: %q", a.remark)
	}
	marked := v2Fields("B", 0, "INNER_NUM\x012\x02DELAY\x012\x02", false).with("f", "192")
	if a := c.want(remoting.MessageIllegal, remoting.SendMessageV2, marked, data); !strings.Contains(a.remark, "inner batch") {
		t.Errorf("delayed: %q", a.remark)
	}
}

// TestBatchTopics: the kind of a topic's queues survives restarts and the loss of topics.json, goes with the topic, and cannot be changed.
func TestBatchTopics(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	topic := func(name, attributes string) fields {
		f := fields{}
		for _, pair := range [][2]string{
			{"topic", name},
			{"defaultTopic", "TBW102"},
			{"readQueueNums", "1"},
			{"writeQueueNums", "1"},
			{"perm", "6"},
			{"topicFilterType", "SINGLE_TAG"},
			{"topicSysFlag", "0"},
			{"order", "false"},
			{"attributes", attributes},
		} {
			f = f.with(pair[0], pair[1])
		}
		return f
	}
	c.want(remoting.Success, remoting.UpdateAndCreateTopic, topic("B", "+queue.type=BatchCQ"), nil)
	data := batchOf(t, message.BatchEntry{Body: []byte("one")}, message.BatchEntry{Body: []byte("two")})
	send := func(c *testClient, want int64) {
		t.Helper()
		if a := c.want(remoting.Success, remoting.SendBatchMessage, v2Fields("B", 0, "UNIQ_KEY\x01outer\x02", true), data); a.num(t, "queueOffset") != want || a.ext["batchUniqId"] == "" {
			t.Fatalf("ext fields %v, want offset %d", a.ext, want)
		}
	}
	send(c, 0)
	for _, change := range []string{"+queue.type=SimpleCQ", "-queue.type"} {
		if a := c.want(remoting.SystemError, remoting.UpdateAndCreateTopic, topic("B", change), nil); !strings.Contains(a.remark, "attempt to update an unchangeable attribute. key: queue.type") {
			t.Errorf("%s: %q", change, a.remark)
		}
	}
	b = b.restart()
	send(b.dial(), 2)
	b.close()
	for _, name := range []string{"topics.json", "topics.json" + vfs.BackupSuffix} {
		f, err := b.mem.OpenFile("/data/config/"+name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("{broken"), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b = startTestBroker(t, b.mem, b.manual)
	if got := b.topics.get("B").Attributes["queue.type"]; got != "BatchCQ" {
		t.Fatalf("made again with queue.type %q", got)
	}
	c = b.dial()
	send(c, 4)
	// A queue of another kind is in the way of a new topic.
	if _, err := b.topics.delete("B"); err != nil {
		t.Fatal(err)
	}
	if a := c.want(remoting.SystemError, remoting.UpdateAndCreateTopic, topic("B", ""), nil); !strings.Contains(a.remark, "delete that topic first") {
		t.Errorf("remark %q", a.remark)
	}
	c.want(remoting.Success, remoting.DeleteTopicInBroker, fields{}.with("topic", "B"), nil)
	c.want(remoting.Success, remoting.UpdateAndCreateTopic, topic("B", ""), nil)
	if a := c.want(remoting.Success, remoting.SendBatchMessage, v2Fields("B", 0, "UNIQ_KEY\x01outer\x02", true), data); len(strings.Split(a.ext["msgId"], ",")) != 2 || a.num(t, "queueOffset") != 0 {
		t.Errorf("ext fields %v", a.ext)
	}
}

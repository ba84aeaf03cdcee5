package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// decoded is the body of an answer.
func decoded[T any, P interface {
	*T
	body.Body
}](t *testing.T, a *answer) *T {
	t.Helper()
	v, err := body.Decode[T, P](a.body)
	if err != nil {
		t.Fatalf("body %.300q: %v", a.body, err)
	}
	return v
}

func topicFields(topic string, queues int) fields {
	return fields{
		"topic", topic, "defaultTopic", "TBW102", "readQueueNums", itoa(queues), "writeQueueNums", itoa(queues), "perm", "6",
		"topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false",
	}
}

// TestUpdateTopic creates, changes, and reads back.
func TestUpdateTopic(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	c.want(0, remoting.UpdateAndCreateTopic, topicFields("T", 4).with("order", "true").with("attributes", "+message.type=FIFO"), nil)
	get := func() body.TopicConfig {
		return decoded[body.TopicConfigAndQueueMapping](t, c.want(0, remoting.GetTopicConfig, fields{"topic", "T", "lo", "false"}, nil)).TopicConfig
	}
	if got := get(); got.ReadQueueNums != 4 || got.WriteQueueNums != 4 || got.Perm != 6 || !got.Order || got.Attributes["message.type"] != "FIFO" ||
		got.TopicFilterType != body.SingleTag {
		t.Errorf("%+v", got)
	}
	_, before := b.topics.snapshot()
	c.want(0, remoting.UpdateAndCreateTopic, topicFields("T", 8).with("perm", "4").with("attributes", "-message.type"), nil)
	if got := get(); got.ReadQueueNums != 8 || got.Perm != 4 || got.Order || len(got.Attributes) != 0 {
		t.Errorf("%+v", got)
	}
	_, after := b.topics.snapshot()
	c.want(0, remoting.UpdateAndCreateTopic, topicFields("T", 8).with("perm", "4"), nil)
	_, same := b.topics.snapshot()
	if after == before || same != after {
		t.Errorf("versions %v, %v, after no change %v", before, after, same)
	}
	if !fileHas(b.mem, "/data/config/topics.json", `"T"`) {
		t.Error("the topic is not on disk")
	}
	b = b.restart()
	c = b.dial()
	if got := get(); got.ReadQueueNums != 8 || got.Perm != 4 {
		t.Errorf("after a restart %+v", got)
	}
}

func TestUpdateTopicRefused(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 4)
	c := b.dial()
	for _, bad := range []struct {
		name   string
		f      fields
		code   int32
		remark string
	}{
		{"no name", topicFields("", 4), 29, "blank"},
		{"bad letters", topicFields("a b", 4), 29, "a b"},
		{"too long", topicFields(strings.Repeat("t", 128), 4), 29, "127"},
		{"system topic", topicFields("SELF_TEST_TOPIC", 4), 29, "The topic[SELF_TEST_TOPIC] is conflict with system topic."},
		{"too many queues", topicFields("X", 5000), 29, "readQueueNums of topic X is 5000, allowed are 0 to 4096"},
		{"negative queues", topicFields("X", 4).with("writeQueueNums", "-1"), 29, "writeQueueNums"},
		{"no number", topicFields("X", 4).with("perm", "x"), 1, "perm"},
		{"missing field", topicFields("X", 4).without("readQueueNums"), 1, "readQueueNums"},
		{"unknown filter type", topicFields("X", 4).with("topicFilterType", "NONE"), 1, "topicFilterType"},
		{"unknown attribute", topicFields("X", 4).with("attributes", "+no.such=1"), 1, "unsupported key: no.such"},
		{"attribute without sign", topicFields("X", 4).with("attributes", "message.type=FIFO"), 1, "add/alter attribute format is wrong: message.type"},
		{"attribute twice", topicFields("X", 4).with("attributes", "+message.type=FIFO,+message.type=NORMAL"), 1, "key duplication"},
		{"wrong value", topicFields("X", 4).with("attributes", "+message.type=ODD"), 1, "value is not in set"},
		{"delete what is not there", topicFields("X", 4).with("attributes", "-message.type"), 1, "message.type"},
		{"unchangeable", topicFields("T", 4).with("attributes", "+cleanup.policy=COMPACTION"), 1, "cleanup.policy"},
	} {
		if a := c.call(remoting.UpdateAndCreateTopic, bad.f, nil); a.code != bad.code || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%s: code %d, remark %q, want %d, %q", bad.name, a.code, a.remark, bad.code, bad.remark)
		}
	}
	if b.topics.get("X") != nil {
		t.Error("X was created")
	}
	c.want(17, remoting.GetTopicConfig, fields{"topic", "X", "lo", "false"}, nil)
}

// TestUpdateTopicList: all or none.
func TestUpdateTopicList(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	list := body.TopicConfigList{TopicConfigs: []body.TopicConfig{*body.NewTopicConfig("A"), *body.NewTopicConfig("B")}}
	c.want(0, remoting.UpdateAndCreateTopicList, nil, body.Encode(&list))
	if b.topics.get("A") == nil || b.topics.get("B") == nil {
		t.Error("topics are missing")
	}
	list = body.TopicConfigList{TopicConfigs: []body.TopicConfig{*body.NewTopicConfig("C"), *body.NewTopicConfig("bad name")}}
	c.want(29, remoting.UpdateAndCreateTopicList, nil, body.Encode(&list))
	if b.topics.get("C") != nil {
		t.Error("C was created although the other one was refused")
	}
	c.want(1, remoting.UpdateAndCreateTopicList, nil, []byte("{"))
}

// TestDeleteTopic: scenario R-32: offsets go with the topic, and one made anew under its name begins at 0.
func TestDeleteTopic(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.create("%RETRY%G_T", 1)
	b.create("%RETRY%G+T", 1)
	b.create("%RETRY%H_T", 1)
	b.put("T", 0, 10, "")
	c := b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", "7"), nil)
	c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
	for _, bad := range []struct {
		topic string
		code  int32
	}{{" ", 29}, {"TBW102", 29}, {"rmq_sys_anything", 29}} {
		c.want(bad.code, remoting.DeleteTopicInBroker, fields{"topic", bad.topic}, nil)
	}
	c.want(0, remoting.DeleteTopicInBroker, fields{"topic", "T"}, nil)
	for _, gone := range []string{"T", "%RETRY%G_T", "%RETRY%G+T"} {
		if b.topics.get(gone) != nil {
			t.Errorf("%s is there", gone)
		}
	}
	if b.topics.get("%RETRY%H_T") == nil {
		t.Error("a retry topic of a group that has no progress is gone")
	}
	if b.count("T", 0) != 0 || b.offsets.committed("G", "T", 0) >= 0 {
		t.Errorf("%d messages, offset %d", b.count("T", 0), b.offsets.committed("G", "T", 0))
	}
	c.want(17, remoting.GetTopicStatsInfo, fields{"topic", "T"}, nil)
	c.want(0, remoting.DeleteTopicInBroker, fields{"topic", "T"}, nil) // once more

	for _, restarted := range []bool{false, true} {
		if restarted {
			b = b.restart()
			c = b.dial()
			if b.topics.get("T") == nil {
				t.Fatal("the topic is gone")
			}
		} else {
			b.create("T", 2)
			b.put("T", 0, 3, "")
		}
		a := c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
		if list := records(t, a.body); len(list) != 3 || list[0].QueueOffset != 0 {
			t.Errorf("restarted %v: %d messages", restarted, len(list))
		}
		if a := c.call(remoting.QueryConsumerOffset, offsetFields("G", "T", 0), nil); a.code == 0 && a.ext["offset"] != "0" {
			t.Errorf("restarted %v: offset %s is past the end", restarted, a.ext["offset"])
		}
	}
}

// TestTopicDeletedUnderReaders: scenario R-32: members that go on pulling and committing where the old topic was are led to the beginning of
// the new one; who comes later starts where it likes.
func TestTopicDeletedUnderReaders(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 0, 10, "")
	b.put("T", 1, 10, "")
	c := b.dial()
	heartbeat := heartbeatOf("c", "G", tagSub("T", "*", 1))
	c.want(0, remoting.HeartBeat, nil, heartbeat)
	at := func(offset int64) fields { return pullFields("G", "T", 0, offset) }
	commit := func(offset int) answer {
		return *c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", itoa(offset)), nil)
	}
	remake := func(n int) {
		c.want(0, remoting.DeleteTopicInBroker, fields{"topic", "T"}, nil)
		b.create("T", 2)
		b.put("T", 0, n, "")
	}
	c.want(0, remoting.PullMessage, at(0), nil)
	c.want(0, remoting.PullMessage, pullFields("G", "T", 1, 0), nil)
	remake(12)
	if a := commit(10); a.remark != "Offset has been previously reset" || b.offsets.committed("G", "T", 0) != noOffset {
		t.Errorf("an old offset is committed: %d, %q", b.offsets.committed("G", "T", 0), a.remark)
	}
	if a := c.want(remoting.PullOffsetMoved, remoting.PullMessage, at(10), nil); a.ext["nextBeginOffset"] != "0" || a.ext["maxOffset"] != "12" || a.remark != "OFFSET_RESET" {
		t.Errorf("the old offset: %q %v", a.remark, a.ext)
	}
	if list := records(t, c.want(0, remoting.PullMessage, at(0), nil).body); len(list) != 12 {
		t.Errorf("%d messages from the beginning", len(list))
	}
	commit(12)
	if got := b.offsets.committed("G", "T", 0); got != 12 {
		t.Errorf("committed %d", got)
	}

	remake(12)
	if list := records(t, c.want(0, remoting.PullMessage, at(0), nil).body); len(list) != 12 {
		t.Errorf("%d messages for one that begins by itself", len(list))
	}
	c.want(0, remoting.PullMessage, at(5), nil)
	if !b.anew.has("G", "T", 1) {
		t.Error("the queue that nobody has asked for since is forgotten")
	}

	remake(12)
	c.close()
	eventually(t, "all members are gone", func() bool { return len(b.consumers.members("G")) == 0 })
	c = b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeat)
	if list := records(t, c.want(0, remoting.PullMessage, at(5), nil).body); len(list) != 7 {
		t.Errorf("%d messages for a new member that begins at 5", len(list))
	}
	if n := b.anew.count.Load(); n != 0 {
		t.Errorf("%d queues are noted", n)
	}
}

// TestAllTopics: everything at once, and in pages.
func TestAllTopics(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.EnableSplitMetadata, c.Broker.SplitMetadataSize = true, 10 }))
	for i := range 25 {
		b.create(fmt.Sprintf("T%02d", i), 1)
	}
	c := b.dial()
	all := decoded[body.TopicConfigAndMappingTable](t, c.want(0, remoting.GetAllTopicConfig, nil, nil))
	topics, version := b.topics.snapshot()
	if len(all.Topics) != len(topics) || all.DataVersion != version || all.Topics["T03"] == nil {
		t.Fatalf("%d topics of %d, version %v", len(all.Topics), len(topics), all.DataVersion)
	}
	names := map[string]bool{}
	known := ""
	for seq := 0; seq < len(topics); seq += 10 {
		a := c.want(0, remoting.GetAllTopicConfig, fields{"topicSeq", itoa(seq), "dataVersion", known, "maxTopicNum", "100"}, nil)
		part := decoded[body.TopicConfigAndMappingTable](t, a)
		if a.num(t, "totalTopicNum") != int64(len(topics)) || len(part.Topics) != min(10, len(topics)-seq) {
			t.Errorf("page at %d: %d topics of %s", seq, len(part.Topics), a.ext["totalTopicNum"])
		}
		for name := range part.Topics {
			names[name] = true
		}
		known = string(body.Encode(&part.DataVersion))
	}
	if len(names) != len(topics) {
		t.Errorf("%d topics in all pages, want %d", len(names), len(topics))
	}
	// The table changed in between: the pages begin anew.
	b.create("AAA", 1)
	part := decoded[body.TopicConfigAndMappingTable](t, c.want(0, remoting.GetAllTopicConfig, fields{"topicSeq", "20", "dataVersion", known, "maxTopicNum", "3"}, nil))
	if got := slices.Sorted(maps.Keys(part.Topics)); len(got) != 3 || got[0] != "%RETRY%CID_RMQ_SYS_TRANS" && got[0] != "AAA" && part.Topics["AAA"] == nil {
		t.Errorf("page after a change: %v", got)
	}
}

// TestTopicStats answers the range and the newest message's time of each queue.
func TestTopicStats(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.put("T", 1, 3, "")
	b.manual.Advance(time.Second)
	b.put("T", 1, 1, "")
	c := b.dial()
	stats := decoded[body.TopicStatsTable](t, c.want(0, remoting.GetTopicStatsInfo, fields{"topic", "T"}, nil))
	want := map[int32]body.TopicOffset{0: {}, 1: {MinOffset: 0, MaxOffset: 4, LastUpdateTimestamp: testNow.Add(time.Second).UnixMilli()}}
	for id, offsets := range want {
		if got := stats.OffsetTable[body.MessageQueue{Topic: "T", BrokerName: "broker-a", QueueID: id}]; got != offsets {
			t.Errorf("queue %d: %+v, want %+v", id, got, offsets)
		}
	}
	if len(stats.OffsetTable) != 2 {
		t.Errorf("%d queues", len(stats.OffsetTable))
	}
}

func TestSystemTopicsAndCleaning(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	list := decoded[body.TopicList](t, c.want(0, remoting.GetSystemTopicListFromBroker, nil, nil))
	for _, want := range []string{"TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_REVIVE_LOG_DefaultCluster", "DefaultCluster_REPLY_TOPIC"} {
		if !slices.Contains(list.Topics, want) {
			t.Errorf("%s is not listed: %v", want, list.Topics)
		}
	}
	// A queue without a topic: left by a broker that was killed while it deleted one.
	b.put("orphan", 0, 1, "")
	b.put("SCHEDULE_TOPIC_XXXX", 0, 1, "REAL_TOPIC\x01T\x02")
	for _, code := range []int32{remoting.CleanExpiredConsumequeue, remoting.CleanUnusedTopic, remoting.DeleteExpiredCommitlog} {
		c.want(0, code, nil, nil)
	}
	if b.store.Queue("orphan", 0) != nil || b.store.Queue("SCHEDULE_TOPIC_XXXX", 0) == nil {
		t.Error("the wrong queues are cleaned")
	}
}

func TestParseAttributes(t *testing.T) {
	for _, want := range []struct {
		text       string
		attributes map[string]string
		problem    string
	}{
		{"", nil, ""},
		{"+a=1,-b", map[string]string{"+a": "1", "-b": ""}, ""},
		{"+a=1=2", map[string]string{"+a": "1=2"}, ""},
		{"a=1", nil, "add/alter attribute format is wrong: a"},
		{"+a", nil, "delete attribute format is wrong: +a"},
		{"-a,-a", nil, "key duplication: -a"},
	} {
		got, err := parseAttributes(want.text)
		if want.problem == "" && (err != nil || !maps.Equal(got, want.attributes)) || want.problem != "" && (err == nil || err.Error() != want.problem) {
			t.Errorf("%q: %v, %v", want.text, got, err)
		}
	}
}

func FuzzParseAttributes(f *testing.F) {
	for _, s := range []string{"+a=1,-b", "=", ",", "+a=1,+a=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		attributes, err := parseAttributes(s)
		if err == nil && s != "" && len(attributes) != strings.Count(s, ",")+1 {
			t.Fatalf("%q: %v", s, attributes)
		}
	})
}

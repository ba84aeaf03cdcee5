package broker

import (
	"errors"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestSystemTopicsAreMade compares with messages.md §7: names, queues, permissions.
func TestSystemTopicsAreMade(t *testing.T) {
	x := newTables(t, nil)
	x.conf.Broker.BrokerName, x.conf.Broker.BrokerClusterName = "broker-a", "DefaultCluster"
	x.conf.Broker.TraceTopicEnable = true
	topics := x.topics(t)
	for _, want := range []struct {
		name         string
		queues, perm int32
	}{
		{"SELF_TEST_TOPIC", 1, 6},
		{"TBW102", 8, 7},
		{"BenchmarkTest", 1024, 6},
		{"DefaultCluster", 16, 7},
		{"broker-a", 1, 7},
		{"OFFSET_MOVED_EVENT", 1, 6},
		{"SCHEDULE_TOPIC_XXXX", 18, 6},
		{"RMQ_SYS_TRACE_TOPIC", 1, 6},
		{"DefaultCluster_REPLY_TOPIC", 1, 6},
		{"rmq_sys_REVIVE_LOG_DefaultCluster", 8, 6},
		{"rmq_sys_SYNC_BROKER_MEMBER_broker-a", 1, 1},
		{"RMQ_SYS_TRANS_HALF_TOPIC", 1, 6},
		{"RMQ_SYS_TRANS_OP_HALF_TOPIC", 1, 6},
		{"rmq_sys_wheel_timer", 1, 6},
	} {
		got := topics.get(want.name)
		if got == nil {
			t.Errorf("%s is missing", want.name)
			continue
		}
		if got.ReadQueueNums != want.queues || got.WriteQueueNums != want.queues || got.Perm != want.perm {
			t.Errorf("%s: got %d/%d queues, perm %d, want %d and %d", want.name, got.ReadQueueNums, got.WriteQueueNums, got.Perm, want.queues, want.perm)
		}
		if !topics.isSystem(want.name) {
			t.Errorf("%s is not a system topic", want.name)
		}
	}
	if topics.isSystem("T") {
		t.Error("T is a system topic")
	}
}

func TestTopicIsCreatedAfterItsDefault(t *testing.T) {
	for _, row := range []struct {
		name, defaultTopic string
		asked              int32
		autoCreate         bool
		want               int32 // queues; 0: none is created
	}{
		{"the client asks for fewer queues", "TBW102", 4, true, 4},
		{"the client asks for more queues", "TBW102", 16, true, 8},
		{"after the cluster's topic", "DefaultCluster", 16, true, 16},
		{"the default does not exist", "nothing", 4, true, 0},
		{"the default does not permit it", "BenchmarkTest", 4, true, 0},
		{"off", "TBW102", 4, false, 0},
		{"off, after the cluster's topic", "DefaultCluster", 4, false, 0},
		{"off, after the broker's topic", "broker-a", 4, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := newTables(t, nil)
			x.conf.Broker.BrokerName, x.conf.Broker.BrokerClusterName = "broker-a", "DefaultCluster"
			x.conf.Broker.AutoCreateTopicEnable = row.autoCreate
			topics := x.topics(t)
			var registered []string
			topics.register = func(list ...*body.TopicConfig) {
				for _, topic := range list {
					registered = append(registered, topic.TopicName)
				}
			}
			before := topics.dataVersion()
			got, err := topics.createForSend("New", row.defaultTopic, row.asked, 0, "127.0.0.1:1")
			if err != nil {
				t.Fatal(err)
			}
			if row.want == 0 {
				if got != nil || topics.get("New") != nil || len(registered) > 0 {
					t.Fatalf("got %v, registered %v, want none", got, registered)
				}
				return
			}
			if got == nil || got.WriteQueueNums != row.want || got.ReadQueueNums != row.want || got.Perm != 6 {
				t.Fatalf("got %v, want %d queues, perm 6", got, row.want)
			}
			if len(registered) != 1 || topics.dataVersion().Counter != before.Counter+1 {
				t.Errorf("registered %v, version %d after %d", registered, topics.dataVersion().Counter, before.Counter)
			}
			again := newTables(t, x.fs)
			again.conf = x.conf
			if reread := again.topics(t).get("New"); reread == nil || reread.WriteQueueNums != row.want {
				t.Errorf("after a restart: %v", reread)
			}
		})
	}
}

// TestAutoCreateTopicGoesAway: TBW102 written while auto-creation was on is not loaded once it is off.
func TestAutoCreateTopicGoesAway(t *testing.T) {
	x := newTables(t, nil)
	topics := x.topics(t)
	if err := topics.file.save(); err != nil {
		t.Fatal(err)
	}
	again := newTables(t, x.fs)
	again.conf.Broker.AutoCreateTopicEnable = false
	if got := again.topics(t).get("TBW102"); got != nil {
		t.Errorf("TBW102 is there: %v", got)
	}
}

// TestTopicsOfApacheAreRead reads topics.json as the reference writes it.
func TestTopicsOfApacheAreRead(t *testing.T) {
	x := newTables(t, nil)
	x.write(t, "topics.json", "{\n\t\"dataVersion\":{\n\t\t\"counter\":7,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t},\n\t\"topicConfigTable\":{\n\t\t\"T\":{\n\t\t\t\"attributes\":{\"message.type\":\"FIFO\"},\n\t\t\t\"order\":true,\n\t\t\t\"perm\":6,\n\t\t\t\"readQueueNums\":3,\n\t\t\t\"topicFilterType\":\"SINGLE_TAG\",\n\t\t\t\"topicName\":\"T\",\n\t\t\t\"topicSysFlag\":1,\n\t\t\t\"writeQueueNums\":4\n\t\t}\n\t}\n}")
	topics := x.topics(t)
	got := topics.get("T")
	if got == nil || !got.Order || got.ReadQueueNums != 3 || got.WriteQueueNums != 4 || got.TopicSysFlag != 1 || got.Attributes["message.type"] != "FIFO" {
		t.Errorf("got %+v", got)
	}
	if v := topics.dataVersion(); v.Counter != 7 || v.Timestamp != 1700000000000 {
		t.Errorf("version %+v", v)
	}
	want := "TopicConfig [topicName=T, readQueueNums=3, writeQueueNums=4, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=1, order=true, attributes={message.type=FIFO}]"
	if text := describeTopic(got); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestBrokenTopicsAreSetAside(t *testing.T) {
	for _, content := range []string{"\x00\x00\x00\x00", `{"topicConfigTable":{"T":{"perm":`} {
		x := newTables(t, nil)
		x.write(t, "topics.json", content)
		topics := x.topics(t)
		if topics.get("TBW102") == nil {
			t.Errorf("%q: system topics are missing", content)
		}
		if len(x.logged.with("topics.json cannot be read")) != 1 {
			t.Errorf("%q: no word about it", content)
		}
		if x.read(t, "topics.json.broken") != content {
			t.Errorf("%q is not set aside", content)
		}
	}
}

func TestUpdateTopicsIsAllOrNothing(t *testing.T) {
	x := newTables(t, nil)
	topics := x.topics(t)
	good, bad := *body.NewTopicConfig("A"), *body.NewTopicConfig("B")
	bad.Attributes = map[string]string{"+no.such": "1"}
	if err := topics.update(good, bad); err == nil || err.Error() != "unsupported key: no.such" {
		t.Fatalf("got %v", err)
	}
	if topics.get("A") != nil {
		t.Error("A exists")
	}
	x.conf.Rocketd.MaxTopics = int32(topics.count()) + 1
	if err := topics.update(good, *body.NewTopicConfig("B")); !errors.Is(err, errTooManyTopics) || !strings.Contains(err.Error(), "maxTopics") {
		t.Fatalf("got %v", err)
	}
	if err := topics.update(good); err != nil {
		t.Fatal(err)
	}
	if got := topics.get("A"); got == nil || got.ReadQueueNums != 16 {
		t.Errorf("got %v", got)
	}
}

func TestDeleteTopics(t *testing.T) {
	x := newTables(t, nil)
	topics := x.topics(t)
	if err := topics.update(*body.NewTopicConfig("A")); err != nil {
		t.Fatal(err)
	}
	var told []string
	topics.deleted = func(topic string) { told = append(told, topic) }
	deleted, err := topics.delete("A", "nothing")
	if err != nil || len(deleted) != 1 || len(told) != 1 || topics.get("A") != nil {
		t.Errorf("deleted %v, told %v, %v", deleted, told, err)
	}
	if strings.Contains(x.read(t, "topics.json"), `"A"`) {
		t.Error("A is still in the file")
	}
}

// TestTopicSaveFailureIsAnError: the topic exists, and who made it learns that it is not durable.
func TestTopicSaveFailureIsAnError(t *testing.T) {
	x := newTables(t, nil)
	fault := vfs.NewFault(x.fs)
	x.files.fs = fault
	topics := x.topics(t)
	fault.SetRule(vfs.FailOn(vfs.OpSync, "topics.json", errors.New("no room")))
	if err := topics.update(*body.NewTopicConfig("A")); err == nil || !strings.Contains(err.Error(), "topics.json") {
		t.Errorf("got %v", err)
	}
}

// TestTopicsAreMadeAgainFromQueues: without topics.json and without a backup the stored messages can still be read.
func TestTopicsAreMadeAgainFromQueues(t *testing.T) {
	for name, content := range map[string][]byte{"empty": {}, "zeros": make([]byte, 500), "half": []byte(`{"dataVersion":{"counter":1},"topicConfigTable":{"T":{"top`)} {
		t.Run(name, func(t *testing.T) {
			b := newTestBroker(t)
			b.create("T", 3)
			b.dial().want(0, remoting.SendMessage, sendFields("T", 2, ""), []byte("kept"))
			b.close()
			path := b.topics.file.path
			if err := b.topics.file.write(content, true); err != nil {
				t.Fatal(err)
			}
			if err := b.mem.Remove(path + ".bak"); err != nil {
				t.Fatal(err)
			}
			b = b.restart()
			if topic := b.topics.get("T"); topic == nil || topic.ReadQueueNums != 3 || topic.WriteQueueNums != 3 || topic.Perm != permBoth {
				t.Fatalf("topic T is %+v", topic)
			}
			b.dial().want(0, remoting.PullMessage, pullFields("G", "T", 2, 0), nil)
		})
	}
}

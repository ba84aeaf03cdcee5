package namesrv

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// What these tests expect was seen on Apache's 5.5.0 name server, which was given the same registrations.

func TestRegistrationsAndWhatTheRouteShows(t *testing.T) {
	const none = "none"
	for name, c := range map[string]struct {
		settings []string
		joins    []*joining
		topic    string
		want     string
	}{
		"one broker": {
			joins: []*joining{join("a", 0, "a:1", "T", "U")}, topic: "T", want: "a[0=a:1 ] a:4/4p6",
		},
		"an unknown topic": {
			joins: []*joining{join("a", 0, "a:1", "T", "U")}, topic: "TBW102", want: none,
		},
		"two brokers": {
			joins: []*joining{join("b", 0, "b:1", "T", "U"), join("a", 0, "a:1", "T", "V")}, topic: "T",
			want: "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6",
		},
		"a slave is in the addresses, its topics do not count": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), join("a", 1, "a:2", "S", "U")}, topic: "S", want: none,
		},
		"a slave that registers before its master is there with its topics": {
			joins: []*joining{join("a", 1, "a:2", "T", "U")}, topic: "T", want: "a[1=a:2 ] a:4/4p6",
		},
		"a slave of a broker before 5.0 never registers topics": {
			joins: []*joining{oldBroker(join("a", 1, "a:2", "T", "U"))}, topic: "T", want: none,
		},
		"topics of the slave that acts for its master may only be read": {
			joins: []*joining{join("a", 1, "a:2", "T", "U").acting(true)}, topic: "T", want: "a[1=a:2 ] a:4/4p4",
		},
		"a change is taken with a new version": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), queues(2, join("a", 0, "a:1", "T", "U").version(2))}, topic: "T",
			want: "a[0=a:1 ] a:2/2p6",
		},
		"a change without a new version is not taken": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), queues(2, join("a", 0, "a:1", "T", "U"))}, topic: "T",
			want: "a[0=a:1 ] a:4/4p6",
		},
		"a new topic is taken without a new version": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), join("a", 0, "a:1", "V")}, topic: "V", want: "a[0=a:1 ] a:4/4p6",
		},
		"a topic that is not registered again stays": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), join("a", 0, "a:1", "U", "V").version(2)}, topic: "T",
			want: "a[0=a:1 ] a:4/4p6",
		},
		"deleteTopicWithBrokerRegistration removes it": {
			settings: []string{"deleteTopicWithBrokerRegistration", "true"},
			joins:    []*joining{join("a", 0, "a:1", "T", "U"), join("a", 0, "a:1", "U", "V").version(2)}, topic: "T", want: none,
		},
		"deleteTopicWithBrokerRegistration leaves other brokers alone": {
			settings: []string{"deleteTopicWithBrokerRegistration", "true"},
			joins:    []*joining{join("b", 0, "b:1", "T", "U"), join("a", 0, "a:1", "U", "V")}, topic: "T", want: "b[0=b:1 ] b:4/4p6",
		},
		"with the same state version the later address replaces the older": {
			joins: []*joining{join("a", 0, "a:1", "T", "U"), join("a", 0, "a:2", "T", "U")}, topic: "T", want: "a[0=a:2 ] a:4/4p6",
		},
		"an address with an older state version is ignored": {
			joins: []*joining{join("a", 0, "a:1", "T", "U").stateVersion(2), queues(2, join("a", 0, "a:2", "T", "U").stateVersion(1))},
			topic: "T", want: "a[0=a:1 ] a:4/4p6",
		},
		"a slave that becomes master leaves its old id": {
			joins: []*joining{join("a", 1, "a:2", "T", "U"), join("a", 0, "a:2", "T", "U").version(2)}, topic: "T",
			want: "a[0=a:2 ] a:4/4p6",
		},
		"also when its registration is ignored": {
			joins: []*joining{
				join("a", 0, "a:1", "T", "U").stateVersion(2), join("a", 1, "a:2", "T", "U"), join("a", 0, "a:2", "T", "U").version(2),
			},
			topic: "T", want: "a[0=a:1 ] a:4/4p6",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.settings...)
			b.join(t, c.joins...)
			b.wantRoute(t, c.topic, c.want)
		})
	}
}

func oldBroker(j *joining) *joining {
	j.header.EnableActingMaster = remoting.Optional[bool]{}
	return j
}

func queues(n int32, j *joining) *joining {
	for _, topic := range j.body.Topics.Topics {
		topic.ReadQueueNums, topic.WriteQueueNums = n, n
	}
	return j
}

func TestOneTopicOfABrokerThatIsNotRegisteredIsRefused(t *testing.T) {
	b := newBench(t)
	resp := b.do(t, join("a", 0, "a:1", "T").request(t))
	if resp.Code != remoting.SystemError || resp.Remark != "register broker failed" {
		t.Errorf("got code %d, remark %q", resp.Code, resp.Remark)
	}
	b.wantRoute(t, "T", "none")
	if info := b.ClusterInfo(); len(info.Brokers)+len(info.Clusters) > 0 {
		t.Errorf("a refused broker is left behind: %+v", info)
	}
	b.join(t, join("a", 0, "a:1", "T", "U"), join("a", 0, "a:1", "V").version(2))
	b.wantRoute(t, "V", "a[0=a:1 ] a:4/4p6")
}

func TestSlaveIsToldItsMaster(t *testing.T) {
	header := func(resp *remoting.Command) (h remoting.RegisterBrokerResponseHeader) {
		if err := resp.Decode(&h); err != nil {
			t.Fatal(err)
		}
		return h
	}
	b := newBench(t)
	none := remoting.RegisterBrokerResponseHeader{}
	if got := header(b.join(t, join("a", 1, "a:2", "T", "U"))); got != none {
		t.Errorf("slave without master: %+v", got)
	}
	if got := header(b.join(t, join("a", 0, "a:1", "T", "U"))); got != none {
		t.Errorf("master: %+v", got)
	}
	want := remoting.RegisterBrokerResponseHeader{HAServerAddr: "ha-a:1", MasterAddr: "a:1"}
	if got := header(b.join(t, join("a", 1, "a:2", "T", "U"))); got != want {
		t.Errorf("slave: got %+v, want %+v", got, want)
	}
}

func TestBrokerGetsTheOrderConfiguration(t *testing.T) {
	b := newBench(t)
	if resp := b.join(t, join("a", 0, "a:1", "T", "U")); len(resp.Body) > 0 {
		t.Errorf("without order configuration the body is %s", resp.Body)
	}
	b.call(t, remoting.PutKVConfig, &remoting.PutKVConfigRequestHeader{Namespace: "ORDER_TOPIC_CONFIG", Key: "T", Value: "a:4"}, nil)
	if resp := b.join(t, join("a", 0, "a:1", "T", "U")); string(resp.Body) != `{"table":{"T":"a:4"}}` {
		t.Errorf("got body %s", resp.Body)
	}
	order, err := b.RegisterBroker(&join("b", 0, "b:1", "T", "U").header, &join("b", 0, "b:1", "T", "U").body)
	if err != nil || !reflect.DeepEqual(order, map[string]string{"T": "a:4"}) {
		t.Errorf("broker in this process: %v, %v", order, err)
	}
	off := newBench(t, "returnOrderTopicConfigToBroker", "false")
	off.call(t, remoting.PutKVConfig, &remoting.PutKVConfigRequestHeader{Namespace: "ORDER_TOPIC_CONFIG", Key: "T", Value: "a:4"}, nil)
	if resp := off.join(t, join("a", 0, "a:1", "T", "U")); len(resp.Body) > 0 {
		t.Errorf("switched off the body is %s", resp.Body)
	}
}

func TestFormsOfTheRegistrationBody(t *testing.T) {
	j := join("a", 0, "a:1", "T", "U")
	send := func(version int32, data []byte, crc int32) (*bench, *remoting.Command) {
		b := newBench(t)
		h := j.header
		h.BodyCRC32 = remoting.Some(crc)
		req := request(t, remoting.RegisterBroker, &h, data)
		req.Version = version
		return b, b.do(t, req)
	}
	for name, data := range map[string][]byte{
		"JSON":                                body.Encode(&j.body),
		"JSON with bare keys":                 body.EncodeBare(&j.body),
		"compressed without saying so":        body.EncodeRegisterBrokerCompressed(&j.body),
		"of a 4.x broker with an unknown map": []byte(`{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"T":{"readQueueNums":4,"writeQueueNums":4,"topicName":"T"},"U":{"topicName":"U"}},"x":{1:{"$ref":".."}}}}`),
	} {
		b, resp := send(remoting.CurrentVersion, data, 0)
		if resp.Code != remoting.Success {
			t.Errorf("%s: code %d, remark %q", name, resp.Code, resp.Remark)
		}
		b.wantRoute(t, "T", "a[0=a:1 ] a:4/4p6")
	}
	b, resp := send(remoting.V3011-1, body.Encode(&body.TopicConfigTable{Topics: j.body.Topics.Topics}), 0)
	if resp.Code != remoting.Success {
		t.Errorf("before 3.0.11: code %d, remark %q", resp.Code, resp.Remark)
	}
	b.wantRoute(t, "T", "a[0=a:1 ] a:4/4p6")

	b, resp = send(remoting.CurrentVersion, nil, 0)
	if resp.Code != remoting.Success || len(b.ClusterInfo().Brokers) != 1 {
		t.Errorf("no body: code %d, remark %q", resp.Code, resp.Remark)
	}
	if _, resp = send(remoting.CurrentVersion, body.Encode(&j.body), 5); resp.Code != remoting.SystemError || resp.Remark != "crc32 not match" {
		t.Errorf("wrong checksum: code %d, remark %q", resp.Code, resp.Remark)
	}
	if _, resp = send(remoting.CurrentVersion, []byte(`{"topicConfigSerializeWrapper":7}`), 0); resp.Code != remoting.SystemError ||
		!strings.Contains(resp.Remark, `expected '{', got "7"`) {
		t.Errorf("bad body: code %d, remark %q", resp.Code, resp.Remark)
	}
}

func TestMissingHeaderFieldIsNamed(t *testing.T) {
	b := newBench(t)
	for code, field := range map[int32]string{
		remoting.RegisterBroker: "brokerName", remoting.UnregisterBroker: "brokerName", remoting.QueryDataVersion: "brokerName",
		remoting.BrokerHeartbeat: "clusterName", remoting.GetBrokerMemberGroup: "clusterName", remoting.WipeWritePermOfBroker: "brokerName",
		remoting.AddWritePermOfBroker: "brokerName", remoting.DeleteTopicInNamesrv: "topic", remoting.RegisterTopicInNamesrv: "topic",
		remoting.GetTopicsByCluster: "cluster", remoting.GetRouteinfoByTopic: "topic", remoting.PutKVConfig: "namespace",
		remoting.GetKVConfig: "namespace", remoting.DeleteKVConfig: "namespace", remoting.GetKvlistByNamespace: "namespace",
	} {
		resp := b.do(t, request(t, code, nil, nil, remoting.ExtField{Key: "x", Value: "y"}))
		if resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "<"+field+">") {
			t.Errorf("code %d: got code %d, remark %q", code, resp.Code, resp.Remark)
		}
	}
}

func TestStaticTopicMappings(t *testing.T) {
	mapping := func(j *joining, total int32) *joining {
		j.body.Topics.MappingInfos = map[string]body.TopicQueueMappingInfo{"T": {
			Topic: "T", Scope: "__global__", TotalQueues: total, BrokerName: j.header.BrokerName, CurrIDMap: map[int32]int32{0: 0},
		}}
		return j
	}
	b := newBench(t)
	b.join(t, mapping(join("a", 0, "a:1", "T", "U"), 2), join("b", 0, "b:1", "T", "U"))
	total := func() int32 { return b.routeOf(t, "T").TopicQueueMappingByBroker["a"].TotalQueues }
	if got := total(); got != 2 {
		t.Errorf("total queues %d, want 2", got)
	}
	b.join(t, mapping(join("a", 0, "a:1", "T", "U"), 3))
	if got := total(); got != 2 {
		t.Errorf("without a new version: total queues %d, want 2", got)
	}
	b.join(t, mapping(join("a", 0, "a:1", "T", "U").version(2), 3))
	if got := total(); got != 3 {
		t.Errorf("with a new version: total queues %d, want 3", got)
	}
	b.UnregisterBroker(&remoting.UnregisterBrokerRequestHeader{BrokerName: "a", BrokerAddr: "a:1", ClusterName: "DefaultCluster"})
	if got := b.routeOf(t, "T").TopicQueueMappingByBroker; got != nil {
		t.Errorf("mappings of a broker that left: %v", got)
	}
}

func TestTopicsOfABrokerInTheSameProcess(t *testing.T) {
	b := newBench(t)
	j := join("a", 0, "a:1", "T", "U")
	if _, err := b.RegisterBroker(&j.header, &j.body); err != nil {
		t.Fatal(err)
	}
	changed := queues(2, join("a", 0, "a:1", "T"))
	if err := b.RegisterTopics(&changed.header, &changed.body); err != nil {
		t.Fatal(err)
	}
	b.wantRoute(t, "T", "a[0=a:1 ] a:2/2p6") // although the version is the same
	if got := summary(b.Route("T")); got != "a[0=a:1 ] a:2/2p6" {
		t.Errorf("Route gives %s", got)
	}
	if b.Route("X") != nil {
		t.Error("Route of an unknown topic is not nil")
	}
	stranger := join("b", 0, "b:1", "T")
	if err := b.RegisterTopics(&stranger.header, &stranger.body); err == nil {
		t.Error("topics of an unknown broker are taken")
	}
	b.UnregisterBroker(&remoting.UnregisterBrokerRequestHeader{BrokerName: "a", BrokerAddr: "a:1", ClusterName: "DefaultCluster"})
	b.wantRoute(t, "T", "none")
}

func TestTableIsBounded(t *testing.T) {
	b := newBench(t)
	b.join(t, join("a", 0, "a:1", "T", "U"))
	refused := func(what string, j *joining) {
		t.Helper()
		resp := b.do(t, j.request(t))
		if resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "the limit is") {
			t.Errorf("%s: code %d, remark %q", what, resp.Code, resp.Remark)
		}
		b.wantRoute(t, "T", "a[0=a:1 ] a:4/4p6")
	}
	b.table.queues += maxQueueDatas - 2
	refused("queue datas", join("b", 0, "b:1", "T", "U"))
	b.join(t, join("a", 0, "a:1", "T", "U").version(2)) // what is known may register again
	b.table.queues -= maxQueueDatas - 2

	nobody := map[string]body.QueueData{}
	for i := range maxTopics - 2 {
		b.table.topics[strconv.Itoa(i)] = nobody
	}
	refused("topics", join("b", 0, "b:1", "V", "W"))
	clear(b.table.topics)
	b.table.answers.Clear()
	b.join(t, join("a", 0, "a:1", "T", "U").version(3))
	for i := range maxBrokers {
		b.table.lives[brokerKey{addr: strconv.Itoa(i)}] = &live{}
	}
	refused("brokers", join("b", 0, "b:1", "T", "U"))
	b.join(t, join("a", 0, "a:1", "T", "U").version(4))
}

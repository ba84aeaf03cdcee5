package namesrv

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestRouteFormDependsOnWhoAsks(t *testing.T) {
	const quoted = `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	const bare = `{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	b := newBench(t)
	b.join(t, join("broker-a", 0, "10.0.0.1:10911", "T", "U"))
	for name, c := range map[string]struct {
		version int32
		accept  remoting.Optional[bool]
		want    string
	}{
		"client-go":                          {version: 317, want: bare},
		"Java 4.9.3":                         {version: 399, want: bare},
		"Java 4.9.4":                         {version: 401, want: quoted},
		"Java 5.5.0":                         {version: 513, want: quoted},
		"an old client that wants it":        {version: 0, accept: remoting.Some(true), want: quoted},
		"an old client that says it doesn't": {version: 0, accept: remoting.Some(false), want: bare},
	} {
		req := request(t, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "T", AcceptStandardJSONOnly: c.accept}, nil)
		req.Version = c.version
		for range 2 { // the second answer is a kept one
			if got := b.do(t, req); string(got.Body) != c.want {
				t.Errorf("%s\n got %s\nwant %s", name, got.Body, c.want)
			}
		}
	}
}

func TestRouteFollowsEveryChange(t *testing.T) {
	b := newBench(t, "orderMessageEnable", "true")
	last := ""
	step := func(what string, change func()) {
		t.Helper()
		change()
		now := "none"
		if r := b.routeOf(t, "T"); r != nil {
			now = string(body.Encode(r))
		}
		if now == last {
			t.Errorf("after %s the route is still %s", what, now)
		}
		last = now
	}
	put := &remoting.PutKVConfigRequestHeader{Namespace: "ORDER_TOPIC_CONFIG", Key: "T", Value: "a:4"}
	del := &remoting.DeleteKVConfigRequestHeader{Namespace: "ORDER_TOPIC_CONFIG", Key: "T"}
	filtered := join("a", 0, "a:1", "T", "U")
	filtered.body.FilterServerList = []string{"f:1"}
	config := func(text string) func() {
		return func() { b.call(t, remoting.UpdateNamesrvConfig, nil, []byte(text)) }
	}
	step("nothing", func() {})
	step("registration", func() { b.join(t, join("a", 0, "a:1", "T", "U")) })
	step("another broker", func() { b.join(t, join("b", 0, "b:1", "T", "U")) })
	step("a slave", func() { b.join(t, join("a", 1, "a:2", "T", "U")) })
	step("another address", func() { b.join(t, join("a", 1, "a:3", "T", "U")) })
	step("a change of queues", func() { b.join(t, queues(2, join("a", 0, "a:1", "T", "U").version(2))) })
	step("filter servers", func() { b.join(t, filtered.version(2)) })
	step("no filter servers", func() { b.join(t, join("a", 0, "a:1", "T", "U").version(2)) })
	step("a zone", func() { b.join(t, join("b", 0, "b:1", "T", "U").zone("z")) })
	step("acting master", func() { b.join(t, join("a", 0, "a:1", "T", "U").version(2).acting(true)) })
	step("wiped permission", func() {
		b.call(t, remoting.WipeWritePermOfBroker, &remoting.WipeWritePermOfBrokerRequestHeader{BrokerName: "b"}, nil)
	})
	step("permission given back", func() {
		b.call(t, remoting.AddWritePermOfBroker, &remoting.AddWritePermOfBrokerRequestHeader{BrokerName: "b"}, nil)
	})
	step("order configuration", func() { b.call(t, remoting.PutKVConfig, put, nil) })
	step("no order configuration in routes", config("orderMessageEnable=false"))
	step("order configuration in routes", config("orderMessageEnable=true"))
	step("order configuration deleted", func() { b.call(t, remoting.DeleteKVConfig, del, nil) })
	step("master gone", func() {
		b.UnregisterBroker(&remoting.UnregisterBrokerRequestHeader{BrokerName: "a", BrokerAddr: "a:1", ClusterName: "DefaultCluster"})
	})
	step("supportActingMaster", config("supportActingMaster=true"))
	step("topic registered alone", func() {
		b.call(t, remoting.RegisterTopicInNamesrv, &remoting.RegisterTopicRequestHeader{Topic: "T"},
			body.Encode(&body.TopicRouteData{QueueDatas: []body.QueueData{{BrokerName: "b", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6}}}))
	})
	step("topic deleted", func() {
		b.call(t, remoting.DeleteTopicInNamesrv, &remoting.DeleteTopicFromNamesrvRequestHeader{Topic: "T"}, nil)
	})
}

func TestSlaveActsAsMaster(t *testing.T) {
	b := newBench(t, "supportActingMaster", "true")
	b.join(t,
		join("a", 0, "a:1", "T", "U", "rmq_sys_SYNC_BROKER_MEMBER_a").acting(true),
		join("a", 2, "a:3", "T", "U").acting(true), join("a", 1, "a:2", "T", "U").acting(true),
		join("b", 0, "b:1", "T", "U").acting(true), join("c", 0, "c:1", "T", "U"), join("c", 1, "c:2", "T", "U"))
	b.wantRoute(t, "T", "a[0=a:1 1=a:2 2=a:3 ]b[0=b:1 ]c[0=c:1 1=c:2 ] a:4/4p6 b:4/4p6 c:4/4p6")
	for _, name := range []string{"a", "c"} {
		b.UnregisterBroker(&remoting.UnregisterBrokerRequestHeader{BrokerName: name, BrokerAddr: name + ":1", ClusterName: "DefaultCluster"})
	}
	// a: the smallest slave stands in and its queues may only be read. c does not allow it.
	b.wantRoute(t, "T", "a[0=a:2 2=a:3 ]b[0=b:1 ]c[1=c:2 ] a:4/4p4 b:4/4p6 c:4/4p6")
	b.wantRoute(t, "rmq_sys_SYNC_BROKER_MEMBER_a", "a[1=a:2 2=a:3 ] a:4/4p4")
	if got := b.ClusterInfo().Brokers["a"].BrokerAddrs; !reflect.DeepEqual(got, map[int64]string{1: "a:2", 2: "a:3"}) {
		t.Errorf("cluster info shows %v", got)
	}
	b.join(t, join("a", 0, "a:1", "T", "U").acting(true).version(2))
	b.wantRoute(t, "T", "a[0=a:1 1=a:2 2=a:3 ]b[0=b:1 ]c[1=c:2 ] a:4/4p6 b:4/4p6 c:4/4p6")
}

func TestRouteInAZone(t *testing.T) {
	b := newBench(t)
	b.join(t, join("a", 0, "a:1", "T", "U").zone("z1"), join("b", 0, "b:1", "T", "U").zone("z2"), join("c", 1, "c:2", "T", "U").zone("z2"))
	mode := func(mode, zone string) []remoting.ExtField {
		return []remoting.ExtField{{Key: "__ZONE_MODE", Value: mode}, {Key: "__ZONE_NAME", Value: zone}}
	}
	all := "a[0=a:1 ]b[0=b:1 ]c[1=c:2 ] a:4/4p6 b:4/4p6 c:4/4p6"
	for _, c := range []struct {
		ext  []remoting.ExtField
		want string
	}{
		{mode("true", "z1"), "a[0=a:1 ]c[1=c:2 ] a:4/4p6 c:4/4p6"}, // c has no master: its slave serves everybody
		{mode("TRUE", "Z1"), "a[0=a:1 ]c[1=c:2 ] a:4/4p6 c:4/4p6"},
		{mode("true", "z2"), "b[0=b:1 ]c[1=c:2 ] b:4/4p6 c:4/4p6"},
		{mode("true", "z3"), "c[1=c:2 ] c:4/4p6"},
		{mode("true", " "), all},
		{mode("false", "z1"), all},
		{nil, all},
	} {
		if got := summary(b.routeOf(t, "T", c.ext...)); got != c.want {
			t.Errorf("%v\n got %s\nwant %s", c.ext, got, c.want)
		}
	}
	old := request(t, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "T"}, nil, mode("true", "z1")...)
	old.Version = 317
	if got := b.do(t, old); !bytes.Contains(got.Body, []byte(`{0:"a:1"}`)) {
		t.Errorf("an old client gets %s", got.Body)
	}
}

func TestFilterServersAreOfTheirBroker(t *testing.T) {
	b := newBench(t)
	with := join("a", 0, "a:1", "T", "U")
	with.body.FilterServerList = []string{"f:1", "f:2"}
	b.join(t, with, join("b", 0, "b:1", "T", "U"))
	want := map[string][]string{"a:1": {"f:1", "f:2"}}
	if got := b.routeOf(t, "T").FilterServerTable; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNoRoutesBeforeTheBrokersHadTimeToRegister(t *testing.T) {
	b := newBench(t, "needWaitForService", "true", "waitSecondsForService", "10")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.join(t, join("a", 0, "a:1", "T", "U"))
	ask := func() *remoting.Command {
		return b.do(t, request(t, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "T"}, nil))
	}
	b.clock.Advance(9999 * time.Millisecond)
	if resp := ask(); resp.Code != remoting.SystemError || resp.Remark != "name server not ready" {
		t.Errorf("after 9.999 s: code %d, remark %q", resp.Code, resp.Remark)
	}
	b.clock.Advance(time.Millisecond)
	if resp := ask(); resp.Code != remoting.Success {
		t.Errorf("after 10 s: code %d, remark %q", resp.Code, resp.Remark)
	}
}

func BenchmarkRoute(b *testing.B) {
	s := newBench(b)
	for i := range 8 {
		s.join(b, join(fmt.Sprintf("broker-%d", i), 0, fmt.Sprintf("10.0.0.%d:10911", i), "T", "U"))
	}
	req := request(b, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "T"}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := s.getRoute(nil, req); err != nil || len(resp.Body) == 0 {
			b.Fatal(resp, err)
		}
	}
}

func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("topics=%d", n), func(b *testing.B) {
			s := newBench(b)
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("topic-%d", i)
			}
			req := join("a", 0, "a:1", names...).request(b)
			b.SetBytes(int64(len(req.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.registerBroker(nil, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

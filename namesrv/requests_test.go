package namesrv

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// referenceCodes are the codes that DefaultRequestProcessor and ClientRequestProcessor of Apache 5.5.0 serve.
var referenceCodes = []int32{
	100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904,
}

func TestEveryCodeOfTheReferenceHasARoute(t *testing.T) {
	b := newBench(t)
	have := make(map[int32]bool)
	for _, r := range b.routes() {
		if have[r.Code] {
			t.Errorf("code %d has two routes", r.Code)
		}
		have[r.Code] = true
	}
	for _, code := range referenceCodes {
		if !have[code] {
			t.Errorf("code %d has no route", code)
		}
		delete(have, code)
	}
	if len(have) > 0 {
		t.Errorf("codes %v are not the reference's", have)
	}
}

func TestLists(t *testing.T) {
	b := newBench(t)
	flagged := join("a", 0, "a:1", "unit", "sub", "both", "plain")
	for name, flag := range map[string]int32{"unit": 1, "sub": 2, "both": 3} {
		flagged.body.Topics.Topics[name].TopicSysFlag = flag
	}
	other := join("b", 0, "b:1", "plain", "other")
	other.header.ClusterName = "C2"
	b.join(t, flagged, other)
	for _, c := range []struct {
		code int32
		h    remoting.Header
		want body.TopicList
	}{
		{206, nil, body.TopicList{Topics: []string{"both", "other", "plain", "sub", "unit"}}},
		{224, &remoting.GetTopicsByClusterRequestHeader{Cluster: "DefaultCluster"}, body.TopicList{Topics: []string{"both", "plain", "sub", "unit"}}},
		{224, &remoting.GetTopicsByClusterRequestHeader{Cluster: "C2"}, body.TopicList{Topics: []string{"other", "plain"}}},
		{224, &remoting.GetTopicsByClusterRequestHeader{Cluster: "C3"}, body.TopicList{Topics: []string{}}},
		{304, nil, body.TopicList{Topics: []string{"C2", "b", "DefaultCluster", "a"}, BrokerAddr: "a:1"}},
		{311, nil, body.TopicList{Topics: []string{"both", "unit"}}},
		{312, nil, body.TopicList{Topics: []string{"both", "sub"}}},
		{313, nil, body.TopicList{Topics: []string{"sub"}}},
	} {
		if got := decode[body.TopicList](t, b.call(t, c.code, c.h, nil).Body); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("code %d: got %+v, want %+v", c.code, *got, c.want)
		}
	}
	b.call(t, remoting.UpdateNamesrvConfig, nil, []byte("enableAllTopicList=false\nenableTopicList=false\n"))
	for _, code := range []int32{206, 224, 311, 312, 313} {
		resp := b.do(t, request(t, code, &remoting.GetTopicsByClusterRequestHeader{Cluster: "C2"}, nil))
		if resp.Code != remoting.SystemError || resp.Remark != "disable" {
			t.Errorf("code %d switched off: code %d, remark %q", code, resp.Code, resp.Remark)
		}
	}
}

func TestListsOfAnEmptyNameServer(t *testing.T) {
	b := newBench(t)
	for code, want := range map[int32]string{
		106: `{"brokerAddrTable":{},"clusterAddrTable":{}}`, 206: `{"topicList":[]}`, 304: `{"topicList":[]}`, 311: `{"topicList":[]}`,
	} {
		if got := string(b.call(t, code, nil, nil).Body); got != want {
			t.Errorf("code %d: got %s, want %s", code, got, want)
		}
	}
	const group = `{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"a","cluster":"c"}}`
	h := &remoting.GetBrokerMemberGroupRequestHeader{ClusterName: "c", BrokerName: "a"}
	if got := string(b.call(t, remoting.GetBrokerMemberGroup, h, nil).Body); got != group {
		t.Errorf("member group: got %s, want %s", got, group)
	}
}

func TestClusterInfoAndMemberGroup(t *testing.T) {
	b := newBench(t)
	b.join(t, join("a", 0, "a:1", "T", "U"), join("a", 1, "a:2", "T", "U").zone("z").acting(true))
	const info = `{"brokerAddrTable":{"a":{"brokerAddrs":{"0":"a:1","1":"a:2"},"brokerName":"a","cluster":"DefaultCluster","enableActingMaster":true,"zoneName":"z"}},"clusterAddrTable":{"DefaultCluster":["a"]}}`
	if got := string(b.call(t, remoting.GetBrokerClusterInfo, nil, nil).Body); got != info {
		t.Errorf("cluster info\n got %s\nwant %s", got, info)
	}
	const group = `{"brokerMemberGroup":{"brokerAddrs":{"0":"a:1","1":"a:2"},"brokerName":"a","cluster":"DefaultCluster"}}`
	h := &remoting.GetBrokerMemberGroupRequestHeader{ClusterName: "DefaultCluster", BrokerName: "a"}
	if got := string(b.call(t, remoting.GetBrokerMemberGroup, h, nil).Body); got != group {
		t.Errorf("member group\n got %s\nwant %s", got, group)
	}
}

func TestQueryDataVersion(t *testing.T) {
	b := newBench(t)
	ask := func(addr string, v *body.DataVersion) (changed bool, stored string) {
		t.Helper()
		var data []byte
		if v != nil {
			data = body.Encode(v)
		}
		resp := b.call(t, remoting.QueryDataVersion, &remoting.QueryDataVersionRequestHeader{ClusterName: "DefaultCluster", BrokerAddr: addr, BrokerName: "a"}, data)
		var h remoting.QueryDataVersionResponseHeader
		if err := resp.Decode(&h); err != nil {
			t.Fatal(err)
		}
		return h.Changed, string(resp.Body)
	}
	same := &body.DataVersion{Timestamp: 1, Counter: 1}
	if changed, stored := ask("a:1", same); !changed || stored != "" {
		t.Errorf("unknown broker: changed %v, stored %q", changed, stored)
	}
	b.join(t, join("a", 0, "a:1", "T", "U"))
	const stored = `{"counter":1,"stateVersion":0,"timestamp":1}`
	for name, c := range map[string]struct {
		v       *body.DataVersion
		changed bool
	}{
		"same":                    {same, false},
		"other counter":           {&body.DataVersion{Timestamp: 1, Counter: 2}, true},
		"other timestamp":         {&body.DataVersion{Timestamp: 2, Counter: 1}, true},
		"other state version":     {&body.DataVersion{StateVersion: 1, Timestamp: 1, Counter: 1}, true},
		"a broker that says none": {nil, true},
	} {
		if changed, got := ask("a:1", c.v); changed != c.changed || got != stored {
			t.Errorf("%s: changed %v, stored %s", name, changed, got)
		}
	}
}

func TestWritePermissionOfABroker(t *testing.T) {
	b := newBench(t)
	b.join(t, join("a", 0, "a:1", "T", "U"), join("b", 0, "b:1", "T", "U"))
	wipe := func(name string) int32 {
		var h remoting.WipeWritePermOfBrokerResponseHeader
		if err := b.call(t, remoting.WipeWritePermOfBroker, &remoting.WipeWritePermOfBrokerRequestHeader{BrokerName: name}, nil).Decode(&h); err != nil {
			t.Fatal(err)
		}
		return h.WipeTopicCount
	}
	if got := wipe("a"); got != 2 {
		t.Errorf("wiped %d topics, want 2", got)
	}
	if got := wipe("x"); got != 0 {
		t.Errorf("wiped %d topics of a stranger, want 0", got)
	}
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:4/4p4 b:4/4p6")
	b.join(t, join("a", 0, "a:1", "T", "U"))
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:4/4p4 b:4/4p6") // the version is the same
	var h remoting.AddWritePermOfBrokerResponseHeader
	if err := b.call(t, remoting.AddWritePermOfBroker, &remoting.AddWritePermOfBrokerRequestHeader{BrokerName: "a"}, nil).Decode(&h); err != nil || h.AddTopicCount != 2 {
		t.Errorf("added to %d topics, %v", h.AddTopicCount, err)
	}
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6")
	wipe("a")
	b.join(t, join("a", 0, "a:1", "T", "U").version(2))
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6")
}

func TestDeletingATopic(t *testing.T) {
	other := join("b", 0, "b:1", "T", "U")
	other.header.ClusterName = "C2"
	for cluster, want := range map[string]string{
		"":               "none",
		"DefaultCluster": "b[0=b:1 ] b:4/4p6",
		"C2":             "a[0=a:1 ] a:4/4p6",
		"C3":             "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6",
	} {
		b := newBench(t)
		b.join(t, join("a", 0, "a:1", "T", "U"), other)
		b.call(t, remoting.DeleteTopicInNamesrv, &remoting.DeleteTopicFromNamesrvRequestHeader{Topic: "T", ClusterName: cluster}, nil)
		b.wantRoute(t, "T", want)
		b.wantRoute(t, "U", "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6")
		b.join(t, join("a", 0, "a:1", "T", "U"), other) // who still has it brings it back
		b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:4/4p6 b:4/4p6")
	}
}

func TestRegisteringOneTopic(t *testing.T) {
	b := newBench(t)
	b.join(t, join("a", 0, "a:1", "T", "U"), join("b", 0, "b:1", "T", "U"))
	register := func(topic string, names ...string) {
		t.Helper()
		var route body.TopicRouteData
		for _, name := range names {
			route.QueueDatas = append(route.QueueDatas, body.QueueData{BrokerName: name, ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6})
		}
		b.call(t, remoting.RegisterTopicInNamesrv, &remoting.RegisterTopicRequestHeader{Topic: topic}, body.Encode(&route))
	}
	register("V", "a")
	b.wantRoute(t, "V", "a[0=a:1 ] a:1/1p6")
	register("W", "a", "stranger")
	b.wantRoute(t, "W", "none") // a new topic needs known brokers
	register("T", "a", "stranger", "b")
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:1/1p6 b:4/4p6") // a known one takes those before the stranger
	register("T")
	b.call(t, remoting.RegisterTopicInNamesrv, &remoting.RegisterTopicRequestHeader{Topic: "T"}, nil)
	b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ] a:1/1p6 b:4/4p6")
}

func TestKVConfiguration(t *testing.T) {
	b := newBench(t)
	get := func(namespace, key string) *remoting.Command {
		return b.do(t, request(t, remoting.GetKVConfig, &remoting.GetKVConfigRequestHeader{Namespace: namespace, Key: key}, nil))
	}
	put := func(namespace, key, value string) {
		t.Helper()
		b.call(t, remoting.PutKVConfig, &remoting.PutKVConfigRequestHeader{Namespace: namespace, Key: key, Value: value}, nil)
	}
	if resp := get("n", "k"); resp.Code != remoting.QueryNotFound || resp.Remark != "No config item, Namespace: n Key: k" {
		t.Errorf("code %d, remark %q", resp.Code, resp.Remark)
	}
	list := request(t, remoting.GetKvlistByNamespace, &remoting.GetKVListByNamespaceRequestHeader{Namespace: "n"}, nil)
	if resp := b.do(t, list); resp.Code != remoting.QueryNotFound || resp.Remark != "No config item, Namespace: n" {
		t.Errorf("code %d, remark %q", resp.Code, resp.Remark)
	}
	put("n", "k", "v1")
	put("n", "k", "v=2 é")
	put("n", "l", "w")
	var h remoting.GetKVConfigResponseHeader
	if err := get("n", "k").Decode(&h); err != nil || h.Value != "v=2 é" {
		t.Errorf("value %q, %v", h.Value, err)
	}
	if got := string(b.do(t, list).Body); got != `{"table":{"k":"v=2 é","l":"w"}}` {
		t.Errorf("list %s", got)
	}
	b.call(t, remoting.DeleteKVConfig, &remoting.DeleteKVConfigRequestHeader{Namespace: "n", Key: "l"}, nil)
	b.call(t, remoting.DeleteKVConfig, &remoting.DeleteKVConfigRequestHeader{Namespace: "n", Key: "x"}, nil)
	saved, err := vfs.ReadFile(b.fs, kvPath, 1<<20)
	if err != nil || string(saved) != `{"configTable":{"n":{"k":"v=2 é"}}}` {
		t.Errorf("file %s, %v", saved, err)
	}

	again := &bench{NameServer: b.open(t), clock: b.clock, fs: b.fs}
	if got := string(again.do(t, list).Body); got != `{"table":{"k":"v=2 é"}}` {
		t.Errorf("after a restart the list is %s", got)
	}
}

func TestKVConfigurationIsBounded(t *testing.T) {
	b := newBench(t)
	put := func(key, value string) *remoting.Command {
		return b.do(t, request(t, remoting.PutKVConfig, &remoting.PutKVConfigRequestHeader{Namespace: "n", Key: key, Value: value}, nil))
	}
	if resp := put("k", strings.Repeat("x", maxKVBytes)); resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "the limit is 65536") {
		t.Errorf("long value: code %d, remark %q", resp.Code, resp.Remark)
	}
	put("k", "v")
	b.kv.entries = maxKVEntries
	if resp := put("l", "v"); resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "the limit is 100000") {
		t.Errorf("many values: code %d, remark %q", resp.Code, resp.Remark)
	}
	if resp := put("k", "w"); resp.Code != remoting.Success {
		t.Errorf("a value that is there: code %d, remark %q", resp.Code, resp.Remark)
	}
}

func TestKVConfigurationThatCannotBeSavedSaysSo(t *testing.T) {
	b := newBench(t)
	fault := vfs.NewFault(b.fs)
	b.kv.fs = fault
	fault.SetRule(vfs.FailOn(vfs.OpWrite, "kvConfig", errors.New("disk full")))
	resp := b.do(t, request(t, remoting.PutKVConfig, &remoting.PutKVConfigRequestHeader{Namespace: "n", Key: "k", Value: "v"}, nil))
	if resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "changed and not saved") || !strings.Contains(resp.Remark, "disk full") {
		t.Errorf("code %d, remark %q", resp.Code, resp.Remark)
	}
}

func TestBrokenKVFile(t *testing.T) {
	b := newBench(t)
	write := func(path, text string) {
		t.Helper()
		if err := vfs.WriteFileAtomic(b.fs, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write(kvPath, `{configTable:{n:{k:'v'}},}`) // what fastjson reads, we read
	if got, _ := (&bench{NameServer: b.open(t)}).kv.get("n", "k"); got != "v" {
		t.Errorf("value %q", got)
	}
	write(kvPath, `{"configTable":`)
	if got, _ := (&bench{NameServer: b.open(t)}).kv.get("n", "k"); got != "v" {
		t.Errorf("value from the backup %q", got)
	}
	write(kvPath, `[]`)
	_, err := New(Options{Config: config(t), Log: quiet(), Clock: b.clock, FS: b.fs, Addrs: []string{"127.0.0.1:0"}})
	if err == nil || !strings.Contains(err.Error(), kvPath) {
		t.Errorf("got error %v", err)
	}
}

func TestChangingTheConfiguration(t *testing.T) {
	b := newBench(t)
	update := func(text string) *remoting.Command {
		return b.do(t, request(t, remoting.UpdateNamesrvConfig, nil, []byte(text)))
	}
	for text, want := range map[string]struct {
		code   int32
		remark string
	}{
		"kvConfigPath=/x":                          {remoting.NoPermission, "Can not update config in black list."},
		"enableTopicList=false\nconfigStorePath=x": {remoting.NoPermission, "Can not update config in black list."},
		"rocketmqHome=/x":                          {remoting.NoPermission, "Can not update config in black list."},
		"scanNotActiveBrokerInterval=soon":         {remoting.SystemError, `"soon" is not a whole number`},
		`enableTopicList=\uZZZZ`:                   {remoting.SystemError, "string2Properties error"},
		"nobodyKnowsThis=1":                        {remoting.Success, ""},
		"":                                         {remoting.Success, ""},
		"# only a comment\n":                       {remoting.Success, ""},
		"waitSecondsForService = 7\n":              {remoting.Success, ""},
	} {
		resp := update(text)
		if resp.Code != want.code || !strings.Contains(resp.Remark, want.remark) {
			t.Errorf("%q: code %d, remark %q", text, resp.Code, resp.Remark)
		}
	}
	got := b.call(t, remoting.GetNamesrvConfig, nil, nil).Body
	for _, line := range []string{"waitSecondsForService=7\n", "enableTopicList=true\n", "kvConfigPath=" + kvPath + "\n", "listenPort=9876\n"} {
		if !bytes.Contains(got, []byte(line)) {
			t.Errorf("configuration lacks %q:\n%s", line, got)
		}
	}
	saved, err := vfs.ReadFile(b.fs, configPath, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := conf.ParseProperties(saved)
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]string)
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	if len(values) != 1 || values["waitSecondsForService"] != "7" {
		t.Errorf("saved %v, want what was changed", values)
	}
}

func TestConfigurationThatCannotBeSavedSaysSo(t *testing.T) {
	b := newBench(t)
	fault := vfs.NewFault(b.fs)
	b.NameServer.fs = fault
	fault.SetRule(vfs.FailOn(vfs.OpWrite, "namesrv.properties", errors.New("disk full")))
	resp := b.do(t, request(t, remoting.UpdateNamesrvConfig, nil, []byte("waitSecondsForService=7")))
	if resp.Code != remoting.SystemError || !strings.Contains(resp.Remark, "disk full") || b.config().Namesrv.WaitSecondsForService != 7 {
		t.Errorf("code %d, remark %q", resp.Code, resp.Remark)
	}
}

package body

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// texts of wire.md's worked examples and of running clients.
const (
	routeQuoted   = `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	javaHeartbeat = `{"clientID":"10.0.0.9@1234#5678","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":1700000000000,"tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"P"}],"withoutSub":false}`
)

func decoded[T any, P bodyOf[T]](t *testing.T, text string) *T {
	t.Helper()
	v, err := Decode[T, P]([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestRouteIsWrittenInBothForms(t *testing.T) {
	route := &TopicRouteData{
		QueueDatas:  []QueueData{{BrokerName: "broker-a", ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6}},
		BrokerDatas: []BrokerData{{Cluster: "DefaultCluster", BrokerName: "broker-a", BrokerAddrs: map[int64]string{0: "10.0.0.1:10911"}}},
	}
	if got := string(Encode(route)); got != routeQuoted {
		t.Errorf("quoted\n got %s\nwant %s", got, routeQuoted)
	}
	bare := strings.Replace(routeQuoted, `{"0":`, `{0:`, 1)
	if got := string(EncodeBare(route)); got != bare {
		t.Errorf("bare\n got %s\nwant %s", got, bare)
	}
	for _, text := range []string{routeQuoted, bare} {
		if got := string(Encode(decoded[TopicRouteData](t, text))); got != routeQuoted {
			t.Errorf("read back\n got %s\nwant %s", got, routeQuoted)
		}
	}
}

func TestHeartbeatsOfTheClients(t *testing.T) {
	sub := SubscriptionData{
		Topic: "T", SubString: "TagA", TagsSet: []string{"TagA"}, CodeSet: []int32{2598919},
		SubVersion: 1700000000000, ExpressionType: "TAG",
	}
	want := &HeartbeatData{
		ClientID:        "10.0.0.9@1234#5678",
		ProducerDataSet: []ProducerData{{GroupName: "P"}},
		ConsumerDataSet: []ConsumerData{{
			GroupName: "G", ConsumeType: ConsumePassively, MessageModel: Clustering, ConsumeFromWhere: ConsumeFromLastOffset,
			SubscriptionDataSet: []SubscriptionData{sub},
		}},
	}
	goHeartbeat := strings.NewReplacer(`"CLUSTERING"`, `"Clustering"`, `"heartbeatFingerprint":0,`, ``, `,"withoutSub":false`, ``).
		Replace(javaHeartbeat)
	for _, text := range []string{javaHeartbeat, goHeartbeat} {
		if got := decoded[HeartbeatData](t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
	broadcast := strings.Replace(javaHeartbeat, "CLUSTERING", "BroadCasting", 1)
	if got := decoded[HeartbeatData](t, broadcast).ConsumerDataSet[0].MessageModel; got != Broadcasting {
		t.Errorf("client-go's BroadCasting is read as %q", got)
	}
}

func TestNamesOfMembersGoToTheirFields(t *testing.T) {
	if got, want := *decoded[TopicOffset](t, `{"lastUpdateTimestamp":3,"maxOffset":2,"minOffset":1}`),
		(TopicOffset{MinOffset: 1, MaxOffset: 2, LastUpdateTimestamp: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *decoded[OffsetWrapper](t, `{"brokerOffset":1,"consumerOffset":2,"lastTimestamp":4,"pullOffset":3}`),
		(OffsetWrapper{BrokerOffset: 1, ConsumerOffset: 2, PullOffset: 3, LastTimestamp: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *decoded[DataVersion](t, `{"counter":3,"stateVersion":1,"timestamp":2}`),
		(DataVersion{StateVersion: 1, Timestamp: 2, Counter: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := *decoded[QueueData](t, `{"brokerName":"b","perm":3,"readQueueNums":1,"topicSysFlag":4,"writeQueueNums":2}`),
		(QueueData{BrokerName: "b", ReadQueueNums: 1, WriteQueueNums: 2, Perm: 3, TopicSysFlag: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	const ack = `{"b":"CQI=","c":"g","it":5,"pt":4,"q":2,"r":"1","rq":3,"so":1,"t":"t"}`
	const longAck = `{"bitSet":"CQI=","consumerGroup":"g","invisibleTime":5,"popTime":4,"queueId":2,"retry":"1","reviveQueueId":3,"startOffset":1,"topic":"t"}`
	want := BatchAck{
		ConsumerGroup: "g", Topic: "t", Retry: "1", StartOffset: 1, QueueID: 2, ReviveQueueID: 3, PopTime: 4, InvisibleTime: 5,
		BitSet: BitSet{0x09, 0x02},
	}
	for _, text := range []string{ack, longAck} {
		if got := *decoded[BatchAck](t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestBitSetHasTheBitsOfJava(t *testing.T) {
	var s BitSet
	for _, i := range []int{9, 0, 3} {
		s.Add(i)
	}
	var got []int
	for i := -1; i < 40; i++ {
		if s.Has(i) {
			got = append(got, i)
		}
	}
	if !reflect.DeepEqual([]byte(s), []byte{0x09, 0x02}) || !reflect.DeepEqual(got, []int{0, 3, 9}) || s.Len() != 10 {
		t.Errorf("bytes % x, bits %v, length %d", []byte(s), got, s.Len())
	}
}

func TestMessageQueueKeysAreObjectsWithoutBlanks(t *testing.T) {
	const text = `{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:7,{"brokerName":"b","queueId":2,"topic":"T"}:8}}`
	want := map[MessageQueue]int64{{Topic: "T", BrokerName: "b", QueueID: 1}: 7, {Topic: "T", BrokerName: "b", QueueID: 2}: 8}
	got := decoded[ResetOffset](t, text)
	if !reflect.DeepEqual(got.OffsetTable, want) {
		t.Errorf("read %v, want %v", got.OffsetTable, want)
	}
	if again := string(Encode(got)); again != text {
		t.Errorf("\n got %s\nwant %s", again, text)
	}
	const inQuotes = `{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":7,"{\"brokerName\":\"b\",\"queueId\":2,\"topic\":\"T\"}":8}}`
	if got := decoded[ResetOffset](t, inQuotes); !reflect.DeepEqual(got.OffsetTable, want) {
		t.Errorf("read %v, want %v", got.OffsetTable, want)
	}
}

func TestStringsAreEscapedAsTheReferenceDoes(t *testing.T) {
	table := &KVTable{Table: map[string]string{"k": "a\x00\x01\b\t\n\v\f\r\x1f \"\\/<>&'()\x7fé中😀"}}
	const want = `{"table":{"k":"a\u0000\u0001\b\t\n\u000b\f\r\u001f \"\\/<>&'()` + "\x7f" + `é中😀"}}`
	got := Encode(table)
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if back := decoded[KVTable](t, string(got)); !reflect.DeepEqual(back, table) {
		t.Errorf("read back %q", back)
	}
	if got := Encode(&KVTable{Table: map[string]string{"\xff": "a\xffb"}}); !json.Valid(got) {
		t.Errorf("bytes that are no UTF-8 give %q", got)
	}
}

func TestDoublesAreWrittenAsJavaDoes(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 12.5: "12.5", 1e-5: "1.0E-5", 1e7: "1.0E7", 1e10: "1.0E10", 123456789.123: "1.23456789123E8",
		0.001: "0.001", 1e21: "1.0E21", -2.5: "-2.5", math.Inf(1): "0.0", math.NaN(): "0.0",
	} {
		got := string(Encode(&BrokerStatsItem{Tps: v}))
		if got != `{"avgpt":0.0,"sum":0,"tps":`+want+`}` {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

func TestPrettyFormIsTheReferencesConfigurationFile(t *testing.T) {
	table := TopicConfigTable{Topics: map[string]*TopicConfig{"T": NewTopicConfig("T")}, DataVersion: DataVersion{Timestamp: 5}}
	const want = `{
	"dataVersion":{
		"counter":0,
		"stateVersion":0,
		"timestamp":5
	},
	"topicConfigTable":{
		"T":{
			"attributes":{},
			"order":false,
			"perm":6,
			"readQueueNums":16,
			"topicFilterType":"SINGLE_TAG",
			"topicName":"T",
			"topicSysFlag":0,
			"writeQueueNums":16
		}
	}
}`
	if got := string(EncodePretty(&table)); got != want {
		t.Errorf("got %s", got)
	}
	stats := ConsumeStats{OffsetTable: map[MessageQueue]OffsetWrapper{{Topic: "T"}: {}}}
	if back := decoded[ConsumeStats](t, string(EncodePretty(&stats))); !reflect.DeepEqual(*back, stats) {
		t.Errorf("read back %+v", back)
	}
}

func TestDataVersionMovesOnWithEveryChange(t *testing.T) {
	v := DataVersion{StateVersion: 7, Timestamp: 10, Counter: 1}
	next := v
	next.NextVersion(11, 0)
	if want := (DataVersion{StateVersion: 0, Timestamp: 11, Counter: 2}); next != want {
		t.Errorf("got %+v, want %+v", next, want)
	}
	for _, c := range []struct {
		a, b DataVersion
		want int
	}{
		{DataVersion{StateVersion: 1}, DataVersion{Counter: 9, Timestamp: 9}, 1},
		{DataVersion{Counter: 1}, DataVersion{Timestamp: 9}, 1},
		{DataVersion{Timestamp: 1}, DataVersion{Timestamp: 2}, -1},
		{v, v, 0},
	} {
		if got := c.a.Compare(c.b); got != c.want {
			t.Errorf("%+v to %+v: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestListsOfBodies(t *testing.T) {
	users := []UserInfo{{Username: "a", UserType: "Super"}, {Username: "b"}}
	text := EncodeList(users)
	if want := `[{"userType":"Super","username":"a"},{"username":"b"}]`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if back, err := DecodeList[UserInfo](text); err != nil || !reflect.DeepEqual(back, users) {
		t.Errorf("read back %v, %v", back, err)
	}
	names, err := DecodeStrings([]byte(`['a',"b",null,1]`))
	if err != nil || !reflect.DeepEqual(names, []string{"a", "b", "1"}) {
		t.Errorf("strings %q, %v", names, err)
	}
	if got := string(EncodeStrings(names)); got != `["a","b","1"]` {
		t.Errorf("got %s", got)
	}
	if _, err := DecodeStrings([]byte(`["a"`)); err == nil {
		t.Error("a list without end is read")
	}
}

func BenchmarkEncodeRoute(b *testing.B) {
	route, err := Decode[TopicRouteData]([]byte(routeQuoted))
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = Append(buf[:0], route)
	}
}

func BenchmarkDecodeHeartbeat(b *testing.B) {
	text := []byte(javaHeartbeat)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode[HeartbeatData](text); err != nil {
			b.Fatal(err)
		}
	}
}

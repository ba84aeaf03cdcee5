package brokertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// The answers are those that Apache's 4.9.4 gave to the same requests, but for its addresses.
func TestVersion49AnswersAs494(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithVersion(brokertest.V4), brokertest.WithTopics("probe:4"))
	r := newRaw(t, b)
	names := newRaw(t, b)
	names.addr = b.NamesrvAddr()
	consumer := remoting.NewRequest(remoting.HeartBeat, nil)
	consumer.Body = []byte(`{"clientID":"me","consumerDataSet":[{"groupName":"cg","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",` +
		`"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{"topic":"probe","subString":"*","subVersion":1,"expressionType":"TAG"}],` +
		`"unitMode":false}],"producerDataSet":[]}`)
	pull := func(topic string, offset int64) *remoting.Command {
		return remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
			ConsumerGroup: "cg", Topic: topic, QueueOffset: offset, MaxMsgNums: 32, SubVersion: 1,
		})
	}
	for _, c := range []struct {
		name    string
		to      *raw
		request *remoting.Command
		code    int32
		fields  string
		body    string
	}{
		{"heartbeat", r, heartbeat("me", "p"), 0, "", ""},
		{"heartbeat of a consumer", r, consumer, 0, "", ""},
		{"send", r, sendRequest("probe", "p"), 0, "MSG_REGION TRACE_ON msgId queueId queueOffset transactionId", ""},
		{"pull", r, pull("probe", 0), 0, "maxOffset minOffset nextBeginOffset suggestWhichBrokerId", "*"},
		{"pull at the end", r, pull("probe", 1), 19, "maxOffset minOffset nextBeginOffset suggestWhichBrokerId", ""},
		{"pop", r, remoting.NewRequest(remoting.PopMessage, nil), 3, "", ""},
		{"assignment", r, remoting.NewRequest(remoting.QueryAssignment, nil), 3, "", ""},
		{"topic configuration", r, remoting.NewRequest(remoting.GetTopicConfig, nil), 3, "", ""},
		{
			"route", names, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "probe"}), 0, "",
			`{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:21811"},"brokerName":"broker-a","cluster":"DefaultCluster"}],"filterServerTable":{},` +
				`"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`,
		},
		{
			"cluster", names, remoting.NewRequest(remoting.GetBrokerClusterInfo, nil), 0, "",
			`{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"127.0.0.1:21811"},"brokerName":"broker-a","cluster":"DefaultCluster"}},` +
				`"clusterAddrTable":{"DefaultCluster":["broker-a"]}}`,
		},
	} {
		answer := c.to.call(c.request)
		if answer.Version != 401 || answer.Code != c.code {
			t.Errorf("%s: version %d, code %d %q, want 401, %d", c.name, answer.Version, answer.Code, answer.Remark, c.code)
		}
		var fields []string
		for _, f := range answer.Ext {
			fields = append(fields, f.Key)
		}
		if got := sorted(fields); got != c.fields {
			t.Errorf("%s: fields %s, want %s", c.name, got, c.fields)
		}
		if got := strings.ReplaceAll(string(answer.Body), b.Addr(), "127.0.0.1:21811"); c.body != "*" && got != c.body {
			t.Errorf("%s: body %s, want %s", c.name, got, c.body)
		}
	}
	if got := string(r.call(remoting.NewRequest(remoting.GetAllTopicConfig, nil)).Body); !strings.Contains(got,
		`"probe":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"probe","topicSysFlag":0,"writeQueueNums":4}`) ||
		strings.Contains(got, "stateVersion") {
		t.Errorf("topics: %s", got)
	}
	if got := string(r.call(remoting.NewRequest(remoting.GetAllSubscriptiongroupConfig, nil)).Body); !strings.Contains(got,
		`"cg":{"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"groupName":"cg",`+
			`"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`) {
		t.Errorf("groups: %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if answer, err := names.client.Invoke(ctx, names.addr, remoting.NewRequest(remoting.GetBrokerMemberGroup, nil)); err == nil {
		t.Errorf("the name server answers a code of 5.x: %d", answer.Code)
	}
}

func TestVersion49HasNoTimers(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithVersion(brokertest.V4), brokertest.WithTopics("x:1"))
	r := newRaw(t, b)
	for _, request := range []*remoting.Command{
		remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
			ProducerGroup: "p", Topic: "x", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4,
			Properties: fmt.Sprintf("TIMER_DELIVER_MS\x01%d\x02KEYS\x01k\x02", b.Clock.Now().Add(time.Hour).UnixMilli()),
		}),
	} {
		request.Body = []byte("m")
		if answer := r.call(request); answer.Code != remoting.Success {
			t.Fatal(answer.Remark)
		}
	}
	list, err := b.Messages("x")
	must(t, err)
	if len(list) != 1 || list[0].Keys != "k" {
		t.Errorf("stored %v", list)
	}
}

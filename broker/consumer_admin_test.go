package broker

import (
	"slices"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestConnections: who consumes, who produces, what is subscribed.
func TestConnections(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c, p := b.dial(), b.dial()
	c.want(remoting.ConsumerNotOnline, remoting.GetConsumerConnectionList, fields{"consumerGroup", "G"}, nil)
	c.want(1, remoting.GetProducerConnectionList, fields{"producerGroup", "P"}, nil)
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c-1", "G", tagSub("T", "A || B", 7)))
	p.produce()

	got := decoded[body.ConsumerConnection](t, c.want(0, remoting.GetConsumerConnectionList, fields{"consumerGroup", "G"}, nil))
	if len(got.Connections) != 1 || got.Connections[0].ClientID != "c-1" || got.Connections[0].ClientAddr != c.conn.LocalAddr().String() ||
		got.Connections[0].Version != remoting.CurrentVersion || got.MessageModel != body.Clustering || got.ConsumeType != body.ConsumePassively ||
		got.ConsumeFromWhere != body.ConsumeFromFirstOffset {
		t.Errorf("%+v", got)
	}
	if sub := got.SubscriptionTable["T"]; sub.SubString != "A || B" || sub.SubVersion != 7 || !slices.Contains(sub.TagsSet, "A") {
		t.Errorf("subscription %+v", sub)
	}
	producers := decoded[body.ProducerConnection](t, c.want(0, remoting.GetProducerConnectionList, fields{"producerGroup", "P"}, nil))
	if len(producers.Connections) != 1 || producers.Connections[0].ClientID != "p" {
		t.Errorf("%+v", producers)
	}
	all := decoded[body.ProducerTable](t, c.want(0, remoting.GetAllProducerInfo, nil, nil))
	if list := all.Data["P"]; len(list) != 1 || list[0].ClientID != "p" || list[0].RemoteIP != "/"+p.conn.LocalAddr().String() || list[0].LastUpdateTimestamp != testNow.UnixMilli() {
		t.Errorf("%+v", all)
	}

	who := func(topic string) []string {
		return decoded[body.GroupList](t, c.want(0, remoting.QueryTopicConsumeByWho, fields{"topic", topic}, nil)).Groups
	}
	b.offsets.commit("H", "T", 0, 0, "")
	if got := who("T"); !slices.Equal(got, []string{"G", "H"}) {
		t.Errorf("T is consumed by %v", got)
	}
	if got := who("X"); len(got) != 0 {
		t.Errorf("X is consumed by %v", got)
	}
	topics := decoded[body.TopicList](t, c.want(0, remoting.QueryTopicsByConsumer, fields{"group", "H"}, nil))
	if !slices.Equal(topics.Topics, []string{"T"}) {
		t.Errorf("H consumes %v", topics.Topics)
	}
	sub := decoded[body.QuerySubscriptionReply](t, c.want(0, remoting.QuerySubscriptionByConsumer, fields{"group", "G", "topic", "T"}, nil))
	if sub.Group != "G" || sub.Topic != "T" || sub.SubscriptionData == nil || sub.SubscriptionData.SubString != "A || B" {
		t.Errorf("%+v", sub)
	}
	if sub := decoded[body.QuerySubscriptionReply](t, c.want(0, remoting.QuerySubscriptionByConsumer, fields{"group", "X", "topic", "T"}, nil)); sub.SubscriptionData != nil {
		t.Errorf("%+v", sub)
	}
}

func queue(topic string, id int32) body.MessageQueue {
	return body.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueID: id}
}

// TestConsumeStats: how far a group is in each queue, in messages and in time.
func TestConsumeStats(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	b.create("U", 1)
	for range 5 {
		b.put("T", 0, 1, "")
		b.manual.Advance(time.Second)
	}
	b.put("U", 0, 2, "")
	c := b.dial()
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0).with("maxMsgNums", "4"), nil)
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", "2"), nil)
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "U", 0).with("commitOffset", "2"), nil)
	stats := func(f fields) *body.ConsumeStats {
		return decoded[body.ConsumeStats](t, c.want(0, remoting.GetConsumeStats, f, nil))
	}
	got := stats(fields{"consumerGroup", "G", "topic", "T"})
	first := body.OffsetWrapper{BrokerOffset: 5, ConsumerOffset: 2, PullOffset: 4, LastTimestamp: testNow.Add(time.Second).UnixMilli()}
	if len(got.OffsetTable) != 2 || got.OffsetTable[queue("T", 0)] != first || got.OffsetTable[queue("T", 1)] != (body.OffsetWrapper{}) {
		t.Errorf("%+v", got.OffsetTable)
	}
	if got := stats(fields{"consumerGroup", "G"}); len(got.OffsetTable) != 3 {
		t.Errorf("all topics: %+v", got.OffsetTable)
	}
	if got := stats(fields{"consumerGroup", "G", "topicList", "U;T;X"}); len(got.OffsetTable) != 3 {
		t.Errorf("listed topics: %+v", got.OffsetTable)
	}
	if got := stats(fields{"consumerGroup", "none"}); len(got.OffsetTable) != 0 {
		t.Errorf("unknown group: %+v", got.OffsetTable)
	}

	list := decoded[body.ConsumeStatsList](t, c.want(0, remoting.GetBrokerConsumeStats, fields{"isOrder", "false"}, nil))
	found := false
	for _, groups := range list.ConsumeStatsList {
		if stats, ok := groups["G"]; ok && len(stats) == 2 {
			found = true
		}
	}
	if !found || list.TotalDiff != 3 || list.TotalInflightDiff != 2 || list.BrokerAddr != b.Advertised() {
		t.Errorf("%+v", list)
	}

	span := decoded[body.ConsumeTimeSpan](t, c.want(0, remoting.QueryConsumeTimeSpan, fields{"group", "G", "topic", "T"}, nil))
	want := body.QueueTimeSpan{
		MessageQueue: queue("T", 0), MinTimestamp: testNow.UnixMilli(), MaxTimestamp: testNow.Add(4 * time.Second).UnixMilli(),
		ConsumeTimestamp: testNow.Add(time.Second).UnixMilli(), DelayTime: 3000,
	}
	if len(span.Spans) != 2 || span.Spans[0] != want || span.Spans[1].MinTimestamp != -1 {
		t.Errorf("%+v, want %+v", span.Spans, want)
	}
	c.want(17, remoting.QueryConsumeTimeSpan, fields{"group", "G", "topic", "X"}, nil)
}

// TestConsumeTps counts what a group was given in the last minute.
func TestConsumeTps(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 30, "")
	b.manual.Advance(11 * time.Second)
	c := b.dial()
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
	c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", "30"), nil)
	eventually(t, "the rate is told", func() bool {
		b.manual.Advance(time.Second)
		stats := decoded[body.ConsumeStats](t, c.want(0, remoting.GetConsumeStats, fields{"consumerGroup", "G", "topic", "T"}, nil))
		return stats.ConsumeTps > 0 && stats.ConsumeTps <= 3
	})
	data := decoded[body.BrokerStatsData](t, c.want(0, remoting.ViewBrokerStatsData, fields{"statsName", "GROUP_GET_NUMS", "statsKey", "T@G"}, nil))
	if data.StatsMinute.Sum != 30 {
		t.Errorf("%+v", data)
	}
	c.want(1, remoting.ViewBrokerStatsData, fields{"statsName", "GROUP_GET_NUMS", "statsKey", "none"}, nil)
}

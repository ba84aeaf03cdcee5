package broker

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// javaHeartbeat is the body of wire.md §10.6.
const javaHeartbeat = `{"clientID":"10.0.0.9@1234#5678","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":1700000000000,"tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"P"}],"withoutSub":false}`

// consumers asks for the client ids of a group.
func consumers(t *testing.T, c *testClient, group string) []string {
	t.Helper()
	a := c.want(0, remoting.GetConsumerListByGroup, fields{"consumerGroup", group}, nil)
	var list struct{ ConsumerIDList []string }
	if err := json.Unmarshal(a.body, &list); err != nil {
		t.Fatal(err)
	}
	return list.ConsumerIDList
}

func TestHeartbeat(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	a := c.want(0, remoting.HeartBeat, nil, []byte(javaHeartbeat))
	if a.ext["IS_SUPPORT_HEART_BEAT_V2"] != "true" || a.ext["IS_SUB_CHANGE"] != "true" {
		t.Errorf("ext fields %v", a.ext)
	}
	if got := b.topics.get("%RETRY%G"); got == nil || got.WriteQueueNums != 1 || got.Perm != 6 || got.Order {
		t.Errorf("retry topic %+v", got)
	}
	if got := consumers(t, c, "G"); !slices.Equal(got, []string{"10.0.0.9@1234#5678"}) {
		t.Errorf("consumers %v", got)
	}
	if b.producers.find("10.0.0.9@1234#5678") == nil || !b.producers.online("P") {
		t.Error("producer is not known")
	}
	info, _ := b.consumers.info("G")
	if info.consumeType != body.ConsumePassively || info.messageModel != body.Clustering || info.fromWhere != body.ConsumeFromLastOffset || info.subscriptions["T"] == nil {
		t.Errorf("group %+v", info)
	}
	a = c.want(1, remoting.GetConsumerListByGroup, fields{"consumerGroup", "None"}, nil)
	if a.remark != "no consumer for this group, None" {
		t.Errorf("remark %q", a.remark)
	}
}

// TestHeartbeatOfAnOrderTopic: the retry topic becomes an ordered one.
func TestHeartbeatOfAnOrderTopic(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1, func(topic *body.TopicConfig) { topic.Order = true })
	b.dial().want(0, remoting.HeartBeat, nil, []byte(javaHeartbeat))
	if got := b.topics.get("%RETRY%G"); got == nil || !got.Order {
		t.Errorf("retry topic %+v", got)
	}
}

// TestHeartbeatV2 follows ClientManageProcessor#heartBeatV2: fingerprints, and subscriptions left out.
func TestHeartbeatV2(t *testing.T) {
	b := newTestBroker(t)
	c := b.dial()
	beat := func(fingerprint string, withoutSub bool) *answer {
		t.Helper()
		text := strings.Replace(javaHeartbeat, `"heartbeatFingerprint":0`, `"heartbeatFingerprint":`+fingerprint, 1)
		if withoutSub {
			text = strings.Replace(text, `"withoutSub":false`, `"withoutSub":true`, 1)
			i, j := strings.Index(text, `"subscriptionDataSet":[`), strings.Index(text, `],"unitMode"`)
			text = text[:i] + `"subscriptionDataSet":[` + text[j:]
		}
		return c.want(0, remoting.HeartBeat, nil, []byte(text))
	}
	for _, row := range []struct {
		fingerprint string
		withoutSub  bool
		change      string
	}{{"7", false, "false"}, {"7", true, "false"}, {"8", true, "true"}, {"8", false, "false"}} {
		if a := beat(row.fingerprint, row.withoutSub); a.ext["IS_SUB_CHANGE"] != row.change || a.ext["IS_SUPPORT_HEART_BEAT_V2"] != "true" {
			t.Errorf("fingerprint %s: ext fields %v, want change %s", row.fingerprint, a.ext, row.change)
		}
		if sub, _ := b.consumers.lookup("G", "T"); sub == nil {
			t.Errorf("fingerprint %s: the subscription is gone", row.fingerprint)
		}
	}
}

func TestHeartbeatOfForeignGroups(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }))
	c := b.dial()
	c.want(0, remoting.HeartBeat, nil, []byte(javaHeartbeat))
	c.want(1, remoting.GetConsumerListByGroup, fields{"consumerGroup", "G"}, nil)
	if b.topics.get("%RETRY%G") != nil {
		t.Error("a retry topic was made for a group that may not exist")
	}
	c.want(0, remoting.HeartBeat, nil, []byte(`{}`))
	c.want(1, remoting.HeartBeat, nil, nil)
	c.want(1, remoting.HeartBeat, nil, []byte(`{"clientID":`))
	c.want(1, remoting.HeartBeat, nil, []byte(`{"producerDataSet":[{"groupName":"P"}]}`))
}

// TestMembersAreTold: who joins, leaves, unregisters or changes its topics, all members hear of at once.
func TestMembersAreTold(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	one.want(0, remoting.HeartBeat, nil, heartbeatOf("one", "G", tagSub("T", "*", 1)))
	if a := one.awaitAsked(remoting.NotifyConsumerIDsChanged); a.ext["consumerGroup"] != "G" || !a.oneway {
		t.Errorf("ext fields %v", a.ext)
	}
	two.want(0, remoting.HeartBeat, nil, heartbeatOf("two", "G", tagSub("T", "*", 1)))
	one.awaitAsked(remoting.NotifyConsumerIDsChanged)
	two.awaitAsked(remoting.NotifyConsumerIDsChanged)
	two.want(0, remoting.HeartBeat, nil, heartbeatOf("two", "G", tagSub("T", "*", 1), tagSub("U", "*", 1)))
	one.awaitAsked(remoting.NotifyConsumerIDsChanged)
	two.close()
	one.awaitAsked(remoting.NotifyConsumerIDsChanged)
	if got := consumers(t, one, "G"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("consumers %v", got)
	}
	three := b.dial()
	three.want(0, remoting.HeartBeat, nil, heartbeatOf("three", "G", tagSub("T", "*", 1), tagSub("U", "*", 1)))
	one.awaitAsked(remoting.NotifyConsumerIDsChanged)
	three.want(0, remoting.UnregisterClient, fields{"clientID", "three", "consumerGroup", "G"}, nil)
	one.awaitAsked(remoting.NotifyConsumerIDsChanged)
	if got := consumers(t, one, "G"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("consumers %v", got)
	}
}

// TestNobodyIsToldOfBroadcasting, nor where the group or the broker says so.
func TestNobodyIsToldWhenNotWanted(t *testing.T) {
	for _, row := range []struct {
		name   string
		config func(*conf.Config)
		group  func(*body.SubscriptionGroupConfig)
		model  string
	}{
		{"broadcasting", nil, nil, "BROADCASTING"},
		{"broker", func(c *conf.Config) { c.Broker.NotifyConsumerIdsChangedEnable = false }, nil, "CLUSTERING"},
		{"group", nil, func(g *body.SubscriptionGroupConfig) { g.NotifyConsumerIDsChangedEnable = false }, "CLUSTERING"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) {
				if row.config != nil {
					row.config(c)
				}
			}))
			if row.group != nil {
				g := *body.NewSubscriptionGroupConfig("G")
				row.group(&g)
				if err := b.groups.update(g); err != nil {
					t.Fatal(err)
				}
			}
			c := b.dial()
			c.want(0, remoting.HeartBeat, nil, []byte(strings.Replace(javaHeartbeat, "CLUSTERING", row.model, 1)))
			other := b.dial() // its own group is told, by the same goroutine and later
			if row.name != "broker" {
				other.want(0, remoting.HeartBeat, nil, heartbeatOf("o", "H", tagSub("T", "*", 1)))
				other.awaitAsked(remoting.NotifyConsumerIDsChanged)
			}
			if n := c.askedCount(remoting.NotifyConsumerIDsChanged); n != 0 {
				t.Errorf("told %d times", n)
			}
		})
	}
}

// TestTwoConnectionsOfOneClientID: scenario R-44.
func TestTwoConnectionsOfOneClientID(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	for range 3 {
		one.want(0, remoting.HeartBeat, nil, heartbeatOf("same", "G", tagSub("T", "*", 1)))
		two.want(0, remoting.HeartBeat, nil, heartbeatOf("same", "G", tagSub("T", "*", 1)))
	}
	if got := consumers(t, one, "G"); !slices.Equal(got, []string{"same"}) {
		t.Errorf("consumers %v", got)
	}
	lines := b.logged.with("same client id", "group=G", "client=same", one.conn.LocalAddr().String(), two.conn.LocalAddr().String())
	if len(lines) != 1 {
		t.Errorf("logged %v", lines)
	}
	two.close()
	eventually(t, "one connection is left", func() bool { return len(b.consumers.members("G")) == 1 })
	if got := consumers(t, one, "G"); !slices.Equal(got, []string{"same"}) {
		t.Errorf("consumers %v", got)
	}
}

// TestConflictingSubscriptions: scenario R-33: one line with group, both ids and both subscriptions.
func TestConflictingSubscriptions(t *testing.T) {
	b := newTestBroker(t)
	one, two := b.dial(), b.dial()
	for range 3 {
		one.want(0, remoting.HeartBeat, nil, heartbeatOf("one", "G", tagSub("T1", "TagA", 1)))
		two.want(0, remoting.HeartBeat, nil, heartbeatOf("two", "G", tagSub("T2", "*", 1)))
	}
	if lines := b.logged.with("subscribe differently", "group=G", "one", "two", "T1 TagA", "T2 *"); len(lines) != 1 {
		t.Errorf("logged %v", lines)
	}
	if sub, _ := b.consumers.lookup("G", "T1"); sub != nil {
		t.Error("the reference takes the other member's topic away")
	}
}

// TestSilentClientsExpire: no heartbeat for channelExpiredTimeout closes the connection, and the others are told.
func TestSilentClientsExpire(t *testing.T) {
	b := newTestBroker(t)
	silent, alive := b.dial(), b.dial()
	silent.want(0, remoting.HeartBeat, nil, heartbeatOf("silent", "G", tagSub("T", "*", 1)))
	alive.want(0, remoting.HeartBeat, nil, heartbeatOf("alive", "G", tagSub("T", "*", 1)))
	for range 3 {
		b.manual.Advance(41 * time.Second)
		alive.want(0, remoting.HeartBeat, nil, heartbeatOf("alive", "G", tagSub("T", "*", 1)))
	}
	b.manual.Advance(10 * time.Second)
	<-silent.done
	if got := consumers(t, alive, "G"); !slices.Equal(got, []string{"alive"}) {
		t.Errorf("consumers %v", got)
	}
}

func TestCheckClientConfig(t *testing.T) {
	check := func(expressionType, expression string) []byte {
		return body.Encode(&body.CheckClientConfig{ClientID: "c", Group: "G", SubscriptionData: &body.SubscriptionData{Topic: "T", SubString: expression, ExpressionType: expressionType}})
	}
	b := newTestBroker(t)
	c := b.dial()
	c.want(0, remoting.CheckClientConfig, nil, check("SQL92", "a > 5"))
	c.want(0, remoting.CheckClientConfig, nil, check("TAG", "whatever"))
	c.want(0, remoting.CheckClientConfig, nil, nil)
	c.want(23, remoting.CheckClientConfig, nil, check("SQL92", "a >"))
	off := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.EnablePropertyFilter = false })).dial()
	if a := off.want(1, remoting.CheckClientConfig, nil, check("SQL92", "a > 5")); !strings.HasPrefix(a.remark, "The broker does not support consumer to filter message by SQL92") {
		t.Errorf("remark %q", a.remark)
	}
}

package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// TestManyTopicsAndGroups: 10,000 topics and hundreds of new groups, then a flood of route requests, registrations and heartbeats
// beside an honest client.
func TestManyTopicsAndGroups(t *testing.T) {
	const topics, groups = 10_000, 300
	c := peer.StartRocketd(t, t.TempDir())
	before, _ := residentKB(t, c.BrokerPID())
	w := dialWire(t, c.Broker)
	for from := 0; from < topics; from += 500 {
		var list []string
		for i := from; i < from+500; i++ {
			list = append(list, fmt.Sprintf(`{"topicName":"flood_%d","readQueueNums":4,"writeQueueNums":4,"perm":6,"topicFilterType":"SINGLE_TAG","topicSysFlag":0,"order":false,"attributes":{}}`, i))
		}
		if got := w.ask(remoting.JSON, remoting.UpdateAndCreateTopicList, []byte(`{"topicConfigList":[`+strings.Join(list, ",")+`]}`)); got.Code != 0 {
			t.Fatalf("topics from %d: %d %s", from, got.Code, got.Remark)
		}
	}
	begun := time.Now()
	var beats sync.WaitGroup
	for worker := range 4 {
		w := dialWire(t, c.Broker)
		beats.Go(func() {
			for i := worker; i < groups; i += 4 {
				body := fmt.Sprintf(`{"clientID":"c%d","consumerDataSet":[{"groupName":"group_%d","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[{"topic":"flood_%d","subString":"*","subVersion":1}]}]}`, worker, i, i)
				if got := w.ask(remoting.JSON, remoting.HeartBeat, []byte(body)); got.Code != 0 {
					t.Errorf("heartbeat %d: %d %s", i, got.Code, got.Remark)
					return
				}
			}
		})
	}
	beats.Wait()
	t.Logf("%d new groups took %v", groups, time.Since(begun).Round(time.Millisecond))
	honest := startBystander(c.Broker)
	begun = time.Now()
	var flood sync.WaitGroup
	for worker := range 8 {
		w := dialWire(t, c.Namesrv)
		flood.Go(func() {
			for i := range 2500 {
				got := w.ask(remoting.JSON, remoting.GetRouteinfoByTopic, nil, "topic", fmt.Sprintf("flood_%d", (worker*2500+i)%topics))
				if got.Code != 0 || len(got.Body) == 0 {
					t.Errorf("route %d: %d %s", i, got.Code, got.Remark)
					return
				}
			}
		})
	}
	flood.Wait()
	t.Logf("20,000 routes took %v", time.Since(begun).Round(time.Millisecond))
	honest.end(t, slowestRound)
	checkMemory(t, c.BrokerPID(), before, 200)
}

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// TestSwapWithApache lets Apache's broker and rocketd take turns on one directory, with stops and with kills: each finds what the
// other one left - messages, keys, offsets, topics, groups, undecided transactions - and delivers the delays and timers that are
// pending when they are due, once.
func TestSwapWithApache(t *testing.T) { //nolint:tparallel // not beside everything else
	peer.NeedJava(t)
	for _, run := range []struct {
		name   string
		stages []swapStage
	}{
		{"stops", []swapStage{{apache: true}, {}, {apache: true}}},
		{"kills", []swapStage{{apache: true, kill: true}, {kill: true}, {apache: true}}},
		{"rocketd first", []swapStage{{}, {apache: true}, {}}},
	} {
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			m := newSwapModel(t)
			r := &crashReader{m: m, t: t, copies: map[string][]int64{}}
			for i, stage := range run.stages {
				m.stage(t, r, i, stage, i == len(run.stages)-1)
				if t.Failed() {
					break
				}
			}
			m.storeCheck(t)
		})
	}
	t.Run("batch queues", swapBatchQueues)
}

// swapStage is one turn of a broker.
type swapStage struct {
	apache bool
	kill   bool // how it ends
}

func (s swapStage) String() string {
	name := "rocketd"
	if s.apache {
		name = "Apache"
	}
	if s.kill {
		return name + ", killed"
	}
	return name + ", stopped"
}

func newSwapModel(t *testing.T) *crashModel {
	t.Helper()
	m := &crashModel{
		crashTraits: crashTraits{
			levels: []int64{1000, 3000, 8000, 15_000}, timerSpan: 15_000, timerEarly: 1100,
			// What Apache does in these intervals is lost by a kill: delay offsets 10 s, consumer offsets 5 s, operations of transactions 3 s.
			slack: 12 * time.Second, offsetSlack: 7 * time.Second,
		},
		dir: t.TempDir(), sent: map[string]*sentMessage{}, asked: map[string]int{},
		settings: []string{"messageDelayLevel=1s 3s 8s 15s", "transactionTimeOut=3000", "transactionCheckInterval=2000"},
	}
	m.connect(t)
	return m
}

// stage is one turn: what is there is looked at, new load comes, the broker ends.
func (m *crashModel) stage(t *testing.T, r *crashReader, n int, stage swapStage, last bool) {
	t.Helper()
	begun := time.Now()
	ran := begun
	var c *peer.Cluster
	if stage.apache {
		c = peer.StartApache(t, m.dir, m.settings...)
	} else {
		c = peer.StartRocketd(t, m.dir, m.settings...)
	}
	m.addr = c.Broker
	took := time.Since(begun)
	if took > 2*time.Second && !stage.apache {
		t.Log(c.Log())
	}
	for i := range m.clients {
		w := crashWorker{m: m, client: m.clients[i]}
		w.heartbeat(t.Context())
	}
	if n == 0 {
		m.makeSwapTopic(t)
	} else {
		m.checkSwapTopic(t)
		m.checkOffsets(t)
	}
	until := int64(never)
	if !last {
		m.swapLoad(t, n)
		until = time.Now().UnixMilli()
	}
	begun = time.Now()
	for r.read(); len(r.missing(until)) > 0 && time.Since(begun) < 90*time.Second; r.read() {
		time.Sleep(200 * time.Millisecond)
	}
	t.Logf("%d: %v: started in %v; %d messages, what is due there after %v", n, stage, took.Round(time.Millisecond), len(r.copies), time.Since(begun).Round(time.Millisecond))
	if missing := r.missing(until); len(missing) > 0 {
		t.Errorf("%v: %d messages are missing, such as %s", stage, len(missing), missing[0])
	}
	r.checkKeys()
	if last {
		r.report(n + 1)
	}
	if stage.kill {
		m.kills++
		c.Kill(t)
	} else {
		m.terms++
		c.Stop(t)
	}
	m.ended()
	if stage.apache {
		m.twice = append(m.twice, [2]int64{ran.UnixMilli(), time.Now().UnixMilli()})
	}
}

// swapLoad sends all kinds of messages and commits offsets.
func (m *crashModel) swapLoad(t *testing.T, n int) {
	t.Helper()
	var load sync.WaitGroup
	for worker := range m.clients {
		load.Go(func() {
			w := crashWorker{m: m, client: m.clients[worker], random: rand.New(rand.NewPCG(uint64(n), uint64(worker)))}
			for i := range 60 {
				w.one(t.Context(), fmt.Sprintf("s%d.w%d.n%d", n, worker, i))
			}
		})
	}
	load.Wait()
	w := crashWorker{m: m, client: m.clients[0]}
	for q := range m.offsets {
		next := m.offsets[q].tried + 3
		m.offsets[q].tried = next
		if w.invoke(t.Context(), remoting.NewRequest(remoting.UpdateConsumerOffset, &remoting.UpdateConsumerOffsetRequestHeader{
			ConsumerGroup: "G", Topic: "crash", QueueID: int32(q), CommitOffset: next,
		})) == nil {
			t.Errorf("offset of queue %d cannot be committed", q)
			continue
		}
		m.offsets[q].acked = append(m.offsets[q].acked, ackedPoint{time.Now(), next})
	}
}

// makeSwapTopic makes a topic and groups that are not like the defaults.
func (m *crashModel) makeSwapTopic(t *testing.T) {
	t.Helper()
	w := crashWorker{m: m, client: m.clients[0]}
	topic := remoting.NewRequest(remoting.UpdateAndCreateTopic, nil)
	for _, f := range [][2]string{
		{"topic", "swapT"},
		{"defaultTopic", "TBW102"},
		{"readQueueNums", "3"},
		{"writeQueueNums", "2"},
		{"perm", "4"},
		{"topicFilterType", "SINGLE_TAG"},
		{"topicSysFlag", "0"},
		{"order", "true"},
		{"attributes", "+message.type=FIFO"},
	} {
		topic.AddExt(f[0], f[1])
	}
	if w.invoke(t.Context(), topic) == nil {
		t.Fatal("the topic cannot be made")
	}
	for _, name := range []string{"swapG", "G"} {
		group := remoting.NewRequest(remoting.UpdateAndCreateSubscriptiongroup, nil)
		group.Body = []byte(`{"groupName":"` + name + `","consumeEnable":true,"retryMaxTimes":7,"retryQueueNums":2,"consumeBroadcastEnable":false}`)
		if w.invoke(t.Context(), group) == nil {
			t.Fatalf("group %s cannot be made", name)
		}
	}
}

func (m *crashModel) checkSwapTopic(t *testing.T) {
	t.Helper()
	ask := func(code int32, key, value string, into any) {
		t.Helper()
		cmd := remoting.NewRequest(code, nil)
		cmd.AddExt(key, value)
		resp, err := m.clients[0].Invoke(t.Context(), m.addr, cmd)
		if err != nil || resp.Code != remoting.Success {
			t.Fatalf("%s: %v %+v", value, err, resp)
		}
		if err := json.Unmarshal(resp.Body, into); err != nil {
			t.Fatalf("%s: %v in %s", value, err, resp.Body)
		}
	}
	type topicConfig struct {
		ReadQueueNums, WriteQueueNums, Perm int
		Order                               bool
		Attributes                          map[string]string
	}
	var topic topicConfig
	ask(remoting.GetTopicConfig, "topic", "swapT", &topic)
	if got := fmt.Sprint(topic); !strings.HasPrefix(got, "{3 2 4 true map[") || topic.Attributes["message.type"] != "FIFO" {
		t.Errorf("topic: %s", got)
	}
	var group struct {
		RetryMaxTimes, RetryQueueNums         int
		ConsumeEnable, ConsumeBroadcastEnable bool
	}
	ask(remoting.GetSubscriptiongroupConfig, "group", "swapG", &group)
	if fmt.Sprint(group) != "{7 2 true false}" {
		t.Errorf("group: %+v", group)
	}
}

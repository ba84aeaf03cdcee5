package integration

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// TestRestartUnderLoad stops the only broker gracefully while Java and Go clients send in order and consume, and starts it again: they go on
// by themselves, nothing acknowledged is lost, order is kept. Apache goes through the same.
func TestRestartUnderLoad(t *testing.T) { //nolint:tparallel // its parts share one broker
	t.Parallel() // beside TestKilledOrderlyConsumer
	peer.NeedJava(t)
	rlog.SetLogLevel("fatal")
	var mu sync.Mutex
	seen := map[[2]string]map[string]peer.Scenario{} // by client and story, then by broker
	note := func(client, broker string, s peer.Scenario) {
		mu.Lock()
		defer mu.Unlock()
		of := [2]string{client, s.Name}
		if seen[of] == nil {
			seen[of] = map[string]peer.Scenario{}
		}
		seen[of][broker] = s
	}
	brokers, versions := []string{"apache", "rocketd"}, peer.ClientVersions
	if os.Getenv(tableVariable) == "" { // the comparison is a long one
		brokers, versions = []string{"rocketd"}, versions[len(versions)-1:]
	}
	for _, broker := range brokers {
		c := peer.Start(t, broker, t.TempDir())
		var wait sync.WaitGroup
		var asked, away atomic.Int32 // clients that have asked before the restart, and that have noticed it
		watch := peer.Watch{See: func(line string) {
			switch line {
			case "ASKED":
				asked.Add(1)
			case "AWAY":
				away.Add(1)
			}
		}}
		for _, version := range versions {
			wait.Go(func() {
				run := peer.ScenarioRun{Watch: watch, Version: version, Namesrv: c.Namesrv, Prefix: "r" + strings.ReplaceAll(version, ".", ""), Only: []string{"restart_load", "restart_query"}}
				results := peer.RunScenarios(t, run)
				for _, name := range run.Only {
					s := results[name]
					s.Name = name
					note("Java "+version, broker, s)
				}
			})
		}
		client := remoting.NewClient(remoting.ClientOptions{})
		var topics []string
		for _, version := range versions {
			topics = append(topics, "r"+strings.ReplaceAll(version, ".", "")+"_restart_load_t")
		}
		for _, topic := range topics { // the Go client would be through before Java has started on a slow machine
			await(t, 90*time.Second, "the first message in "+topic, func() bool { return stored(client, c.Broker, topic) > 0 })
		}
		story := &goRestart{namesrv: c.Namesrv}
		wait.Go(func() { note("Go 2.1.3", broker, story.run(t)) })
		topics = append(topics, "go_restart")
		for _, topic := range topics { // all are sending
			await(t, 90*time.Second, "messages in "+topic, func() bool { return stored(client, c.Broker, topic) > 40 })
		}
		await(t, 90*time.Second, "queries before the restart", func() bool { return int(asked.Load()) >= len(versions) })
		c.StopBroker(t)
		await(t, 90*time.Second, "queries that find nobody", func() bool { return int(away.Load()) >= len(versions) })
		time.Sleep(time.Second)
		if broker == "apache" {
			c.RestartApache(t)
		} else {
			c.RestartRocketd(t)
		}
		back := time.Now()
		for _, topic := range topics {
			before := stored(client, c.Broker, topic)
			await(t, 60*time.Second, "new messages in "+topic, func() bool { return stored(client, c.Broker, topic) > before })
			t.Logf("%s: messages in %s again %v after the broker was back", broker, topic, time.Since(back).Round(10*time.Millisecond))
		}
		client.Close()
		wait.Wait()
		c.Stop(t)
	}
	for of, by := range seen {
		client, story := of[0], of[1]
		addRow(client, by["apache"], by["rocketd"])
		t.Run(client+" "+story, func(t *testing.T) {
			if len(brokers) == 1 {
				by["apache"] = peer.Scenario{Name: story, OK: true}
			}
			compare(t, by["apache"], map[string]peer.Scenario{story: by["rocketd"]})
		})
	}
	writeTable(t)
}

// stored is the number of messages in queues 0 to 3 of a topic, 0 while the broker does not answer.
func stored(client *remoting.Client, broker, topic string) int64 {
	total := int64(0)
	for q := range 4 {
		cmd := remoting.NewRequest(remoting.GetMaxOffset, nil)
		cmd.Ext = append(cmd.Ext, remoting.ExtField{Key: "topic", Value: topic}, remoting.ExtField{Key: "queueId", Value: strconv.Itoa(q)})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		resp, err := client.Invoke(ctx, broker, cmd)
		cancel()
		if err != nil {
			return 0
		}
		n, err := strconv.ParseInt(field(resp, "offset"), 10, 64)
		if err == nil {
			total += n
		}
	}
	return total
}

// goRestart is restart_load with the Go client: sends that are repeated until they are acknowledged, and an orderly group.
type goRestart struct {
	namesrv string

	mu   sync.Mutex
	seen map[string][]int // guarded by mu
}

const goRestartKeys, goRestartEach = 4, 400

func (g *goRestart) run(t *testing.T) peer.Scenario {
	s := peer.Scenario{Name: "restart_load", OK: true, Facts: map[string]string{}}
	must := func(holds bool, format string, args ...any) {
		if !holds {
			s.OK = false
			s.Reason += fmt.Sprintf(format, args...) + "; "
		}
	}
	g.seen = map[string][]int{}
	e := &goEnv{namesrv: g.namesrv, name: "go_restart"}
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{g.namesrv}), producer.WithGroupName("P_go_restart"), producer.WithInstanceName(e.instance()),
		producer.WithRetry(0), producer.WithSendMsgTimeout(2*time.Second), producer.WithQueueSelector(producer.NewHashQueueSelector()))
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		must(false, "producer: %v", err)
		return s
	}
	defer func() { _ = p.Shutdown() }()
	send := func(key, number int) (failed int) {
		for {
			m := primitive.NewMessage("go_restart", fmt.Appendf(nil, "%d:%d", key, number)).WithShardingKey(strconv.Itoa(key))
			r, err := p.SendSync(context.Background(), m)
			if err == nil && r.Status == primitive.SendOK {
				return failed
			}
			failed++
			time.Sleep(50 * time.Millisecond)
		}
	}
	send(0, 0)
	c, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{g.namesrv}), consumer.WithGroupName("G_go_restart"), consumer.WithInstance(e.instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerOrder(true))
	if err == nil {
		err = c.Subscribe("go_restart", everything, g.consume)
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		must(false, "consumer: %v", err)
		return s
	}
	defer func() { _ = c.Shutdown() }()
	failed := 0
	for n := 1; n < goRestartEach; n++ {
		for key := range goRestartKeys {
			failed += send(key, n)
		}
		time.Sleep(40 * time.Millisecond)
	}
	must(failed > 0, "the broker was never away")
	deadline := time.Now().Add(90 * time.Second)
	for g.count() < goRestartKeys*(goRestartEach-1) && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, numbers := range g.seen {
		for i := 1; i < len(numbers); i++ {
			must(numbers[i] > numbers[i-1], "key %s: %d after %d", key, numbers[i], numbers[i-1])
		}
		s.Facts["key "+key] = strconv.Itoa(len(numbers))
		must(len(numbers) == goRestartEach-1, "key %s has %d", key, len(numbers))
	}
	must(len(g.seen) == goRestartKeys, "%d keys", len(g.seen))
	if !s.OK {
		t.Logf("Go: %s", s.Reason)
	}
	return s
}

func (g *goRestart) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, numbers := range g.seen {
		n += len(numbers)
	}
	return n
}

// consume notes each number the first time: the restart brings repeats.
func (g *goRestart) consume(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range ms {
		key, text, _ := strings.Cut(string(m.Body), ":")
		n, err := strconv.Atoi(text)
		if err != nil || n == 0 {
			continue
		}
		repeated := false
		for _, before := range g.seen[key] {
			repeated = repeated || before == n
		}
		if !repeated {
			g.seen[key] = append(g.seen[key], n)
		}
	}
	return consumer.ConsumeSuccess, nil
}

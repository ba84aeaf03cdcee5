package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// grpcStories are the stories of integration/java/grpc, with the kinds of topics each needs.
var grpcStories = map[string]string{
	"normal": "NORMAL", "push": "NORMAL", "simple": "NORMAL", "dead": "NORMAL", "filter_tag": "NORMAL", "filter_sql": "NORMAL", "big": "NORMAL",
	"wrong_type": "NORMAL", "no_topic": "", "share": "NORMAL", "fifo": "FIFO", "simple_fifo": "FIFO", "delay": "DELAY", "recall": "DELAY",
	"transaction": "TRANSACTION",
}

// TestProxy runs gRPC clients against Apache's proxy in cluster mode, once in front of Apache's broker and once in front of rocketd, and
// compares what the clients saw.
func TestProxy(t *testing.T) {
	peer.NeedJava(t)
	var apache, rocketd *proxied
	both := func(do func(), other func()) {
		var wait sync.WaitGroup
		wait.Go(do)
		wait.Go(other)
		wait.Wait()
	}
	both(func() {
		apache = behindProxy(t, peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...))
	}, func() {
		rocketd = behindProxy(t, peer.StartRocketd(t, t.TempDir(), settings...), "-Dexact=true")
	})
	var want, got map[string]peer.Scenario
	both(func() { want = apache.run(t, "grpc") }, func() { got = rocketd.run(t, "grpc") })
	var again []string // as in TestJavaScenarios
	for name := range grpcStories {
		if !want[name].OK || !got[name].OK || len(differences(want[name], got[name])) > 0 {
			again = append(again, name)
		}
	}
	if len(again) > 0 {
		t.Logf("second run of %v", again)
		var want2, got2 map[string]peer.Scenario
		both(func() { want2 = apache.run(t, "grpcb", again...) }, func() { got2 = rocketd.run(t, "grpcb", again...) })
		maps.Copy(want, want2)
		maps.Copy(got, got2)
	}
	for name := range grpcStories {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: no result from Apache", name)
		}
		addRow("Java gRPC 5.2.0 behind Apache's proxy 5.5.0", want[name], got[name])
		t.Run(name, func(t *testing.T) { compare(t, want[name], got) })
	}
	writeTable(t)
}

// proxied is a broker with a proxy before it, and the topics and groups of the stories.
type proxied struct {
	*peer.Cluster
	endpoint string
	jvm      []string
}

func behindProxy(t *testing.T, c *peer.Cluster, jvm ...string) *proxied {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	for story, kind := range grpcStories {
		for _, prefix := range []string{"grpc", "grpcb"} {
			if kind == "" {
				continue
			}
			makeTopic(t, client, c.Broker, prefix+"_"+story+"_"+kind, "+message.type="+kind)
			retries := 16
			if story == "dead" {
				retries = 1
			}
			makeGroup(t, client, c.Broker, fmt.Sprintf(`{"groupName":"G_%s_%s","consumeEnable":true,"consumeMessageOrderly":%t,"retryMaxTimes":%d,"retryQueueNums":1}`,
				prefix, story, kind == "FIFO", retries))
		}
	}
	return &proxied{c, peer.StartGRPCProxy(t, c), jvm}
}

func (p *proxied) run(t *testing.T, prefix string, only ...string) map[string]peer.Scenario {
	t.Helper()
	seen := peer.RunStories(t, p.endpoint, prefix, p.jvm, only...)
	if dead, ok := seen["dead"]; ok { // its message lies in the dead letters
		client := remoting.NewClient(remoting.ClientOptions{})
		defer client.Close()
		dead.Facts["dead letters"] = maxOffset(t, client, p.Broker, "%DLQ%G_"+prefix+"_dead")
	}
	return seen
}

// maxOffset is that of queue 0, or the answer's code.
func maxOffset(t *testing.T, client *remoting.Client, broker, topic string) string {
	t.Helper()
	cmd := remoting.NewRequest(remoting.GetMaxOffset, nil)
	cmd.Ext = append(cmd.Ext, remoting.ExtField{Key: "topic", Value: topic}, remoting.ExtField{Key: "queueId", Value: "0"})
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	resp, err := client.Invoke(ctx, broker, cmd)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range resp.Ext {
		if f.Key == "offset" {
			return f.Value
		}
	}
	return fmt.Sprintf("code %d", resp.Code)
}

func makeTopic(t *testing.T, client *remoting.Client, broker, topic, attributes string) {
	t.Helper()
	cmd := remoting.NewRequest(remoting.UpdateAndCreateTopic, nil)
	for _, kv := range []string{
		"topic=" + topic, "defaultTopic=TBW102", "readQueueNums=4", "writeQueueNums=4", "perm=6", "topicFilterType=SINGLE_TAG",
		"topicSysFlag=0", "order=false", "attributes=" + attributes,
	} {
		k, v, _ := strings.Cut(kv, "=")
		cmd.Ext = append(cmd.Ext, remoting.ExtField{Key: k, Value: v})
	}
	must(t, client, broker, cmd)
}

func makeGroup(t *testing.T, client *remoting.Client, broker, config string) {
	t.Helper()
	cmd := remoting.NewRequest(remoting.UpdateAndCreateSubscriptiongroup, nil)
	cmd.Body = []byte(config)
	must(t, client, broker, cmd)
}

func must(t *testing.T, client *remoting.Client, addr string, cmd *remoting.Command) *remoting.Command {
	t.Helper()
	code := cmd.Code
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	resp, err := client.Invoke(ctx, addr, cmd)
	if err != nil {
		t.Fatalf("request %d to %s: %v", code, addr, err)
	}
	if resp.Code != remoting.Success {
		t.Fatalf("request %d to %s: %d %s", code, addr, resp.Code, resp.Remark)
	}
	return resp
}

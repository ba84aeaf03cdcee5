package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// grpcStories are the stories of integration/java/grpc and integration/grpc, with the kind of topic each needs. The stories of Java alone are
// those about the proxy's own rules.
var grpcStories = map[string]string{
	"normal": "NORMAL", "push": "NORMAL", "simple": "NORMAL", "dead": "NORMAL", "filter_tag": "NORMAL", "filter_sql": "NORMAL", "big": "NORMAL",
	"wrong_type": "NORMAL", "no_topic": "", "share": "NORMAL", "fifo": "FIFO", "simple_fifo": "FIFO", "delay": "DELAY", "recall": "DELAY",
	"transaction": "TRANSACTION",
}

var javaStoriesOnly = []string{"filter_tag", "big", "wrong_type", "no_topic", "share", "simple_fifo"}

// TestProxy runs gRPC clients against Apache's proxy in cluster mode, once in front of Apache's broker and once in front of rocketd, and
// compares what the clients saw. A client that cannot be had is left out, and named.
func TestProxy(t *testing.T) {
	peer.NeedJava(t)
	var apache, rocketd *proxied
	var clients []*peer.StoryClient
	atOnce(func() {
		apache = behindProxy(t, peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...), false)
	}, func() {
		rocketd = behindProxy(t, peer.StartRocketd(t, t.TempDir(), settings...), true)
	}, func() {
		clients = storyClients(t)
	})
	seen := make([][2]map[string]peer.Scenario, len(clients))
	var wait sync.WaitGroup
	for i, client := range clients {
		wait.Go(func() {
			atOnce(func() { seen[i][0] = apache.run(t, client, client.Prefix) }, func() { seen[i][1] = rocketd.run(t, client, client.Prefix) })
		})
	}
	wait.Wait()
	for i, client := range clients {
		want, got := seen[i][0], seen[i][1]
		for _, suffix := range []string{"b", "c"} { // as in TestJavaScenarios
			again := disagreeing(want, got)
			if len(again) == 0 {
				break
			}
			t.Logf("%s: another run of %v", client.Name, again)
			var want2, got2 map[string]peer.Scenario
			atOnce(func() { want2 = apache.run(t, client, client.Prefix+suffix, again...) }, func() { got2 = rocketd.run(t, client, client.Prefix+suffix, again...) })
			maps.Copy(want, want2)
			maps.Copy(got, got2)
		}
		t.Run(client.Name, func(t *testing.T) {
			for name := range grpcStories {
				if i > 0 && slices.Contains(javaStoriesOnly, name) {
					continue
				}
				if _, ok := want[name]; !ok {
					t.Errorf("%s: no result from Apache", name)
				}
				addRow(client.Name+" behind Apache's proxy 5.5.0", want[name], got[name])
				t.Run(name, func(t *testing.T) { compare(t, want[name], got) })
			}
		})
	}
	writeTable(t)
}

// storyClients are the gRPC clients that can be had, Java's first.
func storyClients(t *testing.T) []*peer.StoryClient {
	t.Helper()
	var wait sync.WaitGroup
	for _, client := range peer.StoryClients {
		wait.Go(func() { _ = client.Prepare() }) // it says it again below
	}
	wait.Wait()
	var ready []*peer.StoryClient
	for _, client := range peer.StoryClients {
		if err := client.Prepare(); err == nil {
			ready = append(ready, client)
		} else if os.Getenv(tableVariable) != "" {
			t.Errorf("%s cannot be had, its rows would be missing: %v", client.Name, err)
		} else {
			t.Run(client.Name, func(t *testing.T) { t.Skipf("cannot be had: %v", err) })
		}
	}
	return ready
}

func atOnce(all ...func()) {
	var wait sync.WaitGroup
	for _, do := range all {
		wait.Go(do)
	}
	wait.Wait()
}

// proxied is a broker with a proxy before it, and the topics and groups of the stories.
type proxied struct {
	*peer.Cluster
	endpoint string
	exact    bool
}

func behindProxy(t *testing.T, c *peer.Cluster, exact bool) *proxied {
	t.Helper()
	return &proxied{c, peer.StartGRPCProxy(t, c), exact}
}

// run runs stories of a client, all it has when none is named, on topics and groups of their own.
func (p *proxied) run(t *testing.T, c *peer.StoryClient, prefix string, only ...string) map[string]peer.Scenario {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	for story, kind := range grpcStories {
		if kind == "" || len(only) > 0 && !slices.Contains(only, story) {
			continue
		}
		makeTopic(t, client, p.Broker, prefix+"_"+story+"_"+kind, "+message.type="+kind)
		retries := 16
		if story == "dead" {
			retries = 1
		}
		makeGroup(t, client, p.Broker, fmt.Sprintf(`{"groupName":"G_%s_%s","consumeEnable":true,"consumeMessageOrderly":%t,"retryMaxTimes":%d,"retryQueueNums":1}`,
			prefix, story, kind == "FIFO", retries))
	}
	begin := time.Now()
	defer func() { t.Logf("%s at %s: %v", c.Name, p.Name, time.Since(begin).Round(time.Second)) }()
	seen := c.Run(t, p.endpoint, prefix, p.exact, only...)
	if dead, ok := seen["dead"]; ok { // its message lies in the dead letters
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

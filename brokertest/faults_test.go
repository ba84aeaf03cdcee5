package brokertest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

func bodies(list []brokertest.Message) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = string(m.Body)
	}
	return out
}

func TestStaleRoutes(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithConfig("autoCreateTopicEnable", "false"))
	r := newRaw(t, b)
	r.addr = b.NamesrvAddr()
	route := func(topic string) *remoting.Command {
		return r.call(remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}))
	}
	truth := string(route("x").Body)
	stale, unborn := b.StaleRoute("x"), b.StaleRoute("y")
	must(t, b.CreateTopics("y:1"))
	must(t, b.Stop(within(t)))
	if got := route("x"); got.Code != remoting.Success || string(got.Body) != truth {
		t.Errorf("stale: %s %s, want %s", remoting.ResponseName(got.Code), got.Body, truth)
	}
	stale.Remove()
	if got := route("x"); got.Code != remoting.TopicNotExist {
		t.Errorf("true: %s %s", remoting.ResponseName(got.Code), got.Body)
	}
	must(t, b.Resume(within(t)))
	if got := route("x"); got.Code != remoting.Success || string(got.Body) != truth {
		t.Errorf("resumed: %s %s, want %s", remoting.ResponseName(got.Code), got.Body, truth)
	}
	if got := route("y"); got.Code != remoting.TopicNotExist {
		t.Errorf("not yet seen: %s", remoting.ResponseName(got.Code))
	}
	unborn.Remove()
	if got := route("y"); got.Code != remoting.Success {
		t.Errorf("seen: %s", remoting.ResponseName(got.Code))
	}
	b.NoRoute("x")
	if got := route("x"); got.Code != remoting.TopicNotExist {
		t.Errorf("no route: %s", remoting.ResponseName(got.Code))
	}
}

func TestPowerLossKeepsWhatWasFlushed(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"SYNC_FLUSH", "ASYNC_FLUSH"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithConfig("flushDiskType", mode), brokertest.WithFrozenClock())
			var sent []string
			for seed := range uint64(5) {
				for i := range 20 {
					body := fmt.Sprintf("%d/%d", seed, i)
					_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte(body)})
					must(t, err)
					sent = append(sent, body)
				}
				must(t, b.PowerLoss(seed))
				must(t, b.Resume(within(t)))
				list, err := b.Messages("x")
				must(t, err)
				got := bodies(list)
				if mode == "SYNC_FLUSH" && !slices.Equal(got, sent) {
					t.Fatalf("seed %d: %d of %d acknowledged messages are there", seed, len(got), len(sent))
				}
				sent = got // with ASYNC_FLUSH any number of the last ones may be gone
			}
		})
	}
}

func TestAStoreOnDiskSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithDir(dir))
	_, err := b.Send(t.Context(), brokertest.Message{Topic: "x", Body: []byte("m")})
	must(t, err)
	must(t, b.Kill())
	must(t, b.Resume(within(t)))
	list, err := b.Messages("x")
	must(t, err)
	if len(list) != 1 {
		t.Errorf("stored: %v", list)
	}
	if b.PowerLoss(1) == nil || b.Reset(within(t)) == nil {
		t.Error("PowerLoss and Reset need a store in memory")
	}
}

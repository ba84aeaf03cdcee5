package integration

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
)

// goFromWhere: a new group on a young topic gets all of it, wherever it wants to begin (observed.md; scenario R-31).
func goFromWhere(t *testing.T, e *goEnv) {
	p := e.producer(t)
	old := numbered("old", 20)
	e.send(t, p, old...)
	inboxes := map[string]*inbox{}
	for name, where := range map[string]consumer.ConsumeFromWhere{
		"first": consumer.ConsumeFromFirstOffset, "last": consumer.ConsumeFromLastOffset, "timestamp": consumer.ConsumeFromTimestamp,
	} {
		inboxes[name] = &inbox{}
		e.consume(t, inboxes[name], everything, consumer.WithGroupName(e.group()+name), consumer.WithConsumeFromWhere(where))
	}
	for name, i := range inboxes {
		await(t, 60*time.Second, "what was there, for "+name, func() bool { return len(i.bodies()) >= len(old) })
	}
	e.send(t, p, "new")
	for _, i := range inboxes {
		i.expect(t, append(slices.Clone(old), "new"), 60*time.Second)
	}
}

// TestLastMeansLast: with strictFirstOffset a new group that wants the end gets only what comes after it (scenario R-31).
func TestLastMeansLast(t *testing.T) {
	rlog.SetLogLevel("fatal")
	c := peer.StartRocketd(t, t.TempDir(), "strictFirstOffset=true")
	e := &goEnv{namesrv: c.Namesrv, name: "go_strict"}
	p := e.producer(t)
	e.send(t, p, numbered("old", 20)...)
	var i inbox
	e.consume(t, &i, everything, consumer.WithConsumeFromWhere(consumer.ConsumeFromLastOffset))
	n := 0
	await(t, 60*time.Second, "something new", func() bool { // it takes up its queues one after the other
		n++
		e.send(t, p, numbered("new", 4)...)
		return len(i.all()) > 0
	})
	for body := range i.bodies() {
		if strings.HasPrefix(body, "old") {
			t.Errorf("got %q", body)
		}
	}
}

// goWithJava exchanges bodies with the Java client: small ones, and such that both pack (scenario R-53).
func goWithJava(t *testing.T, e *goEnv) {
	peer.NeedJava(t)
	const story = "with_go_bodies"
	sizes := []int{1, 5000, 1 << 20}
	var wait sync.WaitGroup
	var seen peer.Scenario
	prefix := strings.TrimSuffix(e.name, "_with_java_bodies")
	wait.Go(func() {
		seen = peer.RunScenarios(t, peer.ScenarioRun{Version: "5.5.0", Namesrv: e.namesrv, Prefix: prefix, Only: []string{story}})[story]
	})
	defer wait.Wait()
	p := e.producer(t)
	for _, size := range sizes {
		m := primitive.NewMessage(prefix+"_"+story+"_to_java", bytes.Repeat([]byte("g"), size))
		if _, err := p.SendSync(context.Background(), m); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	wait.Wait() // the Go client starts no consumer of a topic that is not there
	other := &goEnv{namesrv: e.namesrv, name: e.name, at: prefix + "_" + story + "_to_go"}
	var i inbox
	other.consume(t, &i, everything)
	if !seen.OK || seen.Facts["sizes"] != "[1, 5000, 1048576]" || seen.Facts["packed 1048576"] != "true" {
		t.Errorf("Java saw %+v", seen)
	}
	await(t, 60*time.Second, "what Java sent", func() bool { return len(i.all()) >= len(sizes) })
	for _, m := range i.all() {
		if size := len(m.Body); !slices.Contains(sizes, size) || !bytes.Equal(m.Body, bytes.Repeat([]byte("j"), size)) {
			t.Errorf("a body of %d bytes differs", size)
		}
	}
}

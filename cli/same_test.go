package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// notAsked are members of the console's answers that no request of the remoting protocol tells.
var notAsked = map[string]bool{ //nolint:gochecknoglobals // a table
	"lockedBy":    true, // who holds the lock of a queue
	"heartbeatMs": true, // of consumers
	"next":        true, // page of timers
	"delays":      true, // in slots: messages with a delay level are in no timer's system topic
}

// moving are members that grow with the time between the two questions; 0 stays 0.
var moving = map[string]bool{"lagMs": true, "nowMs": true} //nolint:gochecknoglobals // a table

// missing compares an answer of the console's API with what the command line, asked afterwards, prints as JSON, and names every part of the
// former that the latter has not, or has otherwise. tookMs is how long the two questions took together.
func missing(path string, api, line any, tookMs float64) (list []string) {
	switch want := api.(type) {
	case map[string]any:
		got, ok := line.(map[string]any)
		if !ok {
			return []string{path}
		}
		for name, value := range want {
			there, ok := got[name]
			switch {
			case moving[name] && ok && there.(float64) >= value.(float64) && there.(float64)-value.(float64) <= tookMs && (there == 0.0) == (value == 0.0):
			case name == "enqueuedMs" && ok && there.(float64) <= value.(float64): // the command line knows when it was stored, just before
			case ok:
				if notAsked[name] && !reflect.DeepEqual(value, there) {
					continue
				}
				list = append(list, missing(path+"."+name, value, there, tookMs)...)
			case !notAsked[name]:
				list = append(list, fmt.Sprintf("%s.%s is %v, and the command line does not have it", path, name, value))
			}
		}
	case []any:
		got, ok := line.([]any)
		if !ok || len(got) != len(want) {
			return []string{fmt.Sprintf("%s: %v, the command line has %v", path, api, line)}
		}
		for i := range want {
			list = append(list, missing(fmt.Sprintf("%s[%d]", path, i), want[i], got[i], tookMs)...)
		}
	default:
		if !reflect.DeepEqual(api, line) {
			list = append(list, fmt.Sprintf("%s: %v, the command line has %v", path, api, line))
		}
	}
	return list
}

func parsed(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// What the console's API answers of a running broker, the command line prints as JSON with the same values.
func TestJSONCarriesTheSame(t *testing.T) {
	s := standalonetest.Start(t, standalone.Options{Console: true}, "topics=orders:2;payments:1", "groups=billing:3")
	ask := func(path string) any {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.HTTPAddr()+"/api/v1/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Timeout: 30 * time.Second}
		defer client.CloseIdleConnections()
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, text)
		}
		return parsed(t, text)
	}
	line := func(args ...string) any {
		var out, log bytes.Buffer
		args = append(args, "--json", "--timeout", "30s")
		if code := Run(Process{Args: args, Env: []string{"NAMESRV_ADDR=" + s.NamesrvAddr()}, Stdout: &out, Stderr: &log, Version: "test"}); code != ExitOK {
			t.Fatalf("%v: exit %d, %s", args, code, log.String())
		}
		return parsed(t, out.Bytes())
	}
	id := furnish(t, s)
	for _, c := range []struct {
		path string
		args []string
	}{
		{"topics", []string{"topic", "list", "--kind", "all"}},
		{"topics?kind=normal&q=ord", []string{"topic", "list", "ord"}},
		{"topics/orders", []string{"topic", "show", "orders"}},
		{"groups", []string{"group", "list", "--system"}},
		{"groups/billing", []string{"group", "show", "billing"}},
		{"clients", []string{"client", "list"}},
		{"brokers", []string{"cluster", "brokers"}},
		{"messages?topic=orders&count=3", []string{"message", "list", "orders", "--count", "3"}},
		{"messages?topic=orders&queue=1&offset=1", []string{"message", "list", "orders", "--queue", "1", "--offset", "1"}},
		{"messages?topic=orders&from=1", []string{"message", "list", "orders", "--since", "1000000000"}},
		{"messages?topic=orders&key=key-3", []string{"message", "find", "orders", "--key", "key-3"}},
		{"timers/pending", []string{"timer", "ls"}},
		{"timers/pending", []string{"timer", "ls", "--http", s.HTTPAddr()}},
	} {
		began := time.Now()
		api, printed := ask(c.path), line(c.args...)
		for _, what := range missing(c.path, api, printed, float64(time.Since(began).Milliseconds()+1)) {
			t.Errorf("rocketd %v: %s", c.args, what)
		}
	}
	found := ask("messages?id=" + id).(map[string]any)["messages"].([]any)
	for _, what := range missing("message", found[0], line("message", "get", id), 0) {
		t.Errorf("rocketd message get: %s", what)
	}
	timers, stats := ask("timers?bucket=hour").(map[string]any), line("timer", "stats").(map[string]any)
	if api, line := timers["nextDueMs"].(float64), stats["nextDueMs"].(float64); line < api || line >= api+1000 { // the wheel knows seconds
		t.Errorf("rocketd timer stats: next due %v, the console has %v", line, api)
	}
	for _, name := range []string{"behind", "bucketMs", "slots", "topics"} {
		for _, what := range missing("timers."+name, timers[name], stats[name], 0) {
			t.Errorf("rocketd timer stats: %s", what)
		}
	}
}

// furnish puts in what there is to see: messages, a group that is online and behind, a dead letter's topic, timers. It returns the id of a message.
func furnish(t *testing.T, s *standalone.Standalone) (id string) {
	t.Helper()
	a := admin.New(admin.Options{Namesrv: []string{s.NamesrvAddr()}, Timeout: 30 * time.Second})
	t.Cleanup(a.Close)
	send := func(r admin.SendRequest) string {
		sender, err := a.Sender(t.Context(), r.Topic)
		if err != nil {
			t.Fatal(err)
		}
		placed, err := sender.Send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return placed.ID
	}
	for i := range 6 {
		id = send(admin.SendRequest{Topic: "orders", Tags: "tea", Keys: []string{fmt.Sprint("key-", i)}, Body: fmt.Appendf(nil, `{"order":%d}`, i), Queue: int32(i % 2)})
	}
	for i := range 3 {
		send(admin.SendRequest{Topic: "payments", Body: []byte("later"), Queue: 0, AtMs: a.NowMs() + int64(i+1)*3_600_000})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	taken := make(chan struct{}, 100)
	go func() {
		ended <- a.Consume(ctx, admin.ConsumeOptions{Topic: "orders", Group: "billing", Follow: true, Start: admin.Start{First: true}}, func(*admin.Message) error {
			taken <- struct{}{}
			if len(taken) > 6 {
				<-ctx.Done() // the group stays behind
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	awaitThat(t, "the first messages are consumed", func() bool {
		g, err := a.Group(t.Context(), "billing")
		return err == nil && len(g.Queues) >= 2 && g.Lag == 0
	})
	for i := range 4 {
		send(admin.SendRequest{Topic: "orders", Body: []byte("waits"), Queue: int32(i % 2)})
	}
	before, still := "", 0
	awaitThat(t, "timers are in the wheel, the consumer is stuck and messages are found by key", func() bool {
		states, err := a.TimerStates(t.Context())
		if err != nil || states[0].Pending != 3 || states[0].Behind != 0 || len(taken) < 7 {
			return false
		}
		list, err := a.MessagesByKey(t.Context(), "orders", "key-3", 10, 0, 1<<62)
		g, gerr := a.Group(t.Context(), "billing")
		if err != nil || gerr != nil || len(list) != 1 || g.Lag == 0 || g.LagMs == 0 {
			return false
		}
		now := "" // nothing moves any more
		for _, q := range g.Queues {
			now += fmt.Sprintln(q.Topic, q.QueueID, q.Committed, q.Pulled, q.Max)
		}
		if still++; now != before {
			before, still = now, 0
		}
		return still >= 10
	})
	return id
}

func awaitThat(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// peer starts name server and broker in this process and returns a function that runs command lines against them.
func peer(t *testing.T, sets ...string) func(stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	s := standalonetest.Start(t, standalone.Options{}, sets...)
	return func(stdin string, args ...string) (int, string, string) {
		var out, log bytes.Buffer
		if slices.Contains([]string{"topic", "group", "offset", "message", "client", "cluster", "send", "consume", "tail", "broker", "doctor"}, args[0]) ||
			args[0] == "config" && slices.Contains(args, "get") {
			args = append(slices.Clone(args), "--timeout", "30s") // of a busy machine
		}
		p := Process{Args: args, Env: []string{"NAMESRV_ADDR=" + s.NamesrvAddr()}, Stdout: &out, Stderr: &log, Version: "test"}
		if stdin != "" {
			p.Stdin = strings.NewReader(stdin)
		}
		code := Run(p)
		return code, out.String(), log.String()
	}
}

// step is a command line and what it prints.
type step struct {
	args  string // split at blanks; ~ stands for one
	stdin string
	code  int
	want  []string // in stdout, or in stderr when code is not 0
	not   []string
}

func walk(t *testing.T, run func(string, ...string) (int, string, string), steps []step) {
	t.Helper()
	for _, s := range steps {
		args := strings.Fields(s.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		code, out, log := run(s.stdin, args...)
		if code != s.code {
			t.Fatalf("rocketd %s: exit %d, want %d\n%s%s", s.args, code, s.code, out, log)
		}
		text := out
		if code != ExitOK {
			text = log
		}
		flat := strings.Join(strings.Fields(text), " ")
		for _, want := range s.want {
			if !strings.Contains(flat, want) {
				t.Errorf("rocketd %s: %q is not in\n%s", s.args, want, text)
			}
		}
		for _, not := range s.not {
			if strings.Contains(flat, not) {
				t.Errorf("rocketd %s: %q is in\n%s", s.args, not, text)
			}
		}
	}
}

func TestTopicCommands(t *testing.T) {
	walk(t, peer(t), []step{
		{args: "topic list", want: []string{"TOPIC KIND TYPE QUEUES PERM MESSAGES BROKERS"}, not: []string{"TBW102"}},
		{args: "topic list --kind system", want: []string{"TBW102 system"}},
		{args: "topic list --kind odd", code: ExitUsage, want: []string{`"odd" is none of`}},
		{args: "topic create orders --queues 4 --type fifo", want: []string{"topic orders created"}},
		{args: "topic create orders", code: ExitUsage, want: []string{"exists already", "rocketd topic update"}},
		{args: "topic create a/b", code: ExitUsage, want: []string{"a/b"}},
		{args: "topic list", want: []string{"orders normal FIFO 4 rw 0 broker-a"}},
		{args: "topic list ORD", want: []string{"orders"}},
		{args: "topic list pay", not: []string{"orders"}},
		{args: "topic update orders --queues 6 --perm r", want: []string{"changed"}},
		{args: "topic show orders", want: []string{"queues 6", "permission r", "type FIFO", "broker-a 5 0 0 0 - -"}},
		{args: "topic update orders --perm x", code: ExitUsage, want: []string{"none of r, w, rw"}},
		{args: "topic update nope --perm r", code: ExitNotFound, want: []string{"there is no topic nope", "rocketd topic create"}},
		{args: "topic route orders", want: []string{"broker-a DefaultCluster 6 6 r 127.0.0.1:"}},
		{args: "topic delete orders", code: ExitUsage, want: []string{"0 messages", "--yes"}},
		{args: "topic delete orders --yes", want: []string{"deleted"}},
		{args: "topic show orders", code: ExitNotFound, want: []string{"there is no topic orders"}},
		{args: "topic route orders", code: ExitNotFound},
		{args: "topic delete orders --yes", code: ExitNotFound},
	})
}

func TestSendAndRead(t *testing.T) {
	run := peer(t)
	walk(t, run, []step{
		{args: "send orders hello~world --tag a --key k1 --property color=red --queue 1", want: []string{"sent 7F000001", "broker-a/1, 0"}},
		{args: "send orders --lines --tag b --queue 0", stdin: "one\ntwo\n\nthree\n", want: []string{"sent 3 messages"}},
		{args: "send orders --file -", stdin: "from\nstdin", want: []string{"broker-a/"}},
		{args: "send orders", code: ExitUsage, want: []string{"there is no body"}},
		{args: "send orders x --file y", code: ExitUsage, want: []string{"either an argument"}},
		{args: "send orders x --delay 1s --delay-level 3", code: ExitUsage, want: []string{"only one can be given"}},
		{args: "send orders x --at 2001-01-01", code: ExitUsage, want: []string{"in the past"}},
		{args: "send orders x --queue 99", code: ExitNotFound, want: []string{"there is no queue 99"}},
		{args: "send orders later --delay 1h", want: []string{"recall handle"}},
		{args: "message list orders --count 3", want: []string{"STORED QUEUE OFFSET", "from stdin", "three"}, not: []string{"hello"}},
		{args: "message list orders --queue 0 --offset 1", want: []string{"two", "three"}, not: []string{"one", "hello"}},
		{args: "message list orders --offset 1", code: ExitUsage, want: []string{"--queue names it"}},
		{args: "message list orders --since 1h --until 30m", not: []string{"one"}},
		{args: "message list orders --since 1h", want: []string{"hello world", "one"}},
		{args: "message list orders --since yesterday", code: ExitUsage, want: []string{`"yesterday" is no time`}},
		{args: "message find orders --key k1", want: []string{"hello world", "k1"}, not: []string{"one"}},
		{args: "message find orders --key nope", code: ExitNotFound, want: []string{"with the key nope"}},
		{args: "message find orders", code: ExitUsage},
		{args: "message get nope", code: ExitNotFound, want: []string{"there is no message nope"}},
		{args: "consume orders --count 1 --tags a", want: []string{"broker-a/1 0 a k1 hello world"}, not: []string{"one"}},
		{args: "consume orders --body --sql color~=~'red'", want: []string{"hello world"}, not: []string{"one"}},
		{args: "consume orders --sql 1", code: ExitFailure, want: []string{"SUBSCRIPTION_PARSE_FAILED"}},
		{args: "consume orders --sql a --tags b", code: ExitUsage},
		{args: "tail orders --lines 2 --count 2", want: []string{"three", "from stdin"}, not: []string{"hello"}},
		{args: "consume nope", code: ExitNotFound, want: []string{"there is no topic nope"}},
	})
	// Ids of both kinds lead to the message, and --raw gives its very bytes.
	_, out, _ := run("", "message", "find", "orders", "--key", "k1", "--json")
	var found struct{ Messages []admin.Message }
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Messages) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	m := found.Messages[0]
	for _, args := range [][]string{{m.ID}, {m.UniqueKey}, {m.UniqueKey, "--topic", "orders"}} {
		code, out, log := run("", append([]string{"message", "get", "--raw"}, args...)...)
		if code != ExitOK || out != "hello world" {
			t.Errorf("message get %v: exit %d, %q, %q", args, code, out, log)
		}
	}
	walk(t, run, []step{{args: "message get " + m.ID, want: []string{"topic orders", "tags a", "keys k1", "color red", "body, 11 bytes, text hello world"}}})
}

func TestGroupsAndOffsets(t *testing.T) {
	walk(t, peer(t, "topics=orders:2"), []step{
		{args: "group create billing --retries 3", want: []string{"group billing created"}},
		{args: "group create billing", code: ExitUsage, want: []string{"exists already"}},
		{args: "group update nope --retries 1", code: ExitNotFound, want: []string{"there is no group nope"}},
		{args: "send orders --lines --queue 0", stdin: "1\n2\n3\n4\n"},
		{args: "send orders --lines --queue 1", stdin: "5\n6\n"},
		{args: "consume orders --group billing --count 1 --body"},
		{args: "consume orders --group billing --body", want: []string{"6"}},
		{args: "group show billing", want: []string{"retries 3", "lag 0", "orders broker-a 0 0 4 4 0 0 -"}},
		{args: "group list", want: []string{"billing 0 - 0 - 0"}},
		{args: "offset show billing orders", want: []string{"orders broker-a 1 0 2 2 0 -"}},
		{args: "offset show billing nope", code: ExitNotFound},
		{args: "offset reset billing orders", code: ExitUsage, want: []string{"--to is missing"}},
		{args: "offset reset billing orders --to first", want: []string{"orders broker-a 0 0", "orders broker-a 1 0"}},
		{args: "group list", want: []string{"billing 0 - 6"}},
		{args: "offset skip billing orders", want: []string{"orders broker-a 0 4", "orders broker-a 1 2"}},
		{args: "offset reset billing orders --to 1h", want: []string{"orders broker-a 0 0"}},
		{args: "offset set billing orders --queue 0 --offset 2", want: []string{"orders broker-a 0 2"}},
		{args: "offset set billing orders --queue 0 --offset 9", code: ExitUsage, want: []string{"from 0 to 4"}},
		{args: "offset set billing orders --queue 7 --offset 0", code: ExitNotFound},
		{args: "offset clone billing copies orders", want: []string{"orders broker-a 0 - 4 2 2"}},
		{args: "offset clone nope copies orders", code: ExitNotFound},
		{args: "consume orders --group copies --body", want: []string{"3"}, not: []string{"2"}},
		{args: "group members billing", want: []string{"MEMBER"}},
		{args: "group delete billing", code: ExitUsage, want: []string{"--yes"}},
		{args: "group delete billing --yes", want: []string{"deleted"}},
		{args: "group show billing", code: ExitNotFound},
		{args: "message resend copies", code: ExitUsage, want: []string{"either --all or --offset"}},
		{args: "message resend copies --all", code: ExitNotFound, want: []string{"there is no dead letter of group copies"}},
	})
}

func TestClusterAndConfig(t *testing.T) {
	run := peer(t)
	walk(t, run, []step{
		{args: "cluster list", want: []string{"DefaultCluster broker-a 127.0.0.1:", "V5_5_0"}},
		{args: "cluster brokers", want: []string{"DefaultCluster broker-a 127.0.0.1:"}},
		{args: "config get fileReservedTime", want: []string{"broker-a fileReservedTime 72"}},
		{args: "config get nope", code: ExitNotFound, want: []string{"there is no key nope on broker-a"}},
		{args: "config set fileReservedTime=48", want: []string{"set fileReservedTime=48"}},
		{args: "config get fileReservedTime", want: []string{"broker-a fileReservedTime 48"}},
		{args: "config set fileReservedTime=two", code: ExitFailure, want: []string{`"two" is not a whole number`}},
		{args: "config set nope=1", code: ExitNotFound},
		{args: "config set nope", code: ExitUsage, want: []string{"not NAME=VALUE"}},
		{args: "config get --name-server orderMessageEnable", want: []string{"orderMessageEnable false"}},
		{args: "broker stats", want: []string{"broker-a"}},
		{args: "broker stats --all", want: []string{"broker-a brokerVersionDesc V5_5_0"}},
		{args: "broker stats orders", want: []string{"COUNTER"}},
		{args: "broker stats --group g", code: ExitUsage},
		{args: "client list", want: []string{"CLIENT ROLE GROUP"}},
		{args: "client show nope", code: ExitNotFound},
		{args: "cluster list --broker nope", code: ExitNotFound, want: []string{"there is no broker nope", "rocketd cluster brokers"}},
		{args: "topic list --namesrv 127.0.0.1:1", code: ExitUnreachable, want: []string{"no answer from the name server 127.0.0.1:1", "--namesrv"}},
		{args: "__complete topic show TB", want: []string{"TBW102", ":4"}},
		{args: "completion bash", want: []string{"bash completion"}},
		{args: "completion zsh", want: []string{"#compdef rocketd"}},
		{args: "completion fish", want: []string{"complete -c rocketd"}},
	})
	// Without a name server: the broker's own address is enough.
	_, out, _ := run("", "topic", "route", "TBW102", "--json")
	var route struct {
		Queues []struct {
			Addrs map[string]string `json:"addrs"`
		} `json:"queues"`
	}
	if err := json.Unmarshal([]byte(out), &route); err != nil || len(route.Queues) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	direct := " --broker " + route.Queues[0].Addrs["0"] + " --namesrv 127.0.0.1:1"
	walk(t, run, []step{
		{args: "send direct hello" + direct},
		{args: "consume direct --body" + direct, want: []string{"hello"}},
		{args: "topic list" + direct, want: []string{"direct"}},
	})
}

// A broker of 4.x says that it does not know a code; the error tells which and what it means.
func TestOldBroker(t *testing.T) {
	old, err := remoting.NewServer(remoting.ServerOptions{Name: "broker", Addrs: []string{"127.0.0.1:0"}, Log: quiet(), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = old.Close(context.Background()) })
	code, _, log := run(t, nil, "offset", "clone", "a", "b", "c", "--broker", old.Addr().String())
	if code != ExitFailure || !strings.Contains(log, "does not know GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): this needs a newer version") {
		t.Errorf("exit %d, %s", code, log)
	}
}

// What the command line prints as JSON has the members that the console's API documents.
func TestJSONIsTheAPIs(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]yaml.Node `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for schema, v := range map[string]any{
		"Topic": admin.Topic{}, "TopicsAnswer": topicsAnswer{}, "TopicAnswer": admin.TopicDetail{}, "Queue": admin.Queue{}, "GroupLag": view.GroupLag{},
		"Group": view.Group{}, "GroupsAnswer": view.GroupsAnswer{}, "GroupAnswer": admin.GroupDetail{}, "Progress": admin.QueueProgress{}, "Client": view.Client{},
		"ClientLine": view.ClientLine{}, "ClientsAnswer": view.ClientsAnswer{}, "Message": admin.Message{}, "SendAnswer": admin.SendAnswer{}, "Resent": view.Resent{},
		"ResendAnswer": view.ResendAnswer{}, "Registered": view.Registered{}, "BrokersAnswer": view.BrokersAnswer{},
	} {
		if len(doc.Components.Schemas[schema].Properties) == 0 {
			t.Errorf("%s is not in openapi.yaml", schema)
		}
		have := map[string]bool{}
		members(reflect.TypeOf(v), have)
		for name := range doc.Components.Schemas[schema].Properties {
			if name != "lockedBy" && !have[name] { // who holds a queue's lock cannot be asked
				t.Errorf("%s: the command line has no %q", schema, name)
			}
		}
	}
}

func members(v reflect.Type, into map[string]bool) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Anonymous {
			members(f.Type, into)
		} else {
			into[f.Tag.Get("json")] = true
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"10m":                  now.Add(-10 * time.Minute),
		"2d":                   now.Add(-48 * time.Hour),
		"2026-11-29":           time.Date(2026, 11, 29, 0, 0, 0, 0, time.Local),
		"2026-11-29 12:30":     time.Date(2026, 11, 29, 12, 30, 0, 0, time.Local),
		"12:30":                time.Date(2026, 11, 30, 12, 30, 0, 0, time.Local),
		"2026-11-29T12:00:00Z": time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		"1764504000000":        time.UnixMilli(1764504000000),
		"1764504000":           time.Unix(1764504000, 0),
	} {
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "2026-13-01", "17645040000", "d"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	bar := newBar(&out, "topics", func() time.Time { now = now.Add(200 * time.Millisecond); return now })
	for i := range 5 {
		bar(i+1, 5)
	}
	if text := out.String(); !strings.Contains(text, "topics [#########...............] 2/5") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("%q", text)
	}
}

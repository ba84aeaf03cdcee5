package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
)

// daily are tasks of a day with the command line: what it prints and its exit code are compared.
var daily = []struct {
	task, args, stdin string
	code              int
}{
	{"create a topic", "topic create orders --queues 4 --json", "", 0},
	{"it is there already", "topic create orders", "", 2},
	{"send a message", "send orders hello --tag a --key k1 --property color=red --queue 1 --json", "", 0},
	{"send many", "send orders --lines --queue 2 --tag b --json", "1\n2\n3\n4\n5\n", 0},
	{"send a timed message", "send orders soon --delay 1s --queue 3 --json", "", 0},
	{"what topics are there", "topic list --json", "", 0},
	{"where is it", "topic route orders --json", "", 0},
	{"find a message by key", "message find orders --key k1 --json", "", 0},
	{"from an offset on", "message list orders --queue 2 --offset 2 --count 2 --json", "", 0},
	{"what was stored lately", "message list orders --queue 2 --since 10m --json", "", 0},
	{"make a group", "group create billing --retries 3 --json", "", 0},
	{"consume as a member", "consume orders --group billing --count 7 --json", "", 0},
	{"how far is the group", "offset show billing orders --json", "", 0},
	{"the group", "group show billing --json", "", 0},
	{"all groups", "group list billing --json", "", 0},
	{"again from the first message", "offset reset billing orders --to first --json", "", 0},
	{"what waits now", "offset show billing orders --json", "", 0},
	{"one queue", "offset set billing orders --queue 2 --offset 3 --json", "", 0},
	{"consume what is left", "consume orders --group billing --tags b --json", "", 0},
	{"skip what waits", "offset skip billing orders --json", "", 0},
	{"another group from there on", "offset clone billing copies orders --json", "", 0},
	{"a topic of dead letters", "topic create %DLQ%billing --queues 1 --json", "", 0},
	{"a dead letter", "send %DLQ%billing dead --key d1 --json", "", 0},
	{"back to the group", "message resend billing --all --json", "", 0},
	{"the group gets it", "consume orders --group billing --json", "", 0},
	{"the topic", "topic show orders --json", "", 0},
	{"read a setting", "config get fileReservedTime brokerName --json", "", 0},
	{"change a setting", "config set fileReservedTime=50 --json", "", 0},
	{"it has changed", "config get fileReservedTime --json", "", 0},
	{"a setting that is none", "config set fileReservedTim=50", "", 7},
	{"fewer queues to write", "topic update orders --write-queues 2 --json", "", 0},
	{"the route follows", "topic route orders --json", "", 0},
	{"the brokers", "cluster brokers --json", "", 0},
	{"remove the group", "group delete billing --yes --json", "", 0},
	{"it is gone", "group show billing", "", 7},
	{"one for later", "send later soon --delay 1h --queue 1 --json", "", 0},
	{"remove the topic", "topic delete orders --yes --json", "", 0},
	{"it is gone too", "topic show orders", "", 7},
	{"nothing to consume", "consume orders", "", 7},
	{"what is timed", "timer ls --topic later --json", "", 0},
}

// volatile are members whose values differ from run to run or from broker to broker.
var volatile = []string{
	"id", "uniqueKey", "UNIQ_KEY", "ID", "physicalOffset", "bornMs", "storeMs", "bornHost", "storeHost", "newestMs", "oldestMs", "lagMs", "addrs", "recallHandle", "address",
	"TIMER_ENQUEUE_MS", "TIMER_DELIVER_MS", "TIMER_DEQUEUE_MS", "TIMER_OUT_MS", "TIMER_ROLL_LABEL", "TIMER_ROLL_TIMES", "nowMs", "dueMs", "leavesMs", "enqueuedMs", "MSG_REGION", "topics", "size",
}

// normal replaces volatile values, and sorts the lines of streams.
func normal(t *testing.T, out string) string {
	t.Helper()
	var lines []string
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			return out
		}
		text, err := json.Marshal(blank(v))
		if err != nil {
			t.Fatal(err)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, text, "", " "); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, pretty.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func blank(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if list, ok := value.([]any); slices.Contains(volatile, key) && (!ok || key == "topics" && len(list) == 0) {
				if _, number := value.(float64); !number || key != "id" { // of a queue
					v[key] = "*"
				}
				continue
			}
			v[key] = blank(value)
		}
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	}
	return v
}

// TestDailyTasks does the tasks of a day with the command line at Apache's broker and at rocketd: what it prints is the same.
func TestDailyTasks(t *testing.T) {
	clusters := []*peer.Cluster{
		peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...),
		peer.StartRocketd(t, t.TempDir(), settings...),
	}
	started := time.Now()
	for _, task := range daily {
		var outs []string
		for _, c := range clusters {
			cmd := exec.Command(peer.Rocketd(t), append(strings.Fields(task.args), "--timeout", "30s")...)
			cmd.Env = append(os.Environ(), "NAMESRV_ADDR="+c.Namesrv)
			cmd.Stdin = strings.NewReader(task.stdin)
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != task.code {
				t.Errorf("%s: rocketd %s at %s: exit %d, want %d: %v\n%s%s", task.task, task.args, c.Name, code, task.code, err, out.String(), log.String())
			}
			outs = append(outs, normal(t, out.String()))
			if strings.HasPrefix(task.args, "send orders soon") {
				awaitTimed(t, c)
			}
		}
		t.Logf("%s: %d bytes compared", task.task, len(outs[0]))
		if outs[0] != outs[1] {
			t.Errorf("%s: rocketd %s\nApache:\n%s\nrocketd:\n%s", task.task, task.args, outs[0], outs[1])
		}
	}
	t.Logf("%d tasks at two brokers in %v", len(daily), time.Since(started).Round(time.Millisecond))
}

// awaitTimed waits until the timed message is in its topic.
func awaitTimed(t *testing.T, c *peer.Cluster) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		cmd := exec.Command(peer.Rocketd(t), "message", "list", "orders", "--queue", "3", "--json")
		cmd.Env = append(os.Environ(), "NAMESRV_ADDR="+c.Namesrv)
		if out, err := cmd.Output(); err == nil && strings.Contains(string(out), `"soon"`) {
			return
		}
	}
	t.Fatalf("the timed message does not come at %s", c.Name)
}

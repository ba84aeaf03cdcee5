package dashboard

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
)

var table = flag.String("dashboard-table", "", "file to write the tables to")

func TestMain(m *testing.M) {
	flag.Parse()
	rlog.SetLogLevel("fatal")
	peer.Main(m)
}

// jar is a program of Apache's, built from its sources.
func jar(t *testing.T, name string) string {
	t.Helper()
	path := os.Getenv(name)
	if path == "" {
		t.Skipf("%s is not set: it names the jar that mvn package makes of Apache's sources", name)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sides are Apache's broker and rocketd, with the same in them.
func sides(t *testing.T) [2]*side {
	t.Helper()
	peer.NeedJava(t)
	return [2]*side{
		furnish(t, "apache", peer.StartApache(t, t.TempDir(), "defaultTopicQueueNums=8")),
		// On a port that is given there is the VIP channel, two below: the dashboard uses it.
		furnish(t, "rocketd", peer.StartRocketdAt(t, t.TempDir(), fmt.Sprint(peer.FreePorts(t)), fmt.Sprint(peer.FreePorts(t)))),
	}
}

// Everything that the dashboard's pages ask is answered as by Apache's broker, or it is said why not.
func TestDashboard(t *testing.T) {
	program := jar(t, "DASHBOARD_JAR")
	both := sides(t)
	for _, s := range both {
		s.run(t, program, "/rocketmq/nsaddr.query")
		s.takeToken(t)
	}
	for _, s := range both {
		await(t, "the dashboard has sampled "+s.name, func() bool { return s.sampled(t) })
	}
	lists := [2][]call{calls(both[0]), calls(both[1])}
	rows := &bytes.Buffer{}
	same := 0
	for i := range lists[0] {
		var answers [2][]string
		for k, s := range both {
			answers[k] = s.normal(s.do(t, &lists[k][i]))
		}
		c := &lists[0][i]
		verdict := "the same"
		switch different := unlike(answers[0], answers[1]); {
		case len(different) == 0 && c.why != "":
			t.Errorf("%s no longer differs, though a reason is given: %s", c.path, c.why)
		case len(different) == 0:
			same++
		case c.why == "":
			t.Errorf("%s\n%s", c.path, strings.Join(different[:min(len(different), 40)], "\n"))
		default:
			verdict = "**differs**: " + c.why
			t.Logf("%s: %s\n%s", c.path, c.why, strings.Join(different[:min(len(different), 15)], "\n"))
		}
		fmt.Fprintf(rows, "| `%s` | `%s` | %s |\n", c.path, strings.ReplaceAll(first(answers[0]), "|", `\|`), verdict)
	}
	t.Logf("%d of %d calls are answered the same", same, len(lists[0]))
	write(t, 0, rows.String())
}

// first is the most telling line of an answer: its error, or else the first of its data.
func first(lines []string) string {
	for _, wanted := range []string{"/errMsg=", "/data"} {
		for _, line := range lines {
			if strings.HasPrefix(line, wanted) && !strings.HasSuffix(line, "=<nil>") && !strings.HasSuffix(line, "=") {
				if runes := []rune(line); len(runes) > 90 {
					return string(runes[:90]) + "…"
				}
				return line
			}
		}
	}
	return "done"
}

// sample is a line of metrics: name, labels and value.
var sample = regexp.MustCompile(`(?m)^(rocketmq_\w+)\{([^}]*)\} (\S+)`)

// The exporter shows the same metrics of both.
func TestExporter(t *testing.T) {
	program := jar(t, "EXPORTER_JAR")
	both := sides(t)
	const often = "*/5 * * * * ?"
	var series [2]map[string]string
	for k, s := range both {
		s.run(t, program, "/metrics", fmt.Sprintf("--grpc.server.port=%d", peer.FreePorts(t)), "--task.collectTopicOffset.cron="+often, "--task.collectProducer.cron="+often,
			"--task.collectConsumerOffset.cron="+often, "--task.collectBrokerStatsTopic.cron="+often, "--task.collectBrokerStats.cron="+often, "--task.collectBrokerRuntimeStats.cron="+often)
		known := 0
		for settled := time.Now(); time.Since(settled) < 12*time.Second; time.Sleep(500 * time.Millisecond) { // two rounds without anything new
			series[k] = map[string]string{}
			for _, m := range sample.FindAllStringSubmatch(s.do(t, &call{path: "/metrics"}), -1) {
				labels := strings.Join(s.normal(m[2]), "")
				series[k][m[1]] = labels
				series[k][m[1]+"{"+labels+"}"] = m[3]
			}
			if len(series[k]) != known {
				known, settled = len(series[k]), time.Now()
			}
		}
	}
	var names []string
	for _, one := range series {
		for name := range one {
			if !strings.Contains(name, "{") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	if len(names) < 20 {
		t.Fatalf("the exporter has only %v", names)
	}
	rows := &bytes.Buffer{}
	for _, name := range names {
		_, apache := series[0][name]
		_, ours := series[1][name]
		switch {
		case apache && ours:
			fmt.Fprintf(rows, "| `%s` | yes | yes |\n", name)
		case ours && strings.HasPrefix(name, "rocketmq_brokeruntime_"):
			fmt.Fprintf(rows, "| `%s` | no: Apache 5.5.0 leaves out a key that the exporter needs (brokerVersion) | yes |\n", name)
		default:
			t.Errorf("%s: of Apache %v, of rocketd %v", name, apache, ours)
		}
	}
	for _, s := range []string{"rocketmq_producer_offset", "rocketmq_consumer_offset", "rocketmq_group_diff"} {
		compareValues(t, s, series)
	}
	write(t, 1, rows.String())
}

// compareValues compares the values that a metric has, by labels. Topics of a broker's own are left out.
func compareValues(t *testing.T, name string, series [2]map[string]string) {
	t.Helper()
	seen := 0
	for key, value := range series[0] {
		if strings.HasPrefix(key, name+"{") && strings.Contains(key, `"orders"`) {
			seen++
			if got := series[1][key]; got != value {
				t.Errorf("%s: %s of rocketd, %s of Apache", key, got, value)
			}
		}
	}
	if seen == 0 {
		t.Errorf("%s: no value for the topic orders", name)
	}
}

const head = `# rocketmq-dashboard and rocketmq-exporter

Calls of Apache's rocketmq-dashboard (its JSON, as its pages ask it) with Apache 5.5.0 and with rocketd behind it, both with the same topics, groups, messages and clients,
in this order. Whole answers are compared, without regard to the order of lists, after addresses, ids, times and measured rates are made equal; a difference without a
reason fails the test (integration/dashboard). Written by ` + "`make dashboard DASHBOARD_JAR=… EXPORTER_JAR=…`" + `: the jars are built from Apache's sources by
` + "`mvn -DskipTests package`" + `, since no registry has them. Seen with dashboard 2.1.1 and exporter 0.0.3.

`

// parts are the two tables, between the lines that begin them.
var parts = [2]string{
	"## Dashboard\n\n| call | Apache 5.5.0 (a line of the answer) | rocketd |\n| --- | --- | --- |\n",
	"## Exporter\n\nMetrics of the exporter by name; the values of offsets and lag are compared too.\n\n| metric | Apache 5.5.0 | rocketd |\n| --- | --- | --- |\n",
}

// write puts a table into the page, in place of the one that is there.
func write(t *testing.T, part int, rows string) {
	t.Helper()
	if t.Failed() || *table == "" {
		return
	}
	old, err := os.ReadFile(*table)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var bodies [2]string
	for i := range parts {
		_, rest, _ := strings.Cut(string(old), parts[i])
		bodies[i], _, _ = strings.Cut(rest, "\n## ")
		bodies[i] = strings.TrimRight(bodies[i], "\n") + "\n"
	}
	bodies[part] = rows
	text := head + parts[0] + bodies[0] + "\n" + parts[1] + bodies[1]
	if err := os.WriteFile(*table, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

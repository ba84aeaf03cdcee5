package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

// tableVariable names the page into which the table of scenarios goes, between two marks. "make scenarios" sets it.
const tableVariable = "SCENARIO_TABLE"

const tableBegin, tableEnd = "<!-- scenarios -->\n", "<!-- end of scenarios -->\n"

// features says to which feature a scenario belongs, by the longest beginning of its name that is here.
var features = map[string]string{
	"send": "normal messages", "normal": "normal messages", "big": "normal messages", "async": "normal messages", "batch": "normal messages", "new_topic": "normal messages", "wrong_type": "normal messages", "no_topic": "normal messages", "batch_queue": "inner batches",
	"push": "consumption", "offsets": "consumption", "lite": "consumption", "broadcast": "consumption", "rebalance": "consumption", "share": "consumption", "rewind": "rewind",
	"push_from": "consume from", "orderly": "order", "fifo": "order", "simple_fifo": "order", "retry": "retry and dead letters", "dead": "retry and dead letters",
	"transaction": "transactions", "filter": "filters", "tags": "filters", "sql": "filters", "push_tags": "filters", "request_reply": "request and reply", "trace": "message trace", "query": "message query",
	"pop": "pop", "simple": "pop", "delay": "delays and timers", "timer": "delays and timers", "recall": "recall", "restart": "stop and restart under load", "restart_query": "message query", "killed_orderly": "order", "conflict": "consumption", "with_": "normal messages", "topic_deleted": "consumption", "from_where": "consume from",
}

func feature(name string) string {
	for n := len(name); n > 0; n-- {
		if f, ok := features[name[:n]]; ok {
			return f
		}
	}
	return name
}

var table = struct {
	sync.Mutex
	rows []string
	gone map[string][2]string // results of the Go client's stories: Apache's and rocketd's
}{gone: map[string][2]string{}}

// addRow notes what came of a scenario at both brokers.
func addRow(client string, want, got peer.Scenario) {
	word := func(s peer.Scenario) string {
		switch {
		case s.Name == "":
			return "no result"
		case s.OK:
			return "ok"
		default:
			return "fails"
		}
	}
	same := "same"
	if want.Name == "" || got.Name == "" {
		same = ""
	} else if d := differences(want, got); len(d) > 0 {
		same = "differ: " + strings.Join(d, ", ")
	}
	for fact, why := range knownDifferences {
		if scenario, _, _ := strings.Cut(fact, "/"); scenario == want.Name {
			same += "; on purpose: " + why
		}
	}
	table.Lock()
	defer table.Unlock()
	name := want.Name
	if name == "" {
		name = got.Name
	}
	table.rows = append(table.rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %d, %s |", feature(name), name, client, word(want), word(got), len(want.Facts), same))
}

// addGoResult notes how a story of the Go client ended at one broker.
func addGoResult(broker, story string, ok bool) {
	table.Lock()
	defer table.Unlock()
	both := table.gone[story]
	word := "ok"
	if !ok {
		word = "fails"
	}
	if broker == "apache" {
		both[0] = word
	} else {
		both[1] = word
	}
	table.gone[story] = both
}

// TestReportsHaveTests: what docs/compatibility.md names as tests of users' reports is there.
func TestReportsHaveTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(peer.Root(), "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| reports | what is tried | tests |")
	reports, _, _ := strings.Cut(rest, "## The stories")
	sources := storySources(t)
	in := regexp.MustCompile("`([a-z]+)` (Test[A-Za-z0-9]+(?:, Test[A-Za-z0-9]+)*)")
	named := 0
	for _, m := range in.FindAllStringSubmatch(reports, -1) {
		for name := range strings.SplitSeq(m[2], ", ") {
			named++
			if !hasTest(t, m[1], name) {
				t.Errorf("package %s has no %s", m[1], name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`stor(?:y|ies) ([a-z_, ]+)`).FindAllStringSubmatch(reports, -1) {
		for name := range strings.SplitSeq(strings.TrimSpace(m[1]), ", ") {
			named++
			if !strings.Contains(sources, `"`+name+`"`) {
				t.Errorf("there is no story %q", name)
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named, want more: the page has another form", named)
	}
}

// storySources is the text of all stories.
func storySources(t *testing.T) string {
	t.Helper()
	return sources(t, "integration/*_test.go") + sources(t, "integration/java/*/src/main/java/rocketd/*/*.java")
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	return strings.Contains(sources(t, dir+"/*_test.go"), "func "+name+"(t *testing.T)")
}

// sources is the text of the files of the tree that match.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(peer.Root(), filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// writeTable writes the rows that are there into the page that tableVariable names.
func writeTable(t *testing.T) {
	t.Helper()
	name := os.Getenv(tableVariable)
	if name == "" {
		return
	}
	table.Lock()
	defer table.Unlock()
	rows := append([]string{}, table.rows...)
	for story, both := range table.gone {
		rows = append(rows, fmt.Sprintf("| %s | %s | Go 2.1.3 | %s | %s | checked by content |", feature(story), story, both[0], both[1]))
	}
	sort.Strings(rows)
	name = filepath.Join(peer.Root(), name)
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), tableBegin)
	_, foot, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks %q and %q", name, tableBegin, tableEnd)
	}
	text := head + tableBegin + "| feature | scenario | client | Apache 5.5.0 | rocketd | facts compared |\n| --- | --- | --- | --- | --- | --- |\n" +
		strings.Join(rows, "\n") + "\n" + tableEnd + foot
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

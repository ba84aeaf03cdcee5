package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

// settings make waits of the scenarios short, the same on both sides.
var settings = []string{"transactionCheckInterval=5000", "transactionTimeOut=3000", "recallMessageEnable=true"}

// knownDifferences are facts in which rocketd differs on purpose, by scenario and fact; each is explained in DIFFERENCES.md.
var knownDifferences = map[string]string{}

// TestJavaScenarios runs every scenario of integration/java with both Java clients against Apache's broker and rocketd.
func TestJavaScenarios(t *testing.T) {
	peer.NeedJava(t)
	apache := peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...)
	rocketd := peer.StartRocketd(t, t.TempDir(), settings...)
	var table []string
	for _, version := range peer.ClientVersions {
		t.Run(version, func(t *testing.T) {
			var want, got map[string]peer.Scenario
			prefix := "j" + strings.ReplaceAll(version, ".", "")
			var wait sync.WaitGroup
			wait.Go(func() {
				want = peer.RunScenarios(t, peer.ScenarioRun{Version: version, Namesrv: apache.Namesrv, Prefix: prefix})
			})
			wait.Go(func() {
				got = peer.RunScenarios(t, peer.ScenarioRun{Version: version, Namesrv: rocketd.Namesrv, Prefix: prefix, JVM: []string{"-Dexact=true"}})
			})
			wait.Wait()
			names := make([]string, 0, len(want))
			for name := range want {
				names = append(names, name)
			}
			sort.Strings(names)
			if len(names) < 25 {
				t.Errorf("Apache answered %d scenarios, want all", len(names))
			}
			for _, name := range names {
				table = append(table, row(version, name, want[name], got))
				t.Run(name, func(t *testing.T) { compare(t, want[name], got) })
			}
		})
	}
	writeTable(t, table)
}

func compare(t *testing.T, want peer.Scenario, all map[string]peer.Scenario) {
	t.Helper()
	got, ok := all[want.Name]
	if !ok {
		t.Fatal("no result from rocketd")
	}
	if !got.OK {
		t.Errorf("rocketd: %s", got.Reason)
	}
	if !want.OK {
		t.Logf("Apache fails its own rules: %s", want.Reason)
	}
	facts := make([]string, 0, len(want.Facts))
	for fact := range want.Facts {
		facts = append(facts, fact)
	}
	sort.Strings(facts)
	for _, fact := range facts {
		if got.Facts[fact] == want.Facts[fact] {
			continue
		}
		if why, ok := knownDifferences[want.Name+"/"+fact]; ok {
			t.Logf("%s: Apache %q, rocketd %q: %s", fact, want.Facts[fact], got.Facts[fact], why)
			continue
		}
		t.Errorf("%s: Apache %q, rocketd %q", fact, want.Facts[fact], got.Facts[fact])
	}
}

func row(version, name string, want peer.Scenario, all map[string]peer.Scenario) string {
	word := func(s peer.Scenario, ok bool) string {
		switch {
		case !ok:
			return "no result"
		case s.OK:
			return "ok"
		default:
			return "fails"
		}
	}
	got, ok := all[name]
	return fmt.Sprintf("| %s | Java %s | %s | %s |", name, version, word(want, true), word(got, ok))
}

// writeTable leaves the table of scenarios where SCENARIO_TABLE says, for the compatibility page.
func writeTable(t *testing.T, rows []string) {
	t.Helper()
	name := os.Getenv("SCENARIO_TABLE")
	if name == "" {
		return
	}
	sort.Strings(rows)
	text := "| scenario | client | Apache 5.5.0 | rocketd |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n"
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

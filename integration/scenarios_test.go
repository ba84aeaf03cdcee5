package integration

import (
	"maps"
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
var knownDifferences = map[string]string{
	"topic_deleted/new":                            "Apache takes the members' old offsets for offsets of the new topic and passes over its messages",
	"batch_queue/time behind":                      "Apache answers with the last batch for a time behind it",
	"delay_bad/TIMER_DELAY_MS 9223372036854775807": "Apache adds the delay to the time, wraps round and delivers at once",
}

// TestJavaScenarios runs every scenario of integration/java with both Java clients against Apache's broker and rocketd.
func TestJavaScenarios(t *testing.T) {
	peer.NeedJava(t)
	apache := peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...)
	rocketd := peer.StartRocketd(t, t.TempDir(), settings...)
	for _, version := range peer.ClientVersions {
		t.Run(version, func(t *testing.T) {
			both := func(prefix string, only ...string) (want, got map[string]peer.Scenario) {
				var wait sync.WaitGroup
				wait.Go(func() {
					want = peer.RunScenarios(t, peer.ScenarioRun{Version: version, Namesrv: apache.Namesrv, Prefix: prefix, Only: only})
				})
				wait.Go(func() {
					got = peer.RunScenarios(t, peer.ScenarioRun{Version: version, Namesrv: rocketd.Namesrv, Prefix: prefix, Only: only, JVM: []string{"-Dexact=true"}})
				})
				wait.Wait()
				return want, got
			}
			prefix := "j" + strings.ReplaceAll(version, ".", "")
			want, got := both(prefix)
			// Both brokers and twelve clients start at once: on a slow machine a client's own time limit can pass on either side. What
			// differs is asked again, up to twice, and named.
			for _, suffix := range []string{"b", "c"} {
				again := disagreeing(want, got)
				if len(again) == 0 {
					break
				}
				t.Logf("another run of %v", again)
				want2, got2 := both(prefix+suffix, again...)
				maps.Copy(want, want2)
				maps.Copy(got, got2)
			}
			names := make([]string, 0, len(want))
			for name := range want {
				names = append(names, name)
			}
			sort.Strings(names)
			if len(names) < 25 {
				t.Errorf("Apache answered %d scenarios, want all", len(names))
			}
			for _, name := range names {
				addRow("Java "+version, want[name], got[name])
				t.Run(name, func(t *testing.T) { compare(t, want[name], got) })
			}
			warned := logLine(rocketd.Log(), "subscribe differently", "G_"+prefix+"_conflict_c")
			for _, part := range []string{"client=", "other=", prefix + "_conflict_t1 TagA", prefix + "_conflict_t2 *"} {
				if !strings.Contains(warned, part) {
					t.Errorf("conflicting subscriptions are logged as %q, without %q", warned, part)
				}
			}
		})
	}
	writeTable(t)
}

// logLine is the first line of a log with all the parts, "" when there is none.
func logLine(log string, parts ...string) string {
	for line := range strings.Lines(log) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return line
		}
	}
	return ""
}

// disagreeing are the scenarios that rocketd fails, or in which it differs.
func disagreeing(want, got map[string]peer.Scenario) []string {
	var names []string
	for name := range want {
		if !got[name].OK || len(differences(want[name], got[name])) > 0 {
			names = append(names, name)
		}
	}
	return names
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
	for _, fact := range differences(want, got) {
		t.Errorf("%s: Apache %q, rocketd %q", fact, want.Facts[fact], got.Facts[fact])
	}
}

// differences are the facts in which the two differ, without the known ones.
func differences(want, got peer.Scenario) []string {
	var facts []string
	for fact := range want.Facts {
		if _, known := knownDifferences[want.Name+"/"+fact]; !known && got.Facts[fact] != want.Facts[fact] {
			facts = append(facts, fact)
		}
	}
	sort.Strings(facts)
	return facts
}

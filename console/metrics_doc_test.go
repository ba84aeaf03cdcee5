package console_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
)

// docs/metrics.md has a row for each metric of the code, with its text, and no other; the labels are those of a scrape.
func TestMetricsDoc(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `(rocket[a-z_]+)` \\| (gauge|counter|histogram) \\| ([^|]*) \\| (.*) \\|$")
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, labels := map[string]string{}, map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]], labels[m[1]] = m[4], m[3]
	}
	code := map[string]string{}
	call := regexp.MustCompile(`\b(?:gauge|counter|own|sized|histogram|lateness)\("(rocket[a-z_]+)", "([^"]*)"`)
	files, err := filepath.Glob("metrics*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			code[m[1]] = m[2]
		}
	}
	for _, what := range []string{"rolled", "delivered", "cancelled", "skipped", "retried", "repaired"} {
		code["rocketd_timer_"+what+"_total"] = "Timers " + what + "."
	}
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if documented[name] != code[name] {
			t.Errorf("%s: the page says %q, the code %q", name, documented[name], code[name])
		}
	}
	for name := range documented {
		if _, ok := code[name]; !ok {
			t.Errorf("%s is on the page and not in the code", name)
		}
	}

	x := open(t, conf.RoleAll)
	_, text := x.do("GET", "/metrics", "")
	sample := regexp.MustCompile(`(?m)^(rocket(?:mq|d)_[a-z_]+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? `)
	label := regexp.MustCompile(`([a-z_]+)="`)
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains([]string{"cluster", "node_type", "node_id", "otel_scope_name", "le"}, l[1]) {
				names = append(names, l[1])
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, ", "); got != labels[m[1]] {
			t.Errorf("%s has the labels %q, the page says %q", m[1], got, labels[m[1]])
		}
	}
}

package brokertest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of docs/testing.md that name a file stand in it as they are, and run there.
func TestExamplesOfTheDocsAreThoseThatRun(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "testing.md"))
	must(t, err)
	example := regexp.MustCompile("(?s)<!-- (\\S+) -->\n```[a-z]+\n(.*?)```\n")
	found := example.FindAllStringSubmatch(string(text), -1)
	if len(found) != 6 {
		t.Errorf("%d examples, want 6", len(found))
	}
	for _, f := range found {
		code, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(f[1])))
		must(t, err)
		if !strings.Contains(string(code), f[2]) {
			t.Errorf("an example is not in %s:\n%s", f[1], f[2])
		}
	}
}

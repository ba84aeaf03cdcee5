package control_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/brokertest"
)

// The calls of docs/testing.md work, in their order.
func TestCallsOfTheDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, brokertest.WithTopics("orders:4"), brokertest.WithGroups("shop"))
	calls := regexp.MustCompile(`curl (?:-d '([^']*)' )?\$api/([^\s;]+)`).FindAllStringSubmatch(string(text), -1)
	if len(calls) != 10 {
		t.Errorf("%d calls, want 10", len(calls))
	}
	for _, c := range calls {
		method := "GET"
		if c[1] != "" {
			method = "POST"
		}
		a.call(200, method, "/v1/"+strings.TrimSpace(c[2]), c[1], nil)
	}
}

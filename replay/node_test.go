package replay

import (
	"strings"
	"testing"
)

func printed(t *testing.T, text string) string {
	t.Helper()
	n, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out strings.Builder
	n.print(&out)
	return out.String()
}

func TestBodiesThatMeanTheSame(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"order of members", `{"b":1,"a":[1,2]}`, `{ "a" : [ 1 , 2 ] , "b" : 1 }`},
		{"order of a set", `["y","x"]`, `["x","y"]`},
		{"bare keys", `{0:"x"}`, `{"0":"x"}`},
		{"addresses", `{"127.0.0.1:10911":["10.0.0.1:1"]}`, `{"10.1.1.1:30911":["10.0.0.2:9"]}`},
		{"times", `{"timestamp":1,"dataVersion":{"counter":3}}`, `{"timestamp":2,"dataVersion":{"counter":4}}`},
		{"escapes", `"\u00fc\"\\"`, `"ü\"\\"`},
	} {
		if a, b := printed(t, c.a), printed(t, c.b); a != b {
			t.Errorf("%s: %s and %s", c.name, a, b)
		}
	}
	for _, c := range []struct{ name, a, b string }{
		{"value", `{"a":1}`, `{"a":2}`},
		{"member", `{"a":1}`, `{"a":1,"b":null}`},
		{"text and number", `"1"`, `1`},
		{"elements", `[1,1]`, `[1]`},
	} {
		if a, b := printed(t, c.a), printed(t, c.b); a == b {
			t.Errorf("%s: both %s", c.name, a)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"b",{"c":{}}],0:null}`))
	f.Add([]byte(`"\/`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := parseJSON(b)
		if err != nil {
			return
		}
		var out strings.Builder
		n.print(&out)
	})
}

package brokertest

import (
	"bytes"
	"testing"
)

func TestWithoutMembers(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"first", `{"x":1,"b":2}`, `{"b":2}`},
		{"last", `{"b":2,"x":{"y":[1,2]}}`, `{"b":2}`},
		{"only", `{"x":"}"}`, `{}`},
		{"two in a row", `{"x":1,"y":2,"b":3}`, `{"b":3}`},
		{"deep", `{"a":[{"x":"\"x\":1","b":[]},{"x":{}}]}`, `{"a":[{"b":[]},{}]}`},
		{"a value of the name", `{"a":"x","b":["x","y"]}`, `{"a":"x","b":["x","y"]}`},
		{"bare keys", `{0:"x",1:{"x":1}}`, `{0:"x",1:{}}`},
		{"broken", `{"x":1,`, `{"x":1,`},
		{"more behind", `{"x":1}{"x":1}`, `{"x":1}{"x":1}`},
	} {
		if got := withoutMembers([]byte(c.text), []string{"x", "y"}); string(got) != c.want {
			t.Errorf("%s: %s became %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func FuzzWithoutMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,"b",{"c":{}}],0:null}`))
	f.Add([]byte(`{"a":"\"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := withoutMembers(text, nil); !bytes.Equal(got, text) {
			t.Errorf("%q became %q though nothing is taken out", text, got)
		}
		once := withoutMembers(text, []string{"a"})
		if again := withoutMembers(once, []string{"a"}); !bytes.Equal(once, again) {
			t.Errorf("%q became %q, and that %q", text, once, again)
		}
	})
}

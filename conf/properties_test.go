package conf

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestParsePropertiesAgainstJava reads a text full of traps. The golden file was written by java.util.Properties.load
// (JDK 17): sorted, KEY|VALUE, with what is not printable ASCII as \uXXXX.
func TestParsePropertiesAgainstJava(t *testing.T) {
	text, err := os.ReadFile("testdata/tricky.properties")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/tricky.golden")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := ParseProperties(text)
	if err != nil {
		t.Fatal(err)
	}
	last := make(map[string]string)
	for _, e := range entries {
		last[e.Key] = e.Value
	}
	var got bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(&got, "%s|%s\n", javaPrintable(name), javaPrintable(last[name]))
	}
	if got.String() != string(golden) {
		t.Errorf("got\n%s\nwant\n%s", &got, golden)
	}
}

func javaPrintable(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if u < 32 || u > 126 || u == '\\' {
			fmt.Fprintf(&b, `\u%04X`, u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return b.String()
}

// The expectations come from java.util.Properties.load (JDK 17).
func TestParsePropertiesEdges(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"short unicode escape", "a=\\u12\nb=1", "error"},
		{"bad unicode digit", `a=\u12G4`, "error"},
		{"unicode escape without digits", `a=\u`, "error"},
		{"backslash alone at the end", `\`, "|;"},
		{"backslash and line end alone", "\\\n", ""},
		{"continuation at the end of the text", `a=1\`, "a|1;"},
		{"empty continued line before a separator", "\\\n=x", "|x;"},
		{"continuation of nothing", "a\\\n\\\n\n=b\n", "a|;|b;"},
		{"continuation of white space", "a = b \\\n\\\n c", "a|b c;"},
		{"indented continuation of nothing", "   \\\n   a=1", "a|1;"},
		{"comment behind a continuation of nothing", "#c\\\na=1\n\\\n#x=1", "a|1;"},
		{"no text", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, err := ParseProperties([]byte(c.text))
			got := ""
			for _, e := range entries {
				got += e.Key + "|" + e.Value + ";"
			}
			if err != nil {
				got = "error"
			}
			if got != c.want {
				t.Errorf("%q: got %q (%v), want %q", c.text, got, err, c.want)
			}
		})
	}
}

func TestParsePropertiesTellsLines(t *testing.T) {
	entries, err := ParseProperties([]byte("# one\r\na=1\r\n\r\nb=x\\\r\n  y\r\nc=3\rd=4"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Property{{"a", "1", 2}, {"b", "xy", 4}, {"c", "3", 6}, {"d", "4", 7}}
	if !slices.Equal(entries, want) {
		t.Errorf("got %v, want %v", entries, want)
	}
	_, err = ParseProperties([]byte("a=1\nb=\\uZZZZ\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error of a bad escape on line 2: %v", err)
	}
}

func TestParsePropertiesEncodings(t *testing.T) {
	for text, want := range map[string]string{"k=h\xc3\xa9": "hé", "k=h\xe9": "hé"} {
		entries, err := ParseProperties([]byte(text))
		if err != nil || len(entries) != 1 || entries[0].Value != want {
			t.Errorf("%q: got %v, %v, want %q", text, entries, err, want)
		}
	}
}

func FuzzParseProperties(f *testing.F) {
	tricky, err := os.ReadFile("testdata/tricky.properties")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tricky)
	f.Add([]byte("a=1\nb : 2\n\\u0041=\\\n x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := ParseProperties(text)
		if err != nil {
			return
		}
		var written []byte
		for _, e := range entries {
			written = AppendProperty(written, e.Key, e.Value)
		}
		again, err := ParseProperties(written)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("written %q: %d entries, %v, want %d", written, len(again), err, len(entries))
		}
		for i := range entries {
			if again[i].Key != entries[i].Key || again[i].Value != entries[i].Value {
				t.Errorf("entry %d: got %q=%q, want %q=%q", i, again[i].Key, again[i].Value, entries[i].Key, entries[i].Value)
			}
		}
	})
}

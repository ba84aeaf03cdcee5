package message_test

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

// asMap reads p by Range, later pairs replacing earlier ones.
func asMap(p message.Properties) map[string]string {
	out := map[string]string{}
	p.Range(func(k, v string) bool {
		out[k] = v
		return true
	})
	return out
}

func TestPropertiesReadAsTheReferenceDoes(t *testing.T) {
	for _, row := range rows(t, "properties.tsv", 2) {
		p := message.Properties(unhex(t, row[0]))
		var got []string
		for k, v := range asMap(p) {
			got = append(got, hex.EncodeToString([]byte(k))+"="+hex.EncodeToString([]byte(v)))
			if g, ok := p.Get(k); !ok || g != v {
				t.Errorf("%q: Get(%q) = %q, %v, Range says %q", p, k, g, ok, v)
			}
		}
		slices.Sort(got)
		if strings.Join(got, ",") != row[1] {
			t.Errorf("%q: got %v, want %s", p, got, row[1])
		}
	}
}

func TestPropertiesGet(t *testing.T) {
	p := message.Properties("a\x01b\x02ab\x01c\x02a\x01last\x02e\x01\x02\x01v\x02x\x01y\x01z\x02q\x02end\x01open")
	for _, row := range []struct {
		key, want string
		ok        bool
	}{
		{"a", "last", true}, {"ab", "c", true}, {"e", "", false}, {"", "", false}, {"x", "y\x01z", true}, {"q", "", false}, {"end", "open", true}, {"b", "", false}, {"en", "", false},
	} {
		if got, ok := p.Get(row.key); got != row.want || ok != row.ok || p.Has(row.key) != ok {
			t.Errorf("%q: got %q, %v, want %q, %v", row.key, got, ok, row.want, row.ok)
		}
	}
}

func TestPropertiesRangeStops(t *testing.T) {
	n := 0
	message.Properties("a\x01b\x02c\x01d\x02").Range(func(string, string) bool { n++; return false })
	if n != 1 {
		t.Errorf("called %d times, want 1", n)
	}
}

func TestPropertiesDescribedBytes(t *testing.T) {
	p := message.Properties{}.Append("TAGS", "A").Append("KEYS", "k1 k2")
	if want := unhex(t, "54414753 01 41 02 4b455953 01 6b31206b32 02"); !bytes.Equal(p, want) {
		t.Errorf("got %x, want %x", p, want)
	}
}

func TestPropertiesWithAndWithout(t *testing.T) {
	for _, row := range []struct{ name, in, with, without string }{
		{"empty", "", "k\x01v\x02", ""},
		{"absent", "a\x01b\x02", "a\x01b\x02k\x01v\x02", "a\x01b\x02"},
		{"absent and open", "a\x01b", "a\x01b\x02k\x01v\x02", "a\x01b"},
		{"present", "k\x01x\x02a\x01b\x02", "a\x01b\x02k\x01v\x02", "a\x01b\x02"},
		{"twice", "k\x01x\x02a\x01b\x02k\x01y\x02", "a\x01b\x02k\x01v\x02", "a\x01b\x02"},
		{"present and open", "a\x01b\x02k\x01x", "a\x01b\x02k\x01v\x02", "a\x01b\x02"},
		{"present with an empty value", "k\x01\x02a\x01b\x02", "a\x01b\x02k\x01v\x02", "a\x01b\x02"},
		{"as a prefix", "kk\x01x\x02", "kk\x01x\x02k\x01v\x02", "kk\x01x\x02"},
	} {
		in := message.Properties(row.in)
		if got := in.With("k", "v"); string(got) != row.with {
			t.Errorf("%s: With gives %q, want %q", row.name, got, row.with)
		}
		if got := in.Without("k", "none"); string(got) != row.without {
			t.Errorf("%s: Without gives %q, want %q", row.name, got, row.without)
		}
		if string(in) != row.in {
			t.Errorf("%s: receiver became %q", row.name, in)
		}
	}
	if got := message.Properties("k\x01v\x02").With("k", ""); len(got) != 0 {
		t.Errorf("an empty value leaves %q", got)
	}
}

func TestPropertiesWithDoesNotTouchTheArrayBehindIt(t *testing.T) {
	array := []byte("a\x01b\x02-----")
	p := message.Properties(array[:4])
	p.With("c", "d")
	p.Without("a")
	if string(array) != "a\x01b\x02-----" {
		t.Errorf("array became %q", array)
	}
}

func TestMessagePropertyPrefersTheSuffix(t *testing.T) {
	m := message.Message{Properties: message.Properties("a\x01old\x02b\x01x\x02"), Suffix: message.Properties("a\x01new\x02")}
	a, _ := m.Property("a")
	b, _ := m.Property("b")
	if _, ok := m.Property("c"); a != "new" || b != "x" || ok {
		t.Errorf("got %q, %q, %v", a, b, ok)
	}
}

// model is string2messageProperties by the book.
func model(s string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Split(s, "\x02") {
		if k, v, ok := strings.Cut(pair, "\x01"); ok && k != "" && v != "" {
			out[k] = v
		}
	}
	return out
}

func FuzzProperties(f *testing.F) {
	for _, row := range rows(f, "properties.tsv", 2) {
		f.Add(unhex(f, row[0]), "a", "b")
	}
	f.Fuzz(func(t *testing.T, b []byte, key, value string) {
		if strings.ContainsAny(key, "\x01\x02") || strings.ContainsAny(value, "\x02") {
			return
		}
		p, before := message.Properties(b), string(b)
		want := model(before)
		if got := asMap(p); !maps.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		if got, ok := p.Get(key); got != want[key] || ok != (got != "") {
			t.Fatalf("Get(%q) = %q, %v", key, got, ok)
		}
		with, without := asMap(p.With(key, value)), asMap(p.Without(key))
		delete(want, key)
		if !maps.Equal(without, want) {
			t.Fatalf("Without: got %q, want %q", without, want)
		}
		if key != "" && value != "" {
			want[key] = value
		}
		if !maps.Equal(with, want) {
			t.Fatalf("With: got %q, want %q", with, want)
		}
		if string(b) != before {
			t.Fatal("receiver changed")
		}
	})
}

func BenchmarkPropertiesGet(b *testing.B) {
	m := benchmarkMessage()
	for _, key := range []string{"TAGS", "DELAY"} {
		b.Run(key, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Properties.Get(key)
			}
		})
	}
}

func BenchmarkPropertiesRange(b *testing.B) {
	m := benchmarkMessage()
	b.ReportAllocs()
	for b.Loop() {
		var delay, wait string
		m.Properties.Range(func(k, v string) bool {
			switch k {
			case message.KeyDelayLevel:
				delay = v
			case message.KeyWait:
				wait = v
			}
			return true
		})
		if delay != "" || wait == "" {
			b.Fatal(delay, wait)
		}
	}
}

package filter

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/message"
)

// table reads a file of testdata; a string of bytes is its first field after skip.
func table(t testing.TB, name string, fields, skip int) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		row := strings.Split(line, "\t")
		if len(row) != fields {
			t.Fatalf("%s:%d: %d fields, want %d", name, i+1, len(row), fields)
		}
		text, err := hex.DecodeString(row[skip])
		if err != nil {
			t.Fatal(err)
		}
		row[skip] = string(text)
		out = append(out, row)
	}
	return out
}

func TestTagExpressionsAreTheReferences(t *testing.T) {
	for _, row := range table(t, "tags.tsv", 2, 0) {
		got := "all"
		e, err := Compile(TAG, row[0])
		switch {
		case err != nil:
			got = "error"
			if !errors.Is(err, ErrSyntax) {
				t.Errorf("%q: %v", row[0], err)
			}
		case !e.MatchTagsCode(1 << 20):
			var tags, codes []string
			for _, tag := range e.Tags() {
				tags = append(tags, hex.EncodeToString([]byte(tag)))
			}
			slices.Sort(tags)
			for _, code := range e.Codes() {
				codes = append(codes, fmt.Sprint(code))
			}
			got = strings.Join(tags, ",") + "/" + strings.Join(codes, ",")
		}
		if got != row[1] {
			t.Errorf("%q: got %s, want %s", row[0], got, row[1])
		}
	}
}

func TestTagsMatchByHash(t *testing.T) {
	e, err := Compile(TAG, " TagA || AaAa ")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		code int64
		want bool
	}{
		{"its tag", message.TagsHash("TagA"), true},
		{"another tag of equal hash", message.TagsHash("BBBB"), true},
		{"another tag", message.TagsHash("TagB"), false},
		{"no tag", 0, false},
		{"only the low 32 bits count", 1<<40 | message.TagsHash("TagA"), true},
	} {
		if got := e.MatchTagsCode(row.code); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
	if !e.MatchProperties(nil) {
		t.Error("properties decide about a tag expression")
	}
	if e.Kind() != TAG || e.String() != " TagA || AaAa " {
		t.Errorf("got %s, %q", e.Kind(), e)
	}
}

func TestSQLSaysNothingAboutTagsCodes(t *testing.T) {
	e, err := Compile(SQL92, "a = 5")
	if err != nil || !e.MatchTagsCode(12345) || e.Kind() != SQL92 || len(e.Tags()) > 0 {
		t.Errorf("%v, %v", e, err)
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]Kind{"": TAG, "TAG": TAG, "SQL92": SQL92, "tag": "", "SQL": "", strings.Repeat("x", 1<<20): ""} {
		got, err := ParseKind(text)
		if got != want || errors.Is(err, ErrKind) != (want == "") || err != nil && len(err.Error()) > 200 {
			t.Errorf("%.20q: got %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := Compile("CLASS", "x"); !errors.Is(err, ErrKind) {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestNumbersParseAsInJava(t *testing.T) {
	for _, row := range table(t, "numbers.tsv", 4, 0) {
		integer := func(bits int) string {
			if n, ok := parseInteger(row[0], bits); ok {
				return fmt.Sprint(n)
			}
			return "-"
		}
		double := "-"
		if f, ok := parseDouble(row[0]); ok {
			double = strconv.FormatUint(math.Float64bits(f), 16)
			if math.IsNaN(f) {
				double = "7ff8000000000000" // Java has one NaN
			}
		}
		if got := []string{integer(32), integer(64), double}; !slices.Equal(got, row[1:]) {
			t.Errorf("%q: got %v, want %v", row[0], got, row[1:])
		}
	}
}

func TestBloomPositionsAreTheReferences(t *testing.T) {
	for _, row := range table(t, "bloom.tsv", 5, 2) {
		rate, _ := strconv.Atoi(row[0])
		expected, _ := strconv.Atoi(row[1])
		b, err := NewBloom(rate, expected)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Trim(fmt.Sprint(b.of(row[2])), "[]"), " ", ",")
		if fmt.Sprint(b.Bits()) != row[3] || got != row[4] {
			t.Errorf("%s, %s, %q: got %d bits, %s, want %s bits, %s", row[0], row[1], row[2], b.Bits(), got, row[3], row[4])
		}
		if group, topic, ok := strings.Cut(row[2], "#"); ok && !slices.Equal(b.Positions(group, topic), b.of(row[2])) {
			t.Errorf("%q: positions of group and topic differ", row[2])
		}
	}
	for _, bad := range [][2]int{{0, 1}, {100, 1}, {20, 0}, {20, 1e6 + 1}} {
		if _, err := NewBloom(bad[0], bad[1]); !errors.Is(err, ErrBloom) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestCacheKeepsAFewExpressions(t *testing.T) {
	c := NewCache(3)
	first, err := c.Compile(SQL92, "a = 5")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Compile(SQL92, "a = 5"); again != first {
		t.Error("compiled again")
	}
	if tag, err := c.Compile(TAG, "a = 5"); err != nil || tag.Kind() != TAG {
		t.Errorf("kinds are mixed up: %v, %v", tag, err)
	}
	for i := range 100 {
		if e, err := c.Compile(TAG, fmt.Sprint(i)); err != nil || e.String() != fmt.Sprint(i) {
			t.Fatal(e, err)
		}
	}
	if len(c.entries) != 3 {
		t.Errorf("%d kept, want 3", len(c.entries))
	}
	if _, err := c.Compile(SQL92, "?"); !errors.Is(err, ErrSyntax) {
		t.Errorf("malformed: %v", err)
	}
	frame := []byte("TagA")
	e, _ := NewCache(1).Compile(TAG, string(frame))
	copy(frame, "xxxx")
	if e.String() != "TagA" {
		t.Errorf("became %q", e)
	}
}

func TestConcurrentMatching(t *testing.T) {
	c := NewCache(2)
	p := properties("a", "7")
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for n := range 200 {
				e, err := c.Compile(SQL92, fmt.Sprint("a = ", n%3+i%2+5))
				if err != nil || e.MatchProperties(p) != (n%3+i%2+5 == 7) {
					t.Errorf("%v, %v", e, err)
				}
			}
		})
	}
	users.Wait()
}

func BenchmarkMatchTagsCode(b *testing.B) {
	e, err := Compile(TAG, "TagA || TagB || TagC")
	if err != nil {
		b.Fatal(err)
	}
	code := message.TagsHash("TagB")
	b.ReportAllocs()
	for b.Loop() {
		if !e.MatchTagsCode(code) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkCompileTags(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		tags := make([]string, n)
		for i := range tags {
			tags[i] = "Tag" + strconv.Itoa(i)
		}
		source := strings.Join(tags, " || ")
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(TAG, source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package filter

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

// verdicts is one row of testdata/sql.tsv: what the reference says of an expression for each property set.
type verdicts struct {
	line       int
	expression string
	want       string // a letter for each set, or "error"
}

func readVerdicts(t testing.TB) (sets []message.Properties, rows []verdicts) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "sql.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\f`, "\f", `\r`, "\r")
	lines := bufio.NewScanner(f)
	inSets := true
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "# "):
			inSets = line == "# property sets"
		case inSets:
			p := strings.NewReplacer("=", "\x01", ";", "\x02").Replace(unescape.Replace(line))
			sets = append(sets, message.Properties(p))
		default:
			want, expression, ok := strings.Cut(line, "\t")
			if !ok {
				t.Fatalf("line %d: no tab", n)
			}
			rows = append(rows, verdicts{n, unescape.Replace(expression), want})
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sets, rows
}

func letter(v value) byte {
	switch {
	case v.kind == kindNull:
		return 'N'
	case v.kind == kindFailed:
		return 'X'
	case v.isTrue():
		return 'T'
	case v.kind == kindBoolean:
		return 'F'
	}
	return '?'
}

func TestSQLDecidesAsTheReference(t *testing.T) {
	sets, rows := readVerdicts(t)
	for _, row := range rows {
		e, err := Compile(SQL92, row.expression)
		if err != nil || row.want == "error" {
			if (err != nil) != (row.want == "error") || err != nil && !errors.Is(err, ErrSyntax) {
				t.Errorf("line %d: %q: got %v, want %s", row.line, row.expression, err, row.want)
			}
			continue
		}
		for i, p := range sets {
			v := e.root.eval(p)
			if got := letter(v); got != row.want[i] {
				t.Errorf("line %d: %q with %q: got %c, want %c", row.line, row.expression, p, got, row.want[i])
			}
			if e.MatchProperties(p) != (row.want[i] == 'T') {
				t.Errorf("line %d: %q with %q: matching is not %c", row.line, row.expression, p, row.want[i])
			}
		}
	}
}

func properties(pairs ...string) message.Properties {
	var p message.Properties
	for i := 0; i < len(pairs); i += 2 {
		p = p.Append(pairs[i], pairs[i+1])
	}
	return p
}

func TestSQLDocumentedCases(t *testing.T) {
	p := properties("a", "7", "f", "7.5", "region", "Hangzhou", "ok", "true", "quote", "it's", "TAGS", "TagA")
	for _, row := range []struct {
		name, expression string
		want             bool
	}{
		{"equal number", "a = 7", true},
		{"not equal number", "a <> 7", false},
		{"between", "a BETWEEN 5 AND 10", true},
		{"not between", "a NOT BETWEEN 5 AND 6", true},
		{"in", "region IN ('Hangzhou', 'Shanghai')", true},
		{"not in", "region NOT IN ('Hangzhou', 'Shanghai')", false},
		{"missing property not in", "none NOT IN ('x')", false},
		{"is null", "none IS NULL", true},
		{"is not null", "a IS NOT NULL", true},
		{"boolean", "ok = TRUE", true},
		{"contains", "region CONTAINS 'zho'", true},
		{"not contains", "region NOT CONTAINS 'zho'", false},
		{"missing property does not not contain", "none NOT CONTAINS 'zho'", false},
		{"starts with", "region STARTSWITH 'Hang'", true},
		{"ends with", "region endswith 'zhou'", true},
		{"quote in text", "quote = 'it''s'", true},
		{"system property", "TAGS = 'TagA'", true},
		{"precedence of AND over OR", "a = 7 OR a = 7 AND a = 8", true},
		{"parentheses", "(a = 7 OR a = 7) AND a = 8", false},
		{"comments", "a /* the level */ = 7 -- done\n", true},
		{"decimal text against an integer literal", "f >= 7", false},
		{"decimal text against a float literal", "f >= 7.0", true},
		{"failure spoils an OR behind it", "f >= 7 OR a = 7", false},
		{"failure behind a true OR is not seen", "a = 7 OR f >= 7", true},
		{"unknown OR true", "none > 5 OR a = 7", true},
		{"unknown AND true", "none > 5 AND a = 7", false},
		{"NOT unknown", "NOT (none > 5)", false},
		{"text that is no number", "region > 5", false},
		{"what follows is ignored", "a = 7 garbage", true},
	} {
		e, err := Compile(SQL92, row.expression)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got := e.MatchProperties(p); got != row.want {
			t.Errorf("%s: %q: got %v, want %v", row.name, row.expression, got, row.want)
		}
	}
}

func TestSQLTellsWhatItIgnores(t *testing.T) {
	for expression, want := range map[string]string{"a = 7": "", "a = 7 ": "", "a = 7 b > 5": "b > 5", "(a = 7)) ?": ") ?", "a IS NULL ;": "error"} {
		e, err := Compile(SQL92, expression)
		if err != nil {
			if want != "error" {
				t.Errorf("%q: %v", expression, err)
			}
			continue
		}
		if e.Ignored() != want {
			t.Errorf("%q: ignored %q, want %q", expression, e.Ignored(), want)
		}
	}
}

func TestSQLErrorsTellWhere(t *testing.T) {
	for _, row := range []struct {
		expression   string
		line, column int
		reason       string
	}{
		{"", 1, 1, "found the end"},
		{"a >", 1, 4, "found the end"},
		{"a > 5 AND", 1, 10, "found the end"},
		{"a >\n> 5", 2, 1, "found >"},
		{"中 = 5", 1, 1, "unknown character"},
		{"a = 'open", 1, 5, "unfinished text"},
		{"a = 5 AND (b = 6", 1, 17, "expected )"},
		{"a > 'x'", 1, 3, "only properties and numbers"},
		{"a = NULL", 1, 3, "IS NULL"},
		{"a BETWEEN 9 AND 5", 1, 3, "lower value first"},
		{"5 IN ('x')", 1, 3, "property"},
		{"a IN (5)", 1, 7, "text in quotes"},
		{"a = 5 OR 7", 1, 10, "not a condition"},
		{"7", 1, 1, "not a condition"},
		{"a = 9223372036854775808", 1, 5, "larger than"},
		{"a > 0.0", 1, 5, "is not between"},
		{"a NOT 5", 1, 7, "BETWEEN, IN"},
		{"a IS 5", 1, 6, "expected NULL"},
	} {
		_, err := Compile(SQL92, row.expression)
		var at *SyntaxError
		if !errors.As(err, &at) || !errors.Is(err, ErrSyntax) || at.Line != row.line || at.Column != row.column || !strings.Contains(at.Reason, row.reason) {
			t.Errorf("%q: got %v, want line %d, column %d, %s", row.expression, err, row.line, row.column, row.reason)
		}
	}
}

func TestCompileBounds(t *testing.T) {
	deep := func(n int) map[string]string {
		return map[string]string{
			"parentheses": strings.Repeat("(", n) + "a = 5" + strings.Repeat(")", n),
			"NOT":         strings.Repeat("NOT ", n) + "(a = 5)",
			"signs":       "a = " + strings.Repeat("- ", n) + "5",
			"chain":       "a = 5" + strings.Repeat(" IS NULL", n),
			"open":        strings.Repeat("(", n),
		}
	}
	for name, expression := range deep(MaxDepth / 2) {
		if _, err := Compile(SQL92, expression); err != nil && name != "open" {
			t.Errorf("%s, %d levels: %v", name, MaxDepth/2, err)
		}
	}
	for _, n := range []int{MaxDepth + 1, MaxLength / 10} {
		for name, expression := range deep(n) {
			if _, err := Compile(SQL92, expression); !errors.Is(err, ErrTooDeep) {
				t.Errorf("%s, %d levels: %v", name, n, err)
			}
		}
	}
	for _, kind := range []Kind{TAG, SQL92} {
		if _, err := Compile(kind, strings.Repeat("a", MaxLength+1)); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	long := "a = 1" + strings.Repeat(" OR a = 1", 2000)
	e, err := Compile(SQL92, long)
	if err != nil {
		t.Fatalf("a long chain of OR: %v", err)
	}
	if e.MatchProperties(properties("a", "2")) {
		t.Error("a long chain of OR matches")
	}
}

func FuzzSQL(f *testing.F) {
	sets, rows := readVerdicts(f)
	for i, row := range rows {
		if i%20 == 0 {
			f.Add(row.expression, "a", "5")
		}
	}
	f.Fuzz(func(t *testing.T, expression, key, value string) {
		e, err := Compile(SQL92, expression)
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrTooDeep) && !errors.Is(err, ErrTooLong) {
				t.Fatalf("%q: %v", expression, err)
			}
			return
		}
		for _, p := range append(sets, message.Properties{}.Append(key, value)) {
			if letter(e.root.eval(p)) == '?' {
				t.Fatalf("%q with %q gives no verdict", expression, p)
			}
		}
		// What was ignored plays no part; what is left compiles to the same.
		rest, err := Compile(SQL92, expression[:len(expression)-len(e.Ignored())])
		if err != nil || rest.MatchProperties(sets[1]) != e.MatchProperties(sets[1]) {
			t.Fatalf("%q without %q: %v", expression, e.Ignored(), err)
		}
	})
}

func BenchmarkMatchProperties(b *testing.B) {
	p := properties("a", "50", "region", "Hangzhou", "b", "true", "TAGS", "TagA", "UNIQ_KEY", "7F000001303918B4AAC22F8C5B4C0001")
	for _, row := range []struct {
		name, expression string
		want             bool
	}{
		{"one comparison", "a > 10", true},
		{"usual", "(a > 10 AND a < 100) OR (b IS NOT NULL AND b = TRUE)", true},
		{"in", "region IN ('Beijing', 'Hangzhou', 'Shanghai')", true},
		{"failing", "region > 5.5 OR a = 'x'", false},
	} {
		b.Run(row.name, func(b *testing.B) {
			e, err := Compile(SQL92, row.expression)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if e.MatchProperties(p) != row.want {
					b.Fatal("wrong verdict")
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	const expression = "(a > 10 AND a < 100) OR (b IS NOT NULL AND b = TRUE) AND c IN ('x', 'y', 'z')"
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Compile(SQL92, expression); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		c := NewCache(10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Compile(SQL92, expression); err != nil {
				b.Fatal(err)
			}
		}
	})
}

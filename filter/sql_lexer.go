package filter

import (
	"errors"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// tokenKind is what a token is to the parser.
type tokenKind uint8

const (
	tokenEnd      tokenKind = iota
	tokenWord               // keyword, upper case, or sign
	tokenProperty           // name of a property
	tokenText               // string with its quotes
	tokenDecimal
	tokenFloat
)

type token struct {
	kind tokenKind
	text string
	pos  lexer.Position
}

func (t token) is(word string) bool { return t.kind == tokenWord && t.text == word }

// describe names the token in an error.
func (t token) describe() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	const most = 64
	if len(t.text) > most {
		return strings.ToValidUTF8(t.text[:most], "") + "..."
	}
	return t.text
}

// sqlRules are the tokens of SelectorParser.jj. The first rule that matches wins; their order makes that the longest match.
type sqlRules struct {
	definition lexer.StringDefinition
	kinds      map[lexer.TokenType]tokenKind // those not skipped
}

// rules are built at first use.
var rules = sync.OnceValue(func() sqlRules {
	definition := lexer.MustSimple([]lexer.SimpleRule{
		{Name: "Space", Pattern: `[ \t\n\r\f]+`},
		{Name: "LineComment", Pattern: `--[^\r\n]*(?:\r\n|\r|\n)`}, // not without an end of line
		{Name: "BlockComment", Pattern: `/\*[^*]*\*+(?:[^*/][^*]*\*+)*/`},
		{Name: "Float", Pattern: `[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+`},
		{Name: "Decimal", Pattern: `[1-9][0-9]*[lL]?|0`},
		{Name: "Text", Pattern: `'(?:''|[^'])*'`},
		{Name: "Name", Pattern: `[a-zA-Z_$][a-zA-Z0-9_$]*`},
		{Name: "Sign", Pattern: `<>|>=|<=|[=<>(),+-]`},
	})
	symbols := definition.Symbols()
	return sqlRules{definition, map[lexer.TokenType]tokenKind{
		symbols["EOF"]: tokenEnd, symbols["Float"]: tokenFloat, symbols["Decimal"]: tokenDecimal, symbols["Text"]: tokenText,
		symbols["Name"]: tokenProperty, symbols["Sign"]: tokenWord,
	}}
})

// scanner hands out the tokens of an expression one by one: what no rule knows is an error only if the parser gets there.
type scanner struct {
	lexer lexer.Lexer
	kinds map[lexer.TokenType]tokenKind
}

func newScanner(source string) (*scanner, error) {
	r := rules()
	l, err := r.definition.LexString("", source)
	if err != nil {
		return nil, err
	}
	return &scanner{l, r.kinds}, nil
}

func (s *scanner) next() (token, error) {
	for {
		t, err := s.lexer.Next()
		if err != nil {
			return token{}, scanError(err)
		}
		kind, ok := s.kinds[t.Type]
		if !ok {
			continue
		}
		out := token{kind, t.Value, t.Pos}
		if kind == tokenProperty {
			if upper := strings.ToUpper(t.Value); isKeyword(upper) {
				out.kind, out.text = tokenWord, upper
			}
		}
		return out, nil
	}
}

func scanError(err error) error {
	var at participle.Error
	if !errors.As(err, &at) {
		return err
	}
	return syntaxError(at.Position(), "unknown character or unfinished text")
}

func syntaxError(pos lexer.Position, reason string) error {
	return &SyntaxError{Line: pos.Line, Column: pos.Column, Offset: pos.Offset, Reason: reason}
}

func isKeyword(s string) bool {
	switch s {
	case "NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS", "CONTAINS", "STARTSWITH", "ENDSWITH":
		return true
	}
	return false
}

package filter

import (
	"errors"
	"fmt"

	"github.com/rocketd/rocketd/message"
)

// Kind is the language of an expression: the expressionType of a subscription.
type Kind string

// The kinds.
const (
	TAG   Kind = "TAG"
	SQL92 Kind = "SQL92"
)

// Bounds of an expression.
const (
	// MaxLength is the longest expression, in bytes.
	MaxLength = 256 << 10
	// MaxDepth is how deep parentheses, signs, NOT and chained comparisons of SQL92 may nest.
	MaxDepth = 200
)

// Errors of Compile, wrapped with what was found. The reference answers all with SUBSCRIPTION_PARSE_FAILED.
var (
	// ErrKind: the expression type is neither TAG nor SQL92.
	ErrKind = errors.New("unknown expression type")
	// ErrTooLong: the expression is longer than MaxLength.
	ErrTooLong = errors.New("filter expression is too long")
	// ErrTooDeep: the expression nests deeper than MaxDepth.
	ErrTooDeep = errors.New("filter expression nests too deep")
	// ErrSyntax: the expression is not one of its language. The error is a *SyntaxError too.
	ErrSyntax = errors.New("filter expression is malformed")
)

// SyntaxError tells where an expression is malformed.
type SyntaxError struct {
	Line, Column int // from 1; the column counts characters
	Offset       int // bytes before
	Reason       string
}

// Error tells position and reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at line %d, column %d: %s", ErrSyntax, e.Line, e.Column, e.Reason)
}

// Is makes errors.Is(err, ErrSyntax) true.
func (e *SyntaxError) Is(target error) bool { return target == ErrSyntax }

// Expression is a compiled filter. Immutable and safe for concurrent use.
type Expression struct {
	kind    Kind
	source  string
	ignored string
	tags    tagSet
	root    *node // nil for TAG
}

// ParseKind returns the kind an expressionType names. Absent means TAG (ExpressionType.isTagType).
func ParseKind(expressionType string) (Kind, error) {
	switch kind := Kind(expressionType); kind {
	case "", TAG:
		return TAG, nil
	case SQL92:
		return kind, nil
	}
	return "", fmt.Errorf("%w: %.64q, known are TAG and SQL92", ErrKind, expressionType)
}

// Compile checks expression and prepares it for matching. TAG is "*" or "" (all), or tags joined by "||". The result aliases
// expression.
func Compile(kind Kind, expression string) (*Expression, error) {
	if len(expression) > MaxLength {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLong, len(expression), MaxLength)
	}
	e := &Expression{kind: kind, source: expression}
	switch kind {
	case TAG:
		return e, e.compileTags()
	case SQL92:
		return e, e.compileSQL()
	}
	return nil, fmt.Errorf("%w: %.64q, known are TAG and SQL92", ErrKind, string(kind))
}

// Kind returns the language.
func (e *Expression) Kind() Kind { return e.kind }

// String returns the expression as it was given.
func (e *Expression) String() string { return e.source }

// Ignored returns what of the expression had no effect: text behind a complete SQL92 condition, which the reference does not look
// at. Worth a warning, since it is hardly meant.
func (e *Expression) Ignored() string { return e.ignored }

// MatchTagsCode tells whether a message may match, judged by the tags code of its consume-queue entry alone. Exact for TAG but for
// different tags of equal hash; always true for SQL92.
func (e *Expression) MatchTagsCode(code int64) bool {
	return e.kind != TAG || e.tags.match(int32(code))
}

// MatchProperties tells whether a message with these properties matches. Always true for TAG, which MatchTagsCode decides.
func (e *Expression) MatchProperties(p message.Properties) bool {
	return e.root == nil || e.root.eval(p).isTrue()
}

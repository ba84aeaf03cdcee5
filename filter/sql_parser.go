package filter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// parser builds the tree of an expression by precedence, lowest first: OR; AND; = <> IS; the other comparisons; NOT + -; operands.
// Comparisons are left-associative, and what may stand beside what is checked as the reference does while it builds.
type parser struct {
	scanner *scanner
	tok     token // not consumed yet
	depth   int   // of the recursion
}

func (e *Expression) compileSQL() error {
	s, err := newScanner(e.source)
	if err != nil {
		return err
	}
	p := &parser{scanner: s}
	if err := p.advance(); err != nil {
		return err
	}
	pos := p.tok.pos
	n, err := p.or()
	if err != nil {
		return err
	}
	if e.root, err = asBoolean(n, pos); err != nil {
		return err
	}
	if p.tok.kind != tokenEnd {
		e.ignored = e.source[p.tok.pos.Offset:]
	}
	return nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.scanner.next()
	return err
}

// accept consumes the word if it is next.
func (p *parser) accept(word string) (bool, error) {
	if !p.tok.is(word) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(word string) error {
	if !p.tok.is(word) {
		return p.unexpected(word)
	}
	return p.advance()
}

func (p *parser) unexpected(wanted string) error {
	return syntaxError(p.tok.pos, fmt.Sprintf("found %s, expected %s", p.tok.describe(), wanted))
}

// descend counts a step of recursion; the returned function undoes it.
func (p *parser) descend() (func(), error) {
	p.depth++
	if p.depth > MaxDepth {
		return nil, fmt.Errorf("%w: over %d levels at line %d, column %d", ErrTooDeep, MaxDepth, p.tok.pos.Line, p.tok.pos.Column)
	}
	return func() { p.depth-- }, nil
}

func (p *parser) or() (*node, error) { return p.chain("OR", opOr, p.and) }

func (p *parser) and() (*node, error) { return p.chain("AND", opAnd, p.equality) }

// chain parses operands joined by word into one node.
func (p *parser) chain(word string, op op, operand func() (*node, error)) (*node, error) {
	pos := p.tok.pos
	first, err := operand()
	if err != nil || !p.tok.is(word) {
		return first, err
	}
	n := &node{op: op}
	for {
		term, err := asBoolean(first, pos)
		if err != nil {
			return nil, err
		}
		n.terms = append(n.terms, term)
		n.depth = max(n.depth, term.depth+1)
		more, err := p.accept(word)
		if err != nil {
			return nil, err
		}
		if !more {
			return n, nil
		}
		pos = p.tok.pos
		if first, err = operand(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) equality() (*node, error) {
	left, err := p.comparison()
	for err == nil {
		pos := p.tok.pos
		switch {
		case p.tok.is("="), p.tok.is("<>"):
			left, err = p.equal(left, p.tok.text == "<>", pos)
		case p.tok.is("IS"):
			left, err = p.isNull(left, pos)
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *parser) equal(left *node, not bool, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.comparison()
	if err != nil {
		return nil, err
	}
	if left.isNull() || right.isNull() {
		return nil, syntaxError(pos, "NULL cannot be compared, use IS NULL")
	}
	if left.op == opConstant && right.op == opConstant && left.isBoolean() && !right.isBoolean() {
		return nil, syntaxError(pos, "TRUE or FALSE cannot be compared with a number or text")
	}
	return p.negated(&node{op: opEqual, left: left, right: right}, not, pos)
}

func (p *parser) isNull(left *node, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	not, err := p.accept("NOT")
	if err != nil {
		return nil, err
	}
	if err := p.expect("NULL"); err != nil {
		return nil, err
	}
	return p.negated(&node{op: opEqual, left: left, right: &node{op: opConstant, boolean: true}}, not, pos)
}

// negated finishes n and, if not, puts a NOT before it.
func (p *parser) negated(n *node, not bool, pos lexer.Position) (*node, error) {
	n, err := finish(n, pos)
	if err != nil || !not {
		return n, err
	}
	return finish(&node{op: opNot, left: n}, pos)
}

func (p *parser) comparison() (*node, error) {
	left, err := p.unary()
	for err == nil {
		pos := p.tok.pos
		if p.tok.kind != tokenWord {
			return left, nil
		}
		switch p.tok.text {
		case ">":
			left, err = p.order(left, opGreater, pos)
		case ">=":
			left, err = p.order(left, opGreaterEqual, pos)
		case "<":
			left, err = p.order(left, opLess, pos)
		case "<=":
			left, err = p.order(left, opLessEqual, pos)
		case "NOT", "BETWEEN", "IN", "CONTAINS", "STARTSWITH", "ENDSWITH":
			left, err = p.word(left, pos)
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *parser) order(left *node, op op, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	return newOrder(op, left, right, pos)
}

func newOrder(op op, left, right *node, pos lexer.Position) (*node, error) {
	for _, n := range []*node{left, right} {
		if n.isBoolean() || n.op == opConstant && n.value.kind == kindText {
			return nil, syntaxError(pos, "only properties and numbers can be compared by < <= > >= and BETWEEN")
		}
	}
	return finish(&node{op: op, left: left, right: right}, pos)
}

// word parses a comparison written as a word, and its NOT form.
func (p *parser) word(left *node, pos lexer.Position) (*node, error) {
	not, err := p.accept("NOT")
	if err != nil {
		return nil, err
	}
	word := p.tok.text
	if p.tok.kind != tokenWord {
		word = ""
	}
	switch word {
	case "BETWEEN":
		return p.between(left, not, pos)
	case "IN":
		return p.in(left, not, pos)
	case "CONTAINS":
		return p.contains(left, opContains, not, pos)
	case "STARTSWITH":
		return p.contains(left, opStartsWith, not, pos)
	case "ENDSWITH":
		return p.contains(left, opEndsWith, not, pos)
	}
	return nil, p.unexpected("BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH")
}

func (p *parser) contains(left *node, op op, not bool, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	text, err := p.text()
	if err != nil {
		return nil, err
	}
	return finish(&node{op: op, left: left, text: text, not: not}, pos)
}

func (p *parser) between(value *node, not bool, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	low, err := p.unary()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.unary()
	if err != nil {
		return nil, err
	}
	join, below, above := opAnd, opGreaterEqual, opLessEqual
	if not {
		join, below, above = opOr, opLess, opGreater
	} else if low.op == opConstant && high.op == opConstant {
		if c, ok := compare(high.value, low.value); !ok || c < 0 {
			return nil, syntaxError(pos, "BETWEEN needs the lower value first")
		}
	}
	first, err := newOrder(below, value, low, pos)
	if err != nil {
		return nil, err
	}
	second, err := newOrder(above, value, high, pos)
	if err != nil {
		return nil, err
	}
	return finish(&node{op: join, terms: []*node{first, second}}, pos)
}

func (p *parser) in(left *node, not bool, pos lexer.Position) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n := &node{op: opIn, left: left, not: not}
	for more := true; more; {
		text, err := p.text()
		if err != nil {
			return nil, err
		}
		n.set = append(n.set, text)
		if more, err = p.accept(","); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if left.op != opProperty {
		return nil, syntaxError(pos, "IN needs a property before it")
	}
	slices.Sort(n.set)
	return finish(n, pos)
}

// text consumes a string and takes its quotes off.
func (p *parser) text() (string, error) {
	if p.tok.kind != tokenText {
		return "", p.unexpected("a text in quotes")
	}
	s := p.tok.text[1 : len(p.tok.text)-1]
	return strings.ReplaceAll(s, "''", "'"), p.advance()
}

func (p *parser) unary() (*node, error) {
	pos := p.tok.pos
	if !p.tok.is("+") && !p.tok.is("-") && !p.tok.is("NOT") {
		return p.operand()
	}
	sign := p.tok.text
	ascend, err := p.descend()
	if err != nil {
		return nil, err
	}
	defer ascend()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.unary()
	if err != nil {
		return nil, err
	}
	switch sign {
	case "-":
		return finish(&node{op: opNegate, left: n}, pos)
	case "NOT":
		if n, err = asBoolean(n, pos); err != nil {
			return nil, err
		}
		return finish(&node{op: opNot, left: n}, pos)
	}
	return n, nil
}

func (p *parser) operand() (*node, error) {
	t := p.tok
	switch t.kind {
	case tokenText:
		text, err := p.text()
		return &node{op: opConstant, value: value{kind: kindText, text: text}}, err
	case tokenProperty:
		return &node{op: opProperty, text: t.text}, p.advance()
	case tokenDecimal, tokenFloat:
		v, err := number(t)
		if err != nil {
			return nil, err
		}
		return &node{op: opConstant, value: v}, p.advance()
	case tokenWord:
		switch t.text {
		case "TRUE", "FALSE":
			return &node{op: opConstant, boolean: true, value: boolean(t.text == "TRUE")}, p.advance()
		case "NULL":
			return &node{op: opConstant, boolean: true}, p.advance()
		case "(":
			return p.group()
		}
	default: // the text ends
	}
	return nil, p.unexpected("a property, a value or a parenthesis")
}

func (p *parser) group() (*node, error) {
	ascend, err := p.descend()
	if err != nil {
		return nil, err
	}
	defer ascend()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

// number reads a literal as ConstantExpression does: decimals that fit are ints, others longs; floats are doubles and neither
// infinite nor, a quirk, zero.
func number(t token) (value, error) {
	if t.kind == tokenDecimal {
		n, err := strconv.ParseInt(strings.TrimRight(t.text, "lL"), 10, 64)
		if err != nil {
			return value{}, syntaxError(t.pos, fmt.Sprintf("%s is larger than %d", t.describe(), int64(math.MaxInt64)))
		}
		if n <= math.MaxInt32 {
			return value{kind: kindInt, number: n}, nil
		}
		return value{kind: kindLong, number: n}, nil
	}
	f, ok := parseDouble(t.text)
	if !ok || math.IsInf(f, 0) || f == 0 {
		return value{}, syntaxError(t.pos, fmt.Sprintf("%s is not between %g and %g", t.describe(), math.SmallestNonzeroFloat64, math.MaxFloat64))
	}
	return value{kind: kindDouble, double: f}, nil
}

// asBoolean makes n a condition: a lone property is cast, another value is none.
func asBoolean(n *node, pos lexer.Position) (*node, error) {
	switch {
	case n.isBoolean():
		return n, nil
	case n.op == opProperty:
		return finish(&node{op: opCast, left: n}, pos)
	}
	return nil, syntaxError(pos, "this is a value, not a condition")
}

// finish notes how deep n is.
func finish(n *node, pos lexer.Position) (*node, error) {
	for _, below := range append([]*node{n.left, n.right}, n.terms...) {
		if below != nil {
			n.depth = max(n.depth, below.depth+1)
		}
	}
	if n.depth > MaxDepth {
		return nil, fmt.Errorf("%w: over %d levels at line %d, column %d", ErrTooDeep, MaxDepth, pos.Line, pos.Column)
	}
	return n, nil
}

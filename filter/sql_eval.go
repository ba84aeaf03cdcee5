package filter

import (
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
)

type op uint8

const (
	opConstant op = iota
	opProperty    // text is its name
	opNegate
	opCast // a lone property as a condition
	opNot
	opAnd
	opOr
	opEqual
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opIn
	opContains
	opStartsWith
	opEndsWith
)

// node is an operation of a compiled expression. Immutable once the parser is done.
type node struct {
	op          op
	boolean     bool // of a constant: TRUE, FALSE or NULL
	not         bool // of IN, CONTAINS, STARTSWITH, ENDSWITH: the NOT form
	depth       int  // levels below
	left, right *node
	terms       []*node  // of AND and OR
	value       value    // of a constant
	text        string   // what CONTAINS and its like look for; a property's name
	set         []string // of IN, sorted
}

// isBoolean tells whether n is a BooleanExpression to the reference.
func (n *node) isBoolean() bool {
	if n.op == opConstant {
		return n.boolean
	}
	return n.op != opProperty && n.op != opNegate
}

func (n *node) isNull() bool { return n.op == opConstant && n.value.kind == kindNull }

// eval computes n for a message. What the reference throws while evaluating is kindFailed, which makes the whole expression
// false: it passes up through every operation that gets to see it.
func (n *node) eval(p message.Properties) value {
	switch n.op {
	case opConstant:
		return n.value
	case opProperty:
		if s, ok := p.Get(n.text); ok {
			return value{kind: kindText, text: s}
		}
		return value{}
	case opNegate:
		return n.left.eval(p).negate()
	case opCast:
		if v := n.left.eval(p); v.kind == kindNull || v.kind == kindFailed {
			return v
		}
		return boolean(false)
	case opNot:
		v := n.left.eval(p)
		if v.kind == kindBoolean {
			v.number = 1 - v.number
		}
		return v
	case opAnd, opOr:
		return n.evalChain(p)
	case opEqual:
		return n.evalEqual(p)
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		return n.evalOrder(p)
	case opIn:
		return n.evalIn(p)
	default:
		return n.evalContains(p)
	}
}

// evalChain stops at the first term that decides: FALSE for AND, TRUE for OR. Otherwise one unknown makes all unknown.
func (n *node) evalChain(p message.Properties) value {
	decides := n.op == opOr
	unknown := false
	for _, term := range n.terms {
		switch v := term.eval(p); {
		case v.kind == kindFailed:
			return v
		case v.kind == kindNull:
			unknown = true
		case v.isTrue() == decides:
			return v
		}
	}
	if unknown {
		return value{}
	}
	return boolean(!decides)
}

func (n *node) evalEqual(p message.Properties) value {
	l := n.left.eval(p)
	if l.kind == kindFailed {
		return l
	}
	r := n.right.eval(p)
	switch {
	case r.kind == kindFailed:
		return r
	case l.kind == kindNull && r.kind == kindNull:
		return boolean(true)
	case l.kind == kindNull:
		return value{}
	case r.kind == kindNull:
		return boolean(false)
	}
	c, ok := compare(l, r)
	if !ok {
		return failed
	}
	return boolean(c == 0)
}

func (n *node) evalOrder(p message.Properties) value {
	l := n.left.eval(p)
	if l.kind == kindNull || l.kind == kindFailed {
		return l
	}
	r := n.right.eval(p)
	if r.kind == kindNull || r.kind == kindFailed {
		return r
	}
	if l.kind == kindText && r.kind == kindText {
		if l = l.asDouble(); l.kind == kindFailed {
			return l
		}
	}
	c, ok := compare(l, r)
	if !ok {
		return failed
	}
	switch n.op {
	case opGreater:
		return boolean(c > 0)
	case opGreaterEqual:
		return boolean(c >= 0)
	case opLess:
		return boolean(c < 0)
	default:
		return boolean(c <= 0)
	}
}

func (n *node) evalIn(p message.Properties) value {
	v := n.left.eval(p)
	if v.kind != kindText {
		return value{}
	}
	_, found := slices.BinarySearch(n.set, v.text)
	return boolean(found != n.not)
}

// evalContains is false, and so is its NOT form, when there is nothing to look for or nothing to look in.
func (n *node) evalContains(p message.Properties) value {
	if n.text == "" {
		return boolean(false)
	}
	v := n.left.eval(p)
	if v.kind == kindFailed {
		return v
	}
	if v.kind != kindText {
		return boolean(false)
	}
	found := false
	switch n.op {
	case opContains:
		found = strings.Contains(v.text, n.text)
	case opStartsWith:
		found = strings.HasPrefix(v.text, n.text)
	case opEndsWith:
		found = strings.HasSuffix(v.text, n.text)
	default: // no other operator looks into a text
	}
	return boolean(found != n.not)
}

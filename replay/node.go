package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value in the dialect of the reference's brokers: keys may be bare.
type node struct {
	kind    nodeKind
	text    string // of a string, unescaped; of a word as it stands
	members []member
	list    []*node
}

type nodeKind uint8

const (
	word nodeKind = iota // number, true, false, null
	text
	object
	list
)

type member struct {
	name  string
	value *node
}

var errJSON = errors.New("replay: not JSON")

// maxNesting bounds the depth of a JSON text.
const maxNesting = 64

// parseJSON reads one value.
func parseJSON(b []byte) (*node, error) {
	p := parser{in: bytes.TrimSpace(b)}
	n, err := p.value(0)
	if err == nil && p.at != len(p.in) {
		err = p.wrong("more text")
	}
	return n, err
}

type parser struct {
	in []byte
	at int
}

func (p *parser) wrong(what string) error { return fmt.Errorf("%w: %s at %d", errJSON, what, p.at) }

func (p *parser) blanks() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// peek is the next byte behind blanks, 0 at the end.
func (p *parser) peek() byte {
	p.blanks()
	if p.at >= len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *parser) value(depth int) (*node, error) {
	if depth > maxNesting {
		return nil, p.wrong("too deep a nesting")
	}
	switch p.peek() {
	case '{':
		n := &node{kind: object}
		return n, p.elements('}', func() error {
			name, err := p.token()
			if err != nil {
				return err
			}
			if p.peek() != ':' {
				return p.wrong("no colon")
			}
			p.at++
			value, err := p.value(depth + 1)
			n.members = append(n.members, member{name.text, value})
			return err
		})
	case '[':
		n := &node{kind: list}
		return n, p.elements(']', func() error {
			value, err := p.value(depth + 1)
			n.list = append(n.list, value)
			return err
		})
	default:
		return p.token()
	}
}

func (p *parser) elements(end byte, one func() error) error {
	p.at++
	for p.peek() != end {
		if err := one(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.at++
		case end:
		default:
			return p.wrong("neither a comma nor an end")
		}
	}
	p.at++
	return nil
}

// token is a string or a word.
func (p *parser) token() (*node, error) {
	p.blanks()
	from := p.at
	if p.peek() == '"' {
		for p.at++; p.at < len(p.in) && p.in[p.at] != '"'; p.at++ {
			if p.in[p.at] == '\\' {
				p.at++
			}
		}
		if p.at >= len(p.in) {
			return nil, p.wrong("the end of the text in a string")
		}
		p.at++
		plain, err := strconv.Unquote(string(p.in[from:p.at]))
		if err != nil { // an escape of JSON alone, such as \/: as it stands it can be compared as well
			plain = string(p.in[from+1 : p.at-1])
		}
		return &node{kind: text, text: plain}, nil
	}
	for p.at < len(p.in) && strings.IndexByte(",:{}[]\" \t\r\n", p.in[p.at]) < 0 {
		p.at++
	}
	if p.at == from {
		return nil, p.wrong("no value")
	}
	return &node{kind: word, text: string(p.in[from:p.at])}, nil
}

// print writes the value with members and elements in order, those with volatile names and all addresses left out.
func (n *node) print(out *strings.Builder) {
	switch n.kind {
	case word:
		out.WriteString(n.text)
	case text:
		out.WriteString(strconv.Quote(withoutAddresses(n.text)))
	case object:
		members := slices.Clone(n.members)
		slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
		out.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strconv.Quote(withoutAddresses(m.name)))
			out.WriteByte(':')
			if isVolatileMember(m.name) {
				out.WriteByte('_')
				continue
			}
			m.value.print(out)
		}
		out.WriteByte('}')
	case list:
		elements := make([]string, len(n.list))
		for i, e := range n.list {
			var one strings.Builder
			e.print(&one)
			elements[i] = one.String()
		}
		slices.Sort(elements) // the reference's sets have no order
		out.WriteString("[" + strings.Join(elements, ",") + "]")
	}
}

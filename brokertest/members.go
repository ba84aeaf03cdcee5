package brokertest

import (
	"slices"
	"strings"
)

// withoutMembers takes the members with these names out of all objects of a JSON text, whose keys may be bare numbers. Text that it can not
// read comes back as it is.
func withoutMembers(text []byte, names []string) []byte {
	s := stripper{in: text, names: names, out: make([]byte, 0, len(text))}
	if !s.value(0) || s.at != len(text) {
		return text
	}
	return s.out
}

// maxNesting bounds the depth of a JSON text.
const maxNesting = 64

// stripper copies a JSON text without some members.
type stripper struct {
	in    []byte
	at    int
	names []string
	out   []byte
}

// value copies a value; false when there is none.
func (s *stripper) value(depth int) bool {
	if depth > maxNesting || s.at >= len(s.in) {
		return false
	}
	switch s.in[s.at] {
	case '{':
		return s.list('}', depth, s.member)
	case '[':
		return s.list(']', depth, func(depth int) bool { return s.value(depth) })
	default:
		token := s.token()
		s.out = append(s.out, token...)
		return len(token) > 0
	}
}

// list copies what stands between brackets, one element after the other.
func (s *stripper) list(end byte, depth int, element func(depth int) bool) bool {
	s.copyByte()
	begin := len(s.out)
	for s.at < len(s.in) && s.in[s.at] != end {
		before := len(s.out)
		if before > begin {
			s.out = append(s.out, ',')
		}
		from := len(s.out)
		if !element(depth + 1) {
			return false
		}
		if len(s.out) == from { // left out
			s.out = s.out[:before]
		}
		if s.at < len(s.in) && s.in[s.at] == end {
			break
		}
		if s.at+1 >= len(s.in) || s.in[s.at] != ',' || s.in[s.at+1] == end {
			return false
		}
		s.at++
	}
	if s.at >= len(s.in) {
		return false
	}
	s.copyByte()
	return true
}

// member copies a key with its value, or nothing.
func (s *stripper) member(depth int) bool {
	from := len(s.out)
	key := s.token()
	if len(key) == 0 || s.at >= len(s.in) || s.in[s.at] != ':' {
		return false
	}
	s.out = append(s.out, key...)
	s.copyByte()
	if !s.value(depth) {
		return false
	}
	if n := len(key); n > 2 && key[0] == '"' && slices.Contains(s.names, string(key[1:n-1])) {
		s.out = s.out[:from]
	}
	return true
}

// token is a string or a word.
func (s *stripper) token() []byte {
	from := s.at
	if s.at < len(s.in) && s.in[s.at] == '"' {
		for s.at++; s.at < len(s.in) && s.in[s.at] != '"'; s.at++ {
			if s.in[s.at] == '\\' {
				s.at++
			}
		}
		if s.at >= len(s.in) {
			return nil
		}
		s.at++
		return s.in[from:s.at]
	}
	for s.at < len(s.in) && strings.IndexByte(",:{}[]\"", s.in[s.at]) < 0 {
		s.at++
	}
	return s.in[from:s.at]
}

func (s *stripper) copyByte() {
	s.out = append(s.out, s.in[s.at])
	s.at++
}

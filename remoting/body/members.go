package body

import (
	"bytes"
	"slices"
	"strings"
)

// visitor goes through a body: writing when w is set, else reading.
type visitor struct {
	w *writer
	r *reader
}

// members is what a body lists its members to. When writing, every member is written in the order of the list. When
// reading, the list is walked for each key of the input until a member takes it.
type members struct {
	x     *visitor
	first bool   // writing: no member written yet
	key   []byte // reading: the key at hand
	taken bool   // reading: a member took it
	fold  bool   // reading: compare without regard to case
}

func (x *visitor) body(b Body) {
	m := members{x: x, first: true}
	if x.w != nil {
		x.w.open('{')
		b.members(&m)
		x.w.close('}', m.first)
		return
	}
	if !x.r.begin('{') {
		return
	}
	for first := true; x.r.more('}', &first); {
		m.key, m.taken, m.fold = x.r.key(), false, false
		b.members(&m)
		if !m.taken {
			m.fold = true
			b.members(&m)
		}
		if !m.taken {
			x.r.skip()
		}
	}
}

// at tells whether the value of the member is to be written or read now. Other names are taken when reading.
func (m *members) at(name string, others ...string) bool { return m.atIf(true, name, others...) }

// atIf is at for a member that is left out unless present.
func (m *members) atIf(present bool, name string, others ...string) bool {
	if m.x.w != nil {
		if present {
			m.x.w.next(m.first)
			m.x.w.name(name)
			m.first = false
		}
		return present
	}
	if m.taken || !m.is(name) && !slices.ContainsFunc(others, m.is) {
		return false
	}
	m.taken = true
	return true
}

func (m *members) is(name string) bool {
	if m.fold {
		return bytes.EqualFold(m.key, []byte(name))
	}
	return string(m.key) == name
}

// str is a string that is written even when empty.
func (m *members) str(name string, v *string) {
	if m.at(name) {
		stringValue(m.x, v)
	}
}

// optStr is a string that is left out when empty: null in the reference.
func (m *members) optStr(name string, v *string, others ...string) {
	if m.atIf(*v != "", name, others...) {
		stringValue(m.x, v)
	}
}

func (m *members) i32(name string, v *int32, others ...string) {
	if m.at(name, others...) {
		int32Value(m.x, v)
	}
}

func (m *members) i64(name string, v *int64, others ...string) {
	if m.at(name, others...) {
		int64Value(m.x, v)
	}
}

func (m *members) boolean(name string, v *bool) {
	if m.at(name) {
		boolValue(m.x, v)
	}
}

func (m *members) double(name string, v *float64) {
	if m.at(name) {
		doubleValue(m.x, v)
	}
}

// strs is a list of strings, [] when nil.
func (m *members) strs(name string, v *[]string) {
	if m.at(name) {
		listOf(m.x, v, stringValue)
	}
}

// optStrs is a list of strings, left out when nil.
func (m *members) optStrs(name string, v *[]string) {
	if m.atIf(*v != nil, name) {
		listOf(m.x, v, stringValue)
	}
}

// stringMap is a map of strings, {} when nil.
func (m *members) stringMap(name string, v *map[string]string) {
	if m.at(name) {
		mapOf(m.x, v, stringKey{}, stringValue)
	}
}

func stringValue(x *visitor, v *string) {
	if x.w != nil {
		x.w.text(*v)
		return
	}
	text, _ := x.r.scalar()
	*v = strings.ToValidUTF8(string(text), "\uFFFD")
}

func int32Value(x *visitor, v *int32) {
	if x.w != nil {
		x.w.integer(int64(*v))
	} else if n, ok := x.r.integer(32); ok {
		*v = int32(n)
	}
}

func int64Value(x *visitor, v *int64) {
	if x.w != nil {
		x.w.integer(*v)
	} else if n, ok := x.r.integer(64); ok {
		*v = n
	}
}

func boolValue(x *visitor, v *bool) {
	if x.w != nil {
		x.w.boolean(*v)
	} else if b, ok := x.r.boolean(); ok {
		*v = b
	}
}

func doubleValue(x *visitor, v *float64) {
	if x.w != nil {
		x.w.double(*v)
	} else if d, ok := x.r.double(); ok {
		*v = d
	}
}

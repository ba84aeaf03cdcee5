package broker

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/remoting/body"
)

// keptText is a table of values that never change, as it stands in a state file: the text of each is made once, so that a save beside many
// costs little more than a copy. The zero value is an empty one. One caller at a time.
type keptText[V keptValue] struct {
	pieces map[string]*keptPiece[V]
	sorted []*keptPiece[V] // by name
	size   int             // of the file, the last time
}

type keptValue interface {
	comparable
	body.Body
}

type keptPiece[V keptValue] struct {
	name  string
	value V
	text  []byte // `"name":{…}`, two objects deep
}

// follow makes the text that of table.
func (k *keptText[V]) follow(table map[string]V) {
	if k.pieces == nil {
		k.pieces = make(map[string]*keptPiece[V], len(table))
	}
	added := false
	for name, value := range table {
		p := k.pieces[name]
		if p == nil {
			p = &keptPiece[V]{name: name}
			k.pieces[name] = p
			k.sorted = append(k.sorted, p)
			added = true
		} else if p.value == value {
			continue
		}
		p.value, p.text = value, body.AppendPrettyMember(nil, 2, name, value)
	}
	if len(k.pieces) > len(table) {
		k.sorted = slices.DeleteFunc(k.sorted, func(p *keptPiece[V]) bool {
			_, ok := table[p.name]
			if !ok {
				delete(k.pieces, p.name)
			}
			return !ok
		})
	}
	if added {
		slices.SortFunc(k.sorted, func(a, b *keptPiece[V]) int { return strings.Compare(a.name, b.name) })
	}
}

// file is the content of a state file. empty is what it is without an entry in the table, which is its last member.
func (k *keptText[V]) file(empty []byte) []byte {
	if len(k.sorted) == 0 {
		return empty
	}
	const end = "}\n}"
	data := append(make([]byte, 0, k.size+4096), bytes.TrimSuffix(empty, []byte(end))...)
	for i, p := range k.sorted {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(append(data, "\n\t\t"...), p.text...)
	}
	data = append(data, "\n\t"+end...)
	k.size = len(data)
	return data
}

package conf

// Key describes one key.
type Key struct {
	Section Section
	Name    string
	Kind    string // "text", "whole number", "number", "true or false", ...
	Default string // empty where Load fills it in from the machine
	Acts    bool   // rocketd does something with it
}

// Keys lists all keys in the order of the reference's classes; a name that several classes of a section share comes once.
func Keys() []Key {
	rows := Default().rows()
	keys := make([]Key, 0, len(rows))
	seen := make(map[string]int, len(rows))
	for _, k := range rows {
		if i, twice := seen[k.qualified()]; twice {
			keys[i].Acts = keys[i].Acts || k.acts
			continue
		}
		seen[k.qualified()] = len(keys)
		keys = append(keys, Key{Section: k.section, Name: k.name, Kind: k.value.kind(), Default: k.value.text(), Acts: k.acts})
	}
	return keys
}

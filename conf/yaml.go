package conf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// parseYAML reads a mapping of keys at the top and below the section names. Values are scalars, or sequences of
// scalars, which are joined by semicolons; topics and groups may also be sequences of mappings.
func parseYAML(path string, text []byte) ([]setting, []Problem) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, []Problem{{Origin: Origin{Source: path}, Message: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	r := yamlReader{path: path}
	r.mapping(doc.Content[0], "")
	return r.settings, r.problems
}

type yamlReader struct {
	path     string
	settings []setting
	problems []Problem
}

func (r *yamlReader) problem(n *yaml.Node, name, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		Origin:  Origin{Source: r.path, Line: n.Line},
		Key:     name,
		Message: fmt.Sprintf(format, args...),
	})
}

func (r *yamlReader) mapping(n *yaml.Node, section Section) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, string(section), "must be a mapping of keys to values")
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], resolveAlias(n.Content[i+1])
		if first, twice := seen[name.Value]; twice {
			r.problem(name, name.Value, "stands twice, first on line %d", first)
			continue
		}
		seen[name.Value] = name.Line
		inner := Section(name.Value)
		if section == "" && (inner == SectionRocketd || inner == SectionBroker || inner == SectionNamesrv) {
			if value.Tag != "!!null" {
				r.mapping(value, inner)
			}
			continue
		}
		if text, ok := r.text(name, value); ok {
			qualified := name.Value
			if section != "" {
				qualified = string(section) + "." + name.Value
			}
			r.settings = append(r.settings, setting{name: qualified, value: text, origin: Origin{Source: r.path, Line: name.Line}})
		}
	}
}

// text turns a value into the text that the key's row reads.
func (r *yamlReader) text(name, value *yaml.Node) (string, bool) {
	switch value.Kind {
	case yaml.ScalarNode:
		if value.Tag == "!!null" {
			return "", true
		}
		return value.Value, true
	case yaml.SequenceNode:
		if strings.TrimPrefix(name.Value, string(SectionRocketd)+".") == "messages" {
			return r.messages(name, value)
		}
		parts := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			part, ok := r.item(name, resolveAlias(item))
			if !ok {
				return "", false
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ";"), true
	default:
		r.problem(value, name.Value, "must be one value or a list")
		return "", false
	}
}

// messages turns a list of mappings into the JSON that the key messages reads.
func (r *yamlReader) messages(name, list *yaml.Node) (string, bool) {
	entries := make([]map[string]json.RawMessage, 0, len(list.Content))
	for _, item := range list.Content {
		item = resolveAlias(item)
		if item.Kind != yaml.MappingNode {
			r.problem(item, name.Value, "an entry must be a mapping with topic and body")
			return "", false
		}
		entry := make(map[string]json.RawMessage, len(item.Content)/2)
		for i := 0; i+1 < len(item.Content); i += 2 {
			text, err := messageField(item.Content[i].Value, resolveAlias(item.Content[i+1]))
			if err != nil {
				r.problem(item.Content[i], name.Value, "%s: %v", item.Content[i].Value, err)
				return "", false
			}
			entry[item.Content[i].Value] = text
		}
		entries = append(entries, entry)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		r.problem(list, name.Value, "%v", err)
		return "", false
	}
	return string(text), true
}

// messageField is one member of a message as JSON: the text of a scalar as it stands in the file, whatever YAML takes it for.
func messageField(name string, value *yaml.Node) (json.RawMessage, error) {
	switch {
	case name == "properties":
		fields := map[string]string{}
		if err := value.Decode(&fields); err != nil {
			return nil, errors.New("must be a mapping of names to values")
		}
		return json.Marshal(fields)
	case name == "queue":
		var n int32
		if err := value.Decode(&n); err != nil {
			return nil, errors.New("must be a whole number")
		}
		return json.Marshal(n)
	case name == "keys" && value.Kind == yaml.SequenceNode:
		var keys []string
		if err := value.Decode(&keys); err != nil {
			return nil, errors.New("must be a list of texts")
		}
		return json.Marshal(strings.Join(keys, " "))
	case value.Kind != yaml.ScalarNode:
		return nil, errors.New("must be one value")
	default:
		return json.Marshal(value.Value)
	}
}

// item turns an element of a list into text: a mapping becomes NAME,FIELD=VALUE,... as topics and groups read it.
func (r *yamlReader) item(name, item *yaml.Node) (string, bool) {
	switch item.Kind {
	case yaml.ScalarNode:
		return item.Value, true
	case yaml.MappingNode:
		var title string
		var fields []string
		for i := 0; i+1 < len(item.Content); i += 2 {
			field, value := item.Content[i], resolveAlias(item.Content[i+1])
			if value.Kind != yaml.ScalarNode {
				r.problem(value, name.Value, "%s must be one value", field.Value)
				return "", false
			}
			if field.Value == "name" {
				title = value.Value
				continue
			}
			fields = append(fields, ","+field.Value+"="+value.Value)
		}
		if title == "" {
			r.problem(item, name.Value, "an entry has no name")
			return "", false
		}
		return title + strings.Join(fields, ""), true
	default:
		r.problem(item, name.Value, "an entry must be a name or a mapping")
		return "", false
	}
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

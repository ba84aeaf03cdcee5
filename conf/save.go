package conf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// EditBrokerFile returns the text of brokerConfigPath with run-time changes of the broker's keys in it, so that they hold
// after a restart: old is its present text, nil when there is no file. Only the lines of those keys are touched or added,
// comments and order stay (the reference replaces the file by all keys). The caller writes the file.
func (c *Config) EditBrokerFile(old []byte, changes []Property) ([]byte, error) {
	return c.edit(c.Broker.BrokerConfigPath, old, SectionBroker, changes)
}

// EditNamesrvFile is EditBrokerFile for the name server's keys and configStorePath.
func (c *Config) EditNamesrvFile(old []byte, changes []Property) ([]byte, error) {
	return c.edit(c.Namesrv.ConfigStorePath, old, SectionNamesrv, changes)
}

func (c *Config) edit(path string, old []byte, section Section, changes []Property) ([]byte, error) {
	rows := c.rows()
	known := make([]Property, 0, len(changes))
	for _, p := range changes {
		i := slices.IndexFunc(rows, func(k key) bool { return k.section == section && k.name == p.Key })
		if i >= 0 {
			known = append(known, Property{Key: p.Key, Value: rows[i].value.text()})
		}
	}
	var edited []byte
	var err error
	if isYAML(path) {
		edited, err = editYAML(old, section, known)
	} else {
		edited, err = editProperties(old, known)
	}
	if err != nil {
		return nil, fmt.Errorf("save configuration to %s: %w", path, err)
	}
	return edited, nil
}

// editProperties replaces the lines that set the changed keys and appends those that are not there yet.
func editProperties(old []byte, changes []Property) ([]byte, error) {
	old = bytes.ReplaceAll(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	entries, err := ParseProperties(old)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(old), "\n")
	for _, change := range changes {
		replacement := string(AppendProperty(nil, change.Key, change.Value))
		written := false
		for i, e := range entries {
			if e.Key != change.Key {
				continue
			}
			end := len(lines) // the entry's lines, with what follows them up to the next entry
			if i+1 < len(entries) {
				end = entries[i+1].Line - 1
			}
			clearEntry(lines[e.Line-1 : end])
			if !written {
				lines[e.Line-1] = replacement
				written = true
			}
		}
		if !written {
			if last := len(lines) - 1; lines[last] != "" && !strings.HasSuffix(lines[last], "\n") {
				lines[last] += "\n"
			}
			lines = append(lines, replacement)
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// clearEntry empties the natural lines of one entry: the first and its continuations.
func clearEntry(lines []string) {
	for i := range lines {
		continued := endsInBackslash(strings.TrimRight(lines[i], "\r\n"))
		lines[i] = ""
		if !continued {
			return
		}
	}
}

// editYAML sets the changed keys in the mapping of their section.
func editYAML(old []byte, section Section, changes []Property) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(old, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping")
	}
	for _, change := range changes {
		value := &yaml.Node{}
		value.SetString(change.Value)
		if target := findYAML(top, section, change.Key); target != nil {
			value.HeadComment, value.LineComment, value.FootComment = target.HeadComment, target.LineComment, target.FootComment
			*target = *value
			continue
		}
		inner := mappingValue(top, string(section))
		if inner == nil || inner.Kind != yaml.MappingNode {
			inner = &yaml.Node{Kind: yaml.MappingNode}
			top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: string(section)}, inner)
		}
		inner.Content = append(inner.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: change.Key}, value)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// findYAML returns the value that sets a key: below its section, or at the top with or without the section's name.
func findYAML(top *yaml.Node, section Section, name string) *yaml.Node {
	if inner := mappingValue(top, string(section)); inner != nil && inner.Kind == yaml.MappingNode {
		if v := mappingValue(inner, name); v != nil {
			return v
		}
	}
	if v := mappingValue(top, string(section)+"."+name); v != nil {
		return v
	}
	if section == SectionBroker {
		return mappingValue(top, name)
	}
	return nil
}

func mappingValue(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolveAlias(n.Content[i+1])
		}
	}
	return nil
}

package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// SaveBroker writes run-time changes of the broker's keys into brokerConfigPath, so that they hold after a restart.
// Only the lines of those keys are touched or added, comments and order stay. The file is replaced as a whole.
func (c *Config) SaveBroker(changes []Property) error {
	return c.save(c.Broker.BrokerConfigPath, SectionBroker, changes)
}

// SaveNamesrv is SaveBroker for the name server's keys and configStorePath.
func (c *Config) SaveNamesrv(changes []Property) error {
	return c.save(c.Namesrv.ConfigStorePath, SectionNamesrv, changes)
}

func (c *Config) save(path string, section Section, changes []Property) error {
	if path == "" {
		return errors.New("no file to save the configuration to")
	}
	rows := c.rows()
	known := make([]Property, 0, len(changes))
	for _, p := range changes {
		i := slices.IndexFunc(rows, func(k key) bool { return k.section == section && k.name == p.Key })
		if i >= 0 {
			known = append(known, Property{Key: p.Key, Value: rows[i].value.text()})
		}
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("save configuration: %w", err)
	}
	var text []byte
	if isYAML(path) {
		text, err = editYAML(old, section, known)
	} else {
		text, err = editProperties(old, known)
	}
	if err != nil {
		return fmt.Errorf("save configuration to %s: %w", path, err)
	}
	return replaceFile(path, text)
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

// replaceFile writes a file beside path, syncs it and renames it over path.
func replaceFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save configuration: %w", err)
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("save configuration: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("save configuration: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

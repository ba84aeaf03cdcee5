package conf

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML prints the effective configuration so that Load reads it back: every key of the role, or with changed only
// those that some source or the machine decided, each with its source as a comment.
func (c *Config) YAML(changed bool) ([]byte, error) {
	var out bytes.Buffer
	section, seen := SectionRocketd, make(map[string]bool)
	for _, k := range c.rows() {
		origin := c.origins[k.qualified()]
		if seen[k.qualified()] || changed && origin.Source == "" || !c.role.has(k.section) {
			continue
		}
		seen[k.qualified()] = true
		indent := ""
		if k.section != SectionRocketd {
			indent = "  "
		}
		if k.section != section {
			section = k.section
			fmt.Fprintf(&out, "%s:\n", section)
		}
		value, err := yamlScalar(k.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.qualified(), err)
		}
		line := indent + k.name + ": " + value
		if origin.Source != "" {
			line = fmt.Sprintf("%-56s # %s", line, origin)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.Bytes(), nil
}

// has tells whether the role uses a section.
func (r Role) has(s Section) bool {
	return s == SectionRocketd || r == RoleAll || (r == RoleBroker) == (s == SectionBroker)
}

// yamlScalar quotes text where YAML would read it as something else.
func yamlScalar(v value) (string, error) {
	switch v.(type) {
	case *stringValue, *topicsValue, *groupsValue, *messagesValue:
		quoted, err := yaml.Marshal(v.text())
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(string(quoted)), nil
	default:
		return v.text(), nil
	}
}

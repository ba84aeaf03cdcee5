package conf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Role says which parts of the process a configuration is for.
type Role uint8

// The roles.
const (
	RoleAll     Role = iota // name server and broker in one process
	RoleBroker              // broker alone
	RoleNamesrv             // name server alone
)

// Setting is a value from the command line.
type Setting struct {
	Flag  string // "--data"
	Key   string // KEY or SECTION.KEY
	Value string
}

// Input is where Load looks.
type Input struct {
	Role Role
	// Files are YAML (.yaml, .yml, .json) or properties files (all others); later ones are stronger.
	Files []string
	// Env is in the form of os.Environ.
	Env []string
	// Flags are stronger than the environment.
	Flags []Setting
	// Sets are --set arguments, KEY=VALUE; the strongest.
	Sets    []string
	Machine Machine
}

// setting is a value from some source, not yet applied.
type setting struct {
	section Section // where the key is looked for first; empty: the order of the package comment
	name    string
	value   string
	origin  Origin
}

// readFile turns a file into settings.
func readFile(path string, role Role) ([]setting, []Problem) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, []Problem{{Origin: Origin{Source: path}, Message: plainPathError(err)}}
	}
	if isYAML(path) {
		return parseYAML(path, text)
	}
	entries, err := ParseProperties(text)
	if err != nil {
		return nil, []Problem{{Origin: Origin{Source: path}, Message: err.Error()}}
	}
	section := fileSection(path, role)
	settings := make([]setting, len(entries))
	for i, e := range entries {
		settings[i] = setting{section: section, name: e.Key, value: e.Value, origin: Origin{Source: path, Line: e.Line}}
	}
	return settings, nil
}

// fileSection is the section that a properties file is for: with both roles in one process, the file's name tells.
func fileSection(path string, role Role) Section {
	if role == RoleNamesrv || role == RoleAll && strings.Contains(filepath.Base(path), "namesrv") {
		return SectionNamesrv
	}
	return SectionBroker
}

func isYAML(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

// fromSets turns --set arguments into settings.
func fromSets(sets []string) (settings []setting, problems []Problem) {
	for _, arg := range sets {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			problems = append(problems, Problem{Origin: Origin{Source: sourceFlag, Detail: "--set"}, Message: fmt.Sprintf("%q is not KEY=VALUE", arg)})
			continue
		}
		settings = append(settings, setting{name: strings.TrimSpace(name), value: value, origin: Origin{Source: sourceFlag, Detail: "--set"}})
	}
	return settings, problems
}

// fromFlags turns flags into settings.
func fromFlags(flags []Setting) []setting {
	settings := make([]setting, len(flags))
	for i, f := range flags {
		settings[i] = setting{name: f.Key, value: f.Value, origin: Origin{Source: sourceFlag, Detail: f.Flag}}
	}
	return settings
}

// fromApacheEnv reads the reference's own variables, which are weaker than files as they are there.
func fromApacheEnv(env []string) []setting {
	var settings []setting
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue
		}
		origin := Origin{Source: sourceEnvironment, Detail: name}
		switch name {
		case "NAMESRV_ADDR":
			settings = append(settings, setting{section: SectionBroker, name: "namesrvAddr", value: value, origin: origin})
		case "ROCKETMQ_HOME":
			settings = append(settings,
				setting{section: SectionBroker, name: "rocketmqHome", value: value, origin: origin},
				setting{section: SectionNamesrv, name: "rocketmqHome", value: value, origin: origin})
		}
	}
	return settings
}

// fromEnv reads ROCKETD_KEY and ROCKETD_SECTION_KEY; case and underscores do not count within KEY.
func fromEnv(env []string, rows []key) (settings []setting, problems []Problem) {
	byName := make(map[string]string, 2*len(rows))
	for i := len(rows) - 1; i >= 0; i-- { // the first of equal names stands in the section that is looked at first
		k := &rows[i]
		byName[strings.ToUpper(k.name)] = k.qualified()
		byName[strings.ToUpper(string(k.section)+k.name)] = k.qualified()
	}
	for _, name := range []string{"brokerPort", "namesrvPort"} {
		byName[strings.ToUpper(name)] = alias(name)
	}
	for _, pair := range env {
		variable, value, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(strings.ToUpper(variable), "ROCKETD_")
		if !ok || isServiceLink(rest, value) {
			continue
		}
		origin := Origin{Source: sourceEnvironment, Detail: variable}
		name, ok := byName[strings.ReplaceAll(rest, "_", "")]
		if !ok {
			problems = append(problems, Problem{Origin: origin, Message: "names no key"})
			continue
		}
		settings = append(settings, setting{name: name, value: value, origin: origin})
	}
	return settings, problems
}

// isServiceLink recognizes the variables that Kubernetes and Docker add for a service named rocketd.
func isServiceLink(rest, value string) bool {
	return strings.HasPrefix(rest, "SERVICE_HOST") || strings.HasPrefix(rest, "SERVICE_PORT") ||
		strings.HasPrefix(rest, "PORT_") || rest == "PORT" && strings.Contains(value, "://")
}

// plainPathError says what went wrong with a file without repeating its name.
func plainPathError(err error) string {
	switch {
	case os.IsNotExist(err):
		return "there is no such file"
	case os.IsPermission(err):
		return "may not be read by this user"
	default:
		return err.Error()
	}
}

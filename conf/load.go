package conf

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Load reads all sources and returns the effective configuration. When anything is wrong with them the error is an
// *Errors that lists all of it.
func Load(in Input) (*Config, error) {
	l := loader{config: defaults(in.Machine.CPUs), role: in.Role}
	l.config.role = in.Role
	l.rows = l.config.rows()
	l.apply(fromApacheEnv(in.Env), nil)
	for _, path := range in.Files {
		l.apply(readFile(path, in.Role))
	}
	l.apply(fromEnv(in.Env, l.rows))
	l.apply(fromFlags(in.Flags), nil)
	l.apply(fromSets(in.Sets))
	l.applySaved(l.resolvePaths(in))
	l.resolve(in)
	l.problems = append(l.problems, l.config.relations()...)
	if len(l.problems) > 0 {
		return nil, &Errors{Problems: l.problems}
	}
	slices.Sort(l.config.ignored)
	l.config.ignored = slices.Compact(l.config.ignored)
	return l.config, nil
}

type loader struct {
	config   *Config
	rows     []key
	role     Role
	problems []Problem
}

// applySaved reads files in which run-time updates were saved; what stronger sources said stays.
func (l *loader) applySaved(paths []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		settings, problems := readFile(path, l.role)
		settings = slices.DeleteFunc(settings, func(s setting) bool {
			k := l.find(s)
			return k != nil && l.config.origins[k.qualified()].overFiles()
		})
		l.apply(settings, problems)
	}
}

func (l *loader) apply(settings []setting, problems []Problem) {
	l.problems = append(l.problems, problems...)
	for _, s := range settings {
		if err := l.applyOne(s); err != nil {
			l.problems = append(l.problems, Problem{Origin: s.origin, Key: s.name, Message: err.Error()})
		}
	}
}

func (l *loader) applyOne(s setting) error {
	k := l.find(s)
	if k == nil {
		return l.applyForeign(s)
	}
	if !k.acts {
		l.config.ignored = append(l.config.ignored, k.qualified())
	}
	return l.config.set(l.rows, k.qualified(), s.value, s.origin)
}

// applyForeign accepts keys of parts of the reference that rocketd does not have.
func (l *loader) applyForeign(s setting) error {
	name := s.name
	for _, section := range []Section{SectionBroker, SectionNamesrv} {
		name = strings.TrimPrefix(name, string(section)+".")
	}
	reason := foreignSwitch(name)
	switch {
	case reason != "" && strings.EqualFold(strings.TrimSpace(s.value), "true"):
		return fmt.Errorf("%s; only false is possible", reason)
	case reason != "" || foreign(name):
		l.config.ignored = append(l.config.ignored, name)
		return nil
	default:
		return l.unknown(name)
	}
}

func (l *loader) unknown(name string) error {
	best, distance := "", 3
	for i := range l.rows {
		if d := editDistance(strings.ToLower(name), strings.ToLower(l.rows[i].name), distance); d < distance {
			best, distance = l.rows[i].name, d
		}
	}
	if best == "" || len(name) < 4 {
		return ErrUnknownKey
	}
	return fmt.Errorf("%w; did you mean %s?", ErrUnknownKey, best)
}

// find looks a name up, given as KEY or SECTION.KEY.
func (l *loader) find(s setting) *key {
	if s.section == "" || s.section == SectionRocketd {
		s.name = alias(s.name)
	}
	for _, section := range l.order(s.section) {
		for i := range l.rows {
			k := &l.rows[i]
			if k.section == section && k.named(s.name) {
				return k
			}
		}
	}
	return nil
}

// alias turns the names that tell the two listeners' ports apart into their keys.
func alias(name string) string {
	switch name {
	case "brokerPort", "rocketd.brokerPort":
		return "broker.listenPort"
	case "namesrvPort", "rocketd.namesrvPort":
		return "namesrv.listenPort"
	default:
		return name
	}
}

// order lists the sections in which a name is looked for.
func (l *loader) order(first Section) []Section {
	switch {
	case first == SectionNamesrv:
		return []Section{SectionNamesrv, SectionRocketd, SectionBroker}
	case first == SectionBroker:
		return []Section{SectionBroker, SectionRocketd, SectionNamesrv}
	case l.role == RoleNamesrv:
		return []Section{SectionRocketd, SectionNamesrv, SectionBroker}
	default:
		return []Section{SectionRocketd, SectionBroker, SectionNamesrv}
	}
}

// editDistance counts the letters to add, drop or change to get from a to b, up to limit.
func editDistance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

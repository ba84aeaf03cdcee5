package conf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// UpdateBroker returns a copy of c with the broker's keys changed, as UPDATE_BROKER_CONFIG asks. Keys that nobody knows
// are ignored, as the reference ignores them; a bad value is an error and nothing is changed (the reference keeps the
// old value without a word). ErrBlackListed when configBlackList forbids one of them.
func (c *Config) UpdateBroker(changes []Property) (*Config, error) {
	return c.update(SectionBroker, c.Broker.ConfigBlackList+";configBlackList;brokerConfigPath;rocketmqHome", changes)
}

// UpdateNamesrv is UpdateBroker for the name server's keys and UPDATE_NAMESRV_CONFIG.
func (c *Config) UpdateNamesrv(changes []Property) (*Config, error) {
	return c.update(SectionNamesrv, c.Namesrv.ConfigBlackList+";configBlackList;configStorePath;kvConfigPath;rocketmqHome", changes)
}

func (c *Config) update(section Section, blackList string, changes []Property) (*Config, error) {
	forbidden := strings.Split(blackList, ";")
	for _, p := range changes {
		if slices.Contains(forbidden, p.Key) {
			return nil, fmt.Errorf("%s: %w", p.Key, ErrBlackListed)
		}
	}
	next := c.clone()
	rows := next.rows()
	var problems []Problem
	for _, p := range changes {
		if err := next.set(rows, string(section)+"."+p.Key, p.Value, Origin{Source: sourceUpdate}); err != nil && !errors.Is(err, ErrUnknownKey) {
			problems = append(problems, Problem{Origin: Origin{Source: sourceUpdate, Line: p.Line}, Key: p.Key, Message: err.Error()})
		}
	}
	if problems = append(problems, next.relations()...); len(problems) > 0 {
		return nil, &Errors{Problems: problems}
	}
	return next, nil
}

// BrokerProperties is the body of GET_BROKER_CONFIG: every effective key of the broker, sorted, one KEY=VALUE a line,
// values as they are (Configuration.getAllConfigsFormatString). A key that several classes have is listed once.
func (c *Config) BrokerProperties() []byte { return c.properties(SectionBroker) }

// NamesrvProperties is the body of GET_NAMESRV_CONFIG.
func (c *Config) NamesrvProperties() []byte { return c.properties(SectionNamesrv) }

func (c *Config) properties(section Section) []byte {
	texts := make(map[string]string, 512)
	for _, k := range c.rows() {
		if text := k.value.text(); k.section == section && (text != "" || !k.nullable) {
			texts[k.name] = text
		}
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	var body []byte
	for _, name := range names {
		body = append(body, name...)
		body = append(body, '=')
		body = append(body, texts[name]...)
		body = append(body, '\n')
	}
	return body
}

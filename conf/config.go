package conf

import (
	"fmt"
	"maps"
	"slices"
)

// Config is the whole configuration of one process. It is immutable once Load, Default or an update has returned it.
type Config struct {
	Rocketd       Rocketd
	Broker        Broker
	Store         Store
	Server        Server // the broker's listener
	Client        Client // the broker's outgoing calls
	Namesrv       Namesrv
	NamesrvServer Server // the name server's listener

	origins map[string]Origin // by qualified name; absent: the default
}

// Default returns the defaults alone, for tests and as a starting point: paths and addresses are still empty.
func Default() *Config {
	c := &Config{}
	for _, k := range c.rows() {
		k.value.reset()
	}
	return c
}

// rows lists the keys of c in order, bound to c's fields.
func (c *Config) rows() []key {
	k := keySet{section: SectionRocketd, keys: make([]key, 0, 600)}
	c.Rocketd.keys(&k)
	k.section = SectionBroker
	c.Broker.keys(&k)
	c.Server.keys(&k)
	c.Client.keys(&k)
	c.Store.keys(&k)
	k.section = SectionNamesrv
	c.Namesrv.keys(&k)
	c.NamesrvServer.keys(&k)
	return k.keys
}

// Get returns the effective text of a key, given as KEY or SECTION.KEY.
func (c *Config) Get(name string) (string, bool) {
	for _, k := range c.rows() {
		if k.name == name || k.qualified() == name {
			return k.value.text(), true
		}
	}
	return "", false
}

// With returns a copy of c in which one key, given as KEY or SECTION.KEY, has another value.
func (c *Config) With(name, text string) (*Config, error) {
	next := c.clone()
	found := false
	for _, k := range next.rows() {
		if k.name != name && k.qualified() != name {
			continue
		}
		if err := k.setText(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", name, ErrUnknownKey)
	}
	return next, nil
}

// clone returns a copy that shares nothing with c which With or Load would write to.
func (c *Config) clone() *Config {
	next := *c
	next.origins = maps.Clone(c.origins)
	next.Rocketd.Topics = slices.Clone(c.Rocketd.Topics)
	next.Rocketd.Groups = slices.Clone(c.Rocketd.Groups)
	return &next
}

func (c *Config) setOrigin(k *key, o Origin) {
	if c.origins == nil {
		c.origins = make(map[string]Origin)
	}
	c.origins[k.qualified()] = o
}

// Origin tells where the effective value of a key, given as SECTION.KEY, came from.
func (c *Config) Origin(qualified string) Origin { return c.origins[qualified] }

// relations reports keys whose values do not go together.
func (c *Config) relations() []Problem {
	return nil
}

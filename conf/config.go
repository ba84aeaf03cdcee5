package conf

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
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

	role    Role
	cpus    int32
	origins map[string]Origin // by qualified name; absent: the default
	ignored []string          // keys of the sources that rocketd does not act on
	notes   []string          // see Notes
}

// Default returns the defaults alone, for tests and as a starting point: what Load fills in from the machine (paths,
// addresses, the broker's name) is still empty.
func Default() *Config { return defaults(runtime.NumCPU()) }

func defaults(cpus int) *Config {
	c := &Config{cpus: int32(max(cpus, 1))}
	for _, k := range c.rows() {
		k.value.reset()
	}
	return c
}

// rows lists the keys of c in order, bound to c's fields.
func (c *Config) rows() []key {
	k := keySet{section: SectionRocketd, cpus: c.cpus, keys: make([]key, 0, 600)}
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
		if k.named(name) {
			return k.value.text(), true
		}
	}
	return "", false
}

// Origin tells where the effective value of a key, given as SECTION.KEY, came from.
func (c *Config) Origin(qualified string) Origin { return c.origins[qualified] }

// Ignored names the keys which a source sets and rocketd does not act on.
func (c *Config) Ignored() []string { return slices.Clone(c.ignored) }

// Notes are sentences that an operator should read at start: what was decided for him, and what looks wrong.
func (c *Config) Notes() []string { return slices.Clone(c.notes) }

// With returns a copy of c in which one key, given as KEY or SECTION.KEY, has another value.
func (c *Config) With(name, text string) (*Config, error) {
	next := c.clone()
	rows := next.rows()
	i := slices.IndexFunc(rows, func(k key) bool { return k.named(name) })
	if i < 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrUnknownKey)
	}
	if err := next.set(rows, rows[i].qualified(), text, Origin{Source: sourceUpdate}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if problems := next.relations(); len(problems) > 0 {
		return nil, &Errors{Problems: problems}
	}
	return next, nil
}

// set writes every row of a qualified name: some names stand in more than one class of the reference.
func (c *Config) set(rows []key, qualified, text string, origin Origin) error {
	found := false
	for i := range rows {
		k := &rows[i]
		if len(k.name) >= len(qualified) || !k.named(qualified) {
			continue
		}
		if err := k.setText(text); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return ErrUnknownKey
	}
	if c.origins == nil {
		c.origins = make(map[string]Origin)
	}
	c.origins[qualified] = origin
	return nil
}

// clone returns a copy that shares nothing with c which an update writes to.
func (c *Config) clone() *Config {
	next := *c
	next.origins = maps.Clone(c.origins)
	next.Rocketd.Topics = slices.Clone(c.Rocketd.Topics)
	next.Rocketd.Messages = slices.Clone(c.Rocketd.Messages)
	next.Rocketd.Groups = slices.Clone(c.Rocketd.Groups)
	return &next
}

// CommitLogDir is storePathCommitLog, by default commitlog below storePathRootDir (MessageStoreConfig.getStorePathCommitLog).
func (c *Store) CommitLogDir() string {
	if c.StorePathCommitLog != "" {
		return c.StorePathCommitLog
	}
	return filepath.Join(c.StorePathRootDir, "commitlog")
}

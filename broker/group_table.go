package broker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
)

// forbidRead is the bit of the forbidden table that keeps a group from reading a topic (PermName.INDEX_PERM_READ).
const forbidRead int32 = 1 << 2

// errTooManyGroups says that maxGroups is reached.
var errTooManyGroups = errors.New("too many subscription groups")

// groupTable is the broker's subscription groups and what they are forbidden: subscriptionGroup.json (the reference's
// SubscriptionGroupManager). A *body.SubscriptionGroupConfig that it hands out never changes. Safe for concurrent use.
type groupTable struct {
	file     *stateFile
	text     keptText[*body.SubscriptionGroupConfig] // guarded by file.mu
	clock    clock.Clock
	log      *logrus.Entry
	config   func() *conf.Config
	warnings *throttle

	mu        sync.RWMutex
	groups    map[string]*body.SubscriptionGroupConfig // guarded by mu
	forbidden map[string]map[string]int32              // group, topic; the inner maps are replaced, not changed; guarded by mu
	version   body.DataVersion                         // guarded by mu
}

func newGroupTable(files *stateFiles, c clock.Clock, log *logrus.Entry, config func() *conf.Config, warnings *throttle) *groupTable {
	t := &groupTable{
		clock: c, log: log, config: config, warnings: warnings,
		groups: map[string]*body.SubscriptionGroupConfig{}, forbidden: map[string]map[string]int32{},
	}
	t.version.Timestamp = c.NowMs()
	t.file = files.file("subscriptionGroup.json", t.encode)
	return t
}

// createReserved makes the groups that each broker has (SubscriptionGroupManager#init). Nothing is saved.
func (t *groupTable) createReserved() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range []string{
		message.GroupTools, message.GroupFilterServer, message.GroupSelfTestConsumer, message.GroupONSHTTPProxy,
		message.GroupONSAPIPull, message.GroupONSAPIPermission, message.GroupONSAPIOwner, message.GroupTransaction,
	} {
		t.groups[name] = body.NewSubscriptionGroupConfig(name)
	}
}

// load reads subscriptionGroup.json. A broken file is set aside: groups are created anew by use, or must be.
func (t *groupTable) load() error {
	_, err := t.file.load(func(data []byte) error {
		table, err := body.Decode[body.SubscriptionGroupTable](data)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		for name, group := range table.Groups {
			if group == nil {
				continue
			}
			group.GroupName = name
			t.groups[name] = group
		}
		maps.Copy(t.forbidden, table.Forbidden)
		t.version = table.DataVersion
		return nil
	})
	if errors.Is(err, errBroken) {
		t.log.WithError(err).Error("subscriptionGroup.json cannot be read, starting without it")
		t.file.setAside()
		return nil
	}
	return err
}

// encode is the content of subscriptionGroup.json. Only the file calls it.
func (t *groupTable) encode() []byte {
	t.mu.RLock()
	t.text.follow(t.groups)
	table := body.SubscriptionGroupTable{Forbidden: maps.Clone(t.forbidden), DataVersion: t.version}
	t.mu.RUnlock()
	return t.text.file(body.EncodePretty(&table))
}

// snapshot is all groups, what they are forbidden, and the version that this is.
func (t *groupTable) snapshot() body.SubscriptionGroupTable {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return body.SubscriptionGroupTable{Groups: maps.Clone(t.groups), Forbidden: maps.Clone(t.forbidden), DataVersion: t.version}
}

// get is a group, nil when there is none. name may alias a frame.
func (t *groupTable) get(name string) *body.SubscriptionGroupConfig {
	t.mu.RLock()
	group := t.groups[name]
	t.mu.RUnlock()
	if group == nil && message.IsLMQ(name) && t.config().Store.EnableLMQ {
		// A light queue's group is not in the table and always exists (LmqSubscriptionGroupManager).
		return body.NewSubscriptionGroupConfig(strings.Clone(name))
	}
	return group
}

// mayCreate tells whether a group that does not exist is created by its use.
func (t *groupTable) mayCreate(name string) bool {
	c := &t.config().Broker
	return c.AutoCreateSubscriptionGroup || c.EnableCreateSysGroup && message.IsSystemGroup(name)
}

// getOrCreate is a group, created if it does not exist and may be; nil otherwise
// (SubscriptionGroupManager#findSubscriptionGroupConfig). It writes a file then: not for event loops.
func (t *groupTable) getOrCreate(name string) *body.SubscriptionGroupConfig {
	if group := t.get(name); group != nil || !t.mayCreate(name) {
		return group
	}
	if err := message.ValidateGroup(name); err != nil {
		if t.warnings.allow("group name") {
			t.log.WithError(err).Warn("group cannot be created")
		}
		return nil
	}
	group, err := t.createIfAbsent(body.NewSubscriptionGroupConfig(strings.Clone(name)))
	if err != nil && t.warnings.allow("create group") {
		t.log.WithError(err).WithField("group", name).Warn("group cannot be created or saved")
	}
	return group
}

// createIfAbsent makes a group, or gives the one that has its name. With an error the group is nil if there are too many,
// else it exists in memory.
func (t *groupTable) createIfAbsent(group *body.SubscriptionGroupConfig) (*body.SubscriptionGroupConfig, error) {
	t.mu.Lock()
	if old := t.groups[group.GroupName]; old != nil {
		t.mu.Unlock()
		return old, nil
	}
	if err := t.roomLocked(1); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.groups[group.GroupName] = group
	t.nextVersionLocked()
	t.mu.Unlock()
	t.log.WithField("group", group.GroupName).Info("group created")
	return group, t.file.save()
}

// update creates or changes groups as an administrator asks: all of them or, with an error, none. The keys of their
// Attributes carry a sign (see alterAttributes). When it returns nil they are durable.
func (t *groupTable) update(groups ...body.SubscriptionGroupConfig) error {
	t.mu.Lock()
	changed := make([]*body.SubscriptionGroupConfig, 0, len(groups))
	created := 0
	for i := range groups {
		group := groups[i]
		old := t.groups[group.GroupName]
		var current map[string]string
		if old == nil {
			created++
		} else {
			current = old.Attributes
		}
		attributes, err := alterAttributes(groupAttributes, old == nil, current, group.Attributes)
		if err != nil {
			t.mu.Unlock()
			return err
		}
		group.Attributes = attributes
		changed = append(changed, &group)
	}
	if err := t.roomLocked(created); err != nil {
		t.mu.Unlock()
		return err
	}
	for _, group := range changed {
		t.groups[group.GroupName] = group
		t.log.WithField("group", group.GroupName).Info("group updated")
	}
	t.nextVersionLocked()
	t.mu.Unlock()
	return t.file.save()
}

// delete removes a group and what it is forbidden; false when there is none.
func (t *groupTable) delete(name string) (bool, error) {
	t.mu.Lock()
	_, ok := t.groups[name]
	delete(t.groups, name)
	delete(t.forbidden, name)
	if ok {
		t.nextVersionLocked()
	}
	t.mu.Unlock()
	if !ok {
		return false, nil
	}
	t.log.WithField("group", name).Info("group deleted")
	return true, t.file.save()
}

// isForbidden tells whether a group may not read a topic.
func (t *groupTable) isForbidden(group, topic string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.forbidden[group][topic]&forbidRead != 0
}

// forbid sets or clears that a group may not read a topic. As in the reference, clearing the last bit of one topic frees the
// group of all (SubscriptionGroupManager#updateForbiddenValue).
func (t *groupTable) forbid(group, topic string, forbidden bool) error {
	t.mu.Lock()
	bits := t.forbidden[group][topic] &^ forbidRead
	if forbidden {
		bits |= forbidRead
	}
	if bits == 0 {
		delete(t.forbidden, group)
	} else {
		topics := maps.Clone(t.forbidden[group])
		if topics == nil {
			topics = map[string]int32{}
		}
		topics[topic] = bits
		t.forbidden[group] = topics
	}
	t.nextVersionLocked()
	t.mu.Unlock()
	return t.file.save()
}

// names lists the groups, sorted.
func (t *groupTable) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.groups))
}

// dataVersion is the version of the table now.
func (t *groupTable) dataVersion() body.DataVersion {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}

// createConfigured makes the groups of the configuration that are missing.
func (t *groupTable) createConfigured(c *conf.Config) error {
	for _, spec := range c.Rocketd.Groups {
		group := body.NewSubscriptionGroupConfig(spec.Name)
		if spec.RetryMaxTimes >= 0 {
			group.RetryMaxTimes = spec.RetryMaxTimes
		}
		group.ConsumeEnable = spec.ConsumeEnable
		group.ConsumeBroadcastEnable = spec.BroadcastEnable
		group.ConsumeFromMinEnable = spec.ConsumeFromMin
		group.ConsumeMessageOrderly = spec.ConsumeMsgsOrderly
		if _, err := t.createIfAbsent(group); err != nil {
			return err
		}
	}
	return nil
}

func (t *groupTable) roomLocked(more int) error {
	if limit := int(t.config().Rocketd.MaxGroups); more > 0 && len(t.groups)+more > limit {
		return fmt.Errorf("%w: there are %d, maxGroups is %d", errTooManyGroups, len(t.groups), limit)
	}
	return nil
}

func (t *groupTable) nextVersionLocked() { t.version.NextVersion(t.clock.NowMs(), 0) }

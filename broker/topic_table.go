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

// Permission bits of topics and of the broker (the reference's PermName).
const (
	permInherit int32 = 1
	permWrite   int32 = 2
	permRead    int32 = 4
	permBoth          = permRead | permWrite
)

// Bits of topicSysFlag (the reference's TopicSysFlag).
const (
	topicUnit    int32 = 1
	topicUnitSub int32 = 2
)

// errTooManyTopics says that maxTopics is reached.
var errTooManyTopics = errors.New("too many topics")

// topicTable is the broker's topics: topics.json (the reference's TopicConfigManager). A *body.TopicConfig that it hands
// out never changes. Safe for concurrent use.
type topicTable struct {
	file     *stateFile
	text     keptText[*body.TopicConfig] // guarded by file.mu
	clock    clock.Clock
	log      *logrus.Entry
	config   func() *conf.Config
	warnings *throttle
	// register tells the name servers of topics that are new or changed, without locks held; those in this process
	// know them when it returns.
	register func(topics ...*body.TopicConfig)
	// deleted is told of each topic that is gone, without locks held.
	deleted func(topic string)

	mu      sync.RWMutex
	topics  map[string]*body.TopicConfig // guarded by mu
	version body.DataVersion             // guarded by mu
	system  map[string]struct{}          // beside message.IsSystemTopic: those of this broker's names; guarded by mu
}

func newTopicTable(files *stateFiles, c clock.Clock, log *logrus.Entry, config func() *conf.Config, warnings *throttle) *topicTable {
	t := &topicTable{
		clock: c, log: log, config: config, warnings: warnings, register: func(...*body.TopicConfig) {}, deleted: func(string) {},
		topics: map[string]*body.TopicConfig{}, system: map[string]struct{}{},
	}
	t.version.Timestamp = c.NowMs()
	t.file = files.file("topics.json", t.encode)
	return t
}

// load reads topics.json. A broken file is set aside and lost is true: the broker starts with its system topics and what
// restore makes of the store's queues.
func (t *topicTable) load() (lost bool, err error) {
	_, err = t.file.load(func(data []byte) error {
		table, err := body.Decode[body.TopicConfigTable](data)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		for name, topic := range table.Topics {
			if topic == nil {
				continue
			}
			if name == message.TopicAutoCreate && !t.config().Broker.AutoCreateTopicEnable {
				continue // written while it was on; in the reference its route stays for ever
			}
			topic.TopicName = name
			t.topics[name] = topic
		}
		t.version = table.DataVersion
		return nil
	})
	if errors.Is(err, errBroken) {
		t.log.WithError(err).Error("topics.json cannot be read, topics are made again from the queues there are: their permissions, order and attributes are lost")
		t.file.setAside()
		return true, nil
	}
	return false, err
}

// encode is the content of topics.json. Only the file calls it.
func (t *topicTable) encode() []byte {
	t.mu.RLock()
	t.text.follow(t.topics)
	version := t.version
	t.mu.RUnlock()
	return t.text.file(body.EncodePretty(&body.TopicConfigTable{DataVersion: version}))
}

// get is a topic, nil when there is none. name may alias a frame.
func (t *topicTable) get(name string) *body.TopicConfig {
	t.mu.RLock()
	topic := t.topics[name]
	t.mu.RUnlock()
	if topic == nil && message.IsLMQ(name) && t.config().Store.EnableLMQ {
		return lightTopic(strings.Clone(name))
	}
	return topic
}

// lightTopic is the topic of a light queue, which is not in the table and always exists (LmqTopicConfigManager).
func lightTopic(name string) *body.TopicConfig {
	topic := body.NewTopicConfig(name)
	topic.ReadQueueNums, topic.WriteQueueNums = 1, 1
	return topic
}

// isOrder tells whether a topic exists and is ordered.
func (t *topicTable) isOrder(name string) bool {
	topic := t.get(name)
	return topic != nil && topic.Order
}

// isSystem tells whether a topic belongs to the system (TopicValidator#isSystemTopic), this broker's own included.
func (t *topicTable) isSystem(name string) bool {
	if message.IsSystemTopic(name) {
		return true
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.system[name]
	return ok
}

// systemTopics lists the system topics, sorted: those of the protocol and those of this broker's names.
func (t *topicTable) systemTopics() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := slices.Clone(message.SystemTopics())
	for name := range t.system {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// snapshot is all topics and the version that they are.
func (t *topicTable) snapshot() (map[string]*body.TopicConfig, body.DataVersion) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.topics), t.version
}

// dataVersion is the version of the table now.
func (t *topicTable) dataVersion() body.DataVersion {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}

// names lists the topics, sorted.
func (t *topicTable) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.topics))
}

// count is the number of topics.
func (t *topicTable) count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.topics)
}

// update creates or changes topics as an administrator asks: all of them or, with an error, none. The keys of their
// Attributes carry a sign (see alterAttributes). When it returns nil they are durable and registered.
func (t *topicTable) update(topics ...body.TopicConfig) error {
	changed := make([]*body.TopicConfig, 0, len(topics))
	t.mu.Lock()
	created := 0
	for i := range topics {
		topic := topics[i]
		if message.IsLMQ(topic.TopicName) && t.config().Store.EnableLMQ {
			continue
		}
		topic.TopicName = strings.Clone(topic.TopicName)
		old := t.topics[topic.TopicName]
		var current map[string]string
		if old == nil {
			created++
		} else {
			current = old.Attributes
		}
		attributes, err := alterAttributes(topicAttributes, old == nil, current, topic.Attributes)
		if err != nil {
			t.mu.Unlock()
			return err
		}
		topic.Attributes = attributes
		changed = append(changed, &topic)
	}
	if err := t.roomLocked(created); err != nil || len(changed) == 0 {
		t.mu.Unlock()
		return err
	}
	for _, topic := range changed {
		t.topics[topic.TopicName] = topic
	}
	t.nextVersionLocked()
	t.mu.Unlock()
	for _, topic := range changed {
		t.log.WithField("topic", describeTopic(topic)).Info("topic updated")
	}
	err := t.file.save()
	t.register(changed...)
	return err
}

// delete removes topics and says which of them there were. The name servers learn it from whoever asked for it, and
// from the next registration.
func (t *topicTable) delete(names ...string) (deleted []string, err error) {
	t.mu.Lock()
	for _, name := range names {
		if _, ok := t.topics[name]; ok {
			delete(t.topics, name)
			deleted = append(deleted, name)
		}
	}
	if len(deleted) > 0 {
		t.nextVersionLocked()
	}
	t.mu.Unlock()
	if len(deleted) == 0 {
		return nil, nil
	}
	t.log.WithField("topics", deleted).Info("topics deleted")
	err = t.file.save()
	for _, name := range deleted {
		t.deleted(name)
	}
	return deleted, err
}

// markOrder makes those of the topics that exist ordered ones (TopicConfigManager#updateOrderTopicConfig).
func (t *topicTable) markOrder(names ...string) error {
	changed := false
	t.mu.Lock()
	for _, name := range names {
		if old := t.topics[name]; old != nil && !old.Order {
			topic := *old
			topic.Order = true
			t.topics[topic.TopicName] = &topic
			changed = true
		}
	}
	if changed {
		t.nextVersionLocked()
	}
	t.mu.Unlock()
	if !changed {
		return nil
	}
	return t.file.save()
}

// bump moves the version on: what is registered has changed for another reason than a topic.
func (t *topicTable) bump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nextVersionLocked()
}

func (t *topicTable) roomLocked(more int) error {
	if limit := int(t.config().Rocketd.MaxTopics); more > 0 && len(t.topics)+more > limit {
		return fmt.Errorf("%w: there are %d, maxTopics is %d", errTooManyTopics, len(t.topics), limit)
	}
	return nil
}

func (t *topicTable) nextVersionLocked() { t.version.NextVersion(t.clock.NowMs(), 0) }

// describeTopic prints a topic as the reference does (TopicConfig#toString): remarks hold it.
func describeTopic(t *body.TopicConfig) string {
	keys := slices.Sorted(maps.Keys(t.Attributes))
	pairs := make([]string, 0, len(keys))
	for _, key := range keys {
		pairs = append(pairs, key+"="+t.Attributes[key])
	}
	return fmt.Sprintf("TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=%s, topicSysFlag=%d, order=%t, attributes={%s}]",
		t.TopicName, t.ReadQueueNums, t.WriteQueueNums, permText(t.Perm), t.TopicFilterType, t.TopicSysFlag, t.Order, strings.Join(pairs, ", "))
}

// permText is a permission in letters (PermName#perm2String).
func permText(perm int32) string {
	text := []byte("---")
	if perm&permRead != 0 {
		text[0] = 'R'
	}
	if perm&permWrite != 0 {
		text[1] = 'W'
	}
	if perm&permInherit != 0 {
		text[2] = 'X'
	}
	return string(text)
}

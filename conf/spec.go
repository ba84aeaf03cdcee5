package conf

import (
	"fmt"
	"strconv"
	"strings"
)

// TopicSpec is a topic to create at start. As text: NAME[:QUEUES][,FIELD=VALUE...], entries separated by semicolons;
// the fields are queues, perm, order and type.
type TopicSpec struct {
	Name   string
	Queues int32  // read and write queues; 0: defaultTopicQueueNums
	Perm   int32  // 4 read, 2 write, 6 both (the default)
	Order  bool   // an ordered topic
	Type   string // message.type: NORMAL, FIFO, DELAY, TRANSACTION, MIXED, LITE; empty: none is recorded
}

// GroupSpec is a subscription group to create at start. As text: NAME[:RETRY_MAX_TIMES][,FIELD=VALUE...], entries
// separated by semicolons; the fields are retryMaxTimes, retryQueueNums, consumeEnable, consumeBroadcastEnable,
// consumeFromMinEnable and consumeMessageOrderly.
type GroupSpec struct {
	Name               string
	RetryMaxTimes      int32 // deliveries after the first before a message is dead; default 16
	RetryQueueNums     int32 // queues of the retry topic; default 1
	ConsumeEnable      bool  // default true
	BroadcastEnable    bool  // default true
	ConsumeFromMin     bool  // default true
	ConsumeMsgsOrderly bool  // default false
}

// ParseTopics reads topics from text, as the key topics has it.
func ParseTopics(text string) ([]TopicSpec, error) {
	var topics []TopicSpec
	err := (&topicsValue{&topics}).set(text)
	return topics, err
}

// ParseGroups reads groups from text, as the key groups has it.
func ParseGroups(text string) ([]GroupSpec, error) {
	var groups []GroupSpec
	err := (&groupsValue{&groups}).set(text)
	return groups, err
}

type topicsValue struct{ p *[]TopicSpec }

func (v *topicsValue) kind() string { return "list of topics" }
func (v *topicsValue) reset()       { *v.p = nil }

func (v *topicsValue) text() string {
	entries := make([]string, len(*v.p))
	for i, t := range *v.p {
		e := t.Name
		if t.Queues > 0 {
			e += ":" + strconv.Itoa(int(t.Queues))
		}
		if t.Perm != 6 {
			e += ",perm=" + strconv.Itoa(int(t.Perm))
		}
		if t.Order {
			e += ",order=true"
		}
		if t.Type != "" {
			e += ",type=" + t.Type
		}
		entries[i] = e
	}
	return strings.Join(entries, ";")
}

func (v *topicsValue) set(text string) error {
	var topics []TopicSpec
	err := eachSpec(text, func(name, number string) (*keySet, error) {
		topics = append(topics, TopicSpec{Name: name})
		t := &topics[len(topics)-1]
		k := &keySet{}
		k.i32("queues", &t.Queues, 0, between(0, 65536))
		k.i32("perm", &t.Perm, 6, between(0, 7))
		k.boolean("order", &t.Order, false)
		k.str("type", &t.Type, "", oneOf("NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "LITE"))
		return k, k.start("queues", number)
	})
	if err != nil {
		return err
	}
	*v.p = topics
	return nil
}

type groupsValue struct{ p *[]GroupSpec }

func (v *groupsValue) kind() string { return "list of groups" }
func (v *groupsValue) reset()       { *v.p = nil }

func (v *groupsValue) text() string {
	entries := make([]string, len(*v.p))
	for i, g := range *v.p {
		e := g.Name
		if g.RetryMaxTimes != 16 {
			e += ":" + strconv.Itoa(int(g.RetryMaxTimes))
		}
		if g.RetryQueueNums != 1 {
			e += ",retryQueueNums=" + strconv.Itoa(int(g.RetryQueueNums))
		}
		for _, f := range []struct {
			name     string
			got, def bool
		}{
			{"consumeEnable", g.ConsumeEnable, true},
			{"consumeBroadcastEnable", g.BroadcastEnable, true},
			{"consumeFromMinEnable", g.ConsumeFromMin, true},
			{"consumeMessageOrderly", g.ConsumeMsgsOrderly, false},
		} {
			if f.got != f.def {
				e += "," + f.name + "=" + strconv.FormatBool(f.got)
			}
		}
		entries[i] = e
	}
	return strings.Join(entries, ";")
}

func (v *groupsValue) set(text string) error {
	var groups []GroupSpec
	err := eachSpec(text, func(name, number string) (*keySet, error) {
		groups = append(groups, GroupSpec{Name: name})
		g := &groups[len(groups)-1]
		k := &keySet{}
		k.i32("retryMaxTimes", &g.RetryMaxTimes, 16, atLeast(-1))
		k.i32("retryQueueNums", &g.RetryQueueNums, 1, between(1, 65536))
		k.boolean("consumeEnable", &g.ConsumeEnable, true)
		k.boolean("consumeBroadcastEnable", &g.BroadcastEnable, true)
		k.boolean("consumeFromMinEnable", &g.ConsumeFromMin, true)
		k.boolean("consumeMessageOrderly", &g.ConsumeMsgsOrderly, false)
		return k, k.start("retryMaxTimes", number)
	})
	if err != nil {
		return err
	}
	*v.p = groups
	return nil
}

// eachSpec cuts NAME[:NUMBER][,FIELD=VALUE...];... and sets the fields of the rows that start returns for each entry.
func eachSpec(text string, start func(name, number string) (*keySet, error)) error {
	seen := make(map[string]bool)
	for _, entry := range strings.Split(text, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		head, rest, _ := strings.Cut(entry, ",")
		name, number, _ := strings.Cut(strings.TrimSpace(head), ":")
		if name == "" {
			return fmt.Errorf("%q has no name", entry)
		}
		if seen[name] {
			return fmt.Errorf("%q stands twice", name)
		}
		seen[name] = true
		k, err := start(name, number)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for rest != "" {
			var pair string
			pair, rest, _ = strings.Cut(rest, ",")
			field, value, _ := strings.Cut(pair, "=")
			if err := k.setField(strings.TrimSpace(field), value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// start gives the rows their defaults and, when number is there, sets one of them.
func (k *keySet) start(name, number string) error {
	for i := range k.keys {
		k.keys[i].value.reset()
	}
	if number == "" {
		return nil
	}
	return k.setField(name, number)
}

func (k *keySet) setField(name, text string) error {
	for i := range k.keys {
		if row := &k.keys[i]; row.name == name {
			if err := row.setText(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s: %w", name, ErrUnknownKey)
}

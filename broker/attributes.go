package broker

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// attributeMessageType is the attribute that tells what kind of messages a topic is for.
const attributeMessageType = message.AttributeMessageType

// attribute is one attribute that a topic or a group may have (the reference's Attribute).
type attribute struct {
	changeable bool
	verify     func(value string) error
}

// topicAttributes are those of topics (TopicAttributes#ALL).
func topicAttributes(key string) (attribute, bool) {
	switch key {
	case message.AttributeQueueType:
		return attribute{false, oneOfValues("BatchCQ", "SimpleCQ")}, true
	case message.AttributeCleanupPolicy:
		return attribute{false, oneOfValues("DELETE", "COMPACTION")}, true
	case attributeMessageType:
		return attribute{true, oneOfValues("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY", "LITE", "MIXED")}, true
	case message.AttributeReserveTime:
		// TopicConfigManager#updateTieredStoreTopicMetadata: only a tiered store has it.
		return attribute{true, func(string) error { return fmt.Errorf("Update topic reserveTime not supported") }}, true //nolint:staticcheck // the reference's words
	case message.AttributeLiteExpiration:
		return attribute{true, inRange(-1, 43200)}, true
	}
	return attribute{}, false
}

// groupAttributes are those of subscription groups (SubscriptionGroupAttributes#ALL).
func groupAttributes(key string) (attribute, bool) {
	switch key {
	case "priority.factor":
		return attribute{true, inRange(0, 100)}, true
	case "lite.bind.topic", "lite.sub.wildcard":
		return attribute{true, func(string) error { return nil }}, true
	case "lite.sub.model":
		return attribute{true, oneOfValues("Shared", "Exclusive")}, true
	case "lite.sub.reset.offset.exclusive", "lite.sub.reset.offset.unsubscribe":
		return attribute{true, func(value string) error {
			if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
				return fmt.Errorf("boolean attribute format is wrong: %s", value)
			}
			return nil
		}}, true
	case "lite.sub.client.quota":
		return attribute{true, inRange(-1, math.MaxInt64)}, true
	case "lite.sub.client.max.event.cnt":
		return attribute{true, inRange(10, math.MaxInt64)}, true
	}
	return attribute{}, false
}

func oneOfValues(values ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(values, value) {
			return fmt.Errorf("value is not in set: [%s]", strings.Join(values, ", "))
		}
		return nil
	}
}

func inRange(low, high int64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("value is not a number: %s", value)
		}
		if n < low || n > high {
			return fmt.Errorf("value is not in range(%d, %d)", low, high)
		}
		return nil
	}
}

// alterAttributes applies changes to current attributes and returns the new ones. Each key of changes carries a sign: +
// adds or replaces, - removes. While creating only + is allowed. The remarks are the reference's
// (AttributeUtil#alterCurrentAttributes).
func alterAttributes(known func(string) (attribute, bool), create bool, current, changes map[string]string) (map[string]string, error) {
	final := make(map[string]string, len(current)+len(changes))
	for key, value := range current {
		final[key] = value
	}
	seen := map[string]struct{}{}
	for signed, value := range changes {
		if signed == "" {
			return nil, fmt.Errorf("kv string format wrong.") //nolint:revive,staticcheck // the reference's words
		}
		sign, key := signed[0], signed[1:]
		if key == "" || strings.ContainsAny(key, "+-") {
			return nil, fmt.Errorf("kv string format wrong.") //nolint:revive,staticcheck // the reference's words
		}
		if _, twice := seen[key]; twice {
			return nil, fmt.Errorf("alter duplication key. key: %s", key)
		}
		seen[key] = struct{}{}
		if err := alterOne(known, create, current, final, sign, key, value); err != nil {
			return nil, err
		}
	}
	return final, nil
}

func alterOne(known func(string) (attribute, bool), create bool, current, final map[string]string, sign byte, key, value string) error {
	_, exists := current[key]
	switch {
	case create && sign != '+':
		return fmt.Errorf("only add attribute is supported while creating topic. key: %s", key)
	case sign == '-' && !exists:
		return fmt.Errorf("attempt to delete a nonexistent key: %s", key)
	case sign != '+' && sign != '-':
		return fmt.Errorf("wrong format key: %s", key)
	}
	a, ok := known(key)
	if !ok {
		return fmt.Errorf("unsupported key: %s", key)
	}
	if !create && !a.changeable {
		return fmt.Errorf("attempt to update an unchangeable attribute. key: %s", key)
	}
	if sign == '-' {
		delete(final, key)
		return nil
	}
	if err := a.verify(value); err != nil {
		return err
	}
	final[key] = value
	return nil
}

package broker

import (
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/filter"
)

// maxCompensated bounds the subscriptions that are remembered of pulls.
const maxCompensated = 100_000

// compensation remembers the subscriptions that came with pulls instead of heartbeats (the compensation table of the
// reference's ConsumerManager): of consumers that only pull, and of proxies. It also spares parsing the same expression
// at every pull. Safe for concurrent use.
type compensation struct {
	config func() *conf.Config

	mu   sync.RWMutex
	subs map[groupKey]*compensated // guarded by mu
}

type compensated struct {
	sub    *subscription
	lastMs int64 // of the last pull; guarded by compensation.mu
}

func newCompensation(config func() *conf.Config) *compensation {
	return &compensation{config: config, subs: map[groupKey]*compensated{}}
}

// refreshMs is how old the time of the last pull may get before a pull writes it anew.
const refreshMs = int64(time.Second / time.Millisecond)

// parse gives the subscription of a pull's header, the one of the last pull if it is the same.
func (c *compensation) parse(group, topic, expression, expressionType string, version, nowMs int64) (*subscription, error) {
	key := groupKey{topic: topic, group: group}
	var sub *subscription
	fresh := false
	c.mu.RLock()
	if entry := c.subs[key]; entry != nil && entry.sub.written(expression, expressionType) {
		sub, fresh = entry.sub, nowMs-entry.lastMs < refreshMs
	}
	c.mu.RUnlock()
	if fresh {
		return sub, nil
	}
	if sub == nil {
		var err error
		if sub, err = parseSubscription(topic, expression, expressionType, version); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.subs[key]; entry != nil {
		entry.sub, entry.lastMs = sub, nowMs
	} else if len(c.subs) < maxCompensated {
		c.subs[groupKey{topic: strings.Clone(topic), group: strings.Clone(group)}] = &compensated{sub: sub, lastMs: nowMs}
	}
	return sub, nil
}

// lookup is what a group's last pull or pop of a topic subscribed, nil when there was none lately.
func (c *compensation) lookup(group, topic string) *subscription {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if entry := c.subs[groupKey{topic: topic, group: group}]; entry != nil {
		return entry.sub
	}
	return nil
}

// written tells whether a subscription was parsed from this text.
func (s *subscription) written(expression, expressionType string) bool {
	if isTagType(expressionType) {
		return s.tag && (s.data.SubString == expression || expression == "" && s.data.SubString == filter.AllTags)
	}
	return s.data.ExpressionType == expressionType && s.data.SubString == expression
}

// sweep forgets what no pull has used for subscriptionExpiredTimeout.
func (c *compensation) sweep(nowMs int64) {
	oldest := nowMs - c.config().Broker.SubscriptionExpiredTimeout
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, entry := range c.subs {
		if entry.lastMs < oldest {
			delete(c.subs, key)
		}
	}
}

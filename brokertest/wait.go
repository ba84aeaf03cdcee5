package brokertest

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// WaitError says what was waited for in vain, and what was seen.
type WaitError struct {
	What string // "group g to have 2 members, it has 1"
	Seen string // Broker.Seen
	Err  error  // of the context
}

// Error is several lines.
func (e *WaitError) Error() string {
	return fmt.Sprintf("brokertest: waited for %s: %v\n%s", e.What, e.Err, e.Seen)
}

// Unwrap is the context's error.
func (e *WaitError) Unwrap() error { return e.Err }

// Wait waits until condition is true or ctx ends; then the error is a *WaitError. condition gives what it sees, for the error: a %v in what is
// replaced by it. It is asked often and must be quick.
func (b *Broker) Wait(ctx context.Context, what string, condition func() (seen any, ok bool)) error {
	var last any
	err := poll(ctx, func() bool {
		seen, ok := condition()
		last = seen
		return ok
	})
	if err == nil {
		return nil
	}
	return &WaitError{What: strings.ReplaceAll(what, "%v", fmt.Sprint(last)), Seen: b.Seen(), Err: err}
}

// WaitMembers waits until a consumer group has n members: clients with different ids.
func (b *Broker) WaitMembers(ctx context.Context, group string, n int) error {
	return b.Wait(ctx, fmt.Sprintf("group %s to have %d members, it has %%v", group, n), func() (any, bool) {
		members, err := b.Members(group)
		if err != nil {
			return err, false
		}
		var ids []string
		seen := map[string]bool{}
		for _, m := range members {
			if !seen[m.ClientID] {
				seen[m.ClientID] = true
				ids = append(ids, m.ClientID)
			}
		}
		return fmt.Sprintf("%d: %v", len(ids), ids), len(ids) == n
	})
}

// nudgeEvery is how often WaitLag makes clients commit.
const nudgeEvery = 20 * time.Millisecond

// WaitLag waits until a group has at most n messages to consume, of all topics that Offsets gives. Clients tell how far they are with
// their next pull, so it answers the group's held pulls now and then, as if their time were over. Messages that wait for a retry or a delay
// are not counted before they are due.
func (b *Broker) WaitLag(ctx context.Context, group string, n int64) error {
	var nudged time.Time
	return b.Wait(ctx, fmt.Sprintf("group %s to have a lag of %d, it has %%v", group, n), func() (any, bool) {
		lag, err := b.Lag(group)
		switch {
		case err != nil:
			return err, false
		case lag < 0:
			return "no members and no offsets", false
		case lag <= n:
			return lag, true
		}
		if now := b.now(); now != nil && time.Since(nudged) > nudgeEvery {
			nudged = time.Now()
			now.AnswerHeldPulls(group)
		}
		return lag, false
	})
}

// WaitMessages waits until a topic has at least n messages, and gives all it has then.
func (b *Broker) WaitMessages(ctx context.Context, topic string, n int) ([]Message, error) {
	var found []Message
	err := b.Wait(ctx, fmt.Sprintf("topic %s to have %d messages, it has %%v", topic, n), func() (any, bool) {
		list, err := b.Messages(topic)
		if err != nil {
			return err, false
		}
		found = list
		return len(list), len(list) >= n
	})
	return found, err
}

// WaitDelayed waits until n messages wait for their delay level.
func (b *Broker) WaitDelayed(ctx context.Context, n int) ([]Delayed, error) {
	var found []Delayed
	err := b.Wait(ctx, fmt.Sprintf("%d delayed messages, there are %%v", n), func() (any, bool) {
		list, err := b.Delayed()
		if err != nil {
			return err, false
		}
		found = list
		return len(list), len(list) == n
	})
	return found, err
}

// WaitUndecided waits until n half messages are neither committed nor rolled back.
func (b *Broker) WaitUndecided(ctx context.Context, n int) error {
	return b.Wait(ctx, fmt.Sprintf("%d undecided transactions, there are %%v", n), func() (any, bool) {
		now := b.now()
		if now == nil {
			return ErrStopped, false
		}
		found := len(now.UndecidedTransactions())
		return found, found == n
	})
}

// WaitExchange waits for a request in the journal that all matches want, and gives the first that is there.
func (b *Broker) WaitExchange(ctx context.Context, matches ...Match) (Exchange, error) {
	probe := &Rule{}
	for _, match := range matches {
		match(probe)
	}
	var found Exchange
	err := b.Wait(ctx, "an exchange: "+strings.Join(probe.what, ", ")+", the journal has %v", func() (any, bool) {
		list := b.Journal(matches...)
		if len(list) == 0 {
			return "none", false
		}
		found = list[0]
		return "one", true
	})
	return found, err
}

// WaitProducers waits until a producer group has n connections: the broker asks only those about transactions that have sent a heartbeat.
func (b *Broker) WaitProducers(ctx context.Context, group string, n int) error {
	return b.Wait(ctx, fmt.Sprintf("producer group %s to have %d connections, it has %%v", group, n), func() (any, bool) {
		now := b.now()
		if now == nil {
			return ErrStopped, false
		}
		found := len(now.Producers(group))
		return found, found == n
	})
}

//go:build !race

package brokertest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketd/rocketd/brokertest"
)

// ledger books the entries of each account in their order, also when the broker dies in between. It may see an entry again, and then all
// behind it; it never sees one before those that come first.
type ledger struct {
	mu     sync.Mutex
	booked map[string][]string
	broken []string // entries that came too early
}

func (l *ledger) book(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range messages {
		account, entry := m.GetKeys(), string(m.Body)
		booked := l.booked[account]
		switch {
		case slices.Contains(booked, entry): // again
		case entry == fmt.Sprint(len(booked)):
			l.booked[account] = append(booked, entry)
		default:
			l.broken = append(l.broken, account+"/"+entry)
		}
	}
	return consumer.ConsumeSuccess, nil
}

func (l *ledger) count() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, booked := range l.booked {
		n += len(booked)
	}
	return n
}

func TestEntriesAreBookedInOrderOverACrash(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("entries:2"), brokertest.WithGroups("ledger"))
	l := &ledger{booked: map[string][]string{}}
	subscribe(t, b, "ledger", "entries", l.book, consumer.WithConsumerOrder(true))
	send := func(from, to int) {
		for i := from; i < to; i++ {
			for _, account := range []string{"ann", "bob"} {
				_, err := b.Send(t.Context(), brokertest.Message{Topic: "entries", Body: fmt.Append(nil, i), Keys: account, ShardingKey: account})
				must(t, err)
			}
		}
	}
	send(0, 20)
	must(t, b.Wait(within(t), "some entries to be booked, %v are", func() (any, bool) { return l.count(), l.count() > 10 }))
	must(t, b.Kill())
	must(t, b.Resume(within(t)))
	send(20, 40)
	// A Go consumer that lost its connection asks for its queues again every 20 s.
	must(t, b.Wait(longer(t), "all entries to be booked, %v are", func() (any, bool) { return l.count(), l.count() == 80 }))
	if len(l.broken) > 0 {
		t.Errorf("out of order: %v", l.broken)
	}
}

//go:build !race

package brokertest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketd/rocketd/brokertest"
)

// charges charges each order once, however often its message comes.
type charges struct {
	mu      sync.Mutex
	done    map[string]bool // by key: a table with a unique column in real life
	charged int
	came    int
}

func (c *charges) charge(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		c.came++
		if !c.done[m.GetKeys()] {
			c.done[m.GetKeys()] = true
			c.charged++
		}
	}
	return consumer.ConsumeSuccess, nil
}

func TestAnOrderIsChargedOnceThoughItsMessageIsStoredTwice(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("orders:1"), brokertest.WithGroups("charges"))
	c := &charges{done: map[string]bool{}}
	subscribe(t, b, "charges", "orders", c.charge)
	p := newProducer(t, b, producer.WithRetry(2))

	// The broker stores the first send, and its answer gets lost: the producer sends again.
	lost := b.BreakSendAnswers(brokertest.Nth(1))
	order := primitive.NewMessage("orders", []byte("42 EUR"))
	order.WithKeys([]string{"order-1"})
	_, err := p.SendSync(t.Context(), order)
	must(t, err)
	must(t, lost.Wait(within(t), 1))

	must(t, b.WaitLag(within(t), "charges", 0))
	if c.came != 2 || c.charged != 1 {
		t.Errorf("the message came %d times and was charged %d times, want 2 and 1", c.came, c.charged)
	}
}

//go:build !race

package brokertest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketd/rocketd/brokertest"
)

// orders cancels what is not paid within 30 minutes: each order sends itself a message with that delay.
type orders struct {
	producer rocketmq.Producer

	mu        sync.Mutex
	paid      map[string]bool
	cancelled []string
}

const thirtyMinutes = 16 // delay level

func (o *orders) place(ctx context.Context, id string) error {
	_, err := o.producer.SendSync(ctx, primitive.NewMessage("order-timeouts", []byte(id)).WithDelayTimeLevel(thirtyMinutes))
	return err
}

func (o *orders) pay(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paid[id] = true
}

// timeout consumes the message.
func (o *orders) timeout(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range messages {
		if id := string(m.Body); !o.paid[id] {
			o.cancelled = append(o.cancelled, id)
		}
	}
	return consumer.ConsumeSuccess, nil
}

func TestOrdersThatAreNotPaidAreCancelled(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("order-timeouts"), brokertest.WithGroups("orders"))
	o := &orders{producer: newProducer(t, b), paid: map[string]bool{}}
	subscribe(t, b, "orders", "order-timeouts", o.timeout)

	must(t, o.place(t.Context(), "paid"))
	must(t, o.place(t.Context(), "forgotten"))
	o.pay("paid")

	b.Clock.Advance(29 * time.Minute)
	if list, err := b.Messages("order-timeouts"); err != nil || len(list) != 0 {
		t.Fatalf("a minute early: %v, %v", list, err)
	}
	b.Clock.Advance(time.Minute)
	must(t, b.WaitLag(within(t), "orders", 0))
	if !slices.Equal(o.cancelled, []string{"forgotten"}) {
		t.Errorf("cancelled %v", o.cancelled)
	}
}

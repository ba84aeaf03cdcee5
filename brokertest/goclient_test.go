//go:build !race

// Tests with the Go client run without the race detector: it has data races of its own.

package brokertest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/brokertest"
)

var instances atomic.Int64

// instance is a name for a client: the Go client shares what has the same one.
func instance() string { return fmt.Sprintf("i%d", instances.Add(1)) }

// quiet keeps the Go client's log out of the test's.
var quiet = sync.OnceFunc(func() { rlog.SetLogLevel("fatal") })

func newProducer(t *testing.T, b *brokertest.Broker, options ...producer.Option) rocketmq.Producer {
	t.Helper()
	quiet()
	p, err := rocketmq.NewProducer(append([]producer.Option{
		producer.WithNameServer([]string{b.NamesrvAddr()}), producer.WithGroupName("producers"), producer.WithInstanceName(instance()),
	}, options...)...)
	must(t, err)
	must(t, p.Start())
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

func newTransactionProducer(t *testing.T, b *brokertest.Broker, listener primitive.TransactionListener) rocketmq.TransactionProducer {
	t.Helper()
	quiet()
	p, err := rocketmq.NewTransactionProducer(listener, producer.WithNameServer([]string{b.NamesrvAddr()}), producer.WithGroupName("tx"),
		producer.WithInstanceName(instance()))
	must(t, err)
	must(t, p.Start())
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

// inbox is what a consumer has got.
type inbox struct {
	mu     sync.Mutex
	bodies []string
	times  []int32 // reconsume times
}

func (i *inbox) add(m *primitive.MessageExt) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.bodies = append(i.bodies, string(m.Body))
	i.times = append(i.times, m.ReconsumeTimes)
}

func (i *inbox) got() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.bodies...)
}

// wait waits until n messages have come.
func (i *inbox) wait(t *testing.T, b *brokertest.Broker, n int) []string {
	t.Helper()
	must(t, b.Wait(within(t), fmt.Sprintf("%d consumed messages, there are %%v", n), func() (any, bool) {
		got := i.got()
		return got, len(got) >= n
	}))
	return i.got()
}

// consume runs a push consumer whose messages go to the inbox; decide says what becomes of each, nil: success.
func consume(t *testing.T, b *brokertest.Broker, group, topic string, decide func(*primitive.MessageExt) consumer.ConsumeResult, options ...consumer.Option) (*inbox, rocketmq.PushConsumer) {
	t.Helper()
	quiet()
	in := &inbox{}
	c, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNameServer([]string{b.NamesrvAddr()}), consumer.WithGroupName(group), consumer.WithInstance(instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, options...)...)
	must(t, err)
	must(t, c.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			in.add(m)
			if decide != nil {
				if result := decide(m); result != consumer.ConsumeSuccess {
					return result, nil
				}
			}
		}
		return consumer.ConsumeSuccess, nil
	}))
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Shutdown() })
	return in, c
}

func message(topic, body string) *primitive.Message {
	return primitive.NewMessage(topic, []byte(body))
}

// subscribe runs a push consumer until the test ends, and waits until the broker knows it.
func subscribe(t *testing.T, b *brokertest.Broker, group, topic string,
	handle func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error), options ...consumer.Option,
) {
	t.Helper()
	quiet()
	c, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNameServer([]string{b.NamesrvAddr()}), consumer.WithGroupName(group), consumer.WithInstance(instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, options...)...)
	must(t, err)
	must(t, c.Subscribe(topic, consumer.MessageSelector{}, handle))
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Shutdown() })
	must(t, b.WaitMembers(within(t), group, 1))
}

// longer is within for what a client only does every half minute.
func longer(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

package brokertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

func TestMain(m *testing.M) {
	rlog.SetLogLevel("fatal")
	os.Exit(m.Run())
}

// ignoreLibraries are goroutines that libraries start when they are loaded.
func ignoreLibraries() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	}
}

// within bounds one wait of a test in real time.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var instances atomic.Int64

// instance is a name for a client: the Go client shares what has the same one.
func instance() string { return fmt.Sprintf("i%d", instances.Add(1)) }

func newProducer(t *testing.T, b *brokertest.Broker, options ...producer.Option) rocketmq.Producer {
	t.Helper()
	p, err := rocketmq.NewProducer(append([]producer.Option{
		producer.WithNameServer([]string{b.NamesrvAddr()}), producer.WithGroupName("producers"), producer.WithInstanceName(instance()),
	}, options...)...)
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

// raw calls the broker without a client library.
type raw struct {
	t      *testing.T
	client *remoting.Client
	addr   string
}

func newRaw(t *testing.T, b *brokertest.Broker) *raw {
	t.Helper()
	c := remoting.NewClient(remoting.ClientOptions{})
	t.Cleanup(c.Close)
	return &raw{t: t, client: c, addr: b.Addr()}
}

func (r *raw) call(cmd *remoting.Command) *remoting.Command {
	r.t.Helper()
	answer, err := r.client.Invoke(within(r.t), r.addr, cmd)
	must(r.t, err)
	return answer
}

// seen tells whether a wait failed in time and said what it saw.
func seen(err error) (*brokertest.WaitError, bool) {
	var w *brokertest.WaitError
	return w, errors.As(err, &w)
}

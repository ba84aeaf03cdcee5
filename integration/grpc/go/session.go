package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
)

// session is what a story gets: names of its own and clients that are stopped behind it.
type session struct {
	endpoint, prefix, name string
	exact                  bool
	stops                  []func() error
}

func (s *session) topic(kind string) string { return s.prefix + "_" + s.name + "_" + kind }

func (s *session) config() *rocketmq.Config {
	return &rocketmq.Config{Endpoint: s.endpoint, ConsumerGroup: "G_" + s.prefix + "_" + s.name, Credentials: &credentials.SessionCredentials{}}
}

// client is what producers and consumers have in common.
type client interface {
	Start() error
	GracefulStop() error
}

func started[C client](s *session, c C, err error) (C, error) {
	if err != nil {
		return c, err
	}
	if slow, ok := any(c).(interface{ SetRequestTimeout(time.Duration) }); ok {
		slow.SetRequestTimeout(15 * time.Second)
	}
	if err := c.Start(); err != nil {
		return c, err
	}
	s.stops = append(s.stops, c.GracefulStop)
	return c, nil
}

// stop waits a while for the clients: one that holds a long poll stops late.
func (s *session) stop() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, stop := range slices.Backward(s.stops) {
			_ = stop() // the story is over
		}
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
	}
}

// fresh makes a topic of a type and a producer for it.
func (s *session) fresh(kind string) (topic string, p rocketmq.Producer, err error) {
	topic = s.topic(kind)
	p, err = s.producer(topic)
	return topic, p, err
}

func (s *session) producer(topic string, options ...rocketmq.ProducerOption) (rocketmq.Producer, error) {
	p, err := rocketmq.NewProducer(s.config(), append(options, rocketmq.WithTopics(topic))...)
	return started(s, p, err)
}

func (s *session) simple(topic string, filter *rocketmq.FilterExpression) (rocketmq.SimpleConsumer, error) {
	c, err := rocketmq.NewSimpleConsumer(s.config(), rocketmq.WithSimpleAwaitDuration(5*time.Second),
		rocketmq.WithSimpleSubscriptionExpressions(map[string]*rocketmq.FilterExpression{topic: filter}))
	return started(s, c, err)
}

func (s *session) push(topic string, consume func(*rocketmq.MessageView) rocketmq.ConsumerResult) (rocketmq.PushConsumer, error) {
	c, err := rocketmq.NewPushConsumer(s.config(), rocketmq.WithPushAwaitDuration(5*time.Second),
		rocketmq.WithPushSubscriptionExpressions(map[string]*rocketmq.FilterExpression{topic: rocketmq.SUB_ALL}),
		rocketmq.WithPushMessageListener(&rocketmq.FuncMessageListener{Consume: consume}))
	return started(s, c, err)
}

// send sends bodies to topic, each after the change that a story makes to its message.
func send(p rocketmq.Producer, topic, body string, change func(*rocketmq.Message)) (*rocketmq.SendReceipt, error) {
	m := &rocketmq.Message{Topic: topic, Body: []byte(body)}
	if change != nil {
		change(m)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	receipts, err := p.Send(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", body, err)
	}
	return receipts[0], nil
}

// receive is a poll: nothing there is no error.
func receive(c rocketmq.SimpleConsumer, most int32, invisible time.Duration) ([]*rocketmq.MessageView, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	messages, err := c.Receive(ctx, most, invisible)
	var status *rocketmq.ErrRpcStatus
	if errors.As(err, &status) && status.Code == int32(v2.Code_MESSAGE_NOT_FOUND) {
		return nil, nil
	}
	return messages, err
}

// answer is "ok" or the proxy's response code.
func answer(err error) string {
	var status *rocketmq.ErrRpcStatus
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &status):
		return fmt.Sprint(status.Code)
	default:
		return "refused by the client"
	}
}

func await(within time.Duration, condition func() bool) bool {
	for deadline := time.Now().Add(within); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// inbox collects what arrives, in order.
type inbox struct {
	mu       sync.Mutex
	messages []*rocketmq.MessageView // guarded by mu
	at       []time.Time             // guarded by mu
}

func (i *inbox) add(m *rocketmq.MessageView) rocketmq.ConsumerResult {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.messages, i.at = append(i.messages, m), append(i.at, time.Now())
	return rocketmq.SUCCESS
}

func (i *inbox) all() ([]*rocketmq.MessageView, []time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.messages), slices.Clone(i.at)
}

// bodies counts how often each came.
func (i *inbox) bodies() map[string]int {
	counts := map[string]int{}
	messages, _ := i.all()
	for _, m := range messages {
		counts[string(m.GetBody())]++
	}
	return counts
}

// expect waits for n different bodies and then a moment for doubles.
func (i *inbox) expect(f *facts, n int, within time.Duration) {
	await(within, func() bool { return len(i.bodies()) >= n })
	time.Sleep(500 * time.Millisecond)
	got, doubled := i.bodies(), 0
	for _, times := range got {
		if times > 1 {
			doubled++
		}
	}
	f.see("different", len(got))
	f.see("doubled", doubled)
	f.must(len(got) == n && doubled == 0, "want %d messages once, got %d, %d of them more than once", n, len(got), doubled)
}

// drain receives and acknowledges until n different bodies are there.
func (i *inbox) drain(c rocketmq.SimpleConsumer, n int, within time.Duration) error {
	for deadline := time.Now().Add(within); len(i.bodies()) < n && time.Now().Before(deadline); {
		messages, err := receive(c, 16, 30*time.Second)
		if err != nil {
			return err
		}
		for _, m := range messages {
			i.add(m)
			if err := c.Ack(context.Background(), m); err != nil {
				return err
			}
		}
	}
	return nil
}

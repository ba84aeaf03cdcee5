package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
)

// TestGoClient runs the same stories with the Go client against rocketd and, where Java is there, Apache.
func TestGoClient(t *testing.T) {
	rlog.SetLogLevel("fatal")
	clusters := []func(t *testing.T) *peer.Cluster{
		func(t *testing.T) *peer.Cluster { return peer.StartRocketd(t, t.TempDir(), settings...) },
		func(t *testing.T) *peer.Cluster {
			return peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...)
		},
	}
	for i, name := range []string{"rocketd", "apache"} {
		t.Run(name, func(t *testing.T) {
			c := clusters[i](t)
			for _, story := range goStories {
				t.Run(story.name, func(t *testing.T) {
					t.Parallel()
					t.Cleanup(func() { addGoResult(name, story.name, !t.Failed()) })
					story.run(t, &goEnv{namesrv: c.Namesrv, name: "go_" + name + "_" + story.name, exact: name == "rocketd"})
				})
			}
		})
	}
	writeTable(t)
}

var goStories = []struct {
	name string
	run  func(t *testing.T, e *goEnv)
}{
	{"send", goSend},
	{"batch", goBatch},
	{"async", goAsync},
	{"tags", goTags},
	{"sql", goSQL},
	{"delay", goDelay},
	{"timer", goTimer},
	{"rebalance", goRebalance},
	{"orderly", goOrderly},
	{"retry", goRetry},
	{"broadcast", goBroadcast},
	{"transaction", goTransaction},
	{"new_topic_at_once", goNewTopicAtOnce},
	{"from_where", goFromWhere},
	{"with_java_bodies", goWithJava},
}

type goEnv struct {
	namesrv, name string
	at            string // topic, when it is not named after the story
	exact         bool
	instances     int
}

func (e *goEnv) topic() string {
	if e.at != "" {
		return e.at
	}
	return e.name + "_topic"
}

func (e *goEnv) group() string { return "G_" + e.name }

func (e *goEnv) instance() string {
	e.instances++
	// The client keeps broadcast offsets by instance name in the home directory: an earlier run must not be continued.
	return fmt.Sprintf("%s_%d_%d", e.name, os.Getpid(), e.instances)
}

func (e *goEnv) producer(t *testing.T, options ...producer.Option) rocketmq.Producer {
	t.Helper()
	p, err := rocketmq.NewProducer(append([]producer.Option{
		producer.WithNameServer([]string{e.namesrv}), producer.WithGroupName("P_" + e.name),
		producer.WithInstanceName(e.instance()), producer.WithRetry(2), producer.WithSendMsgTimeout(10 * time.Second),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

func (e *goEnv) send(t *testing.T, p rocketmq.Producer, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		r, err := p.SendSync(context.Background(), primitive.NewMessage(e.topic(), []byte(b)))
		if err != nil {
			t.Fatalf("send %s: %v", b, err)
		}
		if r.Status != primitive.SendOK {
			t.Fatalf("send %s: %v", b, r.Status)
		}
	}
}

// inbox collects what a Go consumer gets.
type inbox struct {
	told func(*primitive.MessageExt) // each message, when it is set

	mu       sync.Mutex
	messages []*primitive.MessageExt // guarded by mu
}

func (i *inbox) consume(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.messages = append(i.messages, ms...)
	for _, m := range ms {
		if i.told != nil {
			i.told(m)
		}
	}
	return consumer.ConsumeSuccess, nil
}

func (i *inbox) all() []*primitive.MessageExt {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.messages)
}

func (i *inbox) bodies() map[string]int {
	counts := map[string]int{}
	for _, m := range i.all() {
		counts[string(m.Body)]++
	}
	return counts
}

func (e *goEnv) consume(t *testing.T, i *inbox, selector consumer.MessageSelector, options ...consumer.Option) rocketmq.PushConsumer {
	t.Helper()
	options = append([]consumer.Option{
		consumer.WithNameServer([]string{e.namesrv}), consumer.WithGroupName(e.group()), consumer.WithInstance(e.instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, options...)
	c, err := rocketmq.NewPushConsumer(options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(e.topic(), selector, i.consume); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown() })
	return c
}

func await(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// expect waits for exactly these bodies, each once.
func (i *inbox) expect(t *testing.T, want []string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for len(i.bodies()) < len(want) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	got := i.bodies()
	for _, b := range want {
		if got[b] != 1 {
			t.Errorf("%q arrived %d times, want once", b, got[b])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d different messages, want %d: %v", len(got), len(want), slices.Sorted(maps.Keys(got)))
	}
}

func numbered(what string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %d", what, i)
	}
	return all
}

var everything = consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}

func goSend(t *testing.T, e *goEnv) {
	p := e.producer(t)
	want := numbered("m", 40)
	e.send(t, p, want...)
	if err := p.SendOneWay(context.Background(), primitive.NewMessage(e.topic(), []byte("one-way"))); err != nil {
		t.Fatal(err)
	}
	var i inbox
	e.consume(t, &i, everything)
	i.expect(t, append(want, "one-way"), 60*time.Second)
}

func goBatch(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	want := numbered("b", 32)
	var batch []*primitive.Message
	for _, b := range want {
		batch = append(batch, primitive.NewMessage(e.topic(), []byte(b)))
	}
	r, err := p.SendSync(context.Background(), batch...)
	if err != nil || r.Status != primitive.SendOK {
		t.Fatalf("batch: %v %v", r, err)
	}
	var i inbox
	e.consume(t, &i, everything)
	i.expect(t, append(want, "first"), 60*time.Second)
}

func goAsync(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	want := numbered("a", 100)
	var wait sync.WaitGroup
	for _, b := range want {
		wait.Add(1)
		err := p.SendAsync(context.Background(), func(_ context.Context, _ *primitive.SendResult, err error) {
			if err != nil {
				t.Errorf("%s: %v", b, err)
			}
			wait.Done()
		}, primitive.NewMessage(e.topic(), []byte(b)))
		if err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	var i inbox
	e.consume(t, &i, everything)
	i.expect(t, append(want, "first"), 60*time.Second)
}

func goTags(t *testing.T, e *goEnv) {
	p := e.producer(t)
	var want []string
	for i, tag := range []string{"TagA", "TagB", "TagC", "Aa", "BB"} {
		for n := range 5 {
			body := fmt.Sprintf("%s %d", tag, n)
			if _, err := p.SendSync(context.Background(), primitive.NewMessage(e.topic(), []byte(body)).WithTag(tag)); err != nil {
				t.Fatal(err)
			}
			if i == 0 || i == 3 {
				want = append(want, body)
			}
		}
	}
	var i inbox
	e.consume(t, &i, consumer.MessageSelector{Type: consumer.TAG, Expression: "TagA || Aa"})
	i.expect(t, want, 60*time.Second)
}

func goSQL(t *testing.T, e *goEnv) {
	p := e.producer(t)
	for n := range 10 {
		m := primitive.NewMessage(e.topic(), []byte(fmt.Sprintf("n %d", n)))
		m.WithProperty("n", fmt.Sprint(n))
		if _, err := p.SendSync(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	var i inbox
	e.consume(t, &i, consumer.MessageSelector{Type: consumer.SQL92, Expression: "n > 6 OR n = 2"})
	i.expect(t, []string{"n 2", "n 7", "n 8", "n 9"}, 60*time.Second)
}

func goDelay(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	var i inbox
	e.consume(t, &i, everything)
	await(t, 60*time.Second, "first message", func() bool { return len(i.all()) == 1 })
	due := map[string]int64{}
	want := []string{"first"}
	for level, delay := range map[int]time.Duration{1: time.Second, 2: 5 * time.Second} {
		for n := range 5 {
			body := fmt.Sprintf("level %d %d", level, n)
			m := primitive.NewMessage(e.topic(), []byte(body)).WithDelayTimeLevel(level)
			due[body] = time.Now().Add(delay).UnixMilli()
			want = append(want, body)
			if _, err := p.SendSync(context.Background(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	i.expect(t, want, 60*time.Second)
	for _, m := range i.all() {
		if at, ok := due[string(m.Body)]; ok && m.StoreTimestamp < at {
			t.Errorf("%s came %d ms early", m.Body, at-m.StoreTimestamp)
		}
	}
}

func goTimer(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	var i inbox
	e.consume(t, &i, everything)
	await(t, 60*time.Second, "first message", func() bool { return len(i.all()) == 1 })
	due := map[string]int64{}
	want := []string{"first"}
	for n := range 10 {
		body := fmt.Sprintf("timer %d", n)
		at := time.Now().UnixMilli() + 2000 + int64(n)*150
		m := primitive.NewMessage(e.topic(), []byte(body))
		m.WithProperty("TIMER_DELIVER_MS", fmt.Sprint(at))
		due[body], want = at, append(want, body)
		if _, err := p.SendSync(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	i.expect(t, want, 60*time.Second)
	for _, m := range i.all() {
		if at, ok := due[string(m.Body)]; ok && e.exact && m.StoreTimestamp < at {
			t.Errorf("%s came %d ms early", m.Body, at-m.StoreTimestamp)
		}
	}
}

func goRebalance(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, numbered("before", 20)...)
	var one, two inbox
	first := e.consume(t, &one, everything)
	await(t, 60*time.Second, "first consumer gets all", func() bool { return len(one.all()) >= 20 })
	e.consume(t, &two, everything)
	n := 0
	await(t, 60*time.Second, "second consumer gets some", func() bool {
		e.send(t, p, fmt.Sprintf("both %d", n))
		n++
		return len(two.all()) > 0
	})
	await(t, 60*time.Second, "all arrive", func() bool { return len(one.bodies())+len(two.bodies()) >= 20+n })
	if err := first.Shutdown(); err != nil {
		t.Fatal(err)
	}
	had := len(two.bodies())
	e.send(t, p, numbered("after", 20)...)
	await(t, 60*time.Second, "second consumer takes over", func() bool { return len(two.bodies()) >= had+20 })
}

func goOrderly(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	for n := range 30 {
		m := primitive.NewMessage(e.topic(), fmt.Appendf(nil, "o %02d", n)).WithShardingKey("same")
		if _, err := p.SendSync(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	var i inbox
	e.consume(t, &i, everything, consumer.WithConsumerOrder(true))
	await(t, 90*time.Second, "all arrive", func() bool { return len(i.bodies()) >= 31 })
	perQueue := map[int]int64{}
	for _, m := range i.all() {
		if last, ok := perQueue[m.Queue.QueueId]; ok && m.QueueOffset <= last {
			t.Errorf("queue %d: offset %d after %d", m.Queue.QueueId, m.QueueOffset, last)
		}
		perQueue[m.Queue.QueueId] = m.QueueOffset
	}
}

func goRetry(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "again")
	var mu sync.Mutex
	var tries []int32
	c, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{e.namesrv}), consumer.WithGroupName(e.group()),
		consumer.WithInstance(e.instance()), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Subscribe(e.topic(), everything, func(ctx context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range ms {
			tries = append(tries, m.ReconsumeTimes)
		}
		if len(tries) >= 2 {
			return consumer.ConsumeSuccess, nil
		}
		if cc, ok := primitive.GetConcurrentlyCtx(ctx); ok {
			cc.DelayLevelWhenNextConsume = 1
		}
		return consumer.ConsumeRetryLater, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown() })
	await(t, 120*time.Second, "second try", func() bool { mu.Lock(); defer mu.Unlock(); return len(tries) >= 2 })
	mu.Lock()
	defer mu.Unlock()
	if tries[0] != 0 || tries[1] != 1 {
		t.Errorf("reconsume times %v, want [0 1]", tries)
	}
}

func goBroadcast(t *testing.T, e *goEnv) {
	p := e.producer(t)
	e.send(t, p, "first")
	var one, two inbox
	e.consume(t, &one, everything, consumer.WithConsumerModel(consumer.BroadCasting))
	e.consume(t, &two, everything, consumer.WithConsumerModel(consumer.BroadCasting))
	want := numbered("b", 20)
	await(t, 60*time.Second, "both started", func() bool { return len(one.all()) > 0 && len(two.all()) > 0 })
	e.send(t, p, want...)
	one.expect(t, append(slices.Clone(want), "first"), 60*time.Second)
	two.expect(t, append(slices.Clone(want), "first"), 60*time.Second)
}

type goListener struct {
	mu      sync.Mutex
	checked map[string]int
}

func (l *goListener) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	switch string(m.Body) {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnkonwnState
}

func (l *goListener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checked[string(m.Body)]++
	return primitive.CommitMessageState
}

func goTransaction(t *testing.T, e *goEnv) {
	listener := &goListener{checked: map[string]int{}}
	p, err := rocketmq.NewTransactionProducer(listener, producer.WithNameServer([]string{e.namesrv}), producer.WithGroupName("P_"+e.name),
		producer.WithInstanceName(e.instance()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	for _, body := range []string{"commit", "rollback", "later"} {
		if _, err := p.SendMessageInTransaction(context.Background(), primitive.NewMessage(e.topic(), []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	var i inbox
	e.consume(t, &i, everything)
	if e.exact {
		i.expect(t, []string{"commit", "later"}, 90*time.Second)
	} else { // a check that is under way can make Apache commit twice
		await(t, 90*time.Second, "what is committed", func() bool { return i.bodies()["commit"] > 0 && i.bodies()["later"] > 0 })
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.checked["later"] == 0 || e.exact && listener.checked["rollback"] != 0 {
		t.Errorf("checked %v, want only the undecided one", listener.checked)
	}
}

// goNewTopicAtOnce: many senders to one new topic, a consumer that was there before it.
func goNewTopicAtOnce(t *testing.T, e *goEnv) {
	p := e.producer(t)
	want := numbered("n", 50)
	var wait sync.WaitGroup
	for _, b := range want {
		wait.Go(func() {
			if _, err := p.SendSync(context.Background(), primitive.NewMessage(e.topic(), []byte(b))); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		})
	}
	wait.Wait()
	var i inbox
	e.consume(t, &i, everything)
	i.expect(t, want, 60*time.Second)
}

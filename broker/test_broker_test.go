package broker

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/modeltest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestMain looks for leaked goroutines. gnet brings two of its own, from its package initialisation on.
func TestMain(m *testing.M) {
	modeltest.FixTo(20)
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// testBroker is a broker on loopback with a store in memory and a clock that stands still.
type testBroker struct {
	*Broker
	t      testing.TB
	mem    *vfs.Mem
	manual *clock.Manual
	logged *logLines
	closed bool
	client *testClient
}

// brokerOption changes what a test broker is made of.
type brokerOption func(*Options)

func withConfig(change func(*conf.Config)) brokerOption {
	return func(o *Options) { change(o.Config) }
}

func newTestBroker(tb testing.TB, options ...brokerOption) *testBroker {
	tb.Helper()
	return startTestBroker(tb, vfs.NewMem(), clock.NewManual(testNow), options...)
}

func startTestBroker(tb testing.TB, mem *vfs.Mem, manual *clock.Manual, options ...brokerOption) *testBroker {
	tb.Helper()
	c := conf.Default()
	c.Broker.BrokerName, c.Broker.BrokerClusterName = "broker-a", "DefaultCluster"
	c.Broker.ListenPort, c.Broker.BrokerIP1, c.Server.BindAddress = 0, "127.0.0.1", "127.0.0.1"
	c.Store.StorePathRootDir = "/data"
	c.Store.MappedFileSizeCommitLog = 16 << 20
	c.Rocketd.EventLoops = 2
	c.Rocketd.DiskMinFreeBytes = 0
	logged := &logLines{}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.AddHook(logged)
	o := Options{Config: c, Log: logrus.NewEntry(logger), Clock: manual, FS: mem}
	for _, option := range options {
		option(&o)
	}
	b, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := b.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	x := &testBroker{Broker: b, t: tb, mem: mem, manual: manual, logged: logged}
	tb.Cleanup(x.close)
	return x
}

func (x *testBroker) close() {
	if x.closed {
		return
	}
	x.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := x.Broker.Close(ctx); err != nil {
		x.t.Errorf("close: %v", err)
	}
}

// restart closes the broker and starts another one on the same files.
func (x *testBroker) restart(options ...brokerOption) *testBroker {
	x.t.Helper()
	x.close()
	return startTestBroker(x.t, x.mem, x.manual, options...)
}

func (x *testBroker) dial() *testClient {
	x.t.Helper()
	return dial(x.t, x.Addr().String())
}

// create makes a topic.
func (x *testBroker) create(topic string, queues int32, change ...func(*body.TopicConfig)) {
	x.t.Helper()
	config := body.NewTopicConfig(topic)
	config.ReadQueueNums, config.WriteQueueNums = queues, queues
	for _, c := range change {
		c(config)
	}
	if err := x.topics.update(*config); err != nil {
		x.t.Fatal(err)
	}
}

// stored reads a record of a queue.
func (x *testBroker) stored(topic string, queueID int32, offset int64) message.Record {
	x.t.Helper()
	q := x.store.Queue(topic, queueID)
	if q == nil {
		x.t.Fatalf("queue %s %d does not exist", topic, queueID)
	}
	e, ok := q.Entry(offset)
	if !ok {
		x.t.Fatalf("queue %s %d has no entry %d, it is [%d, %d)", topic, queueID, offset, q.MinOffset(), q.MaxOffset())
	}
	slice, err := x.store.Record(e.PhysicalOffset)
	if err != nil {
		x.t.Fatal(err)
	}
	defer slice.Release()
	var r message.Record
	if _, err := message.DecodeRecord(append([]byte(nil), slice.Bytes()...), &r, true); err != nil {
		x.t.Fatal(err)
	}
	return r
}

// count is the number of messages that a queue has had.
func (x *testBroker) count(topic string, queueID int32) int64 {
	if q := x.store.Queue(topic, queueID); q != nil {
		return q.MaxOffset()
	}
	return 0
}

// records decodes the body of a pull's answer.
func records(tb testing.TB, data []byte) []message.Record {
	tb.Helper()
	var list []message.Record
	for len(data) > 0 {
		var r message.Record
		n, err := message.DecodeRecord(data, &r, true)
		if err != nil {
			tb.Fatalf("record %d: %v", len(list), err)
		}
		list = append(list, r)
		data = data[n:]
	}
	return list
}

// eventually waits for a condition that other goroutines bring about.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not in 20 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// advanceUntil moves the clock on by step until the condition holds, by most in all. What runs in the background gets real time to see each
// step: on a busy machine the clock would be far ahead of it otherwise.
func (x *testBroker) advanceUntil(what string, step, most time.Duration, condition func() bool) {
	x.t.Helper()
	moved, polls := time.Duration(0), 0
	eventually(x.t, what, func() bool {
		if condition() {
			return true
		}
		if polls++; polls%seenWithin == 0 && moved < most {
			x.manual.Advance(step)
			moved += step
		}
		return false
	})
}

// seenWithin is how often, each time after a millisecond, a condition is looked at before the clock moves again.
const seenWithin = 10

func property(r *message.Record, key string) string {
	value, _ := r.Properties.Get(key)
	return value
}

// dialRaw is a connection without a reader.
func (x *testBroker) dialRaw() net.Conn {
	x.t.Helper()
	conn, err := net.Dial("tcp", x.Addr().String())
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// dialOnce is the connection for calls of which each stands for itself.
func (x *testBroker) dialOnce() *testClient {
	x.t.Helper()
	if x.client == nil {
		x.client = x.dial()
	}
	return x.client
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// fakeTopics is the topic table of a broker.
type fakeTopics struct {
	mu      sync.Mutex
	topics  map[string]*body.TopicConfig
	version body.DataVersion
	ordered []string
}

func (f *fakeTopics) snapshot() (map[string]*body.TopicConfig, body.DataVersion) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.topics), f.version
}

func (f *fakeTopics) dataVersion() body.DataVersion {
	_, version := f.snapshot()
	return version
}

// set makes or changes a topic.
func (f *fakeTopics) set(name string, queues int32) *body.TopicConfig {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := body.NewTopicConfig(name)
	t.ReadQueueNums, t.WriteQueueNums = queues, queues
	f.topics[name] = t
	f.version.Counter++
	return t
}

func (f *fakeTopics) markOrder(names ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ordered = append(f.ordered, names...)
	return nil
}

// fakeNameServer does what Apache's name server does with one broker.
type fakeNameServer struct {
	mu      sync.Mutex
	down    bool
	hang    bool // answers nothing
	old     bool // does not know QUERY_DATA_VERSION
	known   bool
	version body.DataVersion
	topics  map[string]string // name to queues and permission
	order   map[string]string
	header  remoting.RegisterBrokerRequestHeader
	log     []string // what was asked
	full    []time.Time
}

func (n *fakeNameServer) serve(ctx context.Context, cmd *remoting.Command) (*remoting.Command, error) {
	n.mu.Lock()
	if n.hang {
		n.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	defer n.mu.Unlock()
	if n.down {
		return nil, errors.New("connection refused")
	}
	var req remoting.Command
	if err := remoting.DecodeFrame(remoting.AppendFrame(nil, cmd), &req); err != nil {
		return nil, err
	}
	switch req.Code {
	case remoting.RegisterBroker:
		return n.register(&req)
	case remoting.QueryDataVersion:
		if n.old {
			return remoting.NewResponse(remoting.RequestCodeNotSupported), nil
		}
		asked, err := body.Decode[body.DataVersion](req.Body)
		if err != nil {
			return nil, err
		}
		resp := remoting.NewResponse(remoting.Success)
		if n.known {
			resp.Body = body.Encode(&n.version)
		}
		resp.Ext = []remoting.ExtField{{Key: "changed", Value: fmt.Sprint(!n.known || *asked != n.version)}}
		return resp, nil
	case remoting.UnregisterBroker:
		n.log = append(n.log, "unregister")
		n.forgetLocked()
		return remoting.NewResponse(remoting.Success), nil
	case remoting.BrokerHeartbeat:
		n.log = append(n.log, "heartbeat")
		return remoting.NewResponse(remoting.Success), nil
	}
	return nil, fmt.Errorf("code %d", req.Code)
}

func (n *fakeNameServer) register(req *remoting.Command) (*remoting.Command, error) {
	if err := req.Decode(&n.header); err != nil {
		return nil, err
	}
	b, err := body.DecodeRegisterBroker(req.Body, remoting.CurrentVersion)
	if err != nil {
		return nil, err
	}
	return n.take(b)
}

func (n *fakeNameServer) take(b *body.RegisterBrokerBody) (*remoting.Command, error) {
	names := slices.Sorted(maps.Keys(b.Topics.Topics))
	n.log = append(n.log, fmt.Sprintf("register %v as of %d", names, b.Topics.DataVersion.Counter))
	if !n.known && len(names) == 1 {
		resp := remoting.NewResponse(remoting.SystemError)
		resp.Remark = "register broker failed"
		return resp, nil
	}
	changed := !n.known || n.version != b.Topics.DataVersion
	if n.topics == nil {
		n.topics = make(map[string]string)
	}
	for name, t := range b.Topics.Topics {
		if _, there := n.topics[name]; changed || !there {
			n.topics[name] = fmt.Sprintf("%d p%d", t.WriteQueueNums, t.Perm)
		}
	}
	n.known, n.version = true, b.Topics.DataVersion
	n.full = append(n.full, time.Now())
	resp := remoting.NewResponse(remoting.Success)
	if n.order != nil {
		resp.Body = body.Encode(&body.KVTable{Table: n.order})
	}
	return resp, nil
}

func (n *fakeNameServer) forgetLocked() {
	n.known, n.topics, n.version = false, nil, body.DataVersion{}
}

// set changes the state of the name server.
func (n *fakeNameServer) set(change func(n *fakeNameServer)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// take what was asked since the last time.
func (n *fakeNameServer) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log
	n.log = nil
	return log
}

func (n *fakeNameServer) has() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.topics)
}

// RegisterBroker, RegisterTopics and UnregisterBroker make it a name server in the same process.
func (n *fakeNameServer) RegisterBroker(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) (map[string]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return nil, errors.New("too many brokers")
	}
	n.header = *h
	_, err := n.take(b)
	return n.order, err
}

func (n *fakeNameServer) RegisterTopics(_ *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, t := range b.Topics.Topics {
		n.topics[name] = fmt.Sprintf("%d p%d", t.WriteQueueNums, t.Perm)
	}
	return nil
}

func (n *fakeNameServer) UnregisterBroker(h *remoting.UnregisterBrokerRequestHeader) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, "unregister "+h.ClusterName+" "+h.BrokerName+" "+h.BrokerAddr)
	n.forgetLocked()
}

// fakeNet reaches name servers by address.
type fakeNet map[string]*fakeNameServer

func (f fakeNet) Invoke(ctx context.Context, addr string, cmd *remoting.Command) (*remoting.Command, error) {
	return f[addr].serve(ctx, cmd)
}

func (f fakeNet) Oneway(ctx context.Context, addr string, cmd *remoting.Command) error {
	_, err := f[addr].serve(ctx, cmd)
	return err
}

// registration under test, in a bubble: one name server in the process, and far ones at "one:1" and "two:1".
type registrationBench struct {
	*registrar
	topics *fakeTopics
	local  *fakeNameServer
	far    fakeNet

	mu   sync.Mutex
	conf *conf.Config
}

func registering(t *testing.T, settings []string, test func(t *testing.T, b *registrationBench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &registrationBench{
			topics: &fakeTopics{topics: make(map[string]*body.TopicConfig)},
			local:  new(fakeNameServer), far: fakeNet{"one:1": new(fakeNameServer), "two:1": new(fakeNameServer)},
			conf: conf.Default(),
		}
		b.topics.set("A", 4)
		b.topics.set("B", 4)
		b.with(t, append([]string{"namesrvAddr", "one:1; two:1;;one:1"}, settings...)...)
		log := logrus.New()
		log.SetOutput(io.Discard)
		b.registrar = newRegistrar(registrarOptions{
			Source: b.topics, Config: b.config,
			Identity: func() identity {
				return identity{name: "broker-a", cluster: "C", address: "10.0.0.1:10911", haAddress: "10.0.0.1:10912"}
			},
			Order: b.topics.markOrder, Local: []NameServer{b.local}, Caller: b.far, Clock: clock.System{}, Log: logrus.NewEntry(log),
		})
		test(t, b)
		b.close(t.Context())
		b.close(t.Context())
	})
}

func (b *registrationBench) config() *conf.Config {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conf
}

func (b *registrationBench) with(t *testing.T, settings ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for pair := range slices.Chunk(settings, 2) {
		next, err := b.conf.With("broker."+pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		b.conf = next
	}
}

func (b *registrationBench) begin(t *testing.T) {
	t.Helper()
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantAsked(t *testing.T, what string, n *fakeNameServer, want ...string) {
	t.Helper()
	if got := n.asked(); !slices.Equal(got, want) {
		t.Errorf("%s: asked %q, want %q", what, got, want)
	}
}

func wantTopics(t *testing.T, what string, n *fakeNameServer, want map[string]string) {
	t.Helper()
	if got := n.has(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: has %v, want %v", what, got, want)
	}
}

func TestStartRegistersEverywhereAndCloseLeaves(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		want := map[string]string{"A": "4 p6", "B": "4 p6"}
		for name, n := range map[string]*fakeNameServer{"local": b.local, "one": b.far["one:1"], "two": b.far["two:1"]} {
			wantTopics(t, name, n, want)
			wantAsked(t, name, n, "register [A B] as of 2")
			h := remoting.RegisterBrokerRequestHeader{
				BrokerName: "broker-a", BrokerAddr: "10.0.0.1:10911", ClusterName: "C", HAServerAddr: "10.0.0.1:10912",
				EnableActingMaster: remoting.Some(false), BodyCRC32: n.header.BodyCRC32,
			}
			if n.header != h {
				t.Errorf("%s: header %+v, want %+v", name, n.header, h)
			}
		}
		b.close(t.Context())
		wantAsked(t, "local", b.local, "unregister C broker-a 10.0.0.1:10911")
		wantAsked(t, "one", b.far["one:1"], "unregister")
		wantAsked(t, "two", b.far["two:1"], "unregister")
		time.Sleep(time.Hour)
		wantAsked(t, "one, after the broker has left", b.far["one:1"])
	})
}

func TestRefusalOfTheNameServerInTheProcessFailsTheStart(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.local.set(func(n *fakeNameServer) { n.down = true })
		if err := b.start(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

func TestChangedTopicIsKnownInTheProcessAtOnceAndSoonElsewhere(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		one := b.far["one:1"]
		one.asked()
		b.register(b.topics.set("C", 8))
		if got := b.local.has()["C"]; got != "8 p6" {
			t.Errorf("name server in the process has C with %q", got)
		}
		b.settle(t.Context())
		wantAsked(t, "one", one, "register [C] as of 3")
		b.register(b.topics.set("C", 2), b.topics.set("D", 2))
		b.register(b.topics.set("E", 1))
		b.settle(t.Context())
		time.Sleep(3 * time.Second)
		want := map[string]string{"A": "4 p6", "B": "4 p6", "C": "2 p6", "D": "2 p6", "E": "1 p6"}
		for name, n := range map[string]*fakeNameServer{"local": b.local, "one": one, "two": b.far["two:1"]} {
			wantTopics(t, name, n, want)
		}
		b.register() // nothing
	})
}

func TestTopicThatIsToldAfterItsVersionIsTakenAllTheSame(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		first, second := b.topics.set("A", 7), b.topics.set("B", 9) // two changes at once: both versions are out before either is told
		b.register(first)
		b.settle(t.Context())
		b.register(second)
		b.settle(t.Context())
		time.Sleep(2 * time.Second)
		wantTopics(t, "one", b.far["one:1"], map[string]string{"A": "7 p6", "B": "9 p6"})
		if got, want := b.far["one:1"].version, b.topics.dataVersion(); got != want {
			t.Errorf("version %+v, want %+v", got, want)
		}
	})
}

func TestTopicThatIsDeletedBeforeItIsTold(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		b.far["one:1"].asked()
		topic := b.topics.set("C", 1)
		b.topics.mu.Lock()
		delete(b.topics.topics, "C")
		b.topics.mu.Unlock()
		b.register(topic)
		b.settle(t.Context())
		wantTopics(t, "one", b.far["one:1"], map[string]string{"A": "4 p6", "B": "4 p6"})
	})
}

func TestTopicsAreMaskedByTheBrokersPermission(t *testing.T) {
	registering(t, []string{"brokerPermission", "4"}, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		want := map[string]string{"A": "4 p4", "B": "4 p4"}
		wantTopics(t, "local", b.local, want)
		wantTopics(t, "one", b.far["one:1"], want)
		b.register(b.topics.set("A", 5))
		b.settle(t.Context())
		want["A"] = "5 p4"
		wantTopics(t, "local", b.local, want)
		wantTopics(t, "one", b.far["one:1"], want)
		if topics, _ := b.topics.snapshot(); topics["A"].Perm != 6 {
			t.Error("the topic itself has changed")
		}
		b.with(t, "brokerPermission", "6")
		b.topics.set("X", 1) // a change of the permission moves the version on
		if err := b.registerAll(); err != nil {
			t.Fatal(err)
		}
		b.settle(t.Context())
		want = map[string]string{"A": "5 p6", "B": "4 p6", "X": "1 p6"}
		wantTopics(t, "local", b.local, want)
		wantTopics(t, "one", b.far["one:1"], want)
	})
}

func TestOrderConfigurationOfTheReplyIsApplied(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.local.set(func(n *fakeNameServer) { n.order = map[string]string{"A": "broker-a:4"} })
		b.far["one:1"].set(func(n *fakeNameServer) { n.order = map[string]string{"B": "broker-a:4", "A": "x"} })
		b.begin(t)
		b.topics.mu.Lock()
		defer b.topics.mu.Unlock()
		if want := []string{"A", "A", "B"}; !slices.Equal(b.topics.ordered, want) {
			t.Errorf("ordered %v, want %v", b.topics.ordered, want)
		}
	})
}

func TestNameServersThatComeAndGoInTheConfiguration(t *testing.T) {
	registering(t, []string{"namesrvAddr", "one:1"}, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		one, two := b.far["one:1"], b.far["two:1"]
		wantTopics(t, "two, not configured", two, nil)
		one.asked()
		b.with(t, "namesrvAddr", "two:1")
		if err := b.registerAll(); err != nil {
			t.Fatal(err)
		}
		b.settle(t.Context())
		wantTopics(t, "two", two, map[string]string{"A": "4 p6", "B": "4 p6"})
		time.Sleep(5 * time.Minute)
		wantAsked(t, "one, not configured any more", one)

		b.with(t, "namesrvAddr", "")
		time.Sleep(time.Minute) // seen with the next period
		two.asked()
		time.Sleep(5 * time.Minute)
		wantAsked(t, "two, not configured any more", two)
	})
}

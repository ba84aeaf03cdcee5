package brokertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/standalone"
)

// TB is what Start needs of a test: *testing.T, *testing.B and *testing.F are some.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ErrStopped is returned for what needs a running broker while it is stopped.
var ErrStopped = errors.New("brokertest: the broker is stopped")

// Broker is a name server and a broker in this process. Its methods are safe for concurrent use.
type Broker struct {
	// Clock is the broker's clock.
	Clock *Clock

	options   *options
	config    atomic.Pointer[conf.Config]
	log       *logrus.Entry
	clk       clock.Clock
	journal   *journal
	rules     rules
	emulation *emulation // of options.version
	wire      [2]*watch  // by Server
	link      *nameLink  // the name server as the broker sees it

	running context.Context // until Close
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // of after

	lifeMu sync.Mutex // one change of what runs at a time
	closed bool       // guarded by lifeMu
	ran    [2]bool    // by Server, has run before; guarded by lifeMu

	mu        sync.Mutex
	mem       *vfs.Mem               // nil with WithDir; guarded by mu
	disk      *vfs.Fault             // guarded by mu
	nameFiles vfs.FS                 // of the name server; guarded by mu
	namesrv   *standalone.Standalone // nil while stopped; guarded by mu
	broker    *standalone.Standalone // nil while stopped; guarded by mu
	addrs     [2]string              // by Server, once known; guarded by mu
	queues    queueCounter           // of Send; guarded by mu
	client    *remoting.Client       // of Send, for the running broker; nil while it is stopped; guarded by mu
}

// closePatience bounds the waiting of the Cleanup that Start registers.
const closePatience = 10 * time.Second

// Start starts a name server and a broker, which listen when it returns, and stops both when the test ends. Failing to do either fails
// the test.
func Start(t TB, list ...Option) *Broker {
	t.Helper()
	b, err := New(context.Background(), list...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close the test broker: %v", err)
		}
	})
	return b
}

// New is Start without a test: Close must be called. ctx bounds the starting.
func New(ctx context.Context, list ...Option) (*Broker, error) {
	o, err := collect(list)
	if err != nil {
		return nil, err
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	b := &Broker{options: o, log: o.logger(), journal: newJournal(o.journal), link: &nameLink{}, emulation: emulations[o.version]}
	b.config.Store(config)
	b.running, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.makeClock()
	for s := range b.wire {
		b.wire[s] = newWatch(b, Server(s))
	}
	var files vfs.FS = vfs.OS{}
	b.nameFiles = files
	if o.dir == "" {
		b.mem, b.nameFiles = b.newMem(), b.newMem()
		files = b.mem
	}
	b.disk = vfs.NewFault(files)
	for s, port := range []int{Namesrv: o.namesrv, BrokerServer: o.broker} {
		b.addrs[s] = net.JoinHostPort(config.Server.BindAddress, strconv.Itoa(port))
	}
	err = b.ResumeNamesrv(ctx)
	if err == nil {
		err = b.Resume(ctx)
	}
	if err == nil && len(o.seeds) > 0 {
		_, err = b.Send(ctx, o.seeds...)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

func (b *Broker) makeClock() {
	b.Clock = &Clock{owner: b}
	if b.options.systemTime {
		b.clk = clock.System{}
		return
	}
	at := b.options.startTime
	if at.IsZero() {
		at = time.Now()
	}
	b.Clock.manual = clock.NewManual(at)
	b.clk = b.Clock.manual
	if !b.options.frozen {
		b.Clock.manual.Run()
	}
}

// Close stops everything and waits for it; ctx bounds the waiting. Closing twice is safe.
func (b *Broker) Close(ctx context.Context) error {
	b.lifeMu.Lock()
	if b.closed {
		b.lifeMu.Unlock()
		return nil
	}
	b.closed = true
	b.lifeMu.Unlock()
	b.cancel()
	b.tasks.Wait()
	err := errors.Join(b.Stop(ctx), b.StopNamesrv(ctx))
	if m := b.Clock.manual; m != nil {
		m.Freeze()
	}
	return err
}

// NamesrvAddr is the HOST:PORT to give to clients.
func (b *Broker) NamesrvAddr() string {
	return b.config.Load().NamesrvAddr(portOf(b.addr(Namesrv)))
}

// Addr is the HOST:PORT that clients are told to reach the broker at.
func (b *Broker) Addr() string {
	return b.config.Load().BrokerAddr(portOf(b.addr(BrokerServer)))
}

// Name is the broker's name in routes: broker-a unless configured otherwise.
func (b *Broker) Name() string { return b.config.Load().Broker.BrokerName }

// Inside is the broker itself, nil while it is stopped; after Kill or Stop it is another one. It is for what this package does not offer.
func (b *Broker) Inside() *broker.Broker { return b.now() }

// Disk is the file system below the store of the running broker: its rules fail, delay or crash file operations.
func (b *Broker) Disk() *vfs.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.disk
}

// now is the running broker, nil while it is stopped.
func (b *Broker) now() *broker.Broker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broker == nil {
		return nil
	}
	return b.broker.Broker()
}

func (b *Broker) addr(s Server) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addrs[s]
}

func portOf(addr string) int {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

// after calls fn when the clock has moved on by d, on a goroutine that Close waits for.
func (b *Broker) after(d time.Duration, fn func()) {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	if b.closed {
		return
	}
	timer := b.clk.NewTimer(d)
	b.tasks.Go(func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			fn()
		case <-b.running.Done():
		}
	})
}

// CreateTopics makes topics as WithTopics does; they are routable when it returns.
func (b *Broker) CreateTopics(specs ...string) error {
	now := b.now()
	if now == nil {
		return ErrStopped
	}
	var o options
	if err := WithTopics(specs...)(&o); err != nil {
		return err
	}
	return wrap("create topics", now.CreateTopics(o.topics...))
}

// CreateGroups makes consumer groups as WithGroups does.
func (b *Broker) CreateGroups(specs ...string) error {
	now := b.now()
	if now == nil {
		return ErrStopped
	}
	var o options
	if err := WithGroups(specs...)(&o); err != nil {
		return err
	}
	return wrap("create groups", errors.Join(now.CreateGroups(o.groups...), now.CreateTopics(retryTopics(o.groups)...)))
}

// String names the broker in failures.
func (b *Broker) String() string {
	return fmt.Sprintf("test broker %s at %s, name server at %s", b.Name(), b.Addr(), b.NamesrvAddr())
}

func (b *Broker) namesrvFiles() vfs.FS {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nameFiles
}

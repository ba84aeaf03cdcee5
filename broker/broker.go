package broker

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/schedule"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// Options are what New needs. Config, Log, Clock and FS must be set.
type Options struct {
	// Config is the configuration that applies until UpdateConfig replaces it.
	Config *conf.Config
	Log    *logrus.Entry
	Clock  clock.Clock
	FS     vfs.FS
	// NameServers are the ones in the same process; those of namesrvAddr are reached over the wire besides.
	NameServers []NameServer
	// Advertise is the address that clients are told, as HOST, HOST:PORT or [HOST]:PORT; empty: brokerIP1, or the
	// listening address; without a port: the listening one.
	Advertise string
	// Addrs are host:port to listen on, port 0 picks one. Empty: bindAddress and listenPort of the configuration.
	Addrs []string
	// Intercept, when set, sees each request before its handler: access control, injected faults. See
	// remoting.ServerOptions.
	Intercept func(c *remoting.Conn, req *remoting.Command) (resp *remoting.Command, err error, handled bool)
	// Watcher, when set, sees every frame; see remoting.ServerOptions.
	Watcher remoting.Watcher
}

// Broker is one broker. Its exported methods are safe for concurrent use.
type Broker struct {
	options Options
	log     *logrus.Entry
	clock   clock.Clock
	fs      vfs.FS

	conf     atomic.Pointer[conf.Config]
	answers  atomic.Pointer[answerParts] // what config puts into every SEND, see send_parts.go
	confMu   sync.Mutex                  // serialises UpdateConfig
	identity identity                    // set once, before serving
	bootMs   int64

	store    *store.Store
	levels   *schedule.Levels
	schedule *schedule.Schedule
	timer    *timer.Timer
	server   *remoting.Server

	files        *stateFiles
	topics       *topicTable
	groups       *groupTable
	offsets      *offsetTable
	anew         *anewTable
	consumers    *consumerTable
	compensation *compensation
	producers    *producerTable
	locks        *lockTable
	holds        *holdTable
	warnings     *throttle
	stats        *stats
	notifier     *notifier
	keeper       *keeper
	uniqueKeys   *message.UniqueKeys
	registrar    *registrar
	caller       *remoting.Client // calls name servers that are not in this process
	adminParts

	pulls      sync.Pool // of *pull
	flushWaits sync.Pool // of *flushWait
	slowSends  *pool     // sends that create a topic or group first
	coldPulls  *pool     // pulls that wait for the disk

	arrivals []func(store.Arrival) // complete before Start; called in log order after dispatch
	serving  atomic.Bool           // identity is set
	draining atomic.Bool           // Close has begun

	lifecycle lifecycle
}

// New puts a broker together. Nothing is opened or started yet.
func New(o Options) (*Broker, error) {
	if o.Config == nil || o.Log == nil || o.Clock == nil || o.FS == nil {
		return nil, fmt.Errorf("new broker: Config, Log, Clock and FS must be given")
	}
	b := &Broker{options: o, log: o.Log, clock: o.Clock, fs: o.FS}
	b.publish(o.Config)
	b.build()
	b.lifecycle.steps = b.steps()
	return b, nil
}

// config is the configuration that applies now. It never changes; take it once per request.
func (b *Broker) config() *conf.Config { return b.conf.Load() }

// Config is the configuration that applies now.
func (b *Broker) Config() *conf.Config { return b.config() }

func (b *Broker) publish(c *conf.Config) {
	b.conf.Store(c)
	b.answers.Store(newAnswerParts(c))
}

// updateConfig replaces the configuration by what change makes of it, and tells those who keep a copy of their part. An
// error, also one of theirs, leaves it as it was.
func (b *Broker) updateConfig(change func(*conf.Config) (*conf.Config, error)) error {
	b.confMu.Lock()
	defer b.confMu.Unlock()
	next, err := change(b.config())
	if err != nil {
		return err
	}
	if err := b.applyConfig(b.config(), next); err != nil {
		return err
	}
	before := b.config()
	b.publish(next)
	if before.Broker.NamesrvAddr != next.Broker.NamesrvAddr {
		b.registerNow()
	}
	return nil
}

// registerNow registers all topics everywhere anew: something about them has changed that is not a topic.
func (b *Broker) registerNow() {
	if !b.serving.Load() || b.draining.Load() {
		return
	}
	if err := b.registrar.registerAll(); err != nil {
		b.log.WithError(err).Warn("broker cannot be registered")
	}
}

// applyConfig hands a new configuration to the rooms that keep their own.
func (b *Broker) applyConfig(old, next *conf.Config) error {
	if b.schedule != nil && next.Store.MessageDelayLevel != old.Store.MessageDelayLevel {
		if err := b.schedule.SetLevels(next.Store.MessageDelayLevel); err != nil {
			return err
		}
	}
	if b.store != nil {
		b.store.Configure(&next.Store)
	}
	if b.timer != nil {
		b.timer.Configure(&next.Store)
	}
	return nil
}

// Start opens the store, loads the tables and serves; it is listening when Start returns. After an error everything
// that was started has been stopped again.
func (b *Broker) Start(ctx context.Context) error { return b.lifecycle.start(ctx, b.log) }

// Close leaves the name servers, answers held pulls, drains, flushes and closes everything. It is safe to call
// more than once, and after a failed Start; ctx bounds the waiting, not the flushing.
func (b *Broker) Close(ctx context.Context) error { return b.lifecycle.stop(ctx, b.log) }

// Addr is where the broker listens, valid after Start.
func (b *Broker) Addr() netip.AddrPort { return b.server.Addr() }

// Advertised is the address that clients and name servers are told, valid after Start.
func (b *Broker) Advertised() string { return b.identity.address }

package namesrv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Options are what New needs; all must be set but Addrs and Intercept.
type Options struct {
	Config *conf.Config
	Log    *logrus.Entry
	Clock  clock.Clock
	FS     vfs.FS
	// Addrs are host:port to listen on, port 0 picks one. Empty: bindAddress and listenPort of the configuration.
	Addrs []string
	// Intercept sees every request before its handler; see remoting.ServerOptions.
	Intercept func(c *remoting.Conn, req *remoting.Command) (resp *remoting.Command, err error, handled bool)
	// Watcher, when set, sees every frame; see remoting.ServerOptions.
	Watcher remoting.Watcher
}

// NameServer is a name server. Safe for concurrent use.
type NameServer struct {
	log   *logrus.Entry
	clock clock.Clock
	fs    vfs.FS

	conf   atomic.Pointer[conf.Config]
	confMu sync.Mutex // one change of conf at a time

	table   *table
	kv      *kvTable
	server  *remoting.Server
	client  *remoting.Client
	brokers oneway // client
	startMs atomic.Int64

	running    context.Context // until Close
	stop       context.CancelFunc
	background sync.WaitGroup  // what runs until running ends
	left       chan connection // closed connections that a broker had registered over
	once       sync.Once       // Close
	closeErr   error           // of the first Close
}

// New checks the options and loads the KV configuration. It listens to nothing and starts nothing. A KV configuration that cannot
// be read is an error.
func New(o Options) (*NameServer, error) {
	n := &NameServer{log: o.Log, clock: o.Clock, fs: o.FS, table: newTable()}
	n.conf.Store(o.Config)
	c := o.Config
	n.kv = newKVTable(o.FS, c.Namesrv.KVConfigPath)
	fromBackup, err := n.kv.load()
	if err != nil {
		return nil, err
	}
	if fromBackup {
		o.Log.WithField("file", c.Namesrv.KVConfigPath).Warn("KV configuration is broken, its backup is used")
	}
	n.client = remoting.NewClient(remoting.ClientOptions{Log: o.Log})
	n.brokers = n.client
	n.left = make(chan connection, max(1, c.Namesrv.UnRegisterBrokerQueueCapacity))
	n.running, n.stop = context.WithCancel(context.Background())
	addrs := o.Addrs
	if len(addrs) == 0 {
		addrs = []string{net.JoinHostPort(c.NamesrvServer.BindAddress, strconv.Itoa(int(c.NamesrvServer.ListenPort)))}
	}
	n.server, err = remoting.NewServer(remoting.ServerOptions{
		Name:           "namesrv",
		Addrs:          addrs,
		Routes:         n.routes(),
		Lanes:          []remoting.LaneOptions{{Name: "namesrv", Workers: laneWorkers, Queue: int(c.Namesrv.DefaultThreadPoolQueueCapacity)}},
		Log:            o.Log,
		Clock:          o.Clock,
		Loops:          int(c.Rocketd.EventLoops),
		MaxFrame:       int(c.Rocketd.MaxFrameBytes),
		MaxConns:       int(c.Rocketd.MaxConnections),
		MaxInFlight:    int(c.Rocketd.MaxInFlightPerConnection),
		InboundLimit:   c.Rocketd.MaxInboundBytesTotal,
		OutboundLimit:  int(c.Rocketd.MaxOutboundBytes),
		OutboundBudget: c.Rocketd.MaxOutboundBytesTotal,
		IdleTimeout:    time.Duration(c.NamesrvServer.ServerChannelMaxIdleTimeSeconds) * time.Second,
		OnClose:        func(conn *remoting.Conn) { n.disconnected(conn) },
		Intercept:      o.Intercept,
		Watcher:        o.Watcher,
	})
	if err != nil {
		n.client.Close()
		return nil, fmt.Errorf("name server: %w", err)
	}
	return n, nil
}

// Start listens: clients can connect when it returns.
func (n *NameServer) Start() error {
	n.startMs.Store(n.clock.NowMs())
	if err := n.server.Start(); err != nil {
		return fmt.Errorf("name server: %w", err)
	}
	n.background.Go(n.scan)
	n.background.Go(n.bury)
	n.log.WithField("addr", n.server.Addr()).Info("name server started")
	return nil
}

// Addr is the address listened on.
func (n *NameServer) Addr() netip.AddrPort { return n.server.Addr() }

// StopAccepting lets no new connection in.
func (n *NameServer) StopAccepting() { n.server.StopAccepting() }

// Stats are the listener's figures.
func (n *NameServer) Stats() remoting.ServerStats { return n.server.Stats() }

// Close ends all requests and connections; ctx bounds the wait for requests. It may be called more than once and without Start.
func (n *NameServer) Close(ctx context.Context) error {
	n.once.Do(func() {
		n.closeErr = n.server.Close(ctx)
		n.stop()
		n.background.Wait()
		n.client.Close()
	})
	return n.closeErr
}

func (n *NameServer) config() *conf.Config { return n.conf.Load() }

// RegisterBroker registers a broker of the same process with all its topics; it stays until UnregisterBroker. order holds the topics that
// have an order configuration. h and b must not change afterwards.
func (n *NameServer) RegisterBroker(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) (order map[string]string, err error) {
	if _, err := n.register(&registration{RegisterBrokerRequestHeader: h, RegisterBrokerBody: b}); err != nil {
		return nil, err
	}
	order, _ = n.orderTopics()
	return order, nil
}

// RegisterTopics registers changed topics of a broker of the same process that has registered before. Unlike RegisterBroker
// it does not compare versions.
func (n *NameServer) RegisterTopics(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) error {
	_, err := n.register(&registration{RegisterBrokerRequestHeader: h, RegisterBrokerBody: b, changed: true})
	return err
}

// UnregisterBroker takes a broker out of all routes.
func (n *NameServer) UnregisterBroker(h *remoting.UnregisterBrokerRequestHeader) {
	n.unregister(departure{key: brokerKey{h.ClusterName, h.BrokerAddr}, brokerName: h.BrokerName, brokerID: h.BrokerID})
}

// Route tells where a topic's queues are, nil when no broker serves it. The result must not be changed.
func (n *NameServer) Route(topic string) *body.TopicRouteData {
	if a := n.table.route(topic, n.routeRules); a != nil {
		return a.route
	}
	return nil
}

// Topics lists the topics of all brokers, sorted.
func (n *NameServer) Topics() []string {
	return n.table.topicNames(func(map[string]body.QueueData) bool { return true })
}

// ClusterInfo is all brokers.
func (n *NameServer) ClusterInfo() *body.ClusterInfo { return n.table.clusterInfo() }

// register takes a registration in and does what follows from it.
func (n *NameServer) register(r *registration) (registered, error) {
	r.nowMs = n.clock.NowMs()
	c := &n.config().Namesrv
	_, known := n.table.version(r.key())
	out, err := n.table.register(r, rules{deleteMissing: c.DeleteTopicWithBrokerRegistration})
	if err != nil {
		n.log.WithError(err).WithField("broker", r.String()).Warn("broker is not registered")
		return out, err
	}
	if r.conn != nil && r.conn.Closed() {
		// It closed before the broker was registered over it: disconnected has not seen it.
		n.disconnected(r.conn)
	}
	if !known {
		n.log.WithFields(logrus.Fields{"broker": r.String(), "topics": len(r.Topics.Topics)}).Info("broker registered")
	}
	n.notifyMinID(out.minID)
	return out, nil
}

func (n *NameServer) unregister(d departure) {
	changes := n.table.unregister([]departure{d})
	n.log.WithFields(logrus.Fields{"broker": d.brokerName, "id": d.brokerID, "addr": d.key.addr}).Info("broker unregistered")
	n.notifyMinID(changes...)
}

// orderTopics is the order configuration that brokers get when they register; ok is false when they get none.
func (n *NameServer) orderTopics() (table map[string]string, ok bool) {
	if !n.config().Namesrv.ReturnOrderTopicConfigToBroker {
		return nil, false
	}
	return n.kv.list(orderNamespace)
}

func (n *NameServer) routeRules() routeRules {
	c := &n.config().Namesrv
	r := routeRules{actingMaster: c.SupportActingMaster}
	if c.OrderMessageEnable {
		r.orderConf = func(topic string) string {
			value, _ := n.kv.get(orderNamespace, topic)
			return value
		}
	}
	return r
}

// disconnected is told of every connection that closed, on the event loop.
func (n *NameServer) disconnected(conn connection) {
	if !n.table.registeredOver(conn) {
		return
	}
	select {
	case n.left <- conn:
	default: // so many brokers at once: the scan finds them
	}
}

// bury takes out the brokers whose connections have closed, several at a time.
func (n *NameServer) bury() {
	for {
		select {
		case <-n.running.Done():
			return
		case conn := <-n.left:
			conns := []connection{conn}
			for more := true; more; {
				select {
				case conn := <-n.left:
					conns = append(conns, conn)
				default:
					more = false
				}
			}
			departures, changes := n.table.disconnect(conns)
			for _, d := range departures {
				n.log.WithFields(logrus.Fields{"broker": d.brokerName, "addr": d.key.addr}).Warn("broker's connection closed, it is unregistered")
			}
			n.notifyMinID(changes...)
		}
	}
}

// scan takes out the brokers that have been silent for too long. The first look comes after 5 s, whatever the interval
// (NamesrvController.startScheduleService).
func (n *NameServer) scan() {
	timer := n.clock.NewTimer(5 * time.Second)
	defer timer.Stop()
	for {
		select {
		case <-n.running.Done():
			return
		case <-timer.C():
		}
		departures, conns, changes := n.table.expire(n.clock.NowMs())
		for i, d := range departures {
			n.log.WithFields(logrus.Fields{"broker": d.brokerName, "addr": d.key.addr}).Warn("broker has been silent for too long, it is unregistered")
			conns[i].Close("broker expired")
		}
		n.notifyMinID(changes...)
		timer.Reset(time.Duration(n.config().Namesrv.ScanNotActiveBrokerInterval) * time.Millisecond)
	}
}

// errBlackListed is answered for keys that may not be changed.
var errBlackListed = remoting.Errorf(remoting.NoPermission, "Can not update config in black list.")

// updateConfig changes settings from properties text and saves them.
func (n *NameServer) updateConfig(text []byte) error {
	changes, err := conf.ParseProperties(text)
	if err != nil {
		return remoting.Errorf(remoting.SystemError, "string2Properties error: %v", err)
	}
	n.confMu.Lock()
	defer n.confMu.Unlock()
	next, err := n.config().UpdateNamesrv(changes)
	if errors.Is(err, conf.ErrBlackListed) {
		return errBlackListed
	}
	if err != nil {
		return remoting.Errorf(remoting.SystemError, "%v", err)
	}
	n.conf.Store(next)
	n.table.forgetAnswers()
	n.log.WithField("keys", len(changes)).Info("configuration updated")
	if path := next.Namesrv.ConfigStorePath; path != "" {
		if err := n.saveConfig(next, path, changes); err != nil {
			return remoting.Errorf(remoting.SystemError, "configuration is changed and not saved: %v", err)
		}
	}
	return nil
}

// saveConfig writes changes into configStorePath.
func (n *NameServer) saveConfig(c *conf.Config, path string, changes []conf.Property) error {
	old, err := vfs.ReadFile(n.fs, path, maxKVFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read configuration: %w", err)
	}
	text, err := c.EditNamesrvFile(old, changes)
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(n.fs, path, text)
}

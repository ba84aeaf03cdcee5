package broker

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/schedule"
	"github.com/rocketd/rocketd/store"
	"github.com/rocketd/rocketd/timer"
)

// Bounds of the broker's own pools.
const (
	slowSendWorkers = 4
	coldPullWorkers = 4
)

// build makes the tables and joins what calls whom. Nothing runs yet.
func (b *Broker) build() {
	c := b.config()
	b.files = &stateFiles{fs: b.fs, dir: filepath.Join(c.Store.StorePathRootDir, "config"), log: b.log}
	b.warnings = newThrottle(b.clock)
	b.topics = newTopicTable(b.files, b.clock, b.log, b.config, b.warnings)
	b.groups = newGroupTable(b.files, b.clock, b.log, b.config, b.warnings)
	b.offsets = newOffsetTable(b.files, b.clock, b.log, b.config, b.warnings)
	b.anew = newAnewTable()
	b.consumers = newConsumerTable(b.log, b.config, b.warnings)
	b.compensation = newCompensation(b.config)
	b.producers = newProducerTable(b.log, b.config)
	b.locks = newLockTable(b.clock)
	b.holds = newHoldTable(b.clock, b.freePull)
	b.notifier = newNotifier(b.consumers)
	b.keeper = newKeeper(b.clock, b.settleOrphan, b.scanExpired)
	b.stats = newStats(b.clock, c.Broker.BrokerClusterName, c.Broker.EnableDetailStat, c.Broker.MaxStatsIdleTimeInMinutes)
	b.caller = remoting.NewClient(remoting.ClientOptions{Log: b.log})
	b.registrar = newRegistrar(registrarOptions{
		Source: b.topics, Config: b.config, Identity: func() identity { return b.identity }, Order: b.topics.markOrder,
		Local: b.options.NameServers, Caller: b.caller, Clock: b.clock, Log: b.log,
	})

	b.consumers.changed = b.notifier.notify
	b.consumers.emptied = b.anew.forget
	b.topics.deleted = b.holds.wakeTopic
	b.offsets.resetAssigned = func(group, topic string, queueID int32) { b.holds.wakeQueue(topic, queueID, group) }
	b.topics.register = b.registerTopics
	b.arrivals = append(b.arrivals, b.holds.arrived)
	b.buildAdmin()
}

// steps is how the broker starts, and read backward how it stops.
func (b *Broker) steps() []step {
	return []step{
		// Last of all: the answers of what was flushed last still go out.
		{name: "connections", stop: b.closeConnections},
		{name: "store", start: b.openStore, stop: try(func() error { return b.store.Close() })},
		{name: "tables", start: b.loadTables},
		// Both read their queues and register with the store before it dispatches anything.
		{name: "schedule", start: b.openSchedule},
		{name: "timer", start: b.openTimer},
		{name: "transactions", start: try(b.transactions.load)},
		{name: "pop", start: try(b.pop.load)},
		{name: "request modes", start: try(b.modes.load)},
		{name: "dispatch", start: b.startStore},
		{name: "offsets", start: run(b.offsets.start), stop: try(b.offsets.close)},
		{name: "stats", start: run(b.stats.start), stop: run(b.stats.close)},
		// They write into the store, so they stop before it and after everything that makes work for them.
		{name: "schedule running", start: run(func() { b.schedule.Start() }), stop: try(func() error { return b.schedule.Close() })},
		{name: "timer running", start: run(func() { b.timer.Start() }), stop: try(func() error { return b.timer.Close() })},
		{name: "transactions running", start: run(b.transactions.start), stop: try(b.transactions.close)},
		{name: "pop running", start: run(b.pop.start), stop: try(b.pop.close)},
		{name: "keeper", start: run(b.keeper.start), stop: run(b.keeper.close)},
		{name: "notifier", start: run(b.notifier.start), stop: run(b.notifier.close)},
		{name: "pools", start: b.startPools, stop: b.closePools},
		{name: "lanes", stop: b.drainLanes},
		{name: "held pulls", start: run(b.holds.start), stop: run(b.holds.close)},
		{name: "server", start: b.startServer, stop: b.stopAccepting},
		// First of all: clients look elsewhere before anything is refused.
		{name: "registration", start: b.registrar.start, stop: b.leaveNameServers},
	}
}

// run and try make a step of a function.
func run(fn func()) func(context.Context) error {
	return func(context.Context) error { fn(); return nil }
}

func try(fn func() error) func(context.Context) error {
	return func(context.Context) error { return fn() }
}

func (b *Broker) openStore(context.Context) error {
	c := b.config()
	b.bootMs = b.clock.NowMs()
	levels, err := schedule.ParseLevels(c.Store.MessageDelayLevel)
	if err != nil {
		return err
	}
	b.levels = levels
	kind, opened := b.topics.queueKinds()
	defer opened()
	b.store, err = store.Open(store.Options{
		Dir: c.Store.StorePathRootDir, FS: b.fs, Clock: b.clock, Log: b.log, Config: &c.Store,
		DiskMinFree: c.Rocketd.DiskMinFreeBytes, DeliverTime: levels.DeliverTime, QueueKind: kind,
	})
	return err
}

func (b *Broker) loadTables(context.Context) error {
	c := b.config()
	b.topics.createSystem(c)
	b.groups.createReserved()
	lost, err := b.topics.load()
	if err != nil {
		return err
	}
	if lost {
		if err := b.topics.restore(b.storedQueues()); err != nil {
			return err
		}
	}
	for _, load := range []func() error{b.groups.load, b.offsets.load} {
		if err := load(); err != nil {
			return err
		}
	}
	if err := b.topics.createConfigured(c); err != nil {
		return err
	}
	return b.groups.createConfigured(c)
}

// storedQueues is how many queues each topic has in the store, and of which kind.
func (b *Broker) storedQueues() map[string]storedTopic {
	queues := map[string]storedTopic{}
	b.store.Queues(func(q *store.ConsumeQueue) bool {
		queues[q.Topic()] = storedTopic{max(queues[q.Topic()].queues, q.QueueID()+1), q.Kind()}
		return true
	})
	return queues
}

func (b *Broker) openSchedule(context.Context) (err error) {
	c := b.config()
	b.schedule, err = schedule.New(schedule.Options{
		Store: &countedStore{Store: relay.FromStore(b.store), stats: b.stats, levels: true}, FS: b.fs, Dir: c.Store.StorePathRootDir, Clock: b.clock, Log: b.log, Levels: b.levels,
		FlushInterval: time.Duration(c.Store.FlushDelayOffsetInterval) * time.Millisecond,
	})
	return err
}

func (b *Broker) openTimer(context.Context) (err error) {
	c := b.config()
	b.timer, err = timer.Open(timer.Options{
		Store: &countedStore{Store: relay.FromStore(b.store), stats: b.stats}, FS: b.fs, Dir: c.Store.StorePathRootDir, Clock: b.clock, Log: b.log, Config: &c.Store,
		OnDelivered: func(topic string, n int64) { b.stats.traffic.topic(topic).delivered.Add(n) },
	})
	return err
}

func (b *Broker) startStore(context.Context) error {
	b.store.OnArrival(func(a store.Arrival) {
		for _, arrived := range b.arrivals {
			arrived(a)
		}
	})
	b.store.Start()
	return nil
}

func (b *Broker) startPools(context.Context) error {
	c := b.config()
	b.slowSends = newPool(slowSendWorkers, max(1, int(c.Broker.SendThreadPoolQueueCapacity)))
	b.coldPulls = newPool(min(coldPullWorkers, max(1, int(c.Broker.PullMessageThreadPoolNums))), max(1, int(c.Broker.PullThreadPoolQueueCapacity)))
	return nil
}

func (b *Broker) closePools(context.Context) error {
	b.slowSends.close()
	b.coldPulls.close()
	return nil
}

// startServer listens and then takes on its identity, which needs the port. Until then requests are told to come again.
func (b *Broker) startServer(ctx context.Context) error {
	c := b.config()
	addrs := b.options.Addrs
	if len(addrs) == 0 {
		addrs = listenAddrs(c.Server.BindAddress, c.Broker.ListenPort)
	}
	server, err := remoting.NewServer(remoting.ServerOptions{
		Name: "broker", Addrs: addrs,
		Routes: b.routes(), Lanes: laneOptions(c), Log: b.log, Clock: b.clock,
		Loops: int(c.Rocketd.EventLoops), MaxFrame: int(c.Rocketd.MaxFrameBytes), MaxConns: int(c.Rocketd.MaxConnections),
		MaxInFlight: int(c.Rocketd.MaxInFlightPerConnection), InboundLimit: c.Rocketd.MaxInboundBytesTotal,
		OutboundLimit: int(c.Rocketd.MaxOutboundBytes), OutboundBudget: c.Rocketd.MaxOutboundBytesTotal,
		IdleTimeout: time.Duration(c.Server.ServerChannelMaxIdleTimeSeconds) * time.Second,
		OnOpen:      b.connOpened, OnClose: b.forget,
		StartLoop: func(l *remoting.Loop) { l.Data = &sender{} },
		EndTurn:   b.endTurn, Intercept: b.intercept, Watcher: b.options.Watcher, Latencies: c.Broker.EnableRemotingMetrics,
	})
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	b.server = server
	b.identity, err = newIdentity(ctx, c, b.options.Advertise, server.Addr())
	if err != nil {
		return err
	}
	b.uniqueKeys = message.NewUniqueKeys(b.identity.storeHost.Addr(), uint32(b.bootMs)) //nolint:gosec // a salt
	b.serving.Store(true)
	return nil
}

// listenAddrs are the broker's port and, below it, the one that old clients with vipChannelEnabled send to.
func listenAddrs(host string, port int32) []string {
	addrs := []string{net.JoinHostPort(host, strconv.Itoa(int(port)))}
	if port > 2 {
		addrs = append(addrs, net.JoinHostPort(host, strconv.Itoa(int(port)-2)))
	}
	return addrs
}

func (b *Broker) connOpened(conn *remoting.Conn) {
	state := &connState{}
	b.holds.opened(state)
	conn.SetAttachment(state)
}

// intercept sees each request first: it turns clients away before the broker knows itself, and those who understand it when it
// goes (NettyRemotingAbstract#processRequestCommand). One-way requests go through to the end: they are not repeated.
func (b *Broker) intercept(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error, bool) {
	if !b.serving.Load() {
		return nil, remoting.Errorf(remoting.SystemBusy, "[STARTING]the broker is starting"), true
	}
	if b.draining.Load() && req.Version > remoting.V531 && !req.IsOneway() {
		return nil, remoting.Errorf(remoting.GoAway, "please go away"), true
	}
	if b.options.Intercept != nil {
		return b.options.Intercept(conn, req)
	}
	return nil, nil, false
}

// settleWait bounds how long the answer to who made a topic waits for name servers in other processes.
const settleWait = 3 * time.Second

// registerTopics tells the name servers of new or changed topics, so that they are routable when the call that made them is
// answered. Not for event loops.
func (b *Broker) registerTopics(topics ...*body.TopicConfig) {
	if !b.serving.Load() || b.draining.Load() {
		return // all topics are registered when the broker begins to serve, and none when it stops
	}
	b.registrar.register(topics...)
	ctx, cancel := context.WithTimeout(context.Background(), settleWait)
	defer cancel()
	b.registrar.settle(ctx)
}

func (b *Broker) leaveNameServers(ctx context.Context) error {
	b.registrar.close(ctx)
	b.caller.Close()
	return nil
}

func (b *Broker) stopAccepting(context.Context) error {
	b.draining.Store(true)
	b.server.StopAccepting()
	return nil
}

// drainLanes waits until the requests that wait for a worker or run are answered, or ctx is over.
func (b *Broker) drainLanes(ctx context.Context) error {
	if b.server == nil {
		return nil
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		busy := 0
		for _, lane := range b.server.Stats().Lanes {
			busy += lane.Queued + lane.Running
		}
		if busy == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d requests are not answered: %w", busy, ctx.Err())
		}
	}
}

func (b *Broker) closeConnections(ctx context.Context) error {
	if b.server == nil {
		return nil
	}
	return b.server.Close(ctx)
}

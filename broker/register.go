package broker

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// NameServer is a name server in the same process. Its methods return at once: what they say is in the routes then.
type NameServer interface {
	// RegisterBroker registers all topics. order holds the topics that have an order configuration.
	RegisterBroker(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) (order map[string]string, err error)
	// RegisterTopics registers changed topics of a registered broker, whatever their version.
	RegisterTopics(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) error
	// UnregisterBroker takes the broker out of all routes.
	UnregisterBroker(h *remoting.UnregisterBrokerRequestHeader)
}

// registrationSource is what registration needs of the topic table. The topics never change.
type registrationSource interface {
	snapshot() (map[string]*body.TopicConfig, body.DataVersion)
	dataVersion() body.DataVersion
}

// registrationCaller calls external name servers, over one connection for each that stays open: name servers drop
// a broker whose connection closes. It is a *remoting.Client.
type registrationCaller interface {
	Invoke(ctx context.Context, addr string, cmd *remoting.Command) (*remoting.Command, error)
	Oneway(ctx context.Context, addr string, cmd *remoting.Command) error
}

// registrarOptions are what newRegistrar needs; all must be set but Local.
type registrarOptions struct {
	Source   registrationSource
	Config   func() *conf.Config
	Identity func() identity
	// Order makes those of the topics that exist ordered ones.
	Order  func(topics ...string) error
	Local  []NameServer
	Caller registrationCaller
	Clock  clock.Clock
	Log    *logrus.Entry
}

// registrar keeps the broker in the routes of its name servers: those in the same process, which learn of a topic before
// its creation is answered, and those of namesrvAddr, each of which has a link of its own. It does what the reference's
// BrokerController and BrokerOuterAPI do around registerBrokerAll.
// Safe for concurrent use; order of calls: start, then any, then close.
type registrar struct {
	registrarOptions

	background context.Context // of links and refresh
	stop       context.CancelFunc
	wg         sync.WaitGroup // links and refresh

	mu     sync.Mutex
	links  map[string]*registerLink // by address; guarded by mu
	closed bool                     // guarded by mu
}

// firstRoundWait bounds how long start waits for external name servers.
const firstRoundWait = 2 * time.Second

// unregisterTimeout bounds UNREGISTER_BROKER to one name server (BrokerOuterAPI.unregisterBroker).
const unregisterTimeout = 3 * time.Second

func newRegistrar(o registrarOptions) *registrar {
	return &registrar{registrarOptions: o, links: make(map[string]*registerLink)}
}

// start registers the broker everywhere. A name server in the same process that refuses is an error; external ones are tried
// again until they take it, and start waits for their first answer up to firstRoundWait.
func (r *registrar) start(ctx context.Context) error {
	r.background, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.registerLocal(); err != nil {
		r.stop()
		return err
	}
	r.refreshLinks()
	r.wg.Go(r.refresh)
	first, cancelFirst := context.WithTimeout(ctx, firstRoundWait)
	defer cancelFirst()
	r.settle(first)
	return nil
}

// register tells all name servers of topics that are new or changed. Those in the same process know them when it returns;
// the others are told by their links, see settle. It may run on an event loop.
func (r *registrar) register(topics ...*body.TopicConfig) {
	if len(topics) == 0 {
		return
	}
	table := make(map[string]*body.TopicConfig, len(topics))
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		table[t.TopicName] = t
		names = append(names, t.TopicName)
	}
	h, b := r.registration(table, r.Source.dataVersion())
	for _, server := range r.Local {
		if err := server.RegisterTopics(h, b); err != nil {
			r.Log.WithError(err).WithField("topics", len(topics)).Warn("name server in this process refused topics")
		}
	}
	for _, l := range r.snapshotLinks() {
		l.changed(names...)
	}
}

// registerAll registers all topics everywhere anew, for changes of what is not a topic: the broker's permission, the list of name
// servers.
func (r *registrar) registerAll() error {
	r.refreshLinks()
	for _, l := range r.snapshotLinks() {
		l.everything()
	}
	return r.registerLocal()
}

// settle waits until every external name server has been told, with or without success, what was known at the call, or
// until ctx is done.
func (r *registrar) settle(ctx context.Context) {
	for _, l := range r.snapshotLinks() {
		if !l.settle(ctx, r.background.Done()) {
			return
		}
	}
}

// close takes the broker out of all routes. ctx bounds the wait for external name servers.
func (r *registrar) close(ctx context.Context) {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if again || r.stop == nil {
		return
	}
	r.stop()
	r.wg.Wait()
	id := r.Identity()
	h := &remoting.UnregisterBrokerRequestHeader{
		BrokerName: id.name, BrokerAddr: id.address, ClusterName: id.cluster, BrokerID: id.id,
	}
	for _, server := range r.Local {
		server.UnregisterBroker(h)
	}
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, l := range r.snapshotLinks() {
		wg.Go(func() { l.unregister(ctx, h) })
	}
	wg.Wait()
}

// refresh registers with the name servers in the same process every period, which brings back topics that were deleted there alone,
// and follows changes of namesrvAddr.
func (r *registrar) refresh() {
	timer := r.Clock.NewTimer(r.period())
	defer timer.Stop()
	for {
		select {
		case <-r.background.Done():
			return
		case <-timer.C():
		}
		if err := r.registerLocal(); err != nil {
			r.Log.WithError(err).Warn("name server in this process refused the broker")
		}
		r.refreshLinks()
		timer.Reset(r.period())
	}
}

// period is registerNameServerPeriod within the reference's bounds (BrokerController.start).
func (r *registrar) period() time.Duration {
	const least, most = 10_000, 60_000
	return time.Duration(max(least, min(r.Config().Broker.RegisterNameServerPeriod, most))) * time.Millisecond
}

func (r *registrar) registerLocal() error {
	if len(r.Local) == 0 {
		return nil
	}
	h, b := r.registration(r.Source.snapshot())
	var errs []error
	for _, server := range r.Local {
		order, err := server.RegisterBroker(h, b)
		if err != nil {
			errs = append(errs, fmt.Errorf("register with the name server in this process: %w", err))
			continue
		}
		r.markOrder(order)
	}
	return errors.Join(errs...)
}

func (r *registrar) markOrder(order map[string]string) {
	if len(order) == 0 {
		return
	}
	if err := r.Order(slices.Sorted(maps.Keys(order))...); err != nil {
		r.Log.WithError(err).Warn("topics are not marked as ordered")
	}
}

// refreshLinks makes links to the addresses of namesrvAddr and ends those to others.
func (r *registrar) refreshLinks() {
	wanted := nameServerAddrs(r.Config().Broker.NamesrvAddr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for addr, l := range r.links {
		if !slices.Contains(wanted, addr) {
			l.cancel()
			delete(r.links, addr)
			r.Log.WithField("nameServer", addr).Info("name server removed")
		}
	}
	for _, addr := range wanted {
		if r.links[addr] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(r.background)
		l := newRegisterLink(r, addr, cancel)
		r.links[addr] = l
		r.wg.Go(func() { l.run(ctx) })
	}
}

func (r *registrar) snapshotLinks() []*registerLink {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.links))
}

// nameServerAddrs splits namesrvAddr.
func nameServerAddrs(text string) []string {
	var addrs []string
	for addr := range strings.SplitSeq(text, ";") {
		if addr = strings.TrimSpace(addr); addr != "" && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// registration is the header and body of REGISTER_BROKER for these topics, without body checksum.
func (r *registrar) registration(topics map[string]*body.TopicConfig, version body.DataVersion) (*remoting.RegisterBrokerRequestHeader, *body.RegisterBrokerBody) {
	c, id := &r.Config().Broker, r.Identity()
	h := &remoting.RegisterBrokerRequestHeader{
		BrokerName: id.name, BrokerAddr: id.address, ClusterName: id.cluster, BrokerID: id.id, HAServerAddr: id.haAddress,
		EnableActingMaster: remoting.Some(c.EnableSlaveActingMaster),
	}
	if c.EnableSlaveActingMaster {
		h.HeartbeatTimeoutMillis = remoting.Some(c.BrokerNotActiveTimeoutMillis)
	}
	b := &body.RegisterBrokerBody{
		FilterServerList: []string{},
		Topics:           body.TopicConfigAndMappingTable{Topics: maskPerm(topics, c.BrokerPermission), DataVersion: version},
	}
	return h, b
}

// maskPerm takes from the topics what the broker itself does not permit (BrokerController.registerBrokerAll).
func maskPerm(topics map[string]*body.TopicConfig, perm int32) map[string]*body.TopicConfig {
	if perm&permBoth == permBoth {
		return topics
	}
	masked := make(map[string]*body.TopicConfig, len(topics))
	for name, t := range topics {
		c := *t
		c.Perm &= perm
		masked[name] = &c
	}
	return masked
}

// registerCommand is the request of a registration.
func (r *registrar) registerCommand(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) *remoting.Command {
	header := *h
	var data []byte
	if r.Config().Broker.CompressedRegister {
		// The reference's brokers leave the header's flag false, and its name servers cannot read what they send.
		header.Compressed = true
		data = body.EncodeRegisterBrokerCompressed(b)
	} else {
		data = body.Encode(b)
	}
	header.BodyCRC32 = remoting.Some(int32(crc32.ChecksumIEEE(data) & 0x7fffffff)) // UtilAll.crc32
	cmd := remoting.NewRequest(remoting.RegisterBroker, &header)
	cmd.Body = data
	return cmd
}

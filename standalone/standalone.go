package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/console"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/namesrv"
	"github.com/rocketd/rocketd/remoting"
)

// Parts of the process, as StartError names them.
const (
	PartNamesrv = "name server"
	PartBroker  = "broker"
	PartConsole = "console"
)

// StartError says which part could not be started.
type StartError struct {
	Part string
	Err  error
}

// Error names the part and the reason.
func (e *StartError) Error() string { return "start " + e.Part + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Options are what Start needs. Config must be set, as conf.Load returns it.
type Options struct {
	Config *conf.Config
	Role   conf.Role
	Log    *logrus.Entry // nil: nothing is logged
	Clock  clock.Clock   // nil: the machine's
	FS     vfs.FS        // nil: the machine's
	// NamesrvAddrs and BrokerAddrs are host:port to listen on; empty: those of Config.
	NamesrvAddrs, BrokerAddrs []string
	// NameServers are further ones in this process that the broker registers with.
	NameServers []broker.NameServer
	// Intercept, when set, sees each request to the broker before its handler; see remoting.ServerOptions.
	Intercept func(c *remoting.Conn, req *remoting.Command) (resp *remoting.Command, err error, handled bool)
	// Watcher, when set, sees every frame; see remoting.ServerOptions.
	Watcher remoting.Watcher
	// Console: serve the page, the API and the metrics on httpPort, unless that is -1.
	Console bool
	// Version is shown by the console.
	Version string
}

// Standalone is what Start has started. Safe for concurrent use.
type Standalone struct {
	config  *conf.Config
	namesrv *namesrv.NameServer // nil when the role has none
	broker  *broker.Broker      // nil when the role has none
	console *console.Console    // nil when there is none
}

// Start starts the parts of the role; they are listening when it returns. An error is a *StartError, and nothing is left
// running then.
func Start(ctx context.Context, o Options) (*Standalone, error) {
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(silent)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	s := &Standalone{config: o.Config}
	warnings := new(console.Warnings)
	if o.Console = o.Console && (o.Config.Rocketd.HTTPPort >= 0 || console.Prom(o.Config)); o.Console {
		o.Log.Logger.AddHook(warnings)
	}
	if o.Role != conf.RoleBroker {
		if err := s.startNamesrv(ctx, o); err != nil {
			return nil, &StartError{Part: PartNamesrv, Err: err}
		}
	}
	if o.Role != conf.RoleNamesrv {
		if err := s.startBroker(ctx, o); err != nil {
			return nil, errors.Join(&StartError{Part: PartBroker, Err: err}, s.Close(ctx))
		}
	}
	if err := s.seed(ctx, o); err != nil {
		return nil, errors.Join(&StartError{Part: PartBroker, Err: err}, s.Close(ctx))
	}
	if o.Console {
		if err := s.startConsole(o, warnings); err != nil {
			return nil, errors.Join(&StartError{Part: PartConsole, Err: err}, s.Close(ctx))
		}
	}
	return s, nil
}

// startConsole serves HTTP. When the port is the default one and taken, by another rocketd most likely, the process does without.
func (s *Standalone) startConsole(o Options, warnings *console.Warnings) error {
	c := console.New(console.Options{
		Config: o.Config, Log: o.Log.WithField("part", "console"), Clock: o.Clock, Broker: s.broker, Namesrv: s.namesrv, Warnings: warnings,
		Version: o.Version, MayLackPort: o.Config.Origin("rocketd.httpPort") == (conf.Origin{}),
	})
	if err := c.Start(); err != nil {
		return err
	}
	s.console = c
	return nil
}

func (s *Standalone) startNamesrv(ctx context.Context, o Options) error {
	ns, err := namesrv.New(namesrv.Options{
		Config: o.Config, Log: o.Log.WithField("part", "namesrv"), Clock: o.Clock, FS: o.FS,
		Addrs: o.NamesrvAddrs, Watcher: o.Watcher,
	})
	if err != nil {
		return err
	}
	if err := ns.Start(); err != nil {
		return errors.Join(err, ns.Close(ctx))
	}
	s.namesrv = ns
	return nil
}

func (s *Standalone) startBroker(ctx context.Context, o Options) error {
	config, inProcess := o.Config, slices.Clone(o.NameServers)
	if s.namesrv != nil {
		inProcess = append(inProcess, s.namesrv)
		others, err := s.withoutOwnNamesrv(config)
		if err != nil {
			return err
		}
		config = others
	}
	if len(inProcess) == 0 && config.Broker.NamesrvAddr == "" {
		o.Log.Warn("the broker has no name server: clients will not find it; --namesrv names one")
	}
	b, err := broker.New(broker.Options{
		Config: config, Log: o.Log.WithField("part", "broker"), Clock: o.Clock, FS: o.FS,
		NameServers: inProcess, Advertise: config.Rocketd.Advertise, Addrs: o.BrokerAddrs, Intercept: o.Intercept, Watcher: o.Watcher,
	})
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil { // it has taken back what it began
		return err
	}
	s.broker = b
	return nil
}

// withoutOwnNamesrv takes this process's own name server out of namesrvAddr: NAMESRV_ADDR is often set for clients.
func (s *Standalone) withoutOwnNamesrv(c *conf.Config) (*conf.Config, error) {
	if c.Broker.NamesrvAddr == "" {
		return c, nil
	}
	port := int(s.namesrv.Addr().Port())
	var others []string
	for _, addr := range conf.SplitAddresses(c.Broker.NamesrvAddr) {
		if !s.isOwn(addr, port) {
			others = append(others, addr)
		}
	}
	next, err := c.With("broker.namesrvAddr", strings.Join(others, ";"))
	if err != nil {
		return nil, fmt.Errorf("external name servers: %w", err)
	}
	return next, nil
}

func (s *Standalone) isOwn(addr string, port int) bool {
	host, text, err := net.SplitHostPort(addr)
	if err != nil || text != strconv.Itoa(port) {
		return false
	}
	if strings.EqualFold(host, "localhost") || host == s.config.Broker.BrokerIP1 || host == s.config.NamesrvServer.BindAddress {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// NamesrvAddr is the HOST:PORT to give to clients; empty when the role has no name server.
func (s *Standalone) NamesrvAddr() string {
	if s.namesrv == nil {
		return ""
	}
	return s.config.NamesrvAddr(int(s.namesrv.Addr().Port()))
}

// BrokerAddr is the HOST:PORT that clients are told to reach the broker at; empty when the role has no broker.
func (s *Standalone) BrokerAddr() string {
	if s.broker == nil {
		return ""
	}
	return s.broker.Advertised()
}

// HTTPAddr is the HOST:PORT of the console; empty when there is none.
func (s *Standalone) HTTPAddr() string {
	if s.console == nil || !s.console.Addr().IsValid() {
		return ""
	}
	return s.console.Addr().String()
}

// Namesrv is the name server, or nil.
func (s *Standalone) Namesrv() *namesrv.NameServer { return s.namesrv }

// Broker is the broker, or nil.
func (s *Standalone) Broker() *broker.Broker { return s.broker }

// Close stops the broker, which leaves the name servers first, and then the name server. ctx bounds the waiting for
// clients and held calls, not the flushing. It is safe to call more than once.
func (s *Standalone) Close(ctx context.Context) error {
	var errs []error
	if s.console != nil {
		errs = append(errs, s.console.Close(ctx))
	}
	if s.broker != nil {
		errs = append(errs, s.broker.Close(ctx))
	}
	if s.namesrv != nil {
		errs = append(errs, s.namesrv.Close(ctx))
	}
	return errors.Join(errs...)
}

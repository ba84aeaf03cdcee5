package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/namesrv"
	"github.com/rocketd/rocketd/remoting"
)

//go:embed assets
var assets embed.FS

// maxRequests bounds the requests that are served at a time; further ones are answered 503.
const maxRequests = 64

// Options are what New needs. Config, Log, Clock and Warnings must be set; Broker or Namesrv are nil when the process has none.
type Options struct {
	Config  *conf.Config
	Log     *logrus.Entry
	Clock   clock.Clock
	Broker  *broker.Broker
	Namesrv *namesrv.NameServer
	// Warnings is the hook that the log was given.
	Warnings *Warnings
	Version  string
	// MayLackPort: when httpPort is taken, Start says so in the log and does without.
	MayLackPort bool
}

// Console serves the page, the API and the metrics. Safe for concurrent use.
type Console struct {
	o        Options
	log      *logrus.Entry
	slots    chan struct{}
	exporter exporter
	caller   sync.Once
	client   *remoting.Client // made at the first message sent

	servers []*http.Server
	serving sync.WaitGroup
	addr    netip.AddrPort
}

// New makes a console that serves nothing yet.
func New(o Options) *Console {
	c := &Console{o: o, log: o.Log, slots: make(chan struct{}, maxRequests)}
	c.exporter.init(c)
	return c
}

// ErrPortTaken says that the port is taken.
var ErrPortTaken = errors.New("the HTTP port is taken")

// Start listens on httpHost and httpPort unless that is negative, and with metricsExporterType PROM on the reference's port for the metrics.
// After an error nothing is left open.
func (c *Console) Start() error {
	if err := c.startProm(); err != nil {
		return err
	}
	r := &c.o.Config.Rocketd
	if r.HTTPPort < 0 {
		return nil
	}
	listener, err := listen(r.HTTPHost, r.HTTPPort)
	if errors.Is(err, ErrPortTaken) && c.o.MayLackPort {
		c.log.WithError(err).Warn("there is no console: httpPort is taken by another program; --http-port names another one")
		return nil
	}
	if err != nil {
		return errors.Join(err, c.Close(context.Background()))
	}
	c.addr = addrOf(listener)
	c.serve(listener, c.guard(c.routes()))
	return nil
}

// startProm serves the metrics alone, where the reference does.
func (c *Console) startProm() error {
	b := &c.o.Config.Broker
	if !Prom(c.o.Config) || c.o.Broker == nil {
		return nil
	}
	host := b.MetricsPromExporterHost
	if host == "" {
		host = b.BrokerIP1
	}
	listener, err := listen(host, b.MetricsPromExporterPort)
	if err != nil {
		return fmt.Errorf("metricsPromExporterPort: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", &c.exporter)
	c.serve(listener, c.limit(mux))
	return nil
}

// Prom tells whether the metrics have a port of their own.
func Prom(c *conf.Config) bool { return c.Broker.MetricsExporterType == "PROM" }

func listen(host string, port int32) (net.Listener, error) {
	addr := net.JoinHostPort(host, strconv.Itoa(int(port)))
	listener, err := net.Listen("tcp", addr)
	switch {
	case isAddressInUse(err):
		return nil, fmt.Errorf("%w: %s: %w", ErrPortTaken, addr, err)
	case err != nil:
		return nil, fmt.Errorf("listen for HTTP on %s: %w", addr, err)
	}
	return listener, nil
}

func addrOf(l net.Listener) netip.AddrPort {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

func (c *Console) serve(l net.Listener, h http.Handler) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
	}
	c.servers = append(c.servers, server)
	c.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.log.WithError(err).Warn("the HTTP port is not served any more")
		}
	})
}

// Addr is where the page is served, valid after Start.
func (c *Console) Addr() netip.AddrPort { return c.addr }

// Close ends serving; ctx bounds the waiting for requests under way. It may be called again.
func (c *Console) Close(ctx context.Context) error {
	var errs []error
	for _, s := range c.servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, s.Close())
		}
	}
	c.serving.Wait()
	c.caller.Do(func() {}) // nobody makes a client any more
	if c.client != nil {
		c.client.Close()
	}
	return errors.Join(errs...)
}

// routes is the request table. docs/openapi.yaml describes the API; a test compares the two.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", c.healthz)
	mux.HandleFunc("GET /readyz", c.readyz)
	mux.Handle("GET /metrics", &c.exporter)
	for pattern, h := range c.api() {
		mux.Handle(pattern, h)
	}
	mux.Handle("GET /", page())
	if c.o.Config.Rocketd.HTTPPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// page serves the embedded files.
func page() http.Handler {
	sub, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the directory is embedded
	}
	files := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}

// healthz says that the process is alive.
func (c *Console) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // whoever asked is gone
}

// readyz says whether clients are served: the routes are up and the disk takes messages.
func (c *Console) readyz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ready\n"
	if err := c.ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "not ready: " + err.Error() + "\n"
	}
	_, _ = w.Write([]byte(text)) // whoever asked is gone
}

func (c *Console) ready() error {
	if c.o.Broker == nil {
		return nil // a name server that listens is ready
	}
	if err := c.o.Broker.Ready(); err != nil {
		return err
	}
	if c.o.Namesrv != nil && len(c.o.Namesrv.Topics()) == 0 {
		return errors.New("the broker is not registered with its name server yet")
	}
	return nil
}

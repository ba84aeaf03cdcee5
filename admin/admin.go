package admin

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Bounds of what is asked at once.
const (
	parallel    = 8
	maxAnswer   = 256 << 20 // of one answer: tables of topics grow
	defaultWait = 5 * time.Second
	pageSize    = 2000 // topics or groups in one answer, where the broker has pages
)

// DefaultNamesrv is the name server that is asked when none is named.
const DefaultNamesrv = "127.0.0.1:9876"

// Options tell whom to ask.
type Options struct {
	// Namesrv are name servers, HOST:PORT or HOST; the first one that answers is asked. Empty: DefaultNamesrv.
	Namesrv []string
	// Broker limits everything to one broker: its name, or its HOST:PORT, which needs no name server. Empty: all.
	Broker string
	// Timeout bounds the wait for each answer; 0: 5 s.
	Timeout time.Duration
	// Clock tells the time; nil: the system's.
	Clock clock.Clock
}

// Admin asks name servers and brokers.
type Admin struct {
	o      Options
	client *remoting.Client

	mu       sync.Mutex
	namesrv  string                   // the one that answered; guarded by mu
	sessions map[string]*groupSession // by group: consumers of this process; guarded by mu
}

// New makes an Admin. It connects when it is asked something.
func New(o Options) *Admin {
	if len(o.Namesrv) == 0 {
		o.Namesrv = []string{DefaultNamesrv}
	}
	o.Namesrv = slices.Clone(o.Namesrv)
	for i, addr := range o.Namesrv {
		if !strings.Contains(addr, ":") {
			o.Namesrv[i] = addr + ":9876"
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultWait
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	a := &Admin{o: o, sessions: map[string]*groupSession{}}
	a.client = remoting.NewClient(remoting.ClientOptions{
		DialTimeout: min(o.Timeout, 3*time.Second), MaxFrame: maxAnswer, Language: remoting.Go, Handle: a.asked,
	})
	return a
}

// Close ends all connections.
func (a *Admin) Close() { a.client.Close() }

// NowMs is the wall-clock time of this machine, ms since the epoch.
func (a *Admin) NowMs() int64 { return a.o.Clock.NowMs() }

// call asks a server and returns its answer, an error when its code is not one of accepted (Success always is).
func (a *Admin) call(ctx context.Context, s server, code int32, h remoting.Header, payload []byte, accepted ...int32) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	return a.callFor(ctx, s, code, h, payload, accepted...)
}

// callFor is call with the caller's own time limit.
func (a *Admin) callFor(ctx context.Context, s server, code int32, h remoting.Header, payload []byte, accepted ...int32) (*remoting.Command, error) {
	req := remoting.NewRequest(code, h)
	req.Body = payload
	resp, err := a.client.Invoke(ctx, s.addr, req)
	if err != nil {
		return nil, &Unreachable{Server: s.String(), Broker: s.broker != "", Err: err}
	}
	if resp.Code == remoting.Success || slices.Contains(accepted, resp.Code) {
		return resp, nil
	}
	return nil, &Error{Server: s.String(), Version: remoting.VersionName(resp.Version), Request: code, Code: resp.Code, Remark: resp.Remark}
}

// server is whom a request goes to.
type server struct {
	broker  string // name; empty: a name server
	cluster string
	addr    string
}

func (s server) String() string {
	switch s.broker {
	case "":
		return "name server " + s.addr
	case s.addr:
		return "broker " + s.addr
	default:
		return "broker " + s.broker + " (" + s.addr + ")"
	}
}

// ns asks the first name server that answers. Its answer, also a refusal, counts.
func (a *Admin) ns(ctx context.Context, code int32, h remoting.Header, payload []byte, accepted ...int32) (*remoting.Command, error) {
	a.mu.Lock()
	known := a.namesrv
	a.mu.Unlock()
	list := a.o.Namesrv
	if known != "" {
		list = append([]string{known}, list...)
	}
	var last error
	for _, addr := range list {
		resp, err := a.call(ctx, server{addr: addr}, code, h, payload, accepted...)
		var gone *Unreachable
		if err != nil && asUnreachable(err, &gone) && ctx.Err() == nil {
			last = err
			continue
		}
		a.mu.Lock()
		a.namesrv = addr
		a.mu.Unlock()
		return resp, err
	}
	return nil, last
}

// NamesrvAddrs are the name servers that may be asked.
func (a *Admin) NamesrvAddrs() []string { return slices.Clone(a.o.Namesrv) }

// clusterInfo is what the name server knows of brokers.
func (a *Admin) clusterInfo(ctx context.Context) (*body.ClusterInfo, error) {
	resp, err := a.ns(ctx, remoting.GetBrokerClusterInfo, nil, nil)
	if err != nil {
		return nil, err
	}
	return decode[body.ClusterInfo](resp)
}

// masters are the brokers that requests go to, sorted by name: all, or the one of Options.Broker.
func (a *Admin) masters(ctx context.Context) ([]server, error) {
	if host, _, err := net.SplitHostPort(a.o.Broker); err == nil && host != "" {
		return []server{{broker: a.o.Broker, addr: a.o.Broker}}, nil
	}
	info, err := a.clusterInfo(ctx)
	if err != nil {
		return nil, err
	}
	var list []server
	for name, data := range info.Brokers {
		if a.o.Broker != "" && a.o.Broker != name {
			continue
		}
		if addr, ok := data.BrokerAddrs[0]; ok {
			list = append(list, server{broker: name, cluster: data.Cluster, addr: addr})
		}
	}
	slices.SortFunc(list, func(x, y server) int { return strings.Compare(x.broker, y.broker) })
	switch {
	case len(list) > 0:
		return list, nil
	case a.o.Broker != "":
		return nil, &NotFound{What: "broker", Name: a.o.Broker, Hint: "rocketd cluster brokers lists those that the name server knows"}
	default:
		return nil, &NotFound{What: "broker", Hint: "the name server knows no master: is a broker running, and is this name server in its --namesrv?"}
	}
}

// each calls fn for every item, a few at a time, and returns the first error.
func each[T any](ctx context.Context, items []T, fn func(ctx context.Context, i int, item T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, item := range items {
		g.Go(func() error { return fn(ctx, i, item) })
	}
	return g.Wait()
}

// Progress is told how much of a long work is done. It may be nil, and is called from one goroutine at a time.
type Progress func(done, total int)

// counter makes one step of a Progress, from any goroutine.
func (p Progress) counter(total int) func() {
	if p == nil {
		return func() {}
	}
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		p(done, total)
	}
}

// readPages reads a table of a broker page by page. ask tells how many entries the whole table has, 0 when the broker has no pages.
func readPages[T any](ask func(have int32, version string) (page map[string]T, of *body.DataVersion, total int, err error)) (map[string]T, error) {
	all := map[string]T{}
	version := ""
	for {
		page, of, total, err := ask(int32(len(all)), version)
		if err != nil {
			return nil, err
		}
		before := len(all)
		maps.Copy(all, page)
		if len(all) >= total || len(all) == before {
			return all, nil
		}
		if version == "" {
			version = string(body.Encode(of))
		}
	}
}

// decode reads the body of an answer.
func decode[T any, P interface {
	*T
	body.Body
}](resp *remoting.Command) (*T, error) {
	v, err := body.Decode[T, P](resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return v, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/brokertest/control"
	"github.com/rocketd/rocketd/conf"
)

// testFlags are those of rocketd test.
type testFlags struct {
	data, host, advertise, control, at, version string
	namesrvPort, brokerPort                     int
	topics, groups, files, sets                 []string
	frozen, withStdin, verbose                  bool
	journal                                     int
}

func newTest(p *Process) *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test",
		Short: "Run name server and broker for tests, with a control API over HTTP",
		Long: `Runs a name server and a broker in memory whose clock, faults and disk a test holds in its hand, over HTTP at --control: move
the clock, ask for faults, wait, look, reset. GET /openapi.yaml there describes it; docs/testing.md has examples.

When ready, one line on stdout tells the addresses.`,
		Example: `  rocketd test                                                clients at 127.0.0.1:9876, control at http://127.0.0.1:9877
  rocketd test --namesrv-port 0 --broker-port 0 --control 127.0.0.1:0 --topic orders:4
  curl -d '{"advance":"2h"}' http://127.0.0.1:9877/v1/clock
  curl -d '{"fault":"loseSendAnswers","match":{"nth":1}}' http://127.0.0.1:9877/v1/rules`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serveTest(p, &f) },
	}
	set := c.Flags()
	set.SortFlags = false
	set.StringVar(&f.control, "control", "", "HOST:PORT of the control API, port 0 picks one (default 127.0.0.1:9877; all addresses inside a container)")
	set.IntVar(&f.namesrvPort, "namesrv-port", 9876, "port of the name server, 0 picks one")
	set.IntVar(&f.brokerPort, "broker-port", 10911, "port of the broker, 0 picks one")
	set.StringVar(&f.host, "host", "", "address to listen on (default 127.0.0.1; all addresses inside a container)")
	set.StringVar(&f.advertise, "advertise", "", "HOST[:PORT] that clients are told (default: the listen address)")
	set.StringVar(&f.data, "data", "", "directory of the store (default: in memory)")
	set.StringArrayVar(&f.topics, "topic", nil, "topic to create, NAME[:QUEUES]; may be repeated")
	set.StringArrayVar(&f.groups, "group", nil, "consumer group to create, NAME[:RETRY_MAX_TIMES]; may be repeated")
	set.StringVar(&f.at, "time", "", "what the clock shows at start, as 2030-01-02T15:04:05Z (default: now)")
	set.BoolVar(&f.frozen, "frozen", false, "let the clock stand still until it is moved")
	set.StringVar(&f.version, "emulate", "", "behave as a release line: 4.9 or 5.x (default 5.x)")
	set.IntVar(&f.journal, "journal", 1000, "exchanges that the journal keeps")
	set.StringArrayVarP(&f.files, "config", "c", nil, "YAML file, or Apache's broker.conf; may be repeated")
	set.StringArrayVar(&f.sets, "set", nil, "any configuration key, KEY=VALUE; may be repeated")
	set.BoolVar(&f.withStdin, "stop-with-stdin", false, "stop when standard input ends: for helpers that start this process")
	set.BoolVar(&f.verbose, "verbose", false, "log to stderr")
	return c
}

// options turns the flags into those of brokertest.
func (f *testFlags) options(p *Process) ([]brokertest.Option, error) {
	f.host, f.control = f.listenOn(p.Env)
	options := []brokertest.Option{
		brokertest.WithAddress(f.host, f.namesrvPort, f.brokerPort), brokertest.WithTopics(f.topics...), brokertest.WithGroups(f.groups...),
		brokertest.WithJournal(f.journal),
	}
	if f.advertise != "" {
		options = append(options, brokertest.WithAdvertise(f.advertise))
	}
	if f.data != "" {
		options = append(options, brokertest.WithDir(f.data))
	}
	if f.at != "" {
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return nil, &failure{code: ExitUsage, sentence: fmt.Sprintf("--time %q is not a time such as 2030-01-02T15:04:05Z", f.at)}
		}
		options = append(options, brokertest.WithTime(at))
	}
	if f.frozen {
		options = append(options, brokertest.WithFrozenClock())
	}
	if f.version != "" {
		options = append(options, brokertest.WithVersion(brokertest.Version(f.version)))
	}
	if f.verbose {
		options = append(options, brokertest.WithLog(p.Stderr))
	}
	for _, file := range f.files {
		options = append(options, brokertest.WithConfigFile(file))
	}
	for _, set := range f.sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return nil, &failure{code: ExitUsage, sentence: fmt.Sprintf("--set %q is not KEY=VALUE", set)}
		}
		options = append(options, brokertest.WithConfig(key, value))
	}
	return options, nil
}

// listenOn decides the addresses that the flags leave open.
func (f *testFlags) listenOn(env []string) (host, control string) {
	host, control = f.host, f.control
	if host == "" {
		host = "127.0.0.1"
		if inContainer(env) {
			host = "0.0.0.0"
		}
		for _, pair := range env {
			if value, ok := strings.CutPrefix(pair, "ROCKETD_HOST="); ok && value != "" {
				host = value
			}
		}
	}
	if control == "" {
		control = net.JoinHostPort(host, "9877")
	}
	return host, control
}

// serveTest runs until a signal, or the end of standard input, stops it.
func serveTest(p *Process, f *testFlags) error {
	options, err := f.options(p)
	if err != nil {
		return err
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.control)
	if err != nil {
		code := ExitAddress
		if errors.Is(err, syscall.EADDRINUSE) {
			code = ExitPortTaken
		}
		return &failure{code: code, err: err, sentence: fmt.Sprintf("the control API cannot listen: %v; --control takes another HOST:PORT, port 0 picks one", err)}
	}
	defer func() { _ = listener.Close() }() // closed before, unless the start failed
	b, err := brokertest.New(ctx, options...)
	if err != nil {
		return explainTest(err, f)
	}
	return errors.Join(f.serveControl(ctx, p, b, listener), closeTest(b))
}

// serveControl serves the control API until ctx ends.
func (f *testFlags) serveControl(ctx context.Context, p *Process, b *brokertest.Broker, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.withStdin && p.Stdin != nil {
		go func() { // it ends with the process: a read of standard input cannot be taken back
			_, _ = io.Copy(io.Discard, p.Stdin) // its end is all that matters
			cancel()
		}()
	}
	server := &http.Server{Handler: control.New(b), ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	line := fmt.Sprintf("ready namesrv=%s broker=%s control=http://%s", b.NamesrvAddr(), b.Addr(), reachable(listener.Addr()))
	if _, err := fmt.Fprintln(p.Stdout, line); err != nil {
		cancel()
	}
	<-ctx.Done()
	stop, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close() // what is still running is cut off
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return &failure{code: ExitFailure, sentence: "the control API: " + err.Error(), err: err}
	}
	return nil
}

func closeTest(b *brokertest.Broker) error {
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := b.Close(stop); err != nil {
		return &failure{code: ExitFailure, sentence: "stopped with an error: " + err.Error(), err: err}
	}
	return nil
}

// reachable is an address to connect to, where a server listens on all of them.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil || host != "::" && host != "0.0.0.0" {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// explainTest is explain for a harness: its options are flags here.
func explainTest(err error, f *testFlags) error {
	c := *conf.Default()
	c.Broker.ListenPort, c.NamesrvServer.ListenPort = int32(f.brokerPort), int32(f.namesrvPort) //nolint:gosec // ports
	c.Store.StorePathRootDir, c.Rocketd.DataDir = f.data, f.data
	explained := explain(err, &c)
	if explained.code == ExitFailure {
		explained.code = ExitUsage // what is left is an option that can not be meant
	}
	return explained
}

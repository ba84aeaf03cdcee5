package standalone

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
)

// gnet keeps a pool of its own from the start of the process; it is there before any test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

func load(t *testing.T, sets ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Input{
		Sets:    append([]string{"dataDir=" + t.TempDir(), "broker.listenPort=0", "namesrv.listenPort=0"}, sets...),
		Machine: conf.Machine{Hostname: "tester", CPUs: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, o Options) *Standalone {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIt(t, s) })
	return s
}

func closeIt(t *testing.T, s *Standalone) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func portOf(l net.Listener) string {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		panic(err) // a listener's address has a port
	}
	return port
}

func freePort(t *testing.T) string {
	t.Helper()
	l := listen(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return portOf(l)
}

// routeCode asks a name server for a topic's route and returns the answer's code.
func routeCode(t *testing.T, addr, topic string) int32 {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := client.Invoke(ctx, addr, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}))
	if err != nil {
		t.Fatal(err)
	}
	return resp.Code
}

// The broker's topics, those of the configuration too, have routes when Start returns.
func TestTopicsAreRoutableAtOnce(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"disk": nil, "memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{Config: load(t, "topics=orders:3"), FS: fs})
			for topic, want := range map[string]int32{"TBW102": remoting.Success, "orders": remoting.Success, "nope": remoting.TopicNotExist} {
				if got := routeCode(t, s.NamesrvAddr(), topic); got != want {
					t.Errorf("route of %s: code %d, want %d", topic, got, want)
				}
			}
			if _, err := netip.ParseAddrPort(s.BrokerAddr()); err != nil {
				t.Errorf("broker's address %q: %v", s.BrokerAddr(), err)
			}
		})
	}
}

func TestRoles(t *testing.T) {
	ns := start(t, Options{Config: load(t), Role: conf.RoleNamesrv})
	if ns.BrokerAddr() != "" || ns.Broker() != nil || ns.NamesrvAddr() == "" {
		t.Errorf("name server alone: broker at %q, name server at %q", ns.BrokerAddr(), ns.NamesrvAddr())
	}
	b := start(t, Options{Config: load(t, "namesrvAddr="+ns.NamesrvAddr()), Role: conf.RoleBroker})
	if b.NamesrvAddr() != "" || b.Namesrv() != nil || b.BrokerAddr() == "" {
		t.Errorf("broker alone: broker at %q, name server at %q", b.BrokerAddr(), b.NamesrvAddr())
	}
	if got := routeCode(t, ns.NamesrvAddr(), "TBW102"); got != remoting.Success {
		t.Errorf("route at the external name server: code %d", got)
	}
	closeIt(t, b)
	if got := routeCode(t, ns.NamesrvAddr(), "TBW102"); got != remoting.TopicNotExist {
		t.Errorf("route after the broker has left: code %d", got)
	}
	closeIt(t, b)
}

// A failed start leaves nothing behind: the name server's port is free again.
func TestFailedStart(t *testing.T) {
	taken := listen(t)
	t.Cleanup(func() {
		if err := taken.Close(); err != nil {
			t.Error(err)
		}
	})
	takenPort, freePort := portOf(taken), freePort(t)

	_, err := Start(t.Context(), Options{Config: load(t, "broker.listenPort="+takenPort, "namesrv.listenPort="+freePort)})
	var failed *StartError
	if !errors.As(err, &failed) || failed.Part != PartBroker || !errors.Is(err, remoting.ErrPortTaken) {
		t.Errorf("the broker's port is taken: %v", err)
	}
	again, err := net.Listen("tcp", "127.0.0.1:"+freePort)
	if err != nil {
		t.Errorf("the name server still listens: %v", err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}

	_, err = Start(t.Context(), Options{Config: load(t, "namesrv.listenPort="+takenPort)})
	if !errors.As(err, &failed) || failed.Part != PartNamesrv {
		t.Errorf("the name server's port is taken: %v", err)
	}
}

// NAMESRV_ADDR is often set for clients and then names this very process.
func TestOwnNameServerIsNotExternal(t *testing.T) {
	port := freePort(t)
	other := start(t, Options{Config: load(t), Role: conf.RoleNamesrv})
	s := start(t, Options{Config: load(t, "namesrv.listenPort="+port, "namesrvAddr=localhost:"+port+";127.0.0.1:"+port+";"+other.NamesrvAddr())})
	if got := s.Broker().Config().Broker.NamesrvAddr; got != other.NamesrvAddr() {
		t.Errorf("external name servers %q, want %q", got, other.NamesrvAddr())
	}
	if got := routeCode(t, other.NamesrvAddr(), "TBW102"); got != remoting.Success {
		t.Errorf("route at the external name server: code %d", got)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c, err := conf.Load(conf.Input{
			Sets:    []string{"dataDir=" + b.TempDir(), "broker.listenPort=0", "namesrv.listenPort=0"},
			Machine: conf.Machine{Hostname: "tester", CPUs: 1},
		})
		if err != nil {
			b.Fatal(err)
		}
		s, err := Start(b.Context(), Options{Config: c})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

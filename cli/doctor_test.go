package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// fake is a name server that tells of one broker.
func fake(t *testing.T, broker string) string {
	t.Helper()
	routes := []remoting.Route{{Code: remoting.GetBrokerClusterInfo, Handle: func(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
		info := &body.ClusterInfo{Brokers: map[string]body.BrokerData{}, Clusters: map[string][]string{}}
		if broker != "" {
			info.Brokers["broker-x"] = body.BrokerData{Cluster: "c", BrokerName: "broker-x", BrokerAddrs: map[int64]string{0: broker}}
		}
		resp := remoting.NewResponse(remoting.Success)
		resp.Body = body.Encode(info)
		return resp, nil
	}}}
	return serveFake(t, routes)
}

// skewed is a broker whose clock is an hour ahead and whose disk is full.
func skewed(t *testing.T) string {
	t.Helper()
	return serveFake(t, []remoting.Route{{Code: remoting.GetBrokerRuntimeInfo, Handle: func(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
		resp := remoting.NewResponse(remoting.Success)
		now := clock.System{}.NowMs()
		resp.Body = body.Encode(&body.KVTable{Table: map[string]string{
			"bootTimestamp": fmt.Sprint(now - 60_000 + 3_600_000), "runtime": "[ 0 days, 0 hours, 1 minutes, 0 seconds ]", "commitLogDiskRatio": "0.97",
		}})
		return resp, nil
	}}})
}

func serveFake(t *testing.T, routes []remoting.Route) string {
	t.Helper()
	s, err := remoting.NewServer(remoting.ServerOptions{Name: "fake", Addrs: []string{"127.0.0.1:0"}, Log: quiet(), Clock: clock.System{}, Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s.Addr().String()
}

// grpc is a port that answers as HTTP/2 servers do: with their settings.
func grpc(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func TestDoctor(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for _, c := range []struct {
		name, namesrv, want string
	}{
		{"nothing listens", nobody, "no connection: connection refused"},
		{"name that is none", "nosuch.invalid:9876", "the name nosuch.invalid cannot be looked up"},
		{"HTTP", web.Listener.Addr().String(), "a server for HTTP listens there"},
		{"gRPC", grpc(t), "a server for HTTP/2 (gRPC) listens there"},
		{"a broker", skewed(t), "a broker listens there, no name server -> give clients the name server's port"},
		{"no broker", fake(t, ""), "knows no broker: clients find no route"},
		{"a broker that is gone", fake(t, nobody), "broker broker-x at " + nobody + ": no connection"},
		{"loopback told by another machine", fake(t, nobody), "only clients on its machine can use"},
		{"a name server in a broker's place", fake(t, fake(t, "")), "a name server listens at the address that clients are told"},
		{"clock", fake(t, skewed(t)), "its clock differs from this machine's by about 1h0m"},
		{"disk", fake(t, skewed(t)), "its disk is 97 % full"},
		{"port below", fake(t, skewed(t)), "two below, does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, out, _ := run(t, nil, "doctor", "--http", "", "--namesrv", c.namesrv, "--timeout", "10s")
			if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, c.want) {
				t.Errorf("%q is not in\n%s", c.want, out)
			}
		})
	}
}

func TestDoctorFindsNothing(t *testing.T) {
	ask := peer(t)
	dir := t.TempDir()
	code, out, log := ask("", "doctor", "--send", "--http", "", "--data", dir)
	if code != ExitOK {
		t.Fatalf("exit %d\n%s%s", code, out, log)
	}
	for _, want := range []string{"knows 1 brokers", "clients are told this address", "its clock agrees", "a message was sent and read", "it can be written"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, out, _ := ask("", "doctor", "--json", "--http", ""); !strings.Contains(out, `"healthy": true`) {
		t.Errorf("%s", out)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "it is no directory", filepath.Join(dir, "no", "where"): "neither it nor its parent exists", filepath.Join(dir, "new"): "the first start creates it"} {
		if _, out, _ := ask("", "doctor", "--http", "", "--data", path); !strings.Contains(out, want) {
			t.Errorf("%s: %q is not in\n%s", path, want, out)
		}
	}
}

func TestHealth(t *testing.T) {
	p := start(t, "--data", t.TempDir(), "--namesrv-port", "0", "--broker-port", "0", "--http-port", "0")
	_, port, _ := strings.Cut(p.ready(t)["http"], ":")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"health", "--http-port", port}, ExitOK},
		{[]string{"health", "--http-port", "1"}, ExitFailure},
		{[]string{"health", "--http-port", "-1", "--broker-port", "1"}, ExitFailure},
	} {
		if code, out, log := run(t, nil, c.args...); code != c.code {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, code, c.code, out, log)
		}
	}
}

package namesrv

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// gnet's worker pool, which is made with the program and never closed.
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// started makes a name server that listens, and a client of it.
func started(t *testing.T) (b *bench, addr string, client func(remoting.SerializeType) *remoting.Client) {
	t.Helper()
	b = newBench(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	return b, b.Addr().String(), func(form remoting.SerializeType) *remoting.Client {
		c := remoting.NewClient(remoting.ClientOptions{Serialize: form})
		t.Cleanup(c.Close)
		return c
	}
}

func invoke(t *testing.T, c *remoting.Client, addr string, code int32, h remoting.Header, data []byte) *remoting.Command {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := remoting.NewRequest(code, h)
	cmd.Body = data
	resp, err := c.Invoke(ctx, addr, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestBrokersAndClientsOverTheWire(t *testing.T) {
	for name, form := range map[string]remoting.SerializeType{"JSON": remoting.JSON, "ROCKETMQ": remoting.RocketMQ} {
		t.Run(name, func(t *testing.T) {
			_, addr, client := started(t)
			broker, reader := client(form), client(form)
			j := join("a", 0, "a:1", "T", "U")
			if resp := invoke(t, broker, addr, remoting.RegisterBroker, &j.header, body.Encode(&j.body)); resp.Code != remoting.Success {
				t.Fatalf("register: code %d, remark %q", resp.Code, resp.Remark)
			}
			route := func() *remoting.Command {
				return invoke(t, reader, addr, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "T"}, nil)
			}
			resp := route()
			if got := summary(decode[body.TopicRouteData](t, resp.Body)); got != "a[0=a:1 ] a:4/4p6" {
				t.Errorf("route %s", got)
			}
			if resp := invoke(t, reader, addr, 9999, nil, nil); resp.Code != remoting.RequestCodeNotSupported || resp.Remark != " request type 9999 not supported" {
				t.Errorf("unknown code: code %d, remark %q", resp.Code, resp.Remark)
			}
			broker.Close() // its connection was the broker's life
			for deadline := time.Now().Add(10 * time.Second); route().Code != remoting.TopicNotExist; {
				if time.Now().After(deadline) {
					t.Fatal("the broker is still there after its connection has closed")
				}
			}
		})
	}
}

func TestNameServerCanBeClosedAtAnyTime(t *testing.T) {
	n := (&bench{fs: vfs.NewMem()}).open(t)
	if err := n.Close(t.Context()); err != nil { // never started
		t.Error(err)
	}
	b, addr, client := started(t)
	invoke(t, client(remoting.JSON), addr, remoting.GetBrokerClusterInfo, nil, nil)
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close() // only seen to be open
		t.Error("it still listens")
	}
}

func TestTakenAddressIsAnError(t *testing.T) {
	_, addr, _ := started(t)
	second, err := New(Options{Config: config(t), Log: quiet(), Clock: newBench(t).clock, FS: vfs.NewMem(), Addrs: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err == nil {
		t.Error("two name servers listen on the same address")
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestManyBrokersLeaveAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.left = make(chan connection, 100)
		conns := make([]*fakeConn, 50)
		for i := range conns {
			conns[i] = new(fakeConn)
			name := string(rune('A' + i))
			b.over(t, conns[i], join(name, 0, name+":1", "T", "U"))
		}
		for _, c := range conns {
			c.Close("")
			b.disconnected(c)
		}
		b.background.Go(b.bury)
		synctest.Wait()
		b.wantRoute(t, "T", "none")
		if info := b.ClusterInfo(); len(info.Brokers)+len(info.Clusters)+len(b.table.lives)+b.table.queues != 0 {
			t.Errorf("left behind: %+v, %d live, %d queue datas", info, len(b.table.lives), b.table.queues)
		}
	})
}

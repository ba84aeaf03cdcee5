package namesrv

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

const kvPath, configPath = "/ns/kvConfig.json", "/ns/namesrv.properties"

// bench is a name server under test.
type bench struct {
	*NameServer
	clock *clock.Manual
	fs    *vfs.Mem
}

// newBench makes a name server that listens to nothing. settings are keys and values.
func newBench(t testing.TB, settings ...string) *bench {
	t.Helper()
	b := &bench{clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), fs: vfs.NewMem()}
	b.NameServer = b.open(t, settings...)
	return b
}

// open makes a name server with the bench's clock and files.
func (b *bench) open(t testing.TB, settings ...string) *NameServer {
	t.Helper()
	n, err := New(Options{Config: config(t, settings...), Log: quiet(), Clock: b.clock, FS: b.fs, Addrs: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func config(t testing.TB, settings ...string) *conf.Config {
	t.Helper()
	c := conf.Default()
	settings = append([]string{"kvConfigPath", kvPath, "configStorePath", configPath}, settings...)
	for pair := range slices.Chunk(settings, 2) {
		next, err := c.With("namesrv."+pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		c = next
	}
	return c
}

func quiet() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

// request puts a request on the wire and takes it off again.
func request(t testing.TB, code int32, h remoting.Header, data []byte, ext ...remoting.ExtField) *remoting.Command {
	t.Helper()
	sent := remoting.NewRequest(code, h)
	sent.Body, sent.Ext = data, ext
	var received remoting.Command
	if err := remoting.DecodeFrame(remoting.AppendFrame(nil, sent), &received); err != nil {
		t.Fatal(err)
	}
	return &received
}

// do serves a request as the server would, and gives the response as the client sees it.
func (b *bench) do(t testing.TB, req *remoting.Command) *remoting.Command {
	t.Helper()
	routes := b.routes()
	at := slices.IndexFunc(routes, func(r remoting.Route) bool { return r.Code == req.Code })
	if at < 0 {
		t.Fatalf("no route for code %d", req.Code)
	}
	resp, err := routes[at].Handle(nil, req)
	if err != nil {
		resp = remoting.NewResponse(remoting.SystemError)
		resp.Remark = err.Error()
		var coded *remoting.Error
		if errors.As(err, &coded) {
			resp.Code, resp.Remark = coded.Code, coded.Remark
		}
	}
	var seen remoting.Command
	if err := remoting.DecodeFrame(remoting.AppendFrame(nil, resp), &seen); err != nil {
		t.Fatal(err)
	}
	return &seen
}

// call is do for a request that must succeed.
func (b *bench) call(t testing.TB, code int32, h remoting.Header, data []byte, ext ...remoting.ExtField) *remoting.Command {
	t.Helper()
	resp := b.do(t, request(t, code, h, data, ext...))
	if resp.Code != remoting.Success {
		t.Fatalf("code %d: got code %d, remark %q", code, resp.Code, resp.Remark)
	}
	return resp
}

func decode[T any, P interface {
	*T
	body.Body
}](t testing.TB, data []byte) *T {
	t.Helper()
	v, err := body.Decode[T, P](data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// topics makes topics with 4 queues.
func topics(names ...string) map[string]*body.TopicConfig {
	table := make(map[string]*body.TopicConfig)
	for _, name := range names {
		c := body.NewTopicConfig(name)
		c.ReadQueueNums, c.WriteQueueNums = 4, 4
		table[name] = c
	}
	return table
}

// joining is a REGISTER_BROKER to be changed before it is sent.
type joining struct {
	header remoting.RegisterBrokerRequestHeader
	body   body.RegisterBrokerBody
	ext    []remoting.ExtField
}

// join is broker name with id at addr, in DefaultCluster, with these topics and version counter 1.
func join(name string, id int64, addr string, names ...string) *joining {
	return &joining{
		header: remoting.RegisterBrokerRequestHeader{
			BrokerName: name, BrokerAddr: addr, ClusterName: "DefaultCluster", HAServerAddr: "ha-" + addr, BrokerID: id,
			EnableActingMaster: remoting.Some(false),
		},
		body: body.RegisterBrokerBody{
			FilterServerList: []string{},
			Topics:           body.TopicConfigAndMappingTable{Topics: topics(names...), DataVersion: body.DataVersion{Timestamp: 1, Counter: 1}},
		},
	}
}

func (j *joining) version(counter int64) *joining {
	j.body.Topics.DataVersion.Counter = counter
	return j
}

func (j *joining) stateVersion(v int64) *joining {
	j.body.Topics.DataVersion.StateVersion = v
	return j
}

func (j *joining) acting(on bool) *joining {
	j.header.EnableActingMaster = remoting.Some(on)
	return j
}

func (j *joining) zone(name string) *joining {
	j.ext = append(j.ext, remoting.ExtField{Key: "__ZONE_NAME", Value: name})
	return j
}

func (j *joining) request(t testing.TB) *remoting.Command {
	t.Helper()
	data := body.Encode(&j.body)
	h := j.header
	h.BodyCRC32 = remoting.Some(int32(crc32.ChecksumIEEE(data) & 0x7fffffff))
	return request(t, remoting.RegisterBroker, &h, data, j.ext...)
}

// register sends registrations that must succeed.
func (b *bench) join(t testing.TB, js ...*joining) *remoting.Command {
	t.Helper()
	var resp *remoting.Command
	for _, j := range js {
		if resp = b.do(t, j.request(t)); resp.Code != remoting.Success {
			t.Fatalf("register %s: code %d, remark %q", j.header.BrokerName, resp.Code, resp.Remark)
		}
	}
	return resp
}

// route asks for a route, nil when there is none.
func (b *bench) routeOf(t testing.TB, topic string, ext ...remoting.ExtField) *body.TopicRouteData {
	t.Helper()
	resp := b.do(t, request(t, remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}, nil, ext...))
	switch resp.Code {
	case remoting.Success:
		return decode[body.TopicRouteData](t, resp.Body)
	case remoting.TopicNotExist:
		if want := "No topic route info in name server for the topic: " + topic; resp.Remark != want {
			t.Fatalf("remark %q, want %q", resp.Remark, want)
		}
		return nil
	}
	t.Fatalf("route of %s: code %d, remark %q", topic, resp.Code, resp.Remark)
	return nil
}

// summary is a route in a line: each broker name with its addresses and the queues it has.
func summary(r *body.TopicRouteData) string {
	if r == nil {
		return "none"
	}
	var out string
	for _, b := range r.BrokerDatas {
		out += b.BrokerName + "["
		for id := range int64(5) {
			if addr, ok := b.BrokerAddrs[id]; ok {
				out += string(rune('0'+id)) + "=" + addr + " "
			}
		}
		out += "]"
	}
	for _, q := range r.QueueDatas {
		out += " " + q.BrokerName + ":" + string('0'+q.ReadQueueNums) + "/" + string('0'+q.WriteQueueNums) + "p" + string('0'+q.Perm)
	}
	return out
}

func (b *bench) wantRoute(t testing.TB, topic, want string) {
	t.Helper()
	if got := summary(b.routeOf(t, topic)); got != want {
		t.Errorf("route of %s\n got %s\nwant %s", topic, got, want)
	}
}

// fakeConn is a connection of a broker.
type fakeConn struct{ closed atomic.Bool }

func (c *fakeConn) Close(string) { c.closed.Store(true) }
func (c *fakeConn) Closed() bool { return c.closed.Load() }

// over registers over a connection.
func (b *bench) over(t testing.TB, conn connection, j *joining) {
	t.Helper()
	if _, err := b.register(&registration{RegisterBrokerRequestHeader: &j.header, RegisterBrokerBody: &j.body, conn: conn}); err != nil {
		t.Fatal(err)
	}
}

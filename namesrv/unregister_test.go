package namesrv

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func leave(name string, id int64, addr string) *remoting.UnregisterBrokerRequestHeader {
	return &remoting.UnregisterBrokerRequestHeader{BrokerName: name, BrokerAddr: addr, ClusterName: "DefaultCluster", BrokerID: id}
}

func TestUnregisteringBrokers(t *testing.T) {
	two := []*joining{
		join("a", 0, "a:1", "T", "U"), join("a", 1, "a:2", "T", "U"), join("b", 0, "b:1", "T", "V"),
	}
	for name, c := range map[string]struct {
		joins []*joining
		leave []*remoting.UnregisterBrokerRequestHeader
		want  map[string]string // routes by topic
		left  map[string][]string
	}{
		"the master: its slave stays, with the topics": {
			two,
			[]*remoting.UnregisterBrokerRequestHeader{leave("a", 0, "a:1")},
			map[string]string{"T": "a[1=a:2 ]b[0=b:1 ] a:4/4p6 b:4/4p6", "U": "a[1=a:2 ] a:4/4p6"},
			map[string][]string{"DefaultCluster": {"a", "b"}},
		},
		"the master of a group whose slaves act": {
			[]*joining{join("a", 0, "a:1", "T", "U").acting(true), join("a", 1, "a:2", "T", "U").acting(true)},
			[]*remoting.UnregisterBrokerRequestHeader{leave("a", 0, "a:1")},
			map[string]string{"T": "a[1=a:2 ] a:4/4p4"},
			map[string][]string{"DefaultCluster": {"a"}},
		},
		"all of a name: its topics go": {
			two,
			[]*remoting.UnregisterBrokerRequestHeader{leave("a", 0, "a:1"), leave("a", 1, "a:2")},
			map[string]string{"T": "b[0=b:1 ] b:4/4p6", "U": "none", "V": "b[0=b:1 ] b:4/4p6"},
			map[string][]string{"DefaultCluster": {"b"}},
		},
		"all: the cluster goes": {
			two,
			[]*remoting.UnregisterBrokerRequestHeader{leave("b", 0, "b:1"), leave("a", 1, "a:2"), leave("a", 0, "a:1")},
			map[string]string{"T": "none", "U": "none", "V": "none"},
			map[string][]string{},
		},
		"the address counts, not the id": {
			two,
			[]*remoting.UnregisterBrokerRequestHeader{leave("a", 7, "a:1")},
			map[string]string{"U": "a[1=a:2 ] a:4/4p6"},
			map[string][]string{"DefaultCluster": {"a", "b"}},
		},
		"strangers": {
			two,
			[]*remoting.UnregisterBrokerRequestHeader{leave("x", 0, "a:1"), leave("a", 0, "x:1")},
			map[string]string{"U": "a[0=a:1 1=a:2 ] a:4/4p6"},
			map[string][]string{"DefaultCluster": {"a", "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.join(t, c.joins...)
			for topic := range c.want {
				b.routeOf(t, topic)
			}
			for _, h := range c.leave {
				b.call(t, remoting.UnregisterBroker, h, nil)
			}
			for topic, want := range c.want {
				b.wantRoute(t, topic, want)
			}
			if got := b.ClusterInfo().Clusters; !reflect.DeepEqual(got, c.left) {
				t.Errorf("clusters %v, want %v", got, c.left)
			}
		})
	}
}

// inBubble runs a test in a synctest bubble with a name server that has no listener.
func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &NameServer{log: quiet(), clock: clock.System{}, table: newTable(), kv: newKVTable(vfs.NewMem(), ""), left: make(chan connection, 1)}
		n.conf.Store(config(t))
		n.running, n.stop = context.WithCancel(t.Context())
		test(t, &bench{NameServer: n})
		n.stop()
		n.background.Wait()
	})
}

func TestSilentBrokersExpire(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		silent, short, alive, asking := new(fakeConn), new(fakeConn), new(fakeConn), new(fakeConn)
		brief := join("b", 0, "b:1", "T", "U")
		brief.header.HeartbeatTimeoutMillis = remoting.Some(int64(10_000))
		b.over(t, silent, join("a", 0, "a:1", "T", "U"))
		b.over(t, short, brief)
		b.over(t, alive, join("c", 0, "c:1", "T", "U"))
		b.over(t, asking, join("d", 0, "d:1", "T", "U"))
		here := join("e", 0, "e:1", "T", "U")
		if _, err := b.RegisterBroker(&here.header, &here.body); err != nil {
			t.Fatal(err)
		}
		b.background.Go(b.scan)

		// The scans are at 5 s, 10 s and so on; 10 s is not yet more than 10 s.
		time.Sleep(14 * time.Second)
		b.wantRoute(t, "T", "a[0=a:1 ]b[0=b:1 ]c[0=c:1 ]d[0=d:1 ]e[0=e:1 ] a:4/4p6 b:4/4p6 c:4/4p6 d:4/4p6 e:4/4p6")
		time.Sleep(time.Second)
		synctest.Wait()
		b.wantRoute(t, "T", "a[0=a:1 ]c[0=c:1 ]d[0=d:1 ]e[0=e:1 ] a:4/4p6 c:4/4p6 d:4/4p6 e:4/4p6")
		for range 11 {
			time.Sleep(10 * time.Second)
			b.call(t, remoting.BrokerHeartbeat, &remoting.BrokerHeartbeatRequestHeader{ClusterName: "DefaultCluster", BrokerAddr: "c:1", BrokerName: "c"}, nil)
			b.call(t, remoting.QueryDataVersion, &remoting.QueryDataVersionRequestHeader{ClusterName: "DefaultCluster", BrokerAddr: "d:1", BrokerName: "d"}, nil)
		}
		synctest.Wait()
		got := []bool{silent.Closed(), short.Closed(), alive.Closed(), asking.Closed()}
		if want := []bool{true, true, false, false}; !reflect.DeepEqual(got, want) {
			t.Errorf("connections closed: %v, want %v", got, want)
		}
		b.wantRoute(t, "T", "c[0=c:1 ]d[0=d:1 ]e[0=e:1 ] c:4/4p6 d:4/4p6 e:4/4p6")
		time.Sleep(200 * time.Second)
		b.wantRoute(t, "T", "e[0=e:1 ] e:4/4p6") // a broker in this process never expires
	})
}

func TestClosedConnectionTakesItsBrokersOut(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		one, two := new(fakeConn), new(fakeConn)
		b.over(t, one, join("a", 0, "a:1", "T", "U"))
		b.over(t, one, join("b", 0, "b:1", "T", "U"))
		b.over(t, two, join("c", 0, "c:1", "T", "U"))
		b.background.Go(b.bury)
		b.disconnected(new(fakeConn)) // of a client
		one.Close("")
		b.disconnected(one)
		synctest.Wait()
		b.wantRoute(t, "T", "c[0=c:1 ] c:4/4p6")

		// Registered over a connection that closed meanwhile: it goes again.
		b.over(t, one, join("c", 0, "c:1", "T", "U"))
		synctest.Wait()
		b.wantRoute(t, "T", "none")

		// A broker that came back over another connection is not taken out with its old one.
		b.over(t, two, join("c", 0, "c:1", "T", "U"))
		b.disconnected(one)
		synctest.Wait()
		b.wantRoute(t, "T", "c[0=c:1 ] c:4/4p6")
	})
}

func TestScanFindsClosedConnectionsThatNobodyReported(t *testing.T) {
	b := newBench(t)
	gone := new(fakeConn)
	b.over(t, gone, join("a", 0, "a:1", "T", "U"))
	gone.Close("")
	departures, _, _ := b.table.expire(b.clock.NowMs())
	if len(departures) != 1 || departures[0].brokerName != "a" {
		t.Errorf("departures %+v", departures)
	}
	b.wantRoute(t, "T", "none")
}

// told is a oneway that notes what it is asked to send.
type told struct {
	mu   sync.Mutex
	sent map[string]remoting.NotifyMinBrokerIDChangeRequestHeader // by address
}

func (o *told) Oneway(_ context.Context, addr string, cmd *remoting.Command) error {
	var received remoting.Command
	var h remoting.NotifyMinBrokerIDChangeRequestHeader
	if err := remoting.DecodeFrame(remoting.AppendFrame(nil, cmd), &received); err != nil {
		return err
	}
	if err := received.Decode(&h); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent[addr] = h
	return nil
}

func TestMembersAreToldOfANewSmallestID(t *testing.T) {
	for _, on := range []bool{true, false} {
		b := newBench(t, "notifyMinBrokerIdChanged", fmt.Sprint(on))
		notes := &told{sent: make(map[string]remoting.NotifyMinBrokerIDChangeRequestHeader)}
		b.brokers = notes
		want := func(what string, sent map[string]remoting.NotifyMinBrokerIDChangeRequestHeader) {
			t.Helper()
			b.background.Wait()
			if !on {
				sent = map[string]remoting.NotifyMinBrokerIDChangeRequestHeader{}
			}
			if !reflect.DeepEqual(notes.sent, sent) {
				t.Errorf("%s: told %v, want %v", what, notes.sent, sent)
			}
			clear(notes.sent)
		}
		none := map[string]remoting.NotifyMinBrokerIDChangeRequestHeader{}
		b.join(t, join("a", 2, "a:3", "T", "U").acting(true))
		want("first member", none)
		b.join(t, join("a", 1, "a:2", "T", "U").acting(true))
		want("a smaller id joins", map[string]remoting.NotifyMinBrokerIDChangeRequestHeader{
			"a:3": {MinBrokerID: remoting.Some(int64(1)), MinBrokerAddr: "a:2", HABrokerAddr: "ha-a:2"},
		})
		b.join(t, join("a", 3, "a:4", "T", "U").acting(true))
		want("a larger id joins", none)
		b.call(t, remoting.UnregisterBroker, leave("a", 1, "a:2"), nil)
		gone := remoting.NotifyMinBrokerIDChangeRequestHeader{MinBrokerID: remoting.Some(int64(2)), MinBrokerAddr: "a:3", OfflineBrokerAddr: "a:2"}
		want("the smallest id leaves", map[string]remoting.NotifyMinBrokerIDChangeRequestHeader{"a:3": gone, "a:4": gone})
		b.call(t, remoting.UnregisterBroker, leave("a", 3, "a:4"), nil)
		want("another id leaves", none)
	}
}

func TestConcurrentRegistrationsAndQueries(t *testing.T) {
	b := newBench(t)
	const brokers, rounds = 8, 30
	var wg sync.WaitGroup
	for i := range brokers {
		name := fmt.Sprintf("b%d", i)
		wg.Go(func() {
			for round := range rounds {
				j := queues(int32(round%4+1), join(name, 0, name+":1", "T", "U", name).version(int64(round)))
				b.do(t, j.request(t))
				switch round % 5 {
				case 1:
					b.call(t, remoting.UnregisterBroker, leave(name, 0, name+":1"), nil)
				case 2:
					b.call(t, remoting.WipeWritePermOfBroker, &remoting.WipeWritePermOfBrokerRequestHeader{BrokerName: name}, nil)
				case 3:
					b.call(t, remoting.DeleteTopicInNamesrv, &remoting.DeleteTopicFromNamesrvRequestHeader{Topic: "U"}, nil)
				}
			}
		})
		wg.Go(func() {
			for range rounds {
				b.routeOf(t, "T")
				b.call(t, remoting.GetBrokerClusterInfo, nil, nil)
				b.call(t, remoting.GetAllTopicListFromNameserver, nil, nil)
				b.call(t, remoting.QueryDataVersion, &remoting.QueryDataVersionRequestHeader{ClusterName: "DefaultCluster", BrokerAddr: name + ":1", BrokerName: name}, nil)
			}
		})
	}
	wg.Wait()
	for i := range brokers {
		name := fmt.Sprintf("b%d", i)
		b.join(t, queues(4, join(name, 0, name+":1", "T", "U", name).version(1000)))
	}
	route := b.routeOf(t, "T")
	if len(route.BrokerDatas) != brokers || len(route.QueueDatas) != brokers {
		t.Fatalf("route has %d brokers and %d queue datas, want %d", len(route.BrokerDatas), len(route.QueueDatas), brokers)
	}
	for _, q := range route.QueueDatas {
		if want := (body.QueueData{BrokerName: q.BrokerName, ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6}); q != want {
			t.Errorf("got %+v, want %+v", q, want)
		}
	}
	count := 0
	for _, queues := range b.table.topics {
		count += len(queues)
	}
	if count != b.table.queues {
		t.Errorf("the table counts %d queue datas and has %d", b.table.queues, count)
	}
}

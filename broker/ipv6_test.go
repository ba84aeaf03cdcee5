package broker

import (
	"encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// TestIPv6: a broker with an IPv6 address, with and without brackets, stores both hosts in their long form with the flags that say so, gives out
// ids of 56 digits, and finds by time and by id. A client that came by IPv4 has no flag for its own host.
func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	_ = l.Close()
	for _, ip := range []string{"::1", "[::1]"} {
		t.Run(ip, func(t *testing.T) {
			b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.BrokerIP1, c.Server.BindAddress = ip, "::1" }))
			b.create("T", 1)
			c := b.dial()
			begin := b.manual.NowMs()
			a := c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01k\x02"), []byte("body"))
			if id := a.ext["msgId"]; len(id) != 56 || !strings.HasPrefix(id, "00000000000000000000000000000001") {
				t.Errorf("id %s", id)
			}
			raw, err := hex.DecodeString(a.ext["msgId"])
			if err != nil {
				t.Fatal(err)
			}
			host, physical, err := message.ParseOffsetMessageID(a.ext["msgId"])
			if err != nil || host.Addr().String() != "::1" || len(raw) != 28 {
				t.Errorf("id of %v, %v", host, err)
			}
			r := b.stored("T", 0, 0)
			if r.SysFlag&0x30 != 0x30 || r.BornHost.Addr().String() != "::1" || r.StoreHost.Addr().String() != "::1" {
				t.Errorf("sysFlag %#x, born at %v, stored at %v", r.SysFlag, r.BornHost, r.StoreHost)
			}
			b.manual.Advance(time.Second)
			c.want(0, remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01l\x02"), []byte("body 2"))
			at := func(ms int64) string {
				return c.want(0, remoting.SearchOffsetByTimestamp, fields{"topic", "T", "queueId", "0", "timestamp", itoa(ms)}, nil).ext["offset"]
			}
			if at(begin) != "0" || at(begin+500) != "1" {
				t.Errorf("by time: %s, %s", at(begin), at(begin+500))
			}
			if got := c.want(0, remoting.GetEarliestMsgStoretime, fields{"topic", "T", "queueId", "0"}, nil).ext["timestamp"]; got != itoa(begin) {
				t.Errorf("earliest store time %s, want %d", got, begin)
			}
			if list := records(t, c.want(0, remoting.ViewMessageByID, fields{"offset", itoa(physical)}, nil).body); len(list) != 1 || string(list[0].Body) != "body" {
				t.Errorf("by id: %d messages", len(list))
			}
			if list := records(t, c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0), nil).body); len(list) != 2 {
				t.Errorf("pulled %d", len(list))
			}
		})
	}
}

// TestBothFamilies: scenario R-56: one broker for clients of both families; what a client of IPv4 sends has none of IPv6's flags.
func TestBothFamilies(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	_ = l.Close()
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.BrokerIP1, c.Server.BindAddress = "127.0.0.1", "::" }))
	b.create("T", 1)
	_, port, err := net.SplitHostPort(b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for i, host := range []string{"127.0.0.1", "::1"} {
		c := dial(t, net.JoinHostPort(host, port))
		if a := c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("body")); len(a.ext["msgId"]) != 32 {
			t.Errorf("from %s: id %s", host, a.ext["msgId"])
		}
		r := b.stored("T", 0, int64(i))
		if r.BornHost.Addr().String() != host || r.SysFlag&0x20 != 0 || (r.SysFlag&0x10 != 0) != (host == "::1") {
			t.Errorf("from %s: born at %v, sysFlag %#x", host, r.BornHost, r.SysFlag)
		}
		if list := records(t, c.want(0, remoting.PullMessage, pullFields("G", "T", 0, int64(i)), nil).body); len(list) != 1 {
			t.Errorf("from %s: %d messages", host, len(list))
		}
	}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Levels of a finding.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelProblem = "problem"
)

// Finding is one thing that was looked at.
type Finding struct {
	Level  string `json:"level"` // ok, warning or problem
	What   string `json:"what"`  // what was looked at
	Text   string `json:"text"`  // what was seen
	Advice string `json:"advice,omitempty"`
}

// doctor gathers findings.
type doctor struct {
	a        *Admin
	findings []Finding
	tell     func(Finding)
}

func (d *doctor) say(level, what, advice, format string, args ...any) {
	f := Finding{Level: level, What: what, Text: fmt.Sprintf(format, args...), Advice: advice}
	d.findings = append(d.findings, f)
	if d.tell != nil {
		d.tell(f)
	}
}

// Diagnose looks at what a client would do: find the name server, be told the brokers' addresses, connect to them, send and read. tell gets
// each finding at once; it may be nil. trySend sends a message to BenchmarkTest of each broker and reads it.
func (a *Admin) Diagnose(ctx context.Context, trySend bool, tell func(Finding)) []Finding {
	d := &doctor{a: a, tell: tell}
	if host, _, err := net.SplitHostPort(a.o.Broker); err == nil && host != "" {
		d.broker(ctx, server{broker: a.o.Broker, addr: a.o.Broker}, trySend)
		return d.findings
	}
	tables := map[string]*body.ClusterInfo{}
	for _, addr := range a.o.Namesrv {
		if info := d.nameServer(ctx, addr); info != nil {
			tables[addr] = info
		}
	}
	d.agree(tables)
	for _, s := range told(tables, a.o.Broker) {
		d.broker(ctx, s, trySend)
	}
	return d.findings
}

// told are the masters that the name servers tell of, each address once.
func told(tables map[string]*body.ClusterInfo, only string) []server {
	var list []server
	for _, info := range tables {
		for name, data := range info.Brokers {
			s := server{broker: name, cluster: data.Cluster, addr: data.BrokerAddrs[0]}
			if s.addr != "" && (only == "" || only == name) && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, func(x, y server) int { return strings.Compare(x.broker+x.addr, y.broker+y.addr) })
	return list
}

// nameServer asks one name server; nil when it does not answer as one.
func (d *doctor) nameServer(ctx context.Context, addr string) *body.ClusterInfo {
	what := "name server " + addr
	resp, err := d.a.call(ctx, server{addr: addr}, remoting.GetBrokerClusterInfo, nil, nil, remoting.RequestCodeNotSupported)
	if err != nil {
		d.unanswered(ctx, what, addr, err)
		return nil
	}
	if resp.Code == remoting.RequestCodeNotSupported {
		d.say(LevelProblem, what, "give clients the name server's port, 9876 by default", "a broker listens there, no name server")
		return nil
	}
	info, err := decode[body.ClusterInfo](resp)
	if err != nil {
		d.say(LevelProblem, what, "", "its answer cannot be read: %v", err)
		return nil
	}
	if len(info.Brokers) == 0 {
		d.say(LevelProblem, what, "start a broker with --namesrv "+addr+", or rocketd without a sub-command, which is both", "it answers and knows no broker: clients find no route")
		return info
	}
	d.say(LevelOK, what, "", "it answers (%s) and knows %d brokers", remoting.VersionName(resp.Version), len(info.Brokers))
	return info
}

// unanswered finds out why a port does not answer remoting.
func (d *doctor) unanswered(ctx context.Context, what, addr string, err error) {
	var dns *net.DNSError
	var gone *Unreachable
	if errors.As(err, &dns) {
		d.say(LevelProblem, what, "write an address, or a name that this machine knows", "the name %s cannot be looked up", dns.Name)
		return
	}
	switch kind := d.kindOf(ctx, addr); kind {
	case "":
		text := err.Error()
		if asUnreachable(err, &gone) {
			text = "no connection: " + gone.cause().Error()
		}
		d.say(LevelProblem, what, adviceOnAddress(addr, strings.HasPrefix(what, "name server")), "%s", text)
	case "remoting":
		d.say(LevelProblem, what, "the server is overloaded or hangs: look at its log and its processor time", "it accepts connections and does not answer in %v", d.a.o.Timeout)
	default:
		d.say(LevelProblem, what, "give clients of the remoting protocol a name server's port, 9876 by default; the console is on 10988, gRPC clients need a proxy", "a server for %s listens there", kind)
	}
}

// kindOf tells what listens at an address: "" nothing, or a protocol.
func (d *doctor) kindOf(ctx context.Context, addr string) string {
	for _, probe := range []struct{ kind, say, hear string }{
		{"HTTP/2 (gRPC)", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00"},
		{"HTTP", "GET / HTTP/1.0\r\n\r\n", "HTTP/"},
	} {
		heard, ok := d.hear(ctx, addr, probe.say)
		if !ok {
			return ""
		}
		if strings.Contains(heard, "RocketMQ remoting port") {
			return "remoting"
		}
		if len(heard) >= 9 && strings.HasPrefix(heard, probe.hear) && (probe.kind == "HTTP" || heard[3] == 4) { // a SETTINGS frame comes first
			return probe.kind
		}
	}
	return "remoting"
}

// hear says something to a port and listens to its answer; false when there is no connection.
func (d *doctor) hear(ctx context.Context, addr, say string) (string, bool) {
	dialer := net.Dialer{Timeout: min(d.a.o.Timeout, 2*time.Second)}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", false
	}
	defer conn.Close() //nolint:errcheck // nothing is kept
	// Without the deadline the read below lasts until the other side closes; a connection that refuses one is closed already.
	_ = conn.SetDeadline(d.a.o.Clock.Now().Add(500 * time.Millisecond))
	if _, err := io.WriteString(conn, say); err != nil {
		return "", true
	}
	answer := make([]byte, 512)
	n, err := io.ReadAtLeast(conn, answer, 9)
	if err != nil && n == 0 {
		return "", true
	}
	return string(answer[:n]), true
}

// adviceOnAddress says what is known about an address that does not answer.
func adviceOnAddress(addr string, namesrv bool) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "an address is HOST:PORT"
	}
	own := "start the broker with --advertise and a HOST[:PORT] that clients can reach"
	if namesrv {
		own = "is the name server running, and does it listen on more than the loopback address (--host 0.0.0.0)? A firewall in between looks the same"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return own
	case ip.IsLoopback() && !namesrv:
		return "this is the broker's own loopback address, which only clients on its machine can use: " + own
	case isBridge(ip):
		return "this looks like the address of a container, which others cannot reach: " + own + ", such as --advertise localhost behind docker run -p " + port + ":" + port
	case ip.IsPrivate() && !namesrv:
		return "this is a private address: is this machine in the same network? If not, " + own
	default:
		return own
	}
}

// isBridge tells whether an address is of the networks that container engines make.
func isBridge(ip netip.Addr) bool {
	for _, p := range []string{"172.16.0.0/12", "10.88.0.0/16", "192.168.65.0/24"} {
		if netip.MustParsePrefix(p).Contains(ip) {
			return true
		}
	}
	return false
}

// agree compares what the name servers know.
func (d *doctor) agree(tables map[string]*body.ClusterInfo) {
	addrs := make([]string, 0, len(tables))
	for addr := range tables {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	for i := 1; i < len(addrs); i++ {
		a, b := tables[addrs[0]], tables[addrs[i]]
		for name := range a.Brokers {
			if _, ok := b.Brokers[name]; !ok {
				d.say(LevelWarning, "name servers", "brokers register with those in their namesrvAddr: it must name all of them", "%s does not know broker %s, %s does", addrs[i], name, addrs[0])
			}
		}
		for name := range b.Brokers {
			if _, ok := a.Brokers[name]; !ok {
				d.say(LevelWarning, "name servers", "brokers register with those in their namesrvAddr: it must name all of them", "%s does not know broker %s, %s does", addrs[0], name, addrs[i])
			}
		}
	}
}

// broker connects to a broker as a client would.
func (d *doctor) broker(ctx context.Context, s server, trySend bool) {
	what := "broker " + s.broker + " at " + s.addr
	if s.broker == s.addr {
		what = "broker " + s.addr
	}
	sent := d.a.NowMs()
	resp, err := d.a.call(ctx, s, remoting.GetBrokerRuntimeInfo, nil, nil, remoting.RequestCodeNotSupported)
	if err != nil {
		d.unanswered(ctx, what, s.addr, err)
		return
	}
	if resp.Code == remoting.RequestCodeNotSupported {
		d.say(LevelProblem, what, "start the broker with --advertise and its own HOST:PORT", "a name server listens at the address that clients are told")
		return
	}
	table, err := decode[body.KVTable](resp)
	if err != nil {
		d.say(LevelProblem, what, "", "its answer cannot be read: %v", err)
		return
	}
	d.say(LevelOK, what, "", "clients are told this address; it answers in %d ms (%s)", d.a.NowMs()-sent, remoting.VersionName(resp.Version))
	if ip, err := netip.ParseAddrPort(s.addr); err == nil && ip.Addr().IsLoopback() {
		d.say(LevelWarning, what, "--host 0.0.0.0 and --advertise open it to others", "it is a loopback address: only clients on this machine can use it")
	}
	d.vip(ctx, what, s.addr)
	d.clock(what, table.Table, sent)
	d.disk(what, table.Table)
	if trySend {
		d.roundTrip(ctx, what, s)
	}
}

// vip tries the port that Java clients with the VIP channel send to.
func (d *doctor) vip(ctx context.Context, what, addr string) {
	host, text, err := net.SplitHostPort(addr)
	port, perr := strconv.Atoi(text)
	if err != nil || perr != nil || port <= 2 {
		return
	}
	second := net.JoinHostPort(host, strconv.Itoa(port-2))
	dialer := net.Dialer{Timeout: min(d.a.o.Timeout, 2*time.Second)}
	if conn, err := dialer.DialContext(ctx, "tcp", second); err == nil {
		_ = conn.Close() // it was only tried
	} else {
		d.say(LevelWarning, what, "open or publish that port too, or set vipChannelEnabled=false in those clients", "port %d, two below, does not answer: old Java clients with the VIP channel send there", port-2)
	}
}

var uptime = regexp.MustCompile(`(\d+) days, (\d+) hours, (\d+) minutes, (\d+) seconds`)

// clock compares the broker's clock with ours: it told when it started and how long ago that is.
func (d *doctor) clock(what string, t map[string]string, sentMs int64) {
	boot := whole(t["bootTimestamp"], 0)
	m := uptime.FindStringSubmatch(t["runtime"])
	if boot == 0 || m == nil {
		return
	}
	seconds := int64(0)
	for i, unit := range []int64{86400, 3600, 60, 1} {
		seconds += whole(m[i+1], 0) * unit
	}
	skew := boot + seconds*1000 - sentMs
	if skew > 3000 || skew < -4000 { // whole seconds are told, and the answer takes its time
		d.say(LevelWarning, what, "set both clocks by NTP: delays, timers and searches by time go by the broker's clock", "its clock differs from this machine's by about %v", time.Duration(skew*int64(time.Millisecond)).Round(time.Second))
		return
	}
	d.say(LevelOK, what, "", "its clock agrees with this machine's to a few seconds")
}

func (d *doctor) disk(what string, t map[string]string) {
	ratio := diskRatio(t)
	switch {
	case ratio < 0:
	case ratio > 0.9:
		d.say(LevelWarning, what, "make room or shorten fileReservedTime: with a full disk messages are refused", "its disk is %.0f %% full", ratio*100)
	default:
		d.say(LevelOK, what, "", "its disk is %.0f %% full", ratio*100)
	}
}

// roundTrip sends a message to the broker's topic for tests and reads it.
func (d *doctor) roundTrip(ctx context.Context, what string, s server) {
	body := []byte("rocketd doctor " + strconv.FormatInt(d.a.NowMs(), 10))
	begin := d.a.o.Clock.Now()
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: ProducerGroup, Topic: message.TopicBenchmark, DefaultTopic: message.TopicAutoCreate, DefaultTopicQueueNums: 1, QueueID: 0, BornTimestamp: d.a.NowMs(), BrokerName: s.broker,
	}
	resp, err := d.a.call(ctx, s, remoting.SendMessageV2, h.V2(), body)
	var answer remoting.SendMessageResponseHeader
	if err == nil {
		err = resp.Decode(&answer)
	}
	if err != nil {
		d.say(LevelProblem, what, "rocketd cluster list and the broker's log tell more: a full disk, a missing permission, a broker that is still starting", "a message cannot be sent: %v", err)
		return
	}
	list, _, err := d.a.pull(ctx, s, pullFrom{group: message.GroupTools, topic: message.TopicBenchmark, queue: answer.QueueID, offset: answer.QueueOffset, count: 1, expression: "*", waitMs: 2000})
	switch {
	case err != nil:
		d.say(LevelProblem, what, "", "the message that was sent cannot be read: %v", err)
	case len(list) != 1 || string(list[0].Raw) != string(body):
		d.say(LevelProblem, what, "", "the message that was sent is not the one that is read")
	default:
		d.say(LevelOK, what, "", "a message was sent and read in %v", d.a.o.Clock.Now().Sub(begin).Round(100*time.Microsecond))
	}
}

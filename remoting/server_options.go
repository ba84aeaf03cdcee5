package remoting

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
)

// ServerOptions configure a Server. Zero values of bounds mean the defaults named here.
type ServerOptions struct {
	// Name stands in logs: "broker", "namesrv".
	Name string
	// Addrs are host:port to listen on; an empty host means all addresses, IPv6 hosts stand in brackets, port 0 picks a free
	// one. The first is Addr(); a failure to bind a later one is only logged.
	Addrs []string
	// Routes is the request table. A code without a row is answered REQUEST_CODE_NOT_SUPPORTED.
	Routes []Route
	// Lanes are the worker pools: lane n is Lanes[n-1].
	Lanes []LaneOptions
	Log   *logrus.Entry
	// Clock times out server-initiated requests and counts idle time.
	Clock clock.Clock

	// Loops is the number of event loops; 0 means the number of CPUs, at most 4.
	Loops int
	// MaxFrame bounds one frame in bytes, its length field included; a longer one closes the connection.
	// 0 means 16,777,216 (com.rocketmq.remoting.frameMaxLength).
	MaxFrame int
	// MaxConns bounds the connections; one more is closed at once. 0 means 20,000.
	MaxConns int
	// MaxInFlight bounds the requests of one connection that wait for a lane, run on one or hold a Replier; one more is
	// answered SYSTEM_BUSY. 0 means 32,768.
	MaxInFlight int
	// InboundLimit bounds the bytes of all unfinished frames and of all requests copied for lanes, over all connections.
	// Over it a request is answered SYSTEM_BUSY. When unfinished frames take more than half of it, the connections whose
	// frames have not grown for longest are closed. 0 means 256 MiB.
	InboundLimit int64
	// OutboundLimit bounds the bytes that wait for one slow reader; when more wait, the connection is closed before it gets
	// another answer. 0 means 16 MiB.
	OutboundLimit int
	// OutboundBudget bounds the heap bytes that wait for slow readers over all connections (bodies with a Release do not
	// count, they are their owner's memory). Over it a connection that already keeps bytes waiting is closed before it
	// gets another answer. 0 means 64 MiB.
	OutboundBudget int64
	// SendBuffer and ReceiveBuffer are the sizes of a socket's kernel buffers in bytes (com.rocketmq.remoting.socket.sndbuf.size
	// and rcvbuf.size). 0 leaves them to the system.
	SendBuffer, ReceiveBuffer int
	// IdleTimeout closes a connection that has neither sent nor taken a byte for so long. 0 means 120 s.
	IdleTimeout time.Duration

	// OnOpen and OnClose run on the connection's loop: OnOpen before the first frame is served, when the first bytes are
	// known to be of this protocol and RemoteAddr is final; OnClose once for each OnOpen.
	OnOpen, OnClose func(*Conn)
	// StartLoop runs on each loop before its first connection opens. It may set Loop.Data.
	StartLoop func(*Loop)
	// EndTurn runs on the loop after all frames of one connection's turn and before its answers are written, when an OnLoop
	// handler ran in it. A turn whose answers pass 1 MiB is ended and written early and then goes on.
	EndTurn func(*Loop)
	// Intercept runs on the loop between decode and handler, for access control and fault injection. When handled is true
	// the request goes no further: it is answered with resp or err, or not at all when both are nil.
	Intercept func(c *Conn, req *Command) (resp *Command, err error, handled bool)
	// Latencies counts answer times by request and response, see Server.Latencies.
	Latencies bool
	// Watcher, when set, sees every frame: for test harnesses.
	Watcher Watcher
}

const (
	defaultMaxFrame       = 16 << 20
	defaultMaxConns       = 20_000
	defaultMaxInFlight    = 32_768
	defaultInboundLimit   = 256 << 20
	defaultOutboundLimit  = 16 << 20
	defaultOutboundBudget = 64 << 20
	defaultIdleTimeout    = 120 * time.Second
	maxDefaultLoops       = 4
)

// ServerStats are counters since Start and gauges of now.
type ServerStats struct {
	Connections   int   // open now
	Accepted      int64 // connections taken
	Refused       int64 // connections over MaxConns
	FramesIn      int64
	BytesIn       int64
	BytesOut      int64
	InboundBytes  int64 // unfinished frames and copied requests, now
	OutboundBytes int64 // heap bytes that wait for slow readers, now
	Lanes         []LaneStats
}

// LaneStats are the figures of one lane.
type LaneStats struct {
	Name     string
	Workers  int
	Capacity int   // bound of Queued
	Queued   int   // waiting now
	Running  int   // in a worker now
	Done     int64 // handled
	Rejected int64 // answered SYSTEM_BUSY because the queue was full
}

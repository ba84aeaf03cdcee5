package remoting

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/internal/clock"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, ignoreLibraries...)
}

// ignoreLibraries are goroutines that gnet's package starts when it is loaded.
var ignoreLibraries = []goleak.Option{
	goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
	goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
}

const waitLong = 10 * time.Second

// logText collects log lines.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func quietLog() (*logrus.Entry, *logText) {
	text := new(logText)
	log := logrus.New()
	log.SetOutput(text)
	log.SetLevel(logrus.DebugLevel)
	return logrus.NewEntry(log), text
}

type testServer struct {
	*Server
	log *logText
}

// startServer runs a server on a free port until the test ends.
func startServer(t testing.TB, opts ServerOptions) *testServer {
	t.Helper()
	log, text := quietLog()
	opts.Name, opts.Log = "broker", log
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	if opts.Addrs == nil {
		opts.Addrs = []string{"127.0.0.1:0"}
	}
	s, err := NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLong)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &testServer{s, text}
}

// peer is the other end of a connection.
type peer struct {
	t testing.TB
	net.Conn
}

func (s *testServer) dial(t testing.TB) *peer {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(3 * waitLong))
	return &peer{t, c}
}

func (p *peer) send(cmds ...*Command) {
	p.t.Helper()
	var b []byte
	for _, c := range cmds {
		b = AppendFrame(b, c)
	}
	p.write(b)
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func readFrame(r io.Reader) (*Command, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	frame := append(n[:], make([]byte, binary.BigEndian.Uint32(n[:]))...)
	if _, err := io.ReadFull(r, frame[4:]); err != nil {
		return nil, err
	}
	c := new(Command)
	return c, DecodeFrame(frame, c)
}

func (p *peer) receive() *Command {
	p.t.Helper()
	c, err := readFrame(p)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// closedByServer waits for the end of the stream.
func (p *peer) closedByServer() {
	p.t.Helper()
	if rest, err := io.ReadAll(p); err != nil && !isReset(err) {
		p.t.Fatalf("connection not closed: %v after %q", err, rest)
	}
}

func isReset(err error) bool { return err != nil && strings.Contains(err.Error(), "reset") }

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLong); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func request(code, opaque int32, body string) *Command {
	c := NewRequest(code, nil)
	c.Opaque, c.Body = opaque, []byte(body)
	return c
}

const (
	codeEcho = 900 + iota
	codeLaneEcho
	codeBoom
	codeFail
	codeNever
)

// echo answers with the request's body and ext fields.
func echo(c *Conn, req *Command) (*Command, error) {
	resp := NewResponse(Success)
	resp.Body = req.Body
	resp.Ext = req.Ext
	return resp, nil
}

func echoRoutes() []Route {
	return []Route{
		{codeEcho, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			resp := c.Loop().Response(Success)
			resp.Body = req.Body
			resp.Ext = append(resp.Ext, req.Ext...)
			return resp, nil
		}},
		{codeLaneEcho, 1, echo},
		{codeBoom, OnLoop, func(*Conn, *Command) (*Command, error) { panic("on the loop") }},
		{codeFail, OnLoop, func(*Conn, *Command) (*Command, error) { return nil, Errorf(TopicNotExist, "topic[%s] not exist", "x") }},
		{codeNever, OnLoop, func(*Conn, *Command) (*Command, error) { return nil, nil }},
	}
}

func echoLane() []LaneOptions { return []LaneOptions{{Name: "echo", Workers: 2, Queue: 10000}} }

func TestServerAnswersInBothForms(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	p := s.dial(t)
	for _, code := range []int32{codeEcho, codeLaneEcho} {
		for _, form := range []SerializeType{JSON, RocketMQ} {
			req := request(code, 77, "body\x00")
			req.Serialize = form
			req.AddExt("k", "v\x01")
			p.send(req)
			got := p.receive()
			want := &Command{Code: 0, Opaque: 77, Flag: 1, Version: 513, Body: []byte("body\x00"), Ext: []ExtField{{"k", "v\x01"}}}
			if !sameCommand(got, want) || got.Serialize != form {
				t.Errorf("code %d, form %d: got %+v", code, form, got)
			}
		}
	}
}

func TestServerErrors(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: append(echoRoutes(),
		Route{950, 1, func(*Conn, *Command) (*Command, error) { panic("in the lane") }},
		Route{951, 1, func(*Conn, *Command) (*Command, error) { return nil, errors.New("plain") }},
		Route{953, OnLoop, func(*Conn, *Command) (*Command, error) {
			return &Command{Header: (*PullMessageResponseHeader)(nil)}, nil
		}},
		Route{954, 1, func(*Conn, *Command) (*Command, error) {
			return &Command{Header: (*PullMessageResponseHeader)(nil)}, nil
		}},
		Route{952, OnLoop, func(c *Conn, req *Command) (*Command, error) { return nil, req.Decode(new(GetMinOffsetRequestHeader)) }},
	), Lanes: echoLane()})
	p := s.dial(t)
	for _, tt := range []struct {
		code, want int32
		remark     string
	}{
		{4711, 3, " request type 4711 not supported"},
		{-5, 3, " request type -5 not supported"},
		{200050, 3, " request type 200050 not supported"},
		{codeFail, 17, "topic[x] not exist"},
		{codeBoom, 1, "the handler of request code 902 panicked: on the loop"},
		{950, 1, "the handler of request code 950 panicked: in the lane"},
		{951, 1, "plain"},
		{953, 1, "the answer cannot be sent: encoding *remoting.PullMessageResponseHeader panicked: runtime error: invalid memory address or nil pointer dereference"},
		{954, 1, "the answer cannot be sent: encoding *remoting.PullMessageResponseHeader panicked: runtime error: invalid memory address or nil pointer dereference"},
		{952, 1, "the custom field <topic> is null: the request needs it"},
	} {
		p.send(request(tt.code, tt.code, ""))
		if got := p.receive(); got.Code != tt.want || got.Remark != tt.remark || got.Opaque != tt.code {
			t.Errorf("code %d: got %d %q, want %d %q", tt.code, got.Code, got.Remark, tt.want, tt.remark)
		}
	}
	if log := s.log.String(); !strings.Contains(log, "on the loop") || !strings.Contains(log, "server_test.go") {
		t.Errorf("the panic is not logged with its stack:\n%s", log)
	}
}

func TestOnewayIsNeverAnswered(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: append(echoRoutes(), Route{960, OnLoop, func(c *Conn, req *Command) (*Command, error) {
		_ = c.Replier(req).Reply(NewResponse(0))
		return nil, nil
	}}, Route{961, OnLoop, func(c *Conn, req *Command) (*Command, error) {
		c.Replier(req).ReplyInTurn(NewResponse(0))
		return nil, nil
	}}), Lanes: echoLane()})
	p := s.dial(t)
	for i, code := range []int32{codeEcho, codeLaneEcho, codeFail, codeBoom, codeNever, 960, 961, 4711} {
		req := request(code, int32(i), "x")
		req.Flag = 2
		p.send(req)
	}
	p.send(request(codeLaneEcho, 1000, ""))
	if got := p.receive(); got.Opaque != 1000 {
		t.Errorf("a one-way request was answered: %+v", got)
	}
}

// Many connections send frames in pieces of random size, both forms, both lanes, bodies of all sizes; every answer
// must carry its own connection's bytes.
func TestFragmentationKeepsConnectionsApart(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), Loops: 2})
	const conns, frames = 24, 60
	var wg sync.WaitGroup
	for id := range conns {
		wg.Go(func() {
			if err := chatter(s, id, frames); err != nil {
				t.Errorf("connection %d: %v", id, err)
			}
		})
	}
	wg.Wait()
	if got, want := s.Stats().FramesIn, int64(conns*frames); got != want {
		t.Errorf("%d frames counted, want %d", got, want)
	}
}

func chatter(s *testServer, id, frames int) error {
	rnd := rand.New(rand.NewPCG(uint64(id), 1))
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * waitLong))
	bodies := make([][]byte, frames)
	for i := range bodies {
		size := rnd.IntN(3000)
		if rnd.IntN(10) == 0 {
			size = rnd.IntN(300_000)
		}
		bodies[i] = bytes.Repeat([]byte{byte(id), byte(i)}, size)
	}
	var stream []byte
	for i, body := range bodies {
		req := request(codeEcho+int32(rnd.IntN(2)), int32(i), string(body))
		req.Serialize = SerializeType(rnd.IntN(2))
		req.AddExt("conn", fmt.Sprint(id))
		req.AddExt("esc", strings.Repeat("\x01\x02", rnd.IntN(50)))
		stream = AppendFrame(stream, req)
	}
	go func() {
		for len(stream) > 0 {
			n := min(len(stream), 1+rnd.IntN(1+rnd.IntN(40_000)))
			if _, err := c.Write(stream[:n]); err != nil {
				return
			}
			stream = stream[n:]
		}
	}()
	seen := make([]bool, frames)
	for range frames {
		got, err := readFrame(c)
		if err != nil {
			return err
		}
		if who, _ := got.ExtValue("conn"); got.Code != 0 || who != fmt.Sprint(id) || seen[got.Opaque] || !bytes.Equal(got.Body, bodies[got.Opaque]) {
			return fmt.Errorf("answer %d is not ours: code %d %q conn %q, %d bytes", got.Opaque, got.Code, got.Remark, who, len(got.Body))
		}
		seen[got.Opaque] = true
	}
	return nil
}

func TestByteByByte(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	p := s.dial(t)
	for _, b := range AppendFrame(nil, request(codeEcho, 5, "slow")) {
		p.write([]byte{b})
	}
	if got := p.receive(); string(got.Body) != "slow" || got.Opaque != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestFramesOverTheLimitsCloseTheConnection(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), MaxFrame: 1 << 20})
	fit := request(codeEcho, 1, "")
	fit.Body = make([]byte, 1<<20-len(AppendFrame(nil, fit)))
	p := s.dial(t)
	p.send(fit)
	if got := p.receive(); got.Code != 0 || len(got.Body) != len(fit.Body) {
		t.Errorf("got %d %q, %d bytes", got.Code, got.Remark, len(got.Body))
	}
	fit.Body = append(fit.Body, 'x')
	for name, b := range map[string][]byte{
		"one byte too long":        AppendFrame(nil, fit)[:8],
		"length 3":                 {0, 0, 0, 3, 0, 0, 0, 0},
		"header longer than frame": {0, 0, 0, 6, 0, 0, 0, 3, '{', '}'},
		"unknown serialize type":   {0, 0, 0, 6, 7, 0, 0, 2, '{', '}'},
		"negative length":          {0xff, 0xff, 0xff, 0xff, 0, 0},
		"garbage":                  []byte("\x00garbage garbage"),
	} {
		p := s.dial(t)
		p.send(request(codeEcho, 9, "before"))
		if got := p.receive(); string(got.Body) != "before" {
			t.Fatalf("%s: got %+v", name, got)
		}
		p.write(b)
		p.closedByServer()
	}
	eventually(t, "connections gone", func() bool { return s.Stats().Connections == 1 })
	if log := s.log.String(); !strings.Contains(log, "bad frame") {
		t.Errorf("log says nothing of it:\n%s", log)
	}
}

func TestAnswerOverTheLimitOfAFrame(t *testing.T) {
	released := make(chan struct{}, 2)
	large := func(c *Conn, req *Command) (*Command, error) {
		resp := NewResponse(0)
		resp.Body = make([]byte, 2<<20)
		resp.Release = func() { released <- struct{}{} }
		return resp, nil
	}
	s := startServer(t, ServerOptions{Routes: []Route{{700, OnLoop, large}, {701, 1, large}}, Lanes: echoLane(), MaxFrame: 1 << 20})
	p := s.dial(t)
	for _, code := range []int32{700, 701} {
		p.send(request(code, code, ""))
		if got := p.receive(); got.Code != 1 || got.Opaque != code || !strings.Contains(got.Remark, "MaxFrame 1048576") {
			t.Errorf("got %+v", got)
		}
		<-released
	}
}

// Ten thousand bad streams make few log lines and no harm.
func TestGarbageByTheTenThousand(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	rnd := rand.New(rand.NewPCG(3, 4))
	good := s.dial(t)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	for i := range n {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 8+rnd.IntN(200))
		for j := range b {
			b[j] = byte(rnd.Uint32())
		}
		if i%2 == 0 { // plausible length, garbage behind
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
			b[4] = byte(rnd.IntN(3))
			binary.BigEndian.PutUint16(b[5:], 0)
			b[7] = byte(rnd.IntN(len(b)))
		}
		_, _ = c.Write(b)
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	good.send(request(codeEcho, 3, "alive"))
	if got := good.receive(); string(got.Body) != "alive" {
		t.Errorf("got %+v", got)
	}
	eventually(t, "connections gone", func() bool { return s.Stats().Connections == 1 })
	eventually(t, "memory given back", func() bool { return s.Stats().InboundBytes == 0 })
	if lines := strings.Count(s.log.String(), "connection closed\""); lines > 200 {
		t.Errorf("%d log lines", lines)
	}
}

func TestLaneOverload(t *testing.T) {
	gate := make(chan struct{})
	var running atomic.Int32
	s := startServer(t, ServerOptions{
		Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
			running.Add(1)
			<-gate
			return NewResponse(0), nil
		}}, {701, OnLoop, func(c *Conn, req *Command) (*Command, error) { return NewResponse(0), nil }}},
		Lanes: []LaneOptions{{Name: "narrow", Workers: 1, Queue: 2}},
	})
	p := s.dial(t)
	p.send(request(700, 0, ""))
	eventually(t, "worker busy", func() bool { return running.Load() == 1 })
	p.send(request(700, 1, ""), request(700, 2, ""), request(700, 3, ""), request(701, 4, ""))
	if got := p.receive(); got.Opaque != 3 || got.Code != 2 || got.Remark != "[OVERLOAD]system busy, start flow control for a while" {
		t.Errorf("got %+v", got)
	}
	if got := p.receive(); got.Opaque != 4 || got.Code != 0 {
		t.Errorf("the loop is blocked by the lane: %+v", got)
	}
	st := s.Stats().Lanes[0]
	if st.Queued != 2 || st.Running != 1 || st.Rejected != 1 || st.Capacity != 2 || st.Workers != 1 || st.Name != "narrow" {
		t.Errorf("stats %+v", st)
	}
	close(gate)
	for range 3 {
		if got := p.receive(); got.Code != 0 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestLaneMaxWait(t *testing.T) {
	clk := clock.NewManual(time.UnixMilli(1_000_000))
	gate, started := make(chan struct{}), make(chan struct{}, 8)
	s := startServer(t, ServerOptions{
		Clock: clk,
		Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
			started <- struct{}{}
			<-gate
			return NewResponse(0), nil
		}}},
		Lanes: []LaneOptions{{Name: "slow", Workers: 1, Queue: 8, MaxWait: 200 * time.Millisecond}},
	})
	p := s.dial(t)
	p.send(request(700, 0, ""), request(700, 1, ""), request(700, 2, ""))
	<-started
	eventually(t, "two wait", func() bool { return s.Stats().Lanes[0].Queued == 2 })
	clk.Advance(201 * time.Millisecond)
	close(gate)
	if got := p.receive(); got.Code != 0 {
		t.Errorf("got %+v", got)
	}
	for range 2 {
		if got := p.receive(); got.Code != 2 || !strings.HasPrefix(got.Remark, "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 201ms, size of queue: ") {
			t.Errorf("got %+v", got)
		}
	}
}

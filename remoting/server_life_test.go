package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

func TestListenOnSeveralAddresses(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), Addrs: []string{"127.0.0.1:0", "[::1]:0"}})
	if a := s.Addr(); a.Port() == 0 || a.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("Addr = %v", a)
	}
	if len(s.listeners) == 2 {
		c, err := net.Dial("tcp", s.listeners[1].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{t, c}
		defer p.Close()
		p.send(request(codeEcho, 1, "six"))
		if got := p.receive(); string(got.Body) != "six" {
			t.Errorf("got %+v", got)
		}
	} else if !strings.Contains(s.log.String(), "one address less") {
		t.Error("IPv6 is missing and the log does not say so")
	}
}

func TestPortTakenIsAPlainError(t *testing.T) {
	first := startServer(t, ServerOptions{})
	log, text := quietLog()
	taken := first.Addr().String()
	second, err := NewServer(ServerOptions{Name: "namesrv", Addrs: []string{taken}, Log: log, Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	want := "remoting: namesrv cannot listen on " + taken + ": the port is taken by another process"
	if err := second.Start(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	third, err := NewServer(ServerOptions{Name: "namesrv", Addrs: []string{"127.0.0.1:0", taken}, Log: log, Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Start(); err != nil {
		t.Errorf("a second address that is taken must only be logged: %v", err)
	}
	if !strings.Contains(text.String(), taken+": the port is taken") {
		t.Errorf("log: %s", text)
	}
	if err := third.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	log, _ := quietLog()
	ok := ServerOptions{Name: "b", Addrs: []string{":0"}, Log: log, Clock: clock.System{}}
	for says, change := range map[string]func(*ServerOptions){
		"no address":      func(o *ServerOptions) { o.Addrs = nil },
		"no clock":        func(o *ServerOptions) { o.Clock = nil },
		"out of range":    func(o *ServerOptions) { o.MaxConns = -1 },
		"lane 1":          func(o *ServerOptions) { o.Lanes = []LaneOptions{{Name: "x"}} },
		"two rows":        func(o *ServerOptions) { o.Routes = []Route{{1, 0, echo}, {1, 0, echo}} },
		"no handler":      func(o *ServerOptions) { o.Routes = []Route{{1, 0, nil}} },
		"for lane 1 of 0": func(o *ServerOptions) { o.Routes = []Route{{100000, 1, echo}} },
	} {
		o := ok
		change(&o)
		if _, err := NewServer(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one with %q", err, says)
		}
	}
}

func TestConnectionsOverTheLimitAreRefused(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), MaxConns: 2})
	a, b := s.dial(t), s.dial(t)
	for _, p := range []*peer{a, b} {
		p.send(request(codeEcho, 1, ""))
		p.receive()
	}
	c := s.dial(t)
	c.closedByServer()
	if st := s.Stats(); st.Connections != 2 || st.Refused != 1 || st.Accepted != 2 {
		t.Errorf("stats %+v", st)
	}
	_ = a.Close()
	eventually(t, "room again", func() bool { return s.Stats().Connections == 1 })
	d := s.dial(t)
	d.send(request(codeEcho, 1, "in"))
	if got := d.receive(); string(got.Body) != "in" {
		t.Errorf("got %+v", got)
	}
}

func TestIdleConnectionsClose(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), IdleTimeout: 240 * time.Millisecond})
	start := time.Now() // before the last byte of either, so that a pause of this goroutine does not shorten what is measured
	idle, silent, busy := s.dial(t), s.dial(t), s.dial(t)
	idle.send(request(codeEcho, 1, ""))
	idle.receive()
	stop := make(chan struct{})
	closed := make(chan struct{})
	go func() {
		idle.closedByServer()
		silent.closedByServer()
		close(closed)
	}()
	var beats atomic.Int32
	go func() {
		defer close(stop)
		for {
			select {
			case <-closed:
				return
			default:
				busy.send(request(codeEcho, 1, ""))
				busy.receive()
				beats.Add(1)
			}
		}
	}()
	<-stop
	if d := time.Since(start); d < 200*time.Millisecond {
		t.Errorf("closed after %v, IdleTimeout is 240 ms", d)
	}
	busy.send(request(codeEcho, 1, ""))
	busy.receive()
}

func TestMovedClockClosesNothing(t *testing.T) {
	clk := clock.NewManual(time.UnixMilli(0))
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), Clock: clk})
	p := s.dial(t)
	p.send(request(codeEcho, 1, ""))
	p.receive()
	clk.Advance(5 * time.Hour)
	p.send(request(codeEcho, 2, ""))
	p.receive()
}

func TestHooks(t *testing.T) {
	var opened, closed, loops, wrongLoop atomic.Int32
	s := startServer(t, ServerOptions{
		Routes: []Route{{700, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			if c.Attachment() != "mine" || c.Loop().Data != "loop" {
				wrongLoop.Add(1)
			}
			return NewResponse(0), nil
		}}},
		StartLoop: func(l *Loop) { l.Data = "loop"; loops.Add(1) },
		OnOpen: func(c *Conn) {
			if c.Attachment() != nil {
				wrongLoop.Add(1)
			}
			c.SetAttachment("mine")
			opened.Add(1)
		},
		OnClose: func(c *Conn) {
			if c.Attachment() != "mine" || !c.Closed() {
				wrongLoop.Add(1)
			}
			closed.Add(1)
		},
		Loops: 2,
	})
	silent := s.dial(t) // never opens: it says nothing
	for range 5 {
		p := s.dial(t)
		p.send(request(700, 1, ""))
		p.receive()
		_ = p.Close()
	}
	eventually(t, "five closed", func() bool { return closed.Load() == 5 })
	_ = silent.Close()
	eventually(t, "all gone", func() bool { return s.Stats().Connections == 0 })
	if opened.Load() != 5 || closed.Load() != 5 || wrongLoop.Load() != 0 || loops.Load() < 1 || loops.Load() > 2 {
		t.Errorf("opened %d, closed %d, wrong %d, loops %d", opened.Load(), closed.Load(), wrongLoop.Load(), loops.Load())
	}
}

func TestPanickingHooksDoNoHarm(t *testing.T) {
	boom := func(*Conn) { panic("hook") }
	s := startServer(t, ServerOptions{
		Routes: echoRoutes(), Lanes: echoLane(), OnOpen: boom, OnClose: boom,
		StartLoop: func(*Loop) { panic("loop") },
		Intercept: func(c *Conn, req *Command) (*Command, error, bool) {
			if req.Opaque == 66 {
				panic("check")
			}
			return nil, nil, false
		},
	})
	p := s.dial(t)
	p.send(request(codeEcho, 66, ""))
	if got := p.receive(); got.Code != 1 || !strings.Contains(got.Remark, "the check of request code 900 panicked") {
		t.Errorf("got %+v", got)
	}
	_ = p.Close()
	p = s.dial(t)
	p.send(request(codeEcho, 1, "x"))
	if got := p.receive(); string(got.Body) != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestIntercept(t *testing.T) {
	s := startServer(t, ServerOptions{
		Routes: echoRoutes(), Lanes: echoLane(),
		Intercept: func(c *Conn, req *Command) (*Command, error, bool) {
			switch req.Opaque {
			case 1:
				return nil, Errorf(NoPermission, "no"), true
			case 2:
				return NewResponse(Success), nil, true
			case 3:
				return nil, nil, true
			}
			return nil, nil, false
		},
	})
	p := s.dial(t)
	for i := range int32(5) {
		p.send(request(codeEcho, i, "b"))
	}
	for _, want := range []struct {
		opaque, code int32
		body         string
	}{{0, 0, "b"}, {1, 16, ""}, {2, 0, ""}, {4, 0, "b"}} {
		if got := p.receive(); got.Opaque != want.opaque || got.Code != want.code || string(got.Body) != want.body {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// A turn is one read: its frames are handled, then EndTurn answers what they left, then everything leaves in order.
func TestEndTurnAnswersTheTurn(t *testing.T) {
	type staged struct{ repliers []Replier }
	var turns atomic.Int32
	s := startServer(t, ServerOptions{
		Loops:     1,
		StartLoop: func(l *Loop) { l.Data = new(staged) },
		Routes: []Route{{700, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			st := c.Loop().Data.(*staged)
			st.repliers = append(st.repliers, c.Replier(req))
			return nil, nil
		}}},
		EndTurn: func(l *Loop) {
			turns.Add(1)
			st := l.Data.(*staged)
			resp := NewResponse(0)
			for i, r := range st.repliers {
				resp.Remark = fmt.Sprint(len(st.repliers), ".", i)
				r.ReplyInTurn(resp)
			}
			st.repliers = st.repliers[:0]
		},
	})
	p := s.dial(t)
	p.send(request(700, 10, ""), request(700, 11, ""), request(700, 12, ""))
	for i := range int32(3) {
		if got := p.receive(); got.Opaque != 10+i || got.Remark != fmt.Sprintf("3.%d", i) {
			t.Errorf("got %+v", got)
		}
	}
	if n := turns.Load(); n != 1 {
		t.Errorf("%d turns for one read", n)
	}
}

func TestPanickingEndTurnClosesTheConnection(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), EndTurn: func(*Loop) { panic("end") }})
	p := s.dial(t)
	p.send(request(codeNever, 1, ""))
	p.closedByServer()
	eventually(t, "logged", func() bool { return strings.Contains(s.log.String(), "the end of its turn panicked") })
}

func TestGoAwayWhileDraining(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	p := s.dial(t)
	p.send(request(codeEcho, 1, ""))
	p.receive()
	s.StopAccepting()
	s.StopAccepting()
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("still listening")
	}
	for _, tt := range []struct{ version, code, want int32 }{
		{476, codeEcho, 1500}, {513, codeEcho, 1500}, {475, codeEcho, 0}, {317, codeEcho, 0}, {513, 4711, 3},
	} {
		req := request(tt.code, 1, "")
		req.Version = tt.version
		p.send(req)
		got := p.receive()
		if got.Code != tt.want || got.Code == 1500 && got.Remark != "please go away" {
			t.Errorf("version %d: got %d %q, want %d", tt.version, got.Code, got.Remark, tt.want)
		}
	}
}

func TestCloseFinishesTheLanes(t *testing.T) {
	gate := make(chan struct{})
	var running atomic.Int32
	s := startServer(t, ServerOptions{
		Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
			running.Add(1)
			<-gate
			return NewResponse(0), nil
		}}},
		Lanes: []LaneOptions{{Name: "x", Workers: 1, Queue: 8}},
	})
	p := s.dial(t)
	p.send(request(700, 1, ""), request(700, 2, ""))
	eventually(t, "queued", func() bool { return running.Load() == 1 && s.Stats().Lanes[0].Queued == 1 })
	result := make(chan error)
	go func() { result <- s.Close(context.Background()) }()
	eventually(t, "closing", s.refusing.Load)
	old := request(700, 3, "")
	old.Version = 400
	p.send(old)
	if got := p.receive(); got.Opaque != 3 || got.Code != 14 {
		t.Errorf("got %+v", got)
	}
	close(gate)
	for i := range int32(2) {
		if got := p.receive(); got.Opaque != i+1 || got.Code != 0 {
			t.Errorf("got %+v", got)
		}
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	p.closedByServer()
}

func TestCloseDoesNotWaitForeverForAHandler(t *testing.T) {
	gate, in := make(chan struct{}), make(chan struct{})
	log, _ := quietLog()
	s, err := NewServer(ServerOptions{
		Name: "broker", Addrs: []string{"127.0.0.1:0"}, Log: log, Clock: clock.System{},
		Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
			close(in)
			<-gate
			return NewResponse(0), nil
		}}},
		Lanes: []LaneOptions{{Name: "x", Workers: 1, Queue: 8}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	p := (&testServer{Server: s}).dial(t)
	p.send(request(700, 1, ""))
	<-in
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 requests still in lanes") {
		t.Errorf("error %v", err)
	}
	p.closedByServer()
	close(gate)
	s.workers.Wait()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestConnCloseSendsWhatWasAnsweredBefore(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
		r := c.Replier(req)
		_ = r.Reply(NewResponse(0))
		c.Close("enough")
		return nil, nil
	}}}, Lanes: echoLane()})
	p := s.dial(t)
	p.send(request(700, 1, ""))
	p.receive()
	p.closedByServer()
}

func TestRepliesAfterTheConnectionClosed(t *testing.T) {
	taken := make(chan Replier, 1)
	released := make(chan struct{})
	s := startServer(t, ServerOptions{Routes: []Route{{700, OnLoop, func(c *Conn, req *Command) (*Command, error) {
		taken <- c.Replier(req)
		return nil, nil
	}}}})
	p := s.dial(t)
	p.send(request(700, 1, ""))
	r := <-taken
	if n := r.Conn().InFlight(); n != 1 {
		t.Errorf("%d in flight", n)
	}
	_ = p.Close()
	eventually(t, "closed", r.Conn().Closed)
	resp := NewResponse(0)
	resp.Body = make([]byte, 100_000)
	resp.Release = func() { close(released) }
	if err := r.Reply(resp); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	<-released
	if n := r.Conn().InFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func TestMaxInFlight(t *testing.T) {
	var held []Replier
	s := startServer(t, ServerOptions{MaxInFlight: 3, Loops: 1, Lanes: echoLane(), Routes: append(echoRoutes(),
		Route{700, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			held = append(held, c.Replier(req))
			return nil, nil
		}},
		Route{701, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			for _, r := range held {
				r.ReplyInTurn(NewResponse(0))
			}
			held = nil
			return nil, nil
		}})})
	p := s.dial(t)
	p.send(request(700, 0, ""), request(700, 1, ""), request(700, 2, ""), request(700, 3, ""), request(codeLaneEcho, 4, ""))
	for i := range int32(2) {
		if got := p.receive(); got.Opaque != 3+i || got.Code != 2 || !strings.Contains(got.Remark, "limit MaxInFlight 3") {
			t.Errorf("got %+v", got)
		}
	}
	free := request(701, 5, "")
	free.Flag = 2
	p.send(free)
	for i := range int32(3) {
		if got := p.receive(); got.Opaque != i || got.Code != 0 {
			t.Errorf("got %+v", got)
		}
	}
	p.send(request(codeLaneEcho, 6, ""))
	if got := p.receive(); got.Code != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestAlone: a connection is alone on its loop after some turns without another's, until another one speaks.
func TestAlone(t *testing.T) {
	const asked = 905
	s := startServer(t, ServerOptions{Loops: 1, Routes: []Route{{asked, OnLoop, func(c *Conn, _ *Command) (*Command, error) {
		resp := NewResponse(Success)
		resp.AddExt("alone", strconv.FormatBool(c.Loop().Alone()))
		return resp, nil
	}}}})
	first, second := s.dial(t), s.dial(t)
	alone := func(p *peer) bool {
		p.send(request(asked, 1, ""))
		return p.receive().Ext[0].Value == "true"
	}
	if alone(first) {
		t.Error("alone from the first turn on")
	}
	for range aloneTurns {
		alone(first)
	}
	if !alone(first) {
		t.Error("not alone")
	}
	if alone(second) || alone(first) {
		t.Error("alone beside another")
	}
}

package remoting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

type asked struct {
	cmd *Command
	err error
}

// withConn starts a server and hands out its side of one connection.
func withConn(t *testing.T, opts ServerOptions) (*testServer, *peer, *Conn) {
	t.Helper()
	conns := make(chan *Conn, 1)
	opts.OnOpen = func(c *Conn) { conns <- c }
	opts.Routes, opts.Lanes = echoRoutes(), echoLane()
	s := startServer(t, opts)
	p := s.dial(t)
	p.send(request(codeEcho, 1, ""))
	p.receive()
	return s, p, <-conns
}

func ask(c *Conn, cmd *Command, timeout time.Duration) chan asked {
	ch := make(chan asked, 2)
	c.Request(cmd, timeout, func(cmd *Command, err error) { ch <- asked{cmd, err} })
	return ch
}

func TestServerInitiatedRequest(t *testing.T) {
	_, p, c := withConn(t, ServerOptions{})
	first := ask(c, NewRequest(GetConsumerRunningInfo, &GetConsumerRunningInfoRequestHeader{ConsumerGroup: "g", ClientID: "id"}), time.Minute)
	second := ask(c, request(220, 0, "second"), time.Minute)
	a, b := p.receive(), p.receive()
	if a.Code != 307 || a.IsResponse() || a.IsOneway() || a.Version != 513 || a.Opaque == b.Opaque || string(b.Body) != "second" {
		t.Errorf("got %+v and %+v", a, b)
	}
	var h GetConsumerRunningInfoRequestHeader
	if err := a.Decode(&h); err != nil || h.ClientID != "id" {
		t.Errorf("header %+v, %v", h, err)
	}
	// Answers may come in any order, and one for a request never made is nothing.
	for _, r := range []*Command{{Opaque: 424242, Flag: 1}, {Opaque: b.Opaque, Flag: 1, Body: []byte("b")}, {Opaque: a.Opaque, Flag: 1, Remark: "a"}, {Opaque: a.Opaque, Flag: 1}} {
		p.send(r)
	}
	if got := <-second; got.err != nil || string(got.cmd.Body) != "b" {
		t.Errorf("second: %+v", got)
	}
	if got := <-first; got.err != nil || got.cmd.Remark != "a" {
		t.Errorf("first: %+v", got)
	}
	// Client and server count their opaques apart: the client's own request with the same number is a request.
	p.send(request(codeEcho, a.Opaque, "mine"))
	if got := p.receive(); string(got.Body) != "mine" {
		t.Errorf("got %+v", got)
	}
	if len(first) != 0 || len(second) != 0 {
		t.Error("a request ended twice")
	}
}

func TestServerInitiatedRequestTimesOutByTheClock(t *testing.T) {
	clk := clock.NewManual(time.UnixMilli(5000))
	_, p, c := withConn(t, ServerOptions{Clock: clk})
	late := ask(c, request(307, 0, ""), 10*time.Second)
	early := ask(c, request(307, 0, ""), 5*time.Second)
	p.receive()
	opaque := p.receive().Opaque
	clk.Advance(5 * time.Second)
	if got := <-early; !errors.Is(got.err, ErrTimeout) {
		t.Errorf("got %+v", got)
	}
	if len(late) != 0 {
		t.Error("the later one ended too")
	}
	p.send(&Command{Opaque: opaque, Flag: 1}) // too late
	clk.Advance(5 * time.Second)
	if got := <-late; !errors.Is(got.err, ErrTimeout) {
		t.Errorf("got %+v", got)
	}
	if len(early) != 0 {
		t.Error("ended twice")
	}
}

func TestServerInitiatedRequestFailsWhenTheConnectionCloses(t *testing.T) {
	_, p, c := withConn(t, ServerOptions{})
	open := ask(c, request(307, 0, ""), time.Hour)
	p.receive()
	_ = p.Close()
	if got := <-open; !errors.Is(got.err, ErrClosed) {
		t.Errorf("got %+v", got)
	}
	eventually(t, "closed", c.Closed)
	if got := <-ask(c, request(307, 0, ""), time.Hour); !errors.Is(got.err, ErrClosed) {
		t.Errorf("got %+v", got)
	}
	if err := c.Oneway(request(40, 0, "")); !errors.Is(err, ErrClosed) {
		t.Errorf("one-way: %v", err)
	}
}

func TestServerInitiatedRequestsAreBounded(t *testing.T) {
	_, _, c := withConn(t, ServerOptions{MaxInFlight: 2})
	ask(c, request(307, 0, ""), time.Hour)
	ask(c, request(307, 0, ""), time.Hour)
	if got := <-ask(c, request(307, 0, ""), time.Hour); got.err == nil || !strings.Contains(got.err.Error(), "limit MaxInFlight 2") {
		t.Errorf("got %+v", got)
	}
}

func TestServerInitiatedOneway(t *testing.T) {
	_, p, c := withConn(t, ServerOptions{})
	if err := c.Oneway(NewRequest(NotifyConsumerIDsChanged, &NotifyConsumerIDsChangedRequestHeader{ConsumerGroup: "g"})); err != nil {
		t.Fatal(err)
	}
	if got := p.receive(); got.Code != 40 || got.Flag != 2 {
		t.Errorf("got %+v", got)
	}
	huge := request(40, 0, "")
	huge.Body = make([]byte, 17<<20)
	if err := c.Oneway(huge); err == nil || !strings.Contains(err.Error(), "frame, MaxFrame 16777216") {
		t.Errorf("error %v", err)
	}
}

func TestPanickingTakerOfAnAnswer(t *testing.T) {
	_, p, c := withConn(t, ServerOptions{})
	c.Request(request(307, 0, ""), time.Hour, func(*Command, error) { panic("taker") })
	p.send(&Command{Opaque: p.receive().Opaque, Flag: 1})
	p.send(request(codeEcho, 3, "alive"))
	if got := p.receive(); string(got.Body) != "alive" {
		t.Errorf("got %+v", got)
	}
}

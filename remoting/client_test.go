package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func newTestClient(t testing.TB, opts ClientOptions) *Client {
	t.Helper()
	c := NewClient(opts)
	t.Cleanup(c.Close)
	return c
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestClientInvoke(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	for _, form := range []SerializeType{JSON, RocketMQ} {
		c := newTestClient(t, ClientOptions{Serialize: form, Language: Go})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				body := fmt.Sprint("body ", i)
				got, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho+int32(i%2), 0, body))
				if err != nil || string(got.Body) != body || !got.IsResponse() {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		wg.Wait()
		if got, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeFail, 0, "")); err != nil || got.Code != TopicNotExist {
			t.Errorf("an error code is an answer: %+v, %v", got, err)
		}
	}
	if n := s.Stats().Accepted; n != 2 {
		t.Errorf("%d connections for two clients", n)
	}
}

func TestClientOneway(t *testing.T) {
	got := make(chan string, 1)
	s := startServer(t, ServerOptions{Routes: []Route{{700, 1, func(c *Conn, req *Command) (*Command, error) {
		if req.IsOneway() {
			got <- string(req.Body)
		}
		return NewResponse(0), nil
	}}}, Lanes: echoLane()})
	c := newTestClient(t, ClientOptions{})
	released := false
	cmd := request(700, 0, "gone")
	cmd.Release = func() { released = true }
	if err := c.Oneway(within(t, waitLong), s.Addr().String(), cmd); err != nil || !released {
		t.Fatal(err, released)
	}
	if b := <-got; b != "gone" {
		t.Errorf("got %q", b)
	}
}

func TestClientDeadline(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	c := newTestClient(t, ClientOptions{})
	_, err := c.Invoke(within(t, 20*time.Millisecond), s.Addr().String(), request(codeNever, 0, ""))
	if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "request 904 to "+s.Addr().String()) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Invoke(ctx, s.Addr().String(), request(codeNever, 0, "")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, "on")); err != nil || string(got.Body) != "on" {
		t.Errorf("the connection is of no use after a timeout: %v", err)
	}
	if n := s.Stats().Accepted; n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestClientReconnects(t *testing.T) {
	conns := make(chan *Conn, 2)
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), OnOpen: func(c *Conn) { conns <- c }})
	c := newTestClient(t, ClientOptions{})
	lost := make(chan error)
	go func() {
		_, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeNever, 0, ""))
		lost <- err
	}()
	(<-conns).Close("test")
	if err := <-lost; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	if got, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, "again")); err != nil || string(got.Body) != "again" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestClientCannotConnect(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	c := newTestClient(t, ClientOptions{})
	for range 2 {
		if _, err := c.Invoke(within(t, waitLong), addr, request(1, 0, "")); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := c.Invoke(within(t, waitLong), "no port", request(1, 0, "")); err == nil {
		t.Error("an address without a port was taken")
	}
}

func TestClientServesTheServersRequests(t *testing.T) {
	conns := make(chan *Conn, 1)
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), OnOpen: func(c *Conn) { conns <- c }})
	c := newTestClient(t, ClientOptions{Handle: func(addr string, req *Command) (*Command, error) {
		switch req.Code {
		case 307:
			resp := NewResponse(0)
			resp.Body = []byte("running at " + addr)
			return resp, nil
		case 309:
			panic("consumer")
		}
		return nil, Errorf(SystemError, "what")
	}})
	if _, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, "")); err != nil {
		t.Fatal(err)
	}
	conn := <-conns
	if got := <-ask(conn, request(307, 0, ""), time.Minute); got.err != nil || string(got.cmd.Body) != "running at "+s.Addr().String() {
		t.Errorf("got %+v", got)
	}
	if got := <-ask(conn, request(309, 0, ""), time.Minute); got.err != nil || !strings.Contains(got.cmd.Remark, "panicked: consumer") {
		t.Errorf("got %+v", got)
	}
	if got := <-ask(conn, request(220, 0, ""), time.Minute); got.err != nil || got.cmd.Remark != "what" {
		t.Errorf("got %+v", got)
	}
	plain := newTestClient(t, ClientOptions{})
	if _, err := plain.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, "")); err != nil {
		t.Fatal(err)
	}
	if got := <-ask(<-conns, request(307, 0, ""), time.Minute); got.err != nil || got.cmd.Code != 3 || got.cmd.Remark != " request type 307 not supported" {
		t.Errorf("got %+v", got)
	}
}

func TestClientBounds(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	c := newTestClient(t, ClientOptions{MaxInFlight: 1, MaxFrame: 1000})
	go func() { _, _ = c.Invoke(within(t, waitLong), s.Addr().String(), request(codeNever, 0, "")) }()
	eventually(t, "one in flight", func() bool { return s.Stats().FramesIn == 1 })
	if _, err := c.Invoke(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, "")); err == nil || !strings.Contains(err.Error(), "limit MaxInFlight 1") {
		t.Errorf("error %v", err)
	}
	if err := c.Oneway(within(t, waitLong), s.Addr().String(), request(codeEcho, 0, strings.Repeat("x", 1001))); err == nil || !strings.Contains(err.Error(), "limit MaxFrame 1000") {
		t.Errorf("error %v", err)
	}
}

// A server that talks nonsense ends the connection with an error that says so.
func TestClientAgainstNonsense(t *testing.T) {
	for says, answer := range map[string]string{
		"limit MaxFrame":   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"serialize type 9": "\x00\x00\x00\x06\x09\x00\x00\x02{}",
		"EOF":              "",
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = readFrame(nc)
			_, _ = nc.Write([]byte(answer))
			_ = nc.Close()
		}()
		c := newTestClient(t, ClientOptions{})
		if _, err := c.Invoke(within(t, waitLong), ln.Addr().String(), request(1, 0, "")); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one with %q", err, says)
		}
		_ = ln.Close()
	}
}

func TestClientClose(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	c := NewClient(ClientOptions{})
	lost := make(chan error)
	go func() {
		_, err := c.Invoke(context.Background(), s.Addr().String(), request(codeNever, 0, ""))
		lost <- err
	}()
	eventually(t, "in flight", func() bool { return s.Stats().FramesIn == 1 })
	c.Close()
	if err := <-lost; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	c.Close()
	if _, err := c.Invoke(context.Background(), s.Addr().String(), request(codeEcho, 0, "")); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	eventually(t, "server sees it", func() bool { return s.Stats().Connections == 0 })
}

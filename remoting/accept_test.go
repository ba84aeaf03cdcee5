package remoting

import (
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// failingListener has no file descriptors left for its first calls.
type failingListener struct {
	net.Listener

	mu   sync.Mutex
	left int
}

func (l *failingListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 {
		l.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptingSurvivesAShortageOfDescriptors(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, inner)
	s.mu.Unlock()
	s.accepting.Go(func() { s.accept(&failingListener{Listener: inner, left: 4}) })
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t, c}
	defer p.Close()
	p.send(request(codeEcho, 1, "through"))
	if got := p.receive(); string(got.Body) != "through" {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(s.log.String(), "too many open files") {
		t.Errorf("log: %s", s.log)
	}
}

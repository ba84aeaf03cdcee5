//go:build unix

package remoting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestABodyWhosePagesAreGone: a body in a mapped file that somebody has cut short costs the answer, or the connection when it went to the
// system by reference, and never the process. The body is given back once.
func TestABodyWhosePagesAreGone(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const size = 1 << 20
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	if err := f.Truncate(1 << 16); err != nil {
		t.Fatal(err)
	}
	const small, large, half = 1, 2, 3
	released := make(chan struct{}, 10)
	stored := func(_ *Conn, req *Command) (*Command, error) {
		resp := NewResponse(Success)
		switch req.Code {
		case small:
			resp.Body = mapped[size/2 : size/2+100]
		case large:
			resp.BodyParts = [][]byte{mapped[size/2:]}
		case half: // the system takes the first part of it
			resp.BodyParts = [][]byte{mapped}
		}
		resp.Release = func() { released <- struct{}{} }
		return resp, nil
	}
	routes := echoRoutes()
	for _, code := range []int32{small, large, half} {
		routes = append(routes, Route{Code: code, Handle: stored}, Route{Code: code + 10, Lane: 1, Handle: func(c *Conn, req *Command) (*Command, error) {
			req.Code -= 10
			return stored(c, req)
		}})
	}
	s := startServer(t, ServerOptions{Routes: routes, Lanes: echoLane()})
	for _, code := range []int32{small, large, half, small + 10, large + 10, half + 10} {
		p := s.dial(t)
		p.send(request(code, 1, ""))
		if code%10 == small {
			if got := p.receive(); got.Code != SystemError || !strings.Contains(got.Remark, "page") {
				t.Errorf("code %d: answer %d %q, want SYSTEM_ERROR that tells of a page", code, got.Code, got.Remark)
			}
		} else {
			p.closedByServer()
		}
		<-released
	}
	if len(released) > 0 {
		t.Error("a body is given back twice")
	}
	p := s.dial(t)
	p.send(request(echoRoutes()[0].Code, 1, "x"))
	if got := p.receive(); got.Code != Success {
		t.Errorf("another connection: %d %q", got.Code, got.Remark)
	}
}

package remoting

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holdingWatcher keeps back requests with opaque 1, answers with opaque 2, changes answers with opaque 3, panics at 4.
type holdingWatcher struct {
	mu     sync.Mutex
	conn   *Conn
	frame  []byte
	closed atomic.Int32
}

func (w *holdingWatcher) Incoming(c *Conn, cmd *Command, frame []byte) bool {
	switch cmd.Opaque {
	case 1:
		w.mu.Lock()
		w.conn, w.frame = c, bytes.Clone(frame)
		w.mu.Unlock()
		return false
	case 4:
		panic("watcher")
	}
	return true
}

func (w *holdingWatcher) Outgoing(_ *Conn, cmd *Command) bool {
	switch cmd.Opaque {
	case 2:
		return false
	case 3:
		cmd.Remark = "changed"
	case 5:
		panic("watcher")
	}
	return true
}

func (w *holdingWatcher) Closed(*Conn) { w.closed.Add(1) }

func (w *holdingWatcher) held() (*Conn, []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn, w.frame
}

func TestWatcher(t *testing.T) {
	w := new(holdingWatcher)
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), Watcher: w})
	p := s.dial(t)
	for _, code := range []int32{codeEcho, codeLaneEcho} {
		for opaque := range int32(6) {
			p.send(request(code, opaque, "b"))
		}
		for range 4 {
			got := p.receive()
			if got.Opaque == 1 || got.Opaque == 2 || (got.Remark == "changed") != (got.Opaque == 3) || string(got.Body) != "b" {
				t.Errorf("code %d: got %+v", code, got)
			}
		}
		c, frame := w.held()
		c.Deliver(frame)
		if got := p.receive(); got.Opaque != 1 || string(got.Body) != "b" {
			t.Errorf("delivered later: got %+v", got)
		}
	}
	c, _ := w.held()
	raw := AppendFrame(nil, request(40, 9, "raw"))
	for _, part := range [][]byte{raw[:5], raw[5:]} {
		if err := c.SendFrame(part); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.receive(); got.Code != 40 || string(got.Body) != "raw" {
		t.Errorf("got %+v", got)
	}
	c.Deliver([]byte("broken"))
	p.closedByServer()
	eventually(t, "told of the end", func() bool { return w.closed.Load() == 1 })
	if err := c.SendFrame(raw); err == nil {
		t.Error("a closed connection took a frame")
	}
	c.Deliver(raw)
}

// An answer to the server's request that the watcher holds back is not taken: the request times out or is closed.
func TestWatcherHoldsBackAnswers(t *testing.T) {
	w := new(holdingWatcher)
	_, p, c := withConn(t, ServerOptions{Watcher: dropAnswers{w}})
	open := ask(c, request(307, 0, ""), time.Hour)
	p.send(&Command{Opaque: p.receive().Opaque, Flag: 1})
	p.send(request(codeEcho, 8, ""))
	p.receive()
	if len(open) != 0 {
		t.Error("the answer was taken")
	}
}

type dropAnswers struct{ *holdingWatcher }

func (dropAnswers) Incoming(_ *Conn, cmd *Command, _ []byte) bool { return !cmd.IsResponse() }
func (dropAnswers) Outgoing(*Conn, *Command) bool                 { return true }

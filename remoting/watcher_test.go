package remoting

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"
)

// testWatcher keeps back requests whose body says so, and changes answers.
type testWatcher struct {
	mu       sync.Mutex
	seen     []string
	kept     [][]byte
	keptConn *Conn
	closed   chan struct{}
}

func (w *testWatcher) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, what)
}

func (w *testWatcher) Incoming(c *Conn, cmd *Command, frame []byte) bool {
	w.note("in " + string(cmd.Body))
	switch string(cmd.Body) {
	case "later":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kept, w.keptConn = append(w.kept, bytes.Clone(frame)), c
		return false
	case "panic":
		panic("in the watcher")
	}
	return true
}

func (w *testWatcher) Outgoing(_ *Conn, cmd *Command) bool {
	w.note("out " + string(cmd.Body))
	if string(cmd.Body) == "edit" {
		cmd.Body, cmd.Remark = []byte("edited"), "by the watcher"
	}
	return string(cmd.Body) != "lost"
}

func (w *testWatcher) Closed(*Conn) { close(w.closed) }

func TestWatcherSeesHoldsBackAndChanges(t *testing.T) {
	w := &testWatcher{closed: make(chan struct{})}
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: []LaneOptions{{Name: "lane", Workers: 1, Queue: 8}}, Watcher: w})
	p := s.dial(t)
	for _, code := range []int32{codeEcho, codeLaneEcho} {
		p.send(request(code, 1, "later"), request(code, 2, "lost"), request(code, 3, "edit"), request(code, 4, "panic"))
		for _, want := range []struct {
			opaque       int32
			body, remark string
		}{{3, "edited", "by the watcher"}, {4, "panic", ""}} {
			if got := p.receive(); got.Opaque != want.opaque || string(got.Body) != want.body || got.Remark != want.remark {
				t.Errorf("code %d: got %d %q %q, want %v", code, got.Opaque, got.Body, got.Remark, want)
			}
		}
		w.mu.Lock()
		conn, frame := w.keptConn, w.kept[len(w.kept)-1]
		w.mu.Unlock()
		conn.Deliver(frame)
		if got := p.receive(); got.Opaque != 1 || string(got.Body) != "later" {
			t.Errorf("code %d: delivered %d %q", code, got.Opaque, got.Body)
		}
	}
	w.mu.Lock()
	conn := w.keptConn
	for _, want := range []string{"in later", "in lost", "out lost", "out edit", "out later"} {
		if !slices.Contains(w.seen, want) {
			t.Errorf("%q was not seen: %v", want, w.seen)
		}
	}
	w.mu.Unlock()
	raw := AppendFrame(nil, request(1, 9, "raw"))
	if err := conn.SendFrame(raw[:7]); err != nil {
		t.Fatal(err)
	}
	conn.Close("cut in mid-frame")
	rest := make([]byte, len(raw))
	n, err := p.Read(rest)
	if err != nil || !bytes.Equal(rest[:n], raw[:7]) {
		t.Errorf("got % x, %v, want % x", rest[:n], err, raw[:7])
	}
	p.closedByServer()
	select {
	case <-w.closed:
	case <-time.After(waitLong):
		t.Fatal("the watcher is not told of the close")
	}
	if err := conn.SendFrame(raw); err == nil {
		t.Error("sent on a closed connection")
	}
	conn.Deliver(raw) // does nothing
}

func TestDeliverClosesAConnectionForABrokenFrame(t *testing.T) {
	w := &testWatcher{closed: make(chan struct{})}
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: []LaneOptions{{Name: "lane", Workers: 1, Queue: 8}}, Watcher: w})
	p := s.dial(t)
	p.send(request(codeEcho, 1, "later"), request(codeEcho, 2, "x"))
	p.receive()
	w.mu.Lock()
	conn, frame := w.keptConn, w.kept[0]
	w.mu.Unlock()
	conn.Deliver(frame[:len(frame)-1])
	p.closedByServer()
}

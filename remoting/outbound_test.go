package remoting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What goes in comes out, in order, however little the socket takes at a time, and every body is released once.
func TestOutQueueKeepsOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		var q outQueue
		var want, got []byte
		released, expected := 0, 0
		for range 1 + rnd.IntN(20) {
			o := new(outBuf)
			for range 1 + rnd.IntN(5) {
				cmd := NewResponse(int32(round))
				cmd.Body = bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(6000))
				for range rnd.IntN(4) {
					cmd.BodyParts = append(cmd.BodyParts, bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(6000)))
				}
				if rnd.IntN(2) == 0 {
					expected++
					cmd.Release = func() { released++ }
				}
				want = AppendFrame(want, cmd)
				if _, err := o.add(cmd, rnd.IntN(2) == 0, 1<<20); err != nil {
					t.Fatal(err)
				}
			}
			if vec := bytes.Join(o.vector(nil), nil); len(vec) != o.size {
				t.Fatalf("vector of %d bytes, size %d", len(vec), o.size)
			}
			sent := 0
			if q.empty() {
				sent = rnd.IntN(o.size + 1)
				got = append(got, bytes.Join(o.vector(nil), nil)[:sent]...)
			}
			q.take(o, sent)
			if rnd.IntN(3) == 0 {
				n := rnd.IntN(q.size + 1)
				got = append(got, bytes.Join(q.vector(nil, 1<<30), nil)[:n]...)
				q.sent(n)
			}
		}
		got = append(got, bytes.Join(q.vector(nil, 1<<30), nil)...)
		q.sent(q.size)
		if !bytes.Equal(got, want) {
			t.Fatalf("round %d: %d bytes out, %d in, or in another order", round, len(got), len(want))
		}
		if q.heap != 0 || q.size != 0 || released != expected {
			t.Fatalf("round %d: heap %d, size %d, released %d of %d", round, q.heap, q.size, released, expected)
		}
	}
}

func TestOutQueueCountsHeapAndReleasesOnDrop(t *testing.T) {
	var q outQueue
	o := new(outBuf)
	released := 0
	mapped := NewResponse(0)
	mapped.BodyParts = [][]byte{make([]byte, 50_000), make([]byte, 50_000)}
	mapped.Release = func() { released++ }
	_, err1 := o.add(mapped, false, 1<<20)
	plain := NewResponse(0)
	plain.Body = make([]byte, 10_000)
	if _, err := o.add(plain, true, 1<<20); err != nil || err1 != nil {
		t.Fatal(err, err1)
	}
	size := o.size
	q.take(o, 0)
	if q.size != size || q.heap != size-100_000 {
		t.Errorf("size %d, heap %d of %d", q.size, q.heap, size)
	}
	q.drop()
	if q.size != 0 || q.heap != 0 || released != 1 {
		t.Errorf("after drop: %+v, released %d", q, released)
	}
}

// bulk routes answer with size bytes; 700 as if mapped, 701 as heap bytes from a lane, 702 from scratch on the loop.
func bulkRoutes(size int, released *atomic.Int64) []Route {
	mapping := bytes.Repeat([]byte("m"), size)
	return []Route{
		{700, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			resp := c.Loop().Response(0)
			resp.BodyParts = [][]byte{mapping[:size/2], mapping[size/2:]}
			resp.Release = func() { released.Add(1) }
			return resp, nil
		}},
		{701, 1, func(c *Conn, req *Command) (*Command, error) {
			resp := NewResponse(0)
			resp.Body = bytes.Repeat([]byte("h"), size)
			return resp, nil
		}},
		{702, OnLoop, func(c *Conn, req *Command) (*Command, error) {
			sc, ok := c.Loop().Data.(*turnScratch)
			if !ok {
				sc = new(turnScratch)
				c.Loop().Data = sc
			}
			resp := c.Loop().Response(0)
			resp.Body = sc.get(size, byte(req.Opaque))
			return resp, nil
		}},
	}
}

// turnScratch gives bodies that live until the turn ends and are overwritten in the next.
type turnScratch struct {
	used, free [][]byte
	ended      bool
}

func (s *turnScratch) get(size int, fill byte) []byte {
	if s.ended {
		s.ended = false
		for _, b := range s.used {
			for i := range b {
				b[i] = '!'
			}
		}
		s.free, s.used = append(s.free, s.used...), nil
	}
	if len(s.free) == 0 {
		s.free = append(s.free, make([]byte, size))
	}
	b := s.free[0]
	s.free, s.used = s.free[1:], append(s.used, b)
	for i := range b {
		b[i] = fill
	}
	return b
}

// A reader that pauses gets everything in the end: nothing is lost, doubled or mixed while its socket was full.
func TestPausingReaderGetsEverything(t *testing.T) {
	var released atomic.Int64
	const size, count = 200_000, 60
	s := startServer(t, ServerOptions{
		Routes: bulkRoutes(size, &released), Lanes: echoLane(), OutboundLimit: 64 << 20, Loops: 1,
		EndTurn: func(l *Loop) {
			if sc, ok := l.Data.(*turnScratch); ok {
				sc.ended = true
			}
		},
	})
	p := s.dial(t)
	for i := range int32(count) {
		p.send(request(700+i%3, i, ""))
		if i%3 == 2 {
			time.Sleep(100 * time.Microsecond) // turns of their own for scratch answers
		}
	}
	eventually(t, "socket full", func() bool { return len(*s.loopList.Load()) == 1 && (*s.loopList.Load())[0].stalledNow.Load() == 1 })
	seen := map[int32]bool{}
	for range count {
		got := p.receive()
		want := [...]byte{'m', 'h', byte(got.Opaque)}[got.Opaque%3]
		if seen[got.Opaque] || len(got.Body) != size || bytes.Count(got.Body, []byte{want}) != size {
			t.Fatalf("answer %d: %d bytes of %q", got.Opaque, len(got.Body), got.Body[:10])
		}
		seen[got.Opaque] = true
	}
	eventually(t, "released", func() bool { return released.Load() == count/3 })
	eventually(t, "nothing waits", func() bool { return s.Stats().OutboundBytes == 0 && (*s.loopList.Load())[0].stalledNow.Load() == 0 })
}

func TestSlowReaderOverItsLimitIsClosed(t *testing.T) {
	var released atomic.Int64
	conns := make(chan *Conn, 1)
	const size = 100_000
	s := startServer(t, ServerOptions{
		Routes: bulkRoutes(size, &released), Lanes: echoLane(), OutboundLimit: 1 << 20, Loops: 1,
		OnOpen: func(c *Conn) { conns <- c },
	})
	p := s.dial(t)
	sent := int64(0)
	var c *Conn
	for c == nil || !c.Closed() {
		if _, err := p.Write(AppendFrame(nil, request(700, 1, ""))); err != nil {
			break
		}
		sent++
		if c == nil {
			c = <-conns
		}
		if n := c.OutboundBuffered(); n > 1<<20+2*splitTurn {
			t.Fatalf("%d bytes buffered, limit 1 MiB", n)
		}
		if sent > 1_000_000 {
			t.Fatal("never closed")
		}
	}
	eventually(t, "closed", c.Closed)
	eventually(t, "logged", func() bool { return strings.Contains(s.log.String(), "slow reader: more than OutboundLimit") })
	eventually(t, "all released", func() bool { return s.Stats().Connections == 0 && c.OutboundBuffered() == 0 })
	if got := s.Stats().FramesIn; released.Load() > got || released.Load() == 0 {
		t.Errorf("%d released of %d", released.Load(), got)
	}
}

// Readers that never read share a budget of heap: those stuck longest go first, and somebody who reads is served.
func TestOutboundBudget(t *testing.T) {
	var released atomic.Int64
	const size = 1 << 20
	s := startServer(t, ServerOptions{
		Routes: append(bulkRoutes(size, &released), echoRoutes()...), Lanes: echoLane(),
		OutboundBudget: 16 << 20, Loops: 1,
	})
	stuck := make([]*peer, 60)
	for i := range stuck {
		stuck[i] = s.dial(t)
		if err := stuck[i].Conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			stuck[i].send(request(701, 1, ""))
		}
	}
	good := s.dial(t)
	for i := range int32(30) {
		good.send(request(701, i, ""))
		if got := good.receive(); len(got.Body) != size {
			t.Fatalf("got %d bytes", len(got.Body))
		}
	}
	eventually(t, "some evicted", func() bool { return strings.Contains(s.log.String(), "OutboundBudget is used up") })
	eventually(t, "lanes idle", func() bool { return s.laneWork.Load() == 0 })
	eventually(t, "within the budget", func() bool { return s.Stats().OutboundBytes <= 16<<20 })
	good.send(request(codeEcho, 9, "alive"))
	if got := good.receive(); string(got.Body) != "alive" {
		t.Errorf("got %+v", got)
	}
}

// Readers that take nothing for IdleTimeout go, though they keep sending.
func TestReaderThatTakesNothingIsClosed(t *testing.T) {
	var released atomic.Int64
	s := startServer(t, ServerOptions{Routes: append(bulkRoutes(8<<20, &released), echoRoutes()...), Lanes: echoLane(), IdleTimeout: 240 * time.Millisecond})
	p := s.dial(t)
	p.send(request(700, 1, ""))
	for {
		if _, err := p.Write(AppendFrame(nil, request(codeNever, 1, ""))); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	eventually(t, "logged", func() bool { return strings.Contains(s.log.String(), "takes no answers") })
	eventually(t, "released", func() bool { return released.Load() == 1 })
}

// Two thousand connections pull mapped bodies and read nothing: the heap does not notice. Apache with 1 GB dies of it.
func TestThousandsOfReadersThatNeverRead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var released atomic.Int64
	const conns, pulls, size = manyReaders, 16, 256 << 10
	s := startServer(t, ServerOptions{
		Routes: append(bulkRoutes(size, &released), echoRoutes()...), Lanes: echoLane(),
		SendBuffer: 32 << 10,
	})
	before := heapInUse()
	peers := make([]net.Conn, conns)
	for i := range peers {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Skipf("only %d connections possible here: %v", i, err)
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		peers[i] = c
		var b []byte
		for range pulls {
			b = AppendFrame(b, request(700, int32(i), ""))
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all pulls taken", func() bool { return s.Stats().FramesIn == conns*pulls })
	if grown := heapInUse() - before; grown > 64<<20 {
		t.Errorf("heap grew by %d MB", grown>>20)
	} else {
		t.Logf("heap grew by %d kB for %d readers, OutboundBytes %d", grown>>10, conns, s.Stats().OutboundBytes)
	}
	good := s.dial(t)
	start := time.Now()
	good.send(request(codeEcho, 9, "alive"))
	if got := good.receive(); string(got.Body) != "alive" {
		t.Errorf("got %+v", got)
	}
	t.Logf("an answer took %v meanwhile", time.Since(start))
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// Thousands of senders that announce large frames and trickle cost what they sent.
func TestTricklersCostBytes(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	const conns = 500
	prefix := make([]byte, 12)
	binary.BigEndian.PutUint32(prefix, 16<<20-4)
	for range conns {
		p := s.dial(t)
		p.write(prefix)
	}
	eventually(t, "all read", func() bool { return s.Stats().BytesIn == conns*int64(len(prefix)) })
	if held := s.Stats().InboundBytes; held > conns*128 {
		t.Errorf("%d bytes held for %d connections", held, conns)
	}
}

func TestInboundLimit(t *testing.T) {
	gate := make(chan struct{})
	s := startServer(t, ServerOptions{
		InboundLimit: 1 << 20, Loops: 1, Lanes: []LaneOptions{{Name: "x", Workers: 1, Queue: 100}},
		Routes: []Route{{700, 1, func(*Conn, *Command) (*Command, error) { <-gate; return NewResponse(0), nil }}, {701, OnLoop, echo}},
	})
	body := strings.Repeat("b", 100_000)
	p := s.dial(t)
	for i := range int32(20) {
		p.send(request(700, i, body))
	}
	busy := p.receive()
	if busy.Code != 2 || !strings.HasPrefix(busy.Remark, "[OVERLOAD]system busy") || !strings.Contains(busy.Remark, "limit InboundLimit 1048576") {
		t.Errorf("got %+v", busy)
	}
	close(gate)
	for range 19 {
		p.receive()
	}
	q := s.dial(t)
	frame := AppendFrame(nil, request(701, 1, strings.Repeat("x", 3<<20)))
	if _, err := q.Write(frame[:2<<20]); err == nil {
		q.closedByServer()
	}
	eventually(t, "logged", func() bool { return strings.Contains(s.log.String(), "half of InboundLimit 1048576") })
	eventually(t, "given back", func() bool { return s.Stats().InboundBytes == 0 })
}

// Connections that fill the bound for unfinished frames and then send no more lose them to those who send.
func TestUnfinishedFramesMakeRoom(t *testing.T) {
	for _, loops := range []int{1, 2} {
		s := startServer(t, ServerOptions{InboundLimit: 4 << 20, Loops: loops, Routes: echoRoutes(), Lanes: echoLane()})
		var idle []*peer
		frame := AppendFrame(nil, request(codeEcho, 1, strings.Repeat("x", 1<<20)))
		for i := range int64(20) {
			p := s.dial(t)
			p.write(frame[:900<<10])
			eventually(t, "read", func() bool { return s.Stats().BytesIn == (i+1)*900<<10 })
			idle = append(idle, p)
		}
		p := s.dial(t)
		for i := range int32(50) {
			for _, code := range []int32{codeEcho, codeEcho + 1} {
				p.send(request(code, i, strings.Repeat("y", 500<<10)))
				if got := p.receive(); got.Code != 0 || got.Opaque != i {
					t.Fatalf("%d loops, request %d: %+v", loops, i, got)
				}
			}
		}
		eventually(t, "within the bound", func() bool { return s.Stats().InboundBytes <= 2<<20+64<<10 })
		for _, q := range idle {
			_ = q.Close()
		}
	}
}

// 4 MB bodies that come in small pieces are served at about the speed of the wire.
func TestLargeBodiesInPieces(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), OutboundLimit: 64 << 20})
	body := bytes.Repeat([]byte("0123456789abcdef"), 4<<16)
	var wg sync.WaitGroup
	for i := range 4 {
		p := s.dial(t)
		wg.Go(func() {
			for n := range int32(3) {
				req := request(codeEcho+int32(i%2), n, "")
				req.Body = body
				frame := AppendFrame(nil, req)
				go func() {
					for len(frame) > 0 {
						k := min(len(frame), 10_000)
						if _, err := p.Write(frame[:k]); err != nil {
							return
						}
						frame = frame[k:]
					}
				}()
				got, err := readFrame(p)
				if err != nil || !bytes.Equal(got.Body, body) {
					t.Errorf("connection %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// One turn makes one system call: the answers of a pipeline arrive together.
func TestPipelineIsAnsweredTogether(t *testing.T) {
	s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
	p := s.dial(t)
	var b []byte
	for i := range int32(50) {
		b = AppendFrame(b, request(codeEcho, i, fmt.Sprint("body ", i)))
	}
	p.write(b)
	buf := make([]byte, 64<<10)
	n, err := p.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(buf[:n])
	for i := range int32(50) {
		got, err := readFrame(r)
		if err != nil {
			t.Fatalf("only %d answers in the first read: %v", i, err)
		}
		if got.Opaque != i {
			t.Errorf("answer %d is for %d", i, got.Opaque)
		}
	}
	if _, err := io.ReadFull(r, buf[:1]); err == nil {
		t.Error("more than the answers")
	}
}

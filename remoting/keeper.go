package remoting

import (
	"container/heap"
	"sync"
	"time"
)

// keeper is the server's one timer goroutine: it lets the loops sweep for idle connections, ends server-initiated requests
// whose time is over, and lets the loops try full sockets again.
//
// Only the requests' timeouts follow the server's clock. Sockets idle, fill and empty in the machine's time: whoever moves
// the clock by two hours does not want every connection closed.
type keeper struct {
	server *Server
	tick   time.Duration // between sweeps
	stop   chan struct{}
	pump   chan struct{} // a socket is full
	sooner chan struct{} // a deadline is earlier than the one waited for
	done   sync.WaitGroup

	mu        sync.Mutex
	deadlines deadlineHeap // guarded by mu
}

type deadline struct {
	atMs   int64
	conn   *Conn
	opaque int32
}

const (
	ticksPerIdle = 24
	pumpEvery    = time.Millisecond
)

func newKeeper(s *Server) *keeper {
	return &keeper{
		server: s,
		tick:   max(time.Millisecond, s.opts.IdleTimeout/ticksPerIdle),
		stop:   make(chan struct{}),
		pump:   make(chan struct{}, 1),
		sooner: make(chan struct{}, 1),
	}
}

func (k *keeper) start() { k.done.Go(k.run) }

func (k *keeper) close() {
	close(k.stop)
	k.done.Wait()
}

// wakePump says that a socket is full.
func (k *keeper) wakePump() { signal(k.pump) }

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// expireAt ends a server-initiated request at a time of the server's clock.
func (k *keeper) expireAt(atMs int64, c *Conn, opaque int32) {
	k.mu.Lock()
	first := len(k.deadlines) == 0 || atMs < k.deadlines[0].atMs
	heap.Push(&k.deadlines, deadline{atMs, c, opaque})
	k.mu.Unlock()
	if first {
		signal(k.sooner)
	}
}

func (k *keeper) run() {
	clk := k.server.opts.Clock
	expiry := clk.NewTimer(k.tick)
	defer expiry.Stop()
	sweep, pump := time.NewTimer(k.tick), time.NewTimer(time.Hour)
	defer sweep.Stop()
	defer pump.Stop()
	ticks := int32(0) // what pump is set to, 0 when it need not fire
	for {
		select {
		case <-k.stop:
			return
		case <-sweep.C:
			k.sweep()
			sweep.Reset(k.tick)
		case <-expiry.C():
			expiry.Reset(k.expire(clk.NowMs()))
		case <-k.sooner:
			expiry.Reset(k.expire(clk.NowMs()))
		case <-k.pump:
			if ticks != 1 { // else it fires soon, and must not be put off by ever more full sockets
				ticks = 1
				pump.Reset(pumpEvery)
			}
		case <-pump.C:
			if ticks = k.pumpLoops(ticks); ticks > 0 {
				pump.Reset(time.Duration(ticks) * pumpEvery)
			}
		}
	}
}

// pumpLoops lets the loops try their full sockets again, passed ticks after the last time. It returns the ticks to the
// next time, 0 when no socket is full.
func (k *keeper) pumpLoops(passed int32) (next int32) {
	for _, l := range *k.server.loopList.Load() {
		if l.stalledNow.Load() == 0 {
			continue
		}
		l.pumpTicks.Add(passed)
		l.post(mail{run: l.pumpFn})
		if in := max(1, l.pumpIn.Load()); next == 0 || in < next {
			next = in
		}
	}
	return next
}

func (k *keeper) sweep() {
	for _, l := range *k.server.loopList.Load() {
		l.post(mail{run: l.sweep})
	}
}

// expire ends the requests whose time is over and tells how long to wait for the next.
func (k *keeper) expire(nowMs int64) time.Duration {
	for {
		k.mu.Lock()
		if len(k.deadlines) == 0 {
			k.mu.Unlock()
			return k.tick
		}
		d := k.deadlines[0]
		if d.atMs > nowMs {
			k.mu.Unlock()
			return min(k.tick, time.Duration(d.atMs-nowMs)*time.Millisecond)
		}
		heap.Pop(&k.deadlines)
		k.mu.Unlock()
		k.server.guard("the taker of an answer", func() { d.conn.asked.finish(d.opaque, nil, ErrTimeout) })
	}
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].atMs < h[j].atMs }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any) {
	if d, ok := x.(deadline); ok {
		*h = append(*h, d)
	}
}

func (h *deadlineHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = deadline{}
	*h = old[:len(old)-1]
	return d
}

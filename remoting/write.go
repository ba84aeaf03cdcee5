package remoting

import (
	"sync"
)

var outBufs = sync.Pool{New: func() any { return new(outBuf) }}

func getOutBuf() *outBuf {
	o, _ := outBufs.Get().(*outBuf)
	return o
}

func putOutBuf(o *outBuf) { outBufs.Put(o) }

const (
	maxVector  = 512 // segments of one system call, below every system's IOV_MAX
	pumpBytes  = 1 << 20
	maxSkip    = 128 // pumps a connection that takes nothing is left alone at most
	pumpVector = 64
)

// flush writes the answers of the turn: one system call for each connection that has some.
func (l *Loop) flush() {
	for i := 0; i < len(l.dirty); i++ { // closing a connection may add others
		c := l.dirty[i]
		l.dirty[i] = nil
		c.dirty = false
		if out := c.out; out != nil {
			c.out = nil
			l.write(c, out)
			putOutBuf(out)
		}
	}
	l.dirty, l.pending = l.dirty[:0], 0
	if len(l.answered) > 0 {
		l.settle()
	}
}

// write sends out, and queues what the socket does not take.
func (l *Loop) write(c *Conn, out *outBuf) {
	if c.Closed() {
		out.done()
		return
	}
	if !c.waiting.empty() {
		l.wait(c, out, 0)
		return
	}
	iov := out.vector(l.iov[:0])
	sent := 0
	var err error
	for rest := iov; len(rest) > 0; {
		part := rest[:min(len(rest), maxVector)]
		rest = rest[len(part):]
		want := 0
		for _, b := range part {
			want += len(b)
		}
		var n int
		n, err = c.writev(part)
		if sent += n; err != nil || n < want {
			break
		}
	}
	clear(iov)
	l.iov = iov[:0]
	if sent > 0 {
		c.active, c.moved = true, true
		c.outbound.Add(int64(-sent))
		l.bytesOut.Add(int64(sent))
	}
	switch {
	case err != nil:
		out.done()
		c.closing = err.Error()
		l.shut(c)
	case sent == out.size:
		out.done()
	default:
		l.wait(c, out, sent)
	}
}

// wait queues what is left of out behind what waits already.
func (l *Loop) wait(c *Conn, out *outBuf, sent int) {
	before := c.waiting.heap
	c.waiting.take(out, sent)
	l.heap += int64(c.waiting.heap - before)
	if !c.stalled {
		c.stalled, c.pumpSkip, c.pumpNext = true, 1, 0
		l.stalled = append(l.stalled, c)
		l.stalledNow.Store(int32(len(l.stalled)))
		l.server.keeper.wakePump()
	}
	for l.heap > l.server.heapPerLoop {
		if !l.evict() {
			break
		}
	}
	l.heapNow.Store(l.heap)
}

// admits tells whether a connection may get one more answer, and closes it when too much waits for it already.
func (l *Loop) admits(c *Conn) bool {
	if c.closing != "" {
		return false
	}
	if c.waiting.empty() || c.waiting.size <= l.server.opts.OutboundLimit {
		return true
	}
	c.closing = "slow reader: more than OutboundLimit bytes wait for it"
	l.server.logClose(c)
	c.Close(c.closing)
	return false
}

// evict closes the connection that has taken nothing for longest, of those that keep heap memory waiting.
func (l *Loop) evict() bool {
	var worst *Conn
	for _, c := range l.stalled {
		if c.waiting.heap > 0 && !c.Closed() && (worst == nil || stuckLonger(c, worst)) {
			worst = c
		}
	}
	if worst == nil {
		return false
	}
	worst.closing = "slow reader: OutboundBudget is used up and it has taken nothing for longest"
	l.server.logClose(worst)
	l.shut(worst)
	return true
}

func stuckLonger(a, b *Conn) bool {
	if a.stuckTicks != b.stuckTicks {
		return a.stuckTicks > b.stuckTicks
	}
	if a.pumpNext != b.pumpNext {
		return a.pumpNext > b.pumpNext
	}
	return a.waiting.heap > b.waiting.heap
}

// pump offers waiting bytes to the sockets that were full. gnet does not tell when one can be written again.
func (l *Loop) pump() {
	passed := int(l.pumpTicks.Swap(0))
	next := maxSkip
	kept := l.stalled[:0]
	for _, c := range l.stalled {
		if c.pumpSkip -= passed; c.pumpSkip <= 0 && !c.Closed() {
			l.push(c)
		}
		if c.Closed() || c.waiting.empty() {
			c.stalled = false
			continue
		}
		next = min(next, c.pumpSkip)
		kept = append(kept, c)
	}
	clear(l.stalled[len(kept):])
	l.stalled = kept
	l.pumpIn.Store(int32(next))
	l.stalledNow.Store(int32(len(kept)))
	l.heapNow.Store(l.heap)
}

// push writes what waits for one connection, up to pumpBytes, for the others' sake.
func (l *Loop) push(c *Conn) {
	before, heap := c.waiting.size, c.waiting.heap
	for !c.waiting.empty() && before-c.waiting.size < pumpBytes {
		iov := c.waiting.vector(l.iov[:0], pumpVector)
		want := 0
		for _, b := range iov {
			want += len(b)
		}
		n, err := c.writev(iov)
		clear(iov)
		l.iov = iov[:0]
		if err != nil {
			c.closing = err.Error()
			l.shut(c)
			return
		}
		c.waiting.sent(n)
		if n < want {
			break
		}
	}
	l.heap += int64(c.waiting.heap - heap)
	taken := before - c.waiting.size
	if taken == 0 {
		c.pumpNext = min(maxSkip, max(1, 2*c.pumpNext))
		c.pumpSkip = c.pumpNext
		return
	}
	c.pumpNext, c.pumpSkip = 0, 1
	c.active, c.moved = true, true
	c.outbound.Add(int64(-taken))
	l.bytesOut.Add(int64(taken))
}

package remoting

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
)

// Loop is one event loop of a server. Its connections' frames, hooks and OnLoop handlers run on it one after another;
// its exported members are for them alone.
type Loop struct {
	// Data is the owner's state on this loop, set in StartLoop.
	Data any

	server  *Server
	el      gnet.EventLoop
	drainer gnet.Runnable
	pumpFn  func() // pump, made once

	conns   map[*Conn]struct{}
	req     Command // the request in hand
	resp    Command // Response
	pool    bufferPool
	iov     [][]byte
	dirty   []*Conn // connections with answers not yet written
	handled bool    // a handler has run since the last EndTurn
	broken  bool    // EndTurn panicked in this turn
	pending int     // bytes of answers not yet offered to a socket
	stalled []*Conn // connections whose socket was full
	closing []*Conn // scratch of drain
	heap    int64   // bytes that wait for slow readers and are not their owner's memory

	last *Conn // of the last turn
	same int   // turns of last, one after the other

	unfinished int64  // bytes of unfinished frames
	growth     uint64 // times that an unfinished frame grew

	turnMs   int64          // when the turn began; 0 without latencies
	answered []answeredCell // answers of this turn

	framesIn, bytesIn, bytesOut atomic.Int64
	heapNow                     atomic.Int64 // heap as of the last turn
	stalledNow                  atomic.Int32 // len(stalled) as of the last turn
	unfinishedNow               atomic.Int64 // unfinished, for other loops
	relieving                   atomic.Bool  // another loop has asked for relieve
	pumpTicks                   atomic.Int32 // passed since the last pump
	pumpIn                      atomic.Int32 // ticks to the next pump, as of the last one

	mu      sync.Mutex
	mail    []mail // guarded by mu
	spare   []mail // guarded by mu: the slice to use next
	armed   bool   // guarded by mu: drain will run
	stopped bool   // guarded by mu: nothing is taken any more
}

// aloneTurns is how many turns of one connection, one after the other, make it alone on its loop.
const aloneTurns = 16

// turnOf notes whose turn begins.
func (l *Loop) turnOf(c *Conn) {
	if l.last != c {
		l.last, l.same = c, 0
	}
	l.same++
}

// Alone tells whether the connection whose turn it is was the only one on this loop of late: a handler may then do at once what takes about as
// long as handing it over, for one connection that begins to speak meanwhile waits for it once.
func (l *Loop) Alone() bool { return l.same > aloneTurns }

// mail is something that other goroutines want done on a loop.
type mail struct {
	conn  *Conn
	out   *outBuf // frames for conn
	close string  // reason to close conn
	run   func()
}

// splitTurn bounds the bytes of answers that gather before a turn is ended early, so that a deep pipeline of large
// answers is not held in memory at once.
const splitTurn = 1 << 20

// Response is a scratch response for a handler on the loop: it is encoded when the handler returns it and is reused by
// the next one.
func (l *Loop) Response(code int32) *Command {
	ext := l.resp.Ext[:0]
	l.resp = Command{Code: code, Flag: flagResponse, Ext: ext}
	return &l.resp
}

// post hands mail to the loop. It reports false when the loop has stopped.
func (l *Loop) post(m mail) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.mail = append(l.mail, m)
	if l.armed {
		return true
	}
	// Execute is called under the lock: once stopped is set nothing touches the poller, which is about to be closed.
	l.armed = l.el.Execute(context.Background(), l.drainer) == nil
	return true
}

// drainer is the loop as gnet's Runnable.
type drainer struct{ loop *Loop }

// Run drains the mailbox; gnet calls it on the loop.
func (d drainer) Run(context.Context) error {
	d.loop.drain()
	return nil
}

const keepMail = 1024 // mailbox slices up to this capacity are reused

func (l *Loop) drain() {
	l.mu.Lock()
	batch := l.mail
	l.mail, l.spare, l.armed = l.spare[:0], nil, false
	l.mu.Unlock()
	closing := l.closing[:0]
	for i := range batch {
		if batch[i].conn != l.last {
			l.same = 0
		}
		switch m := &batch[i]; {
		case m.run != nil:
			l.server.guard("a task of the loop", m.run)
		case m.out != nil:
			l.deliver(m.conn, m.out)
		case !m.conn.Closed():
			if m.conn.closing == "" {
				m.conn.closing = m.close
			}
			closing = append(closing, m.conn)
		}
		if l.pending > splitTurn {
			l.flush()
		}
	}
	l.flush()
	for _, c := range closing {
		l.shut(c)
	}
	clear(closing)
	l.closing = closing[:0]
	clear(batch)
	if cap(batch) <= keepMail {
		l.mu.Lock()
		l.spare = batch[:0]
		l.mu.Unlock()
	}
}

// deliver takes frames that were encoded elsewhere.
func (l *Loop) deliver(c *Conn, out *outBuf) {
	if c.Closed() || !l.admits(c) {
		c.outbound.Add(int64(-out.size))
		out.done()
		putOutBuf(out)
		return
	}
	l.pending += out.size
	if c.out == nil {
		c.out = out
		l.mark(c)
		return
	}
	c.out.join(out)
	putOutBuf(out)
}

// add encodes an answer on the loop.
func (l *Loop) add(c *Conn, cmd *Command) {
	if c.Closed() || !l.admits(c) || l.server.opts.Watcher != nil && !l.server.outgoing(c, cmd) {
		release(cmd)
		return
	}
	if c.out == nil {
		c.out = getOutBuf()
	}
	size, err := c.out.add(cmd, false, l.server.opts.MaxFrame)
	if err != nil {
		size, _ = c.out.add(l.server.unsendable(cmd, err), false, l.server.opts.MaxFrame) // short and without a header class
	}
	c.outbound.Add(int64(size))
	l.pending += size
	l.mark(c)
}

func (l *Loop) mark(c *Conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// frames cuts and serves the frames of one read. The reason is why the connection must close, "" when it need not.
func (l *Loop) frames(c *Conn, in []byte) (reason string) {
	for c.closing == "" {
		frame, rest, err := c.cutter.next(in)
		if err != nil {
			return err.Error()
		}
		if frame == nil {
			return l.charge(c)
		}
		in = rest
		if reason := l.serve(c, frame); reason != "" {
			return reason
		}
		if l.pending > splitTurn {
			l.endTurn()
			l.flush()
		}
		if l.broken {
			return ""
		}
	}
	return ""
}

// serve handles one frame.
func (l *Loop) serve(c *Conn, frame []byte) (reason string) {
	s, req := l.server, &l.req
	if err := DecodeFrame(frame, req); err != nil {
		return err.Error()
	}
	l.framesIn.Add(1)
	if s.opts.Watcher != nil && !s.incoming(c, req, frame) {
		return ""
	}
	if req.IsResponse() {
		s.answered(c, req, frame)
		return ""
	}
	return l.handle(c, frame)
}

// handle serves the request in hand, whose frame is given.
func (l *Loop) handle(c *Conn, frame []byte) (reason string) {
	s, req := l.server, &l.req
	r := s.routes.find(req.Code)
	if r == nil {
		l.reply(c, nil, Errorf(RequestCodeNotSupported, " request type %d not supported", req.Code))
		return ""
	}
	if l.turnMs != 0 {
		req.timing = timing{r.slot, l.turnMs}
	}
	if s.draining.Load() && req.Version > V531 {
		l.reply(c, nil, Errorf(GoAway, "please go away"))
		return ""
	}
	if s.opts.Intercept != nil {
		if resp, err, handled := s.intercept(c, req); handled {
			l.reply(c, resp, err)
			return ""
		}
	}
	if n := int(c.inFlight.Load()); n >= s.opts.MaxInFlight && (r.Lane != OnLoop || !req.IsOneway()) {
		l.reply(c, nil, Errorf(SystemBusy, "%s: %d requests of this connection are in flight, limit MaxInFlight %d",
			overload, n, s.opts.MaxInFlight))
		return ""
	}
	if r.Lane != OnLoop {
		if err := s.lanes[r.Lane-1].offer(c, frame, req, r.Handle); err != nil {
			l.reply(c, nil, err)
		}
		return ""
	}
	l.handled = true
	resp, err := s.call(r.Handle, c, req)
	l.reply(c, resp, err)
	return ""
}

// reply gives the result of the request in hand.
func (l *Loop) reply(c *Conn, resp *Command, err error) {
	if resp = outcome(resp, err); resp == nil {
		return
	}
	req := &l.req
	if req.replied {
		c.inFlight.Add(-1)
	}
	if req.IsOneway() {
		l.took(req.timing, resp.Code, false, NotWanted)
		release(resp)
		return
	}
	Replier{opaque: req.Opaque, form: req.Serialize}.address(resp)
	l.took(req.timing, resp.Code, false, Answered)
	l.add(c, resp)
}

// outcome is what a handler's result says to the client, nil for nothing.
func outcome(resp *Command, err error) *Command {
	if err == nil {
		return resp
	}
	if resp != nil {
		release(resp)
	}
	return errorResponse(err)
}

// endTurn lets the owner finish what the turn's handlers began.
func (l *Loop) endTurn() {
	if !l.handled {
		return
	}
	l.handled = false
	if l.server.opts.EndTurn != nil {
		l.server.endTurn(l)
	}
}

// shut closes a connection of this loop.
func (l *Loop) shut(c *Conn) {
	if c.entered && !c.Closed() {
		_ = l.el.Close(c.gc) // closing the socket can only fail in ways that leave it closed
	}
}

// sweep closes connections that are idle or do not take what waits for them, and frees spare memory.
func (l *Loop) sweep() {
	limit := l.server.idleTicks
	for c := range l.conns {
		if c.active {
			c.active, c.idleTicks = false, 0
		} else if c.idleTicks++; c.idleTicks > limit {
			c.closing = "idle"
		}
		if c.moved || c.waiting.empty() {
			c.moved, c.stuckTicks = false, 0
		} else if c.stuckTicks++; c.stuckTicks > limit {
			c.closing = "takes no answers"
		}
		if c.closing != "" {
			l.server.logClose(c)
			l.shut(c)
		}
	}
	l.pool.trim()
}

package remoting

import (
	"fmt"

	"github.com/panjf2000/gnet/v2"
	"github.com/sirupsen/logrus"
)

// events takes gnet's callbacks, all but OnBoot and OnShutdown on the loop of their connection.
type events struct {
	gnet.BuiltinEventEngine

	server *Server
}

// loopOf is our side of a gnet loop, made when its first connection comes.
func (s *Server) loopOf(el gnet.EventLoop) *Loop {
	s.mu.Lock()
	l, ok := s.loops[el]
	if !ok {
		l = &Loop{server: s, el: el, conns: make(map[*Conn]struct{})}
		l.drainer, l.pumpFn = drainer{l}, l.pump
		s.loops[el] = l
		all := append(append([]*Loop(nil), *s.loopList.Load()...), l)
		s.loopList.Store(&all)
	}
	s.mu.Unlock()
	if !ok && s.opts.StartLoop != nil {
		s.guard("the start of a loop", func() { s.opts.StartLoop(l) })
	}
	return l
}

// OnOpen takes a connection into its loop.
func (e *events) OnOpen(gc gnet.Conn) ([]byte, gnet.Action) {
	c, ok := gc.Context().(*Conn)
	if !ok {
		return nil, gnet.Close
	}
	c.gc, c.fd, c.entered = gc, gc.Fd(), true
	c.loop = e.server.loopOf(gc.EventLoop())
	c.cutter.pool = &c.loop.pool
	c.loop.conns[c] = struct{}{}
	c.active = true
	c.loopRan.Store(true)
	return nil, gnet.None
}

// OnTraffic is one turn: everything that one read brought is served, the owner ends the turn, and the answers go out.
func (e *events) OnTraffic(gc gnet.Conn) gnet.Action {
	c, ok := gc.Context().(*Conn)
	if !ok {
		return gnet.Close
	}
	in, err := gc.Next(-1)
	if err != nil || c.Closed() {
		return gnet.Close
	}
	l := c.loop
	c.active = true
	l.turnOf(c)
	if e.server.latencies != nil {
		l.turnMs = e.server.opts.Clock.NowMs()
	}
	l.bytesIn.Add(int64(len(in)))
	if in = l.begin(c, in); c.open && c.closing == "" {
		c.closing = l.frames(c, in)
	}
	l.endTurn()
	l.flush()
	c.cutter.recycle()
	if l.broken {
		l.broken = false
		c.closing = "the end of its turn panicked"
	}
	if c.closing == "" {
		return gnet.None
	}
	e.server.logClose(c)
	return gnet.Close
}

// OnClose takes a connection out of its loop.
func (e *events) OnClose(gc gnet.Conn, err error) gnet.Action {
	c, ok := gc.Context().(*Conn)
	if !ok || !c.entered || c.closed.Swap(true) {
		return gnet.None
	}
	s, l := e.server, c.loop
	delete(l.conns, c)
	if l.last == c {
		l.last = nil
	}
	if c.out != nil {
		c.out.done()
		putOutBuf(c.out)
		c.out = nil
	}
	l.heap -= int64(c.waiting.heap)
	l.heapNow.Store(l.heap)
	c.waiting.drop()
	c.outbound.Store(0)
	c.cutter.drop()
	l.count(c, 0)
	c.early = nil
	s.guard("the taker of an answer", func() { c.asked.fail(ErrClosed) })
	if c.open && s.opts.OnClose != nil {
		s.guard("the close hook", func() { s.opts.OnClose(c) })
	}
	if s.opts.Watcher != nil {
		s.guard("the watcher's close hook", func() { s.opts.Watcher.Closed(c) })
	}
	s.conns.Add(-1)
	if c.closing == "" {
		s.log.WithFields(logrus.Fields{"conn": c.id, "client": c.remote}).WithError(err).Debug("connection closed by the client")
	}
	return gnet.None
}

// begin finds out what a new connection speaks. It returns the bytes of frames; c.open is set once there are some.
func (l *Loop) begin(c *Conn, in []byte) []byte {
	if c.open {
		return in
	}
	if c.early != nil {
		in = append(c.early, in...)
		c.early = nil
	}
	s := l.server
	for {
		switch o := classify(in, s.opts.MaxFrame); o {
		case openUnclear:
			c.early = append([]byte(nil), in...)
			return nil
		case openProxy:
			source, size, err := parseProxy(in)
			switch {
			case c.proxied:
				err = fmt.Errorf("two PROXY headers")
				fallthrough
			case err != nil:
				c.closing = frameErrorf("%w", err).Error()
				return nil
			case size == 0:
				c.early = append([]byte(nil), in...)
				return nil
			}
			c.proxied = true
			if source.IsValid() {
				c.remote = source
			}
			in = in[size:]
			if len(in) == 0 {
				return nil
			}
		case openFrames:
			c.open = true
			if s.opts.OnOpen != nil {
				s.guard("the open hook", func() { s.opts.OnOpen(c) })
			}
			return in
		case openHTTP, openHTTP2, openTLS:
			if o == openHTTP {
				out := getOutBuf()
				out.buf = append(out.buf, httpAnswer(s.opts.Name)...)
				out.size = len(out.buf)
				c.outbound.Add(int64(out.size))
				c.out = out
				l.mark(c)
			}
			c.closing, c.foreign = o.refusal(), true
			return nil
		}
	}
}

// logClose says why the server closes a connection.
func (s *Server) logClose(c *Conn) {
	t := &s.logBad
	switch {
	case c.foreign:
		t = &s.logForeign
	case !c.waiting.empty():
		t = &s.logSlow
	}
	if log, ok := t.allow(s.opts.Clock.NowMs(), s.log); ok {
		log.WithFields(logrus.Fields{"conn": c.id, "client": c.remote, "reason": c.closing}).Warn("connection closed")
	}
}

package remoting

import "fmt"

// Watcher sees every frame that passes a server, for test harnesses: it may keep requests and answers back, change answers, and put
// either on the way later by Conn.Deliver and Conn.SendFrame. A server without one does nothing of it.
type Watcher interface {
	// Incoming sees a frame that came, before anything else of the server does: on the connection's loop, where it must not block.
	// cmd and frame die when it returns. When it is false, a request is neither handled nor answered, an answer is not taken.
	Incoming(c *Conn, cmd *Command, frame []byte) bool
	// Outgoing sees an answer, or a request of the server, before it is encoded, on any goroutine; it must not block. It may change
	// cmd, which dies when it returns. When it is false, cmd is not sent.
	Outgoing(c *Conn, cmd *Command) bool
	// Closed is told of a connection that has closed and of which Incoming has seen a frame or may have: on its loop, once.
	Closed(c *Conn)
}

// Deliver serves a request as if its frame came now, without the Watcher. frame must be whole and not change until the request is answered.
// It returns at once; nothing happens when the connection has closed.
func (c *Conn) Deliver(frame []byte) {
	c.loop.post(mail{run: func() { c.loop.deliverFrame(c, frame) }})
}

func (l *Loop) deliverFrame(c *Conn, frame []byte) {
	if c.Closed() {
		return
	}
	reason := "a delivered frame is broken"
	if err := DecodeFrame(frame, &l.req); err == nil {
		reason = l.handle(c, frame)
	}
	l.endTurn()
	l.flush()
	if l.broken {
		l.broken = false
		reason = "the end of its turn panicked"
	}
	if reason != "" {
		c.closing = reason
		l.shut(c)
	}
}

// SendFrame sends bytes as they are, without the Watcher, from any goroutine: a frame encoded before, or a part of one. They must not
// change any more. The error is ErrClosed when the connection has closed.
func (c *Conn) SendFrame(b []byte) error {
	if c.Closed() {
		return ErrClosed
	}
	out := getOutBuf()
	out.buf = append(out.buf, b...)
	out.size = len(b)
	c.outbound.Add(int64(out.size))
	if !c.loop.post(mail{conn: c, out: out}) {
		c.outbound.Add(int64(-out.size))
		out.done()
		putOutBuf(out)
		return ErrClosed
	}
	return nil
}

// incoming asks the watcher; a panic in it lets the frame pass.
func (s *Server) incoming(c *Conn, cmd *Command, frame []byte) (proceed bool) {
	proceed = true
	s.guard(fmt.Sprintf("the watcher of request code %d", cmd.Code), func() { proceed = s.opts.Watcher.Incoming(c, cmd, frame) })
	return proceed
}

// outgoing asks the watcher; a panic in it lets the command pass.
func (s *Server) outgoing(c *Conn, cmd *Command) (proceed bool) {
	proceed = true
	s.guard("the watcher of what is sent", func() { proceed = s.opts.Watcher.Outgoing(c, cmd) })
	return proceed
}

package remoting

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// Conn is one connection of a server. Its methods may be called from any goroutine.
type Conn struct {
	id     uint64
	server *Server
	remote netip.AddrPort // fixed before OnOpen
	loop   *Loop          // set when the connection enters its loop

	closed     atomic.Bool
	inFlight   atomic.Int32 // requests in lanes and behind Repliers
	outbound   atomic.Int64 // bytes of answers and requests not yet taken by the socket
	attachment atomic.Pointer[any]
	asked      askedRequests // server-initiated requests without an answer

	loopRan atomic.Bool // the connection has reached its loop

	// The rest belongs to the loop.
	gc      gnet.Conn
	fd      int
	entered bool // the connection has reached its loop
	open    bool // its first bytes are of this protocol and OnOpen has run
	active  bool // a byte went in or out since the last sweep
	dirty   bool // stands in Loop.dirty
	stalled bool // stands in Loop.stalled
	proxied bool // a PROXY header was read
	foreign bool // it speaks another protocol

	idleTicks  int  // sweeps without a byte in or out
	stuckTicks int  // sweeps in which bytes waited and none was taken
	moved      bool // the socket took a byte since the last sweep
	pumpSkip   int  // pumps to leave out before the next try
	pumpNext   int  // pumps left out last

	early   []byte // bytes before the protocol is known
	cutter  frameCutter
	charged int64   // bytes of cutter's part that Loop.unfinished and Server.unfinished count
	grown   uint64  // when cutter's part last grew, on Loop.growth
	out     *outBuf // answers of this turn
	waiting outQueue
	closing string // why the connection closes when its answers are out
}

// ID is unique among the connections of a server.
func (c *Conn) ID() uint64 { return c.id }

// RemoteAddr is the client's address: that of a PROXY header when there was one, else the socket's. An IPv4 address
// is never in its IPv6 form.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Loop is the connection's event loop.
func (c *Conn) Loop() *Loop { return c.loop }

// Closed tells whether the connection has closed.
func (c *Conn) Closed() bool { return c.closed.Load() }

// Attachment is what SetAttachment was given last, nil before.
func (c *Conn) Attachment() any {
	if p := c.attachment.Load(); p != nil {
		return *p
	}
	return nil
}

// SetAttachment keeps the owner's state of this connection.
func (c *Conn) SetAttachment(a any) { c.attachment.Store(&a) }

// OutboundBuffered is the number of bytes that were given for this connection and not yet taken by the socket. Look at it
// before producing a large answer: over ServerOptions.OutboundLimit the connection is closed.
func (c *Conn) OutboundBuffered() int { return int(c.outbound.Load()) }

// InFlight is the number of the connection's requests that are in a lane or will be answered through a Replier.
func (c *Conn) InFlight() int { return int(c.inFlight.Load()) }

// Close closes the connection after the answers given before it, as far as the socket takes them at once. It
// returns before that; OnClose tells when.
func (c *Conn) Close(reason string) {
	if !c.Closed() {
		c.loop.post(mail{conn: c, close: reason})
	}
}

// Replier answers req later. It must be taken while req lives, at most once, and then be used once: until then the
// request counts as in flight.
func (c *Conn) Replier(req *Command) Replier {
	if !req.replied {
		req.replied = true
		c.inFlight.Add(1)
	}
	return Replier{conn: c, opaque: req.Opaque, form: req.Serialize, oneway: req.IsOneway(), timing: req.timing}
}

// Replier answers one request, once. The zero Replier must not be used.
type Replier struct {
	conn   *Conn
	opaque int32
	form   SerializeType
	oneway bool
	held   bool
	timing timing
}

// Hold says that the request waits for a message, for the latencies.
func (r *Replier) Hold() { r.held = true }

// Conn is the connection the request came on.
func (r Replier) Conn() *Conn { return r.conn }

// Reply answers from any goroutine. resp is encoded before it returns; its body is sent later from where it lies
// (see Command.Release). A one-way request gets nothing. The error is ErrClosed when the connection has closed.
func (r Replier) Reply(resp *Command) error {
	c := r.conn
	c.inFlight.Add(-1)
	code := resp.Code
	if r.oneway {
		c.server.took(r.timing, code, r.held, NotWanted)
		release(resp)
		return nil
	}
	r.address(resp)
	err := c.send(resp)
	c.server.took(r.timing, code, r.held, sendResult(err))
	return err
}

// ReplyInTurn answers on the connection's loop, within a handler or EndTurn: the answer leaves with the turn's single
// write. resp may be reused after the call.
func (r Replier) ReplyInTurn(resp *Command) {
	r.conn.inFlight.Add(-1)
	if r.oneway {
		r.conn.loop.took(r.timing, resp.Code, r.held, NotWanted)
		release(resp)
		return
	}
	r.address(resp)
	r.conn.loop.took(r.timing, resp.Code, r.held, Answered)
	r.conn.loop.add(r.conn, resp)
}

// address makes resp the answer to the request.
func (r Replier) address(resp *Command) {
	resp.Opaque, resp.Serialize = r.opaque, r.form
	resp.Flag = flagResponse
	resp.Language, resp.Version = Java, CurrentVersion
}

// answer gives a handler's result from any goroutine.
func (c *Conn) answer(req, resp *Command, err error) {
	if resp = outcome(resp, err); resp == nil {
		return
	}
	if req.replied {
		c.inFlight.Add(-1)
	}
	code := resp.Code
	if req.IsOneway() {
		c.server.took(req.timing, code, false, NotWanted)
		release(resp)
		return
	}
	Replier{opaque: req.Opaque, form: req.Serialize}.address(resp)
	err = c.send(resp) // a closed connection needs no answer
	c.server.took(req.timing, code, false, sendResult(err))
}

func sendResult(err error) AnswerResult {
	if err != nil {
		return ClientGone
	}
	return Answered
}

// send encodes cmd and hands it to the loop.
func (c *Conn) send(cmd *Command) error {
	if c.Closed() {
		release(cmd)
		return ErrClosed
	}
	if c.server.opts.Watcher != nil && !c.server.outgoing(c, cmd) {
		release(cmd)
		return nil
	}
	out := getOutBuf()
	if _, err := out.add(cmd, true, c.server.opts.MaxFrame); err != nil {
		if !cmd.IsResponse() {
			putOutBuf(out)
			return fmt.Errorf("remoting: request %d: %w", cmd.Code, err)
		}
		if _, err := out.add(c.server.unsendable(cmd, err), true, c.server.opts.MaxFrame); err != nil {
			putOutBuf(out)
			return err
		}
	}
	c.outbound.Add(int64(out.size))
	if !c.loop.post(mail{conn: c, out: out}) {
		c.outbound.Add(int64(-out.size))
		out.done()
		putOutBuf(out)
		return ErrClosed
	}
	return nil
}

// unsendable is what goes out in place of an answer that could not be encoded or that no client could read.
func (s *Server) unsendable(resp *Command, why error) *Command {
	if log, ok := s.logPanic.allow(s.opts.Clock.NowMs(), s.log); ok {
		log.WithError(why).Error("an answer cannot be sent")
	}
	e := NewResponse(SystemError)
	e.Opaque, e.Serialize = resp.Opaque, resp.Serialize
	e.Remark = "the answer cannot be sent: " + why.Error()
	return e
}

// Oneway sends a request that gets no answer. The error is ErrClosed when the connection has closed.
func (c *Conn) Oneway(cmd *Command) error {
	cmd.Opaque = c.asked.opaque()
	cmd.Flag = flagOneway
	cmd.Language, cmd.Version = Java, CurrentVersion
	return c.send(cmd)
}

// Request sends a request to the client and calls done exactly once: with the answer, which done owns; or with
// ErrTimeout after timeout of the server's clock; or with ErrClosed when the connection closes. done runs on the
// connection's loop, on the server's timer goroutine, or, when nothing can be sent, before Request returns; it must
// not block.
func (c *Conn) Request(cmd *Command, timeout time.Duration, done func(*Command, error)) {
	if err := c.asked.add(c, cmd, done); err != nil {
		release(cmd)
		done(nil, err)
		return
	}
	opaque := cmd.Opaque
	c.server.keeper.expireAt(c.server.opts.Clock.NowMs()+timeout.Milliseconds(), c, opaque)
	if err := c.send(cmd); err != nil {
		c.asked.finish(opaque, nil, err)
	}
}

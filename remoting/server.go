package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/sirupsen/logrus"
)

// ErrClosed is returned for what was asked of a closed connection, server or client.
var ErrClosed = errors.New("remoting: closed")

// ErrPortTaken is why a server cannot listen when another process listens already.
var ErrPortTaken = errors.New("the port is taken by another process")

// ErrTimeout is a request's outcome when no answer came in time.
var ErrTimeout = errors.New("remoting: no answer in time")

// Server serves the remoting protocol on one or more addresses.
type Server struct {
	opts        ServerOptions
	log         *logrus.Entry
	routes      routeTable
	latencies   *latencies // nil when they are not counted
	lanes       []*lane
	keeper      *keeper
	idleTicks   int   // sweeps without traffic that make a connection idle
	heapPerLoop int64 // share of OutboundBudget

	engine    *gnet.Client
	listeners []net.Listener
	addr      netip.AddrPort
	stop      chan struct{} // closed by StopAccepting
	accepting sync.WaitGroup
	workers   sync.WaitGroup

	mu    sync.Mutex
	state serverState              // guarded by mu
	loops map[gnet.EventLoop]*Loop // guarded by mu

	loopList atomic.Pointer[[]*Loop] // the values of loops, for readers that take no lock
	draining atomic.Bool             // new clients are sent away
	refusing atomic.Bool             // lanes take nothing more
	conns    atomic.Int64
	nextConn atomic.Uint64
	accepted atomic.Int64
	refused  atomic.Int64
	inbound  atomic.Int64 // bytes of copied requests
	// unfinished are the bytes of unfinished frames.
	unfinished atomic.Int64
	laneWork   atomic.Int64 // requests in lanes
	laneIdle   chan struct{}

	logRefused, logAccept, logBad, logForeign, logSlow, logPanic throttle
}

type serverState uint8

const (
	stateNew serverState = iota
	stateStarted
	stateClosed
)

// NewServer checks the options. It opens nothing.
func NewServer(opts ServerOptions) (*Server, error) {
	if len(opts.Addrs) == 0 {
		return nil, fmt.Errorf("remoting: %s has no address to listen on", opts.Name)
	}
	if opts.Clock == nil || opts.Log == nil {
		return nil, fmt.Errorf("remoting: %s has no clock or no log", opts.Name)
	}
	setDefault(&opts.Loops, min(runtime.NumCPU(), maxDefaultLoops))
	setDefault(&opts.MaxFrame, defaultMaxFrame)
	setDefault(&opts.MaxConns, defaultMaxConns)
	setDefault(&opts.MaxInFlight, defaultMaxInFlight)
	setDefault(&opts.InboundLimit, defaultInboundLimit)
	setDefault(&opts.OutboundLimit, defaultOutboundLimit)
	setDefault(&opts.OutboundBudget, defaultOutboundBudget)
	setDefault(&opts.IdleTimeout, defaultIdleTimeout)
	if opts.Loops < 0 || opts.MaxFrame < prefixSize || opts.MaxFrame > 1<<30 || opts.MaxConns < 0 || opts.MaxInFlight < 0 ||
		opts.InboundLimit < 0 || opts.OutboundLimit < 0 || opts.OutboundBudget < 0 || opts.IdleTimeout < 0 {
		return nil, fmt.Errorf("remoting: %s has a bound out of range: %+v", opts.Name, bounds(&opts))
	}
	s := &Server{
		opts:        opts,
		log:         opts.Log,
		stop:        make(chan struct{}),
		laneIdle:    make(chan struct{}, 1),
		loops:       make(map[gnet.EventLoop]*Loop),
		heapPerLoop: max(1, opts.OutboundBudget/int64(opts.Loops)),
	}
	s.loopList.Store(new([]*Loop))
	s.keeper = newKeeper(s)
	s.idleTicks = int(opts.IdleTimeout / s.keeper.tick)
	for i, lo := range opts.Lanes {
		if err := lo.check(i); err != nil {
			return nil, err
		}
		s.lanes = append(s.lanes, &lane{opts: lo, server: s, queue: make(chan *laneTask, lo.Queue)})
	}
	if err := s.routes.fill(opts.Routes, len(opts.Lanes)); err != nil {
		return nil, err
	}
	if opts.Latencies {
		s.latencies = newLatencies(opts.Routes)
	}
	return s, nil
}

func setDefault[T int | int64 | time.Duration](p *T, def T) {
	if *p == 0 {
		*p = def
	}
}

func bounds(o *ServerOptions) map[string]int64 {
	return map[string]int64{
		"Loops": int64(o.Loops), "MaxFrame": int64(o.MaxFrame), "MaxConns": int64(o.MaxConns), "MaxInFlight": int64(o.MaxInFlight),
		"InboundLimit": o.InboundLimit, "OutboundLimit": int64(o.OutboundLimit), "OutboundBudget": o.OutboundBudget,
		"IdleTimeout": int64(o.IdleTimeout),
	}
}

// Start listens: clients can connect when it returns without error. After an error nothing is left open. A server
// starts once.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateNew {
		return fmt.Errorf("remoting: %s was started before", s.opts.Name)
	}
	if err := s.listen(); err != nil {
		return err
	}
	engine, err := gnet.NewClient(&events{server: s}, gnet.WithNumEventLoop(s.opts.Loops), gnet.WithLogger(gnetLogger{s.log}),
		gnet.WithReadBufferCap(readBuffer), gnet.WithTCPNoDelay(gnet.TCPNoDelay))
	if err == nil {
		err = engine.Start()
	}
	if err != nil {
		s.closeListeners()
		return fmt.Errorf("remoting: start event loops of %s: %w", s.opts.Name, err)
	}
	s.engine = engine
	s.keeper.start()
	for _, l := range s.lanes {
		for range l.opts.Workers {
			s.workers.Go(l.work)
		}
	}
	for _, ln := range s.listeners {
		s.accepting.Go(func() { s.accept(ln) })
	}
	s.state = stateStarted
	return nil
}

// readBuffer is what one read of a connection takes at most, and so a turn's input. Each event loop has one.
const readBuffer = 256 << 10

// Addr is the bound address of the first of Addrs. It is valid after Start.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// StopAccepting closes the listeners and begins to drain: clients newer than V5_3_1 are answered GO_AWAY, which makes
// them connect elsewhere, all others are served as before (NettyRemotingServer.shutdown). It may be called again.
func (s *Server) StopAccepting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Swap(true) {
		return
	}
	close(s.stop)
	s.closeListeners()
}

// Close stops accepting, lets the lanes finish what they have, writes the answers, closes all connections and waits for
// the server's goroutines. Requests for lanes that come meanwhile are answered SERVICE_NOT_AVAILABLE. When ctx ends
// first, the rest is done without waiting for the lanes, and the error says so; handlers still running then end on
// their own. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.StopAccepting()
	s.mu.Lock()
	started := s.state == stateStarted
	s.state = stateClosed
	s.mu.Unlock()
	if !started {
		return nil
	}
	s.accepting.Wait()
	s.refusing.Store(true)
	err := s.awaitLanes(ctx)
	s.flushLoops(ctx)
	s.stopLoops()
	for _, l := range s.lanes {
		close(l.queue) // nothing is offered any more: the loops have ended
	}
	if err == nil {
		s.workers.Wait()
	}
	s.keeper.close()
	return err
}

// awaitLanes waits until no request is in a lane.
func (s *Server) awaitLanes(ctx context.Context) error {
	for s.laneWork.Load() > 0 {
		select {
		case <-s.laneIdle:
		case <-ctx.Done():
			return fmt.Errorf("remoting: close %s: %d requests still in lanes: %w", s.opts.Name, s.laneWork.Load(), ctx.Err())
		}
	}
	return nil
}

// flushLoops waits until every loop has written the answers given so far.
func (s *Server) flushLoops(ctx context.Context) {
	for _, l := range *s.loopList.Load() {
		done := make(chan struct{})
		if l.post(mail{run: func() { l.flush(); close(done) }}) {
			select {
			case <-done:
			case <-ctx.Done():
			}
		}
	}
}

// stopLoops ends the event loops, which close their connections.
func (s *Server) stopLoops() {
	loops := *s.loopList.Load()
	for _, l := range loops {
		l.mu.Lock()
		l.stopped = true // from here on nobody touches the poller
		l.mu.Unlock()
	}
	if err := s.engine.Stop(); err != nil {
		s.log.WithError(err).Warn("event loops ended with an error")
	}
	for _, l := range loops {
		for _, m := range l.mail { // safe: stopped keeps others away
			if m.out != nil {
				m.conn.outbound.Add(int64(-m.out.size))
				m.out.done()
			}
		}
	}
}

// Stats is a picture of now. Safe from any goroutine.
func (s *Server) Stats() ServerStats {
	st := ServerStats{
		Connections: int(s.conns.Load()), Accepted: s.accepted.Load(), Refused: s.refused.Load(), InboundBytes: s.inbound.Load() + s.unfinished.Load(),
	}
	for _, l := range *s.loopList.Load() {
		st.FramesIn += l.framesIn.Load()
		st.BytesIn += l.bytesIn.Load()
		st.BytesOut += l.bytesOut.Load()
		st.OutboundBytes += l.heapNow.Load()
	}
	for _, l := range s.lanes {
		st.Lanes = append(st.Lanes, l.stats())
	}
	return st
}

// call runs a handler; a panic is its error.
func (s *Server) call(h Handler, c *Conn, req *Command) (resp *Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, s.panicked(fmt.Sprintf("the handler of request code %d", req.Code), p)
		}
	}()
	return h(c, req)
}

func (s *Server) intercept(c *Conn, req *Command) (resp *Command, err error, handled bool) {
	defer func() {
		if p := recover(); p != nil {
			resp, err, handled = nil, s.panicked(fmt.Sprintf("the check of request code %d", req.Code), p), true
		}
	}()
	return s.opts.Intercept(c, req)
}

// endTurn runs the owner's hook. After a panic in it nobody knows which of the turn's requests were done, so their
// connections are closed rather than left waiting.
func (s *Server) endTurn(l *Loop) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.panicked("the end of a turn", p) // logged; there is no request to answer
			l.broken = true
		}
	}()
	s.opts.EndTurn(l)
}

// guard runs a hook; a panic is logged.
func (s *Server) guard(what string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.panicked(what, p) // logged; there is no request to answer
		}
	}()
	fn()
}

func (s *Server) panicked(what string, p any) error {
	if log, ok := s.logPanic.allow(s.opts.Clock.NowMs(), s.log); ok {
		log.WithFields(logrus.Fields{"panic": p, "stack": string(debug.Stack())}).Error(what + " panicked")
	}
	return fmt.Errorf("%s panicked: %v", what, p)
}

// errorResponse is the answer that tells the client of an error.
func errorResponse(err error) *Command {
	resp := NewResponse(SystemError)
	resp.Remark = err.Error()
	var e *Error
	if errors.As(err, &e) {
		resp.Code, resp.Remark = e.Code, e.Remark
	}
	return resp
}

// answered gives an answer to the request of ours that waits for it.
func (s *Server) answered(c *Conn, decoded *Command, frame []byte) {
	opaque := decoded.Opaque
	t, err := copyRequest(frame, decoded)
	if err != nil {
		return // it was decoded just before
	}
	s.guard("the taker of an answer", func() {
		if !c.asked.finish(opaque, &t.req, nil) {
			s.log.WithFields(logrus.Fields{"conn": c.remote, "opaque": opaque}).Debug("answer to no request of ours")
		}
	})
}

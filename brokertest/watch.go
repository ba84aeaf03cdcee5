package brokertest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

// ownField marks the requests that this package sends itself: they are not in the journal and no rule sees them.
const ownField = "brokertest"

// watch stands at the connections of one server. It implements remoting.Watcher.
type watch struct {
	owner  *Broker
	server Server
	// dead: the server has been killed, nothing passes.
	dead atomic.Bool

	mu    sync.Mutex
	conns map[*remoting.Conn]*connWatch // guarded by mu
}

// connWatch is what is known of one connection. Guarded by watch.mu.
type connWatch struct {
	clientID string
	waiting  map[int32]*waiting // requests of the client without an answer, by opaque
	asked    map[int32]*waiting // requests of the server without an answer
}

// waiting is a request that is not answered yet.
type waiting struct {
	exchange *Exchange
	decision Decision // about its answer
}

func newWatch(b *Broker, s Server) *watch {
	return &watch{owner: b, server: s, conns: map[*remoting.Conn]*connWatch{}}
}

func (w *watch) die()    { w.dead.Store(true) }
func (w *watch) revive() { w.dead.Store(false) }

// idle tells that nobody wants to know of frames.
func (w *watch) idle() bool {
	b := w.owner
	return b.journal.limit == 0 && b.rules.list.Load() == nil && b.emulation == nil
}

// Incoming sees a frame that came.
func (w *watch) Incoming(c *remoting.Conn, cmd *remoting.Command, frame []byte) bool {
	if w.dead.Load() {
		return false
	}
	if w.idle() {
		return true
	}
	if cmd.IsResponse() {
		w.clientAnswered(c, cmd)
		return true
	}
	if _, own := cmd.ExtValue(ownField); own {
		return true
	}
	b := w.owner
	req := describe(w.server, c, cmd, w.clientOf(c))
	decision := b.rules.decide(req)
	if decision.passes() {
		decision = b.emulation.refuses(w.server, cmd.Code)
	}
	e := b.journal.begin(req, decision.String(), b.clk.Now())
	w.note(c, req, e, decision)
	return w.carryOut(c, cmd, frame, decision)
}

// clientOf is the client id that the connection's client has told.
func (w *watch) clientOf(c *remoting.Conn) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state := w.conns[c]; state != nil {
		return state.clientID
	}
	return ""
}

// note remembers the request until it is answered, and who sent it.
func (w *watch) note(c *remoting.Conn, req *Request, e *Exchange, d Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Closed() {
		return
	}
	state := w.conns[c]
	if state == nil {
		state = &connWatch{waiting: map[int32]*waiting{}}
		w.conns[c] = state
	}
	if req.ClientID != "" {
		state.clientID = req.ClientID
	}
	if answered := d.before == handle || d.before == answerInstead; answered && !req.Oneway {
		state.waiting[req.Opaque] = &waiting{exchange: e, decision: d}
	}
}

// carryOut does what was decided about a request. It tells whether the request goes on now.
func (w *watch) carryOut(c *remoting.Conn, cmd *remoting.Command, frame []byte, d Decision) bool {
	var act func()
	switch d.before {
	case handle:
		own := w.owner.emulation.rewrite(cmd)
		switch {
		case own == nil && d.delay == 0:
			return true
		case own == nil:
			own = append(own, frame...)
		}
		act = func() { c.Deliver(own) }
	case answerInstead:
		replier, answer := c.Replier(cmd), *d.answer
		act = func() { _ = replier.Reply(&answer) } // a closed connection needs no answer
	case drop:
		return false
	case closeConn:
		act = func() { c.Close("a rule of the test") }
	case closeMidFrame:
		half := halfAnswer(cmd)
		act = func() {
			_ = c.SendFrame(half) // a closed connection needs no answer
			c.Close("a rule of the test")
		}
	}
	if d.delay > 0 {
		w.owner.after(d.delay, act)
	} else {
		act()
	}
	return false
}

// halfAnswer is the first half of a frame that would answer cmd.
func halfAnswer(cmd *remoting.Command) []byte {
	answer := remoting.NewResponse(remoting.SystemError)
	answer.Opaque, answer.Serialize, answer.Remark = cmd.Opaque, cmd.Serialize, "cut"
	frame := remoting.AppendFrame(nil, answer)
	return frame[:len(frame)/2]
}

// Outgoing sees an answer or a request of the server.
func (w *watch) Outgoing(c *remoting.Conn, cmd *remoting.Command) bool {
	if w.dead.Load() {
		return false
	}
	if w.idle() {
		return true
	}
	if !cmd.IsResponse() {
		return w.serverAsks(c, cmd)
	}
	w.mu.Lock()
	var open *waiting
	if state := w.conns[c]; state != nil {
		open = state.waiting[cmd.Opaque]
		delete(state.waiting, cmd.Opaque)
	}
	w.mu.Unlock()
	if open == nil {
		return true
	}
	w.owner.emulation.dress(open.exchange.Code, cmd)
	passes := w.answerBy(c, cmd, open.decision)
	w.owner.journal.answered(open.exchange, cmd, w.owner.clk.Now())
	return passes
}

// answerBy does what was decided about an answer. It tells whether the answer goes out now.
func (w *watch) answerBy(c *remoting.Conn, cmd *remoting.Command, d Decision) bool {
	switch d.after {
	case send:
		return true
	case dropAnswer:
		return false
	case delayAnswer:
		w.sendLater(c, cmd, d.lag)
		return false
	case cutAnswer:
		frame := remoting.AppendFrame(nil, cmd)
		_ = c.SendFrame(frame[:min(d.cut, len(frame)-1)]) // a closed connection needs no answer
		c.Close("a rule of the test")
		return false
	case editAnswer:
		d.edit(cmd)
		return true
	case failAnswer:
		failed := remoting.NewResponse(d.failCode)
		failed.Opaque, failed.Serialize, failed.Version, failed.Remark = cmd.Opaque, cmd.Serialize, cmd.Version, d.failRemark
		_ = c.SendFrame(remoting.AppendFrame(nil, failed)) // a closed connection needs no answer
		return false
	}
	return true
}

// sendLater sends a copy of what cmd is now.
func (w *watch) sendLater(c *remoting.Conn, cmd *remoting.Command, d time.Duration) {
	frame := remoting.AppendFrame(nil, cmd)
	w.owner.after(d, func() { _ = c.SendFrame(frame) }) // a closed connection needs nothing
}

// serverAsks sees a request that the server sends to a client.
func (w *watch) serverAsks(c *remoting.Conn, cmd *remoting.Command) bool {
	b := w.owner
	b.emulation.dress(cmd.Code, cmd)
	req := describe(w.server, c, withFields(cmd), w.clientOf(c))
	req.ByServer = true
	d := b.rules.decide(req)
	e := b.journal.begin(req, d.String(), b.clk.Now())
	if !req.Oneway && d.before == handle {
		w.mu.Lock()
		if state := w.conns[c]; state != nil {
			if state.asked == nil {
				state.asked = map[int32]*waiting{}
			}
			state.asked[req.Opaque] = &waiting{exchange: e}
		}
		w.mu.Unlock()
	}
	switch {
	case d.before == closeConn || d.before == closeMidFrame:
		c.Close("a rule of the test")
		return false
	case d.before != handle:
		return false
	case d.delay > 0:
		w.sendLater(c, cmd, d.delay)
		return false
	}
	return true
}

// withFields is cmd as its receiver will see it: the fields of its header among its ext fields.
func withFields(cmd *remoting.Command) *remoting.Command {
	out := new(remoting.Command)
	if err := remoting.DecodeFrame(remoting.AppendFrame(nil, cmd), out); err != nil {
		return cmd // it can not be read back: what is known of it must do
	}
	return out
}

// clientAnswered sees a client's answer to a request of the server.
func (w *watch) clientAnswered(c *remoting.Conn, cmd *remoting.Command) {
	w.mu.Lock()
	var open *waiting
	if state := w.conns[c]; state != nil {
		open = state.asked[cmd.Opaque]
		delete(state.asked, cmd.Opaque)
	}
	w.mu.Unlock()
	if open != nil {
		w.owner.journal.answered(open.exchange, cmd, w.owner.clk.Now())
	}
}

// Closed forgets a connection.
func (w *watch) Closed(c *remoting.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

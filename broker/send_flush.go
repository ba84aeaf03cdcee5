package broker

import (
	"errors"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// flushWait is the sends of one turn that are answered when they are flushed. It is pooled.
type flushWait struct {
	b    *Broker
	s    sender // what waits and the strings of it
	conn *remoting.Conn
	err  error
	done func(error) // takes the outcome, from any goroutine
	run  func()      // answers on the connection's loop
}

func (b *Broker) newFlushWait() *flushWait {
	if w, ok := b.flushWaits.Get().(*flushWait); ok {
		return w
	}
	w := &flushWait{b: b}
	w.run = func() { w.answer(true) }
	w.done = func(err error) {
		// All of a turn's sends are of one connection: their answers leave with one write of its loop.
		if w.err = err; w.conn == nil || !w.conn.Run(w.run) {
			w.answer(false)
		}
	}
	return w
}

// answer answers what has waited and gives w back.
func (w *flushWait) answer(inTurn bool) {
	for i := range w.s.pending {
		p := &w.s.pending[i]
		switch {
		case w.err == nil:
			w.s.answerSent(w.b, p, remoting.Success, inTurn)
		case errors.Is(w.err, store.ErrFlushTimeout):
			w.s.answerSent(w.b, p, remoting.FlushDiskTimeout, inTurn)
		default:
			w.b.answerFailed(p, w.err, inTurn)
		}
	}
	w.s.reset()
	w.conn, w.err = nil, nil
	w.b.flushWaits.Put(w)
}

// commitSends commits what s has staged. flushed tells that it is on disk too: a connection in lock-step, alone on its loop, has nothing to gain
// from another thread's flush.
func (b *Broker) commitSends(s *sender, inTurn bool) (flushed bool, err error) {
	last := &s.pending[len(s.pending)-1]
	if inTurn && len(s.pending) == 1 && last.wait && !last.oneway && last.replier.Conn().Loop().Alone() {
		return b.store.CommitAndFlush(last.placed.Ticket)
	}
	return false, b.store.Commit(last.placed.Ticket)
}

// finishFlushed answers what need not wait, and the rest when the flush that covers all of it is done.
func (b *Broker) finishFlushed(s *sender, inTurn bool) {
	n := 0
	for i := range s.pending {
		p := &s.pending[i]
		if !p.wait {
			s.answerSent(b, p, remoting.Success, inTurn)
			continue
		}
		if n < i {
			s.pending[n] = *p
		}
		n++
	}
	if n == 0 {
		s.reset()
		return
	}
	w := b.newFlushWait()
	clear(s.pending[n:])
	// What waits changes hands, not place.
	w.s.pending, s.pending = s.pending[:n], w.s.pending
	w.s.arena, s.arena = s.arena, w.s.arena
	if inTurn {
		for i := range w.s.pending {
			if !w.s.pending[i].oneway {
				w.conn = w.s.pending[i].replier.Conn()
				break
			}
		}
	}
	ticket := w.s.pending[len(w.s.pending)-1].placed.Ticket
	s.reset()
	b.store.OnFlushed(ticket, w.done)
}

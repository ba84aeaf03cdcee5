package remoting

import (
	"fmt"
	"sync/atomic"
)

// lane is a pool of workers behind a bounded queue.
type lane struct {
	opts   LaneOptions
	server *Server
	queue  chan *laneTask

	running  atomic.Int64
	done     atomic.Int64
	rejected atomic.Int64
}

// laneTask is a request that has left its event loop. It owns its bytes.
type laneTask struct {
	conn     *Conn
	handle   Handler
	req      Command
	frame    []byte
	queuedMs int64 // when it was queued, for lanes with MaxWait
}

// copyRequest makes the copy of a request that leaves the loop: the one place where bytes of a connection's buffer
// pass to another goroutine. decoded is the request as decoded on the loop; it tells how much room the copy needs.
func copyRequest(frame []byte, decoded *Command) (*laneTask, error) {
	t := &laneTask{frame: append(make([]byte, 0, len(frame)), frame...)}
	t.req.Ext = make([]ExtField, 0, len(decoded.Ext))
	t.req.arena = make([]byte, 0, len(decoded.arena))
	if err := DecodeFrame(t.frame, &t.req); err != nil {
		return nil, err
	}
	return t, nil
}

const (
	overload    = "[OVERLOAD]system busy, start flow control for a while"
	waitedLong  = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: %dms, size of queue: %d"
	closingDown = "the server is shutting down"
)

// offer hands a request over. It is called on the loop and never waits; the error is the answer to give instead.
func (l *lane) offer(c *Conn, frame []byte, decoded *Command, handle Handler) error {
	s := l.server
	if s.refusing.Load() {
		return Errorf(ServiceNotAvailable, closingDown)
	}
	size := int64(len(frame))
	if held := s.inbound.Add(size) + s.unfinished.Load(); held > s.opts.InboundLimit {
		s.inbound.Add(-size)
		return Errorf(SystemBusy, "%s: requests hold %d bytes, limit InboundLimit %d", overload, held, s.opts.InboundLimit)
	}
	t, err := copyRequest(frame, decoded)
	if err != nil {
		s.inbound.Add(-size)
		return err
	}
	t.conn, t.handle, t.req.timing = c, handle, decoded.timing
	if l.opts.MaxWait > 0 {
		t.queuedMs = s.opts.Clock.NowMs()
	}
	c.inFlight.Add(1)
	s.laneWork.Add(1)
	select {
	case l.queue <- t:
		return nil
	default:
		l.finish(t)
		l.rejected.Add(1)
		return Errorf(SystemBusy, overload)
	}
}

// work serves the queue until it is closed.
func (l *lane) work() {
	for t := range l.queue {
		l.run(t)
	}
}

func (l *lane) run(t *laneTask) {
	l.running.Add(1)
	defer l.running.Add(-1)
	defer l.finish(t)
	if l.opts.MaxWait > 0 {
		if waited := l.server.opts.Clock.NowMs() - t.queuedMs; waited > l.opts.MaxWait.Milliseconds() {
			t.conn.answer(&t.req, nil, Errorf(SystemBusy, waitedLong, waited, len(l.queue)))
			return
		}
	}
	resp, err := l.server.call(t.handle, t.conn, &t.req)
	t.conn.answer(&t.req, resp, err)
	l.done.Add(1)
}

// finish takes a task off the books.
func (l *lane) finish(t *laneTask) {
	s := l.server
	s.inbound.Add(-int64(len(t.frame)))
	t.conn.inFlight.Add(-1)
	if s.laneWork.Add(-1) == 0 && s.refusing.Load() {
		select {
		case s.laneIdle <- struct{}{}:
		default:
		}
	}
}

func (l *lane) stats() LaneStats {
	return LaneStats{
		Name: l.opts.Name, Workers: l.opts.Workers, Capacity: l.opts.Queue, Queued: len(l.queue),
		Running: int(l.running.Load()), Done: l.done.Load(), Rejected: l.rejected.Load(),
	}
}

func (o LaneOptions) check(i int) error {
	if o.Workers <= 0 || o.Queue <= 0 || o.MaxWait < 0 {
		return fmt.Errorf("remoting: lane %d %q has %d workers, a queue of %d and waits at most %s: all must be positive",
			i+1, o.Name, o.Workers, o.Queue, o.MaxWait)
	}
	return nil
}

package remoting

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// askedRequests are the requests that this side of a connection sent and that have no answer yet. Each is finished
// exactly once: by its answer, its timeout or the connection's end.
type askedRequests struct {
	counter atomic.Int32

	mu     sync.Mutex
	closed bool                            // guarded by mu
	table  map[int32]func(*Command, error) // guarded by mu
}

// opaque is the next id of a request of this side.
func (a *askedRequests) opaque() int32 { return a.counter.Add(1) }

// add makes cmd a request of this side that waits for its answer.
func (a *askedRequests) add(c *Conn, cmd *Command, done func(*Command, error)) error {
	cmd.Opaque = a.opaque()
	cmd.Flag = 0
	cmd.Language, cmd.Version = Java, CurrentVersion
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	if limit := c.server.opts.MaxInFlight; len(a.table) >= limit {
		return fmt.Errorf("remoting: %d requests to %s have no answer yet, limit MaxInFlight %d", len(a.table), c.remote, limit)
	}
	if a.table == nil {
		a.table = make(map[int32]func(*Command, error))
	}
	a.table[cmd.Opaque] = done
	return nil
}

// finish ends a request, unless it has ended.
func (a *askedRequests) finish(opaque int32, answer *Command, err error) bool {
	a.mu.Lock()
	done, ok := a.table[opaque]
	delete(a.table, opaque)
	a.mu.Unlock()
	if ok {
		done(answer, err)
	}
	return ok
}

// fail ends all requests and takes no more.
func (a *askedRequests) fail(err error) {
	a.mu.Lock()
	table := a.table
	a.table, a.closed = nil, true
	a.mu.Unlock()
	for _, done := range table {
		done(nil, err)
	}
}

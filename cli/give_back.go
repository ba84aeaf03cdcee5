package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

const (
	// lookEvery is how often it is looked whether memory can be given back.
	lookEvery = 2 * time.Second
	// quietBytes: a process that allocated less since the last look has nothing to do.
	quietBytes = 1 << 20
	// worthBytes must have been allocated since memory was given back the last time: a collection of the heap is its price.
	worthBytes = 16 << 20
)

// giveBack gives the memory back to the system that load has left on the heap, each time the process has become quiet, until ctx ends. Go's runtime
// does so by itself only in the course of minutes.
func giveBack(ctx context.Context, c clock.Clock) {
	var q lull
	allocs := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	timer := c.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		metrics.Read(allocs)
		if q.look(allocs[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
		timer.Reset(lookEvery)
	}
}

// lull finds out when a process that did something has stopped.
type lull struct {
	last  uint64 // bytes allocated at the last look
	given uint64 // bytes allocated when memory was given back
}

// look tells whether memory is to be given back. allocated are the bytes that the process has allocated since it began.
func (q *lull) look(allocated uint64) bool {
	busy := allocated-q.last >= quietBytes
	q.last = allocated
	if busy || allocated-q.given < worthBytes {
		return false
	}
	q.given = allocated
	return true
}

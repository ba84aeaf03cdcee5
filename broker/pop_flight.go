package broker

import (
	"sync"

	"github.com/rocketd/rocketd/internal/clock"
)

// maxPopFlights bounds the checkpoints that are remembered; of others only the log knows.
const maxPopFlights = 500_000

// flightRestMs is how long a checkpoint is remembered after its messages came back, to tell late handles.
const flightRestMs = 60_000

// popFlight is what became of the messages of one checkpoint.
type popFlight struct {
	ck       *popCheckpoint
	acked    uint32 // bit i: the i-th message is acknowledged
	replaced uint32 // bit i: its invisible time was changed, there is a newer handle
	revived  bool   // the rest has come back
}

// popFlights remembers the messages that are invisible. Safe for concurrent use.
type popFlights struct {
	clock clock.Clock

	mu    sync.Mutex
	table map[popKey]*popFlight // guarded by mu
	swept int64                 // when old ones were dropped last, ms; guarded by mu
}

func newPopFlights(c clock.Clock) *popFlights {
	return &popFlights{clock: c, table: map[popKey]*popFlight{}}
}

func (f *popFlights) add(ck *popCheckpoint) {
	now := f.clock.NowMs()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweepLocked(now)
	if len(f.table) < maxPopFlights {
		f.table[ck.key()] = &popFlight{ck: ck}
	}
}

// sweepLocked drops what has come back long ago, now and then.
func (f *popFlights) sweepLocked(now int64) {
	if now-f.swept < flightRestMs/4 && len(f.table) < maxPopFlights {
		return
	}
	f.swept = now
	for key, flight := range f.table {
		if now-flight.ck.reviveTime() > flightRestMs {
			delete(f.table, key)
		}
	}
}

// flightState is what is known of one message of a checkpoint.
type flightState uint8

const (
	// flightUnknown: given out before the start, or too many are under way.
	flightUnknown flightState = iota
	// flightOpen: invisible, the handle is good.
	flightOpen
	// flightAcked: acknowledged before.
	flightAcked
	// flightReplaced: its invisible time was changed, the handle is an old one.
	flightReplaced
	// flightRevived: it has come back.
	flightRevived
	// flightForeign: it is not one of the checkpoint's messages.
	flightForeign
)

// settle takes a message out of its checkpoint, by an ack or, with replace, by a newer handle, and returns the state
// that it had before.
func (f *popFlights) settle(key popKey, offset int64, replace bool) flightState {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.table[key]
	if flight == nil {
		return flightUnknown
	}
	i := flight.ck.index(offset)
	if i < 0 {
		return flightForeign
	}
	bit := uint32(1) << i
	switch {
	case flight.replaced&bit != 0:
		return flightReplaced
	case flight.acked&bit != 0:
		return flightAcked
	case flight.revived:
		return flightRevived
	}
	if replace {
		flight.replaced |= bit
	} else {
		flight.acked |= bit
	}
	return flightOpen
}

// unsettle takes back what settle did: it could not be stored.
func (f *popFlights) unsettle(key popKey, offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flight := f.table[key]; flight != nil {
		if i := flight.ck.index(offset); i >= 0 {
			flight.acked &^= 1 << i
			flight.replaced &^= 1 << i
		}
	}
}

// known tells whether a checkpoint is remembered: then all acks of it are.
func (f *popFlights) known(key popKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table[key] != nil
}

// revive marks a checkpoint as come back, also one from before the start, and returns the bits of the messages that must not.
func (f *popFlights) revive(ck *popCheckpoint, acked uint32) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.table[ck.key()]
	if flight == nil {
		if len(f.table) >= maxPopFlights {
			return 0
		}
		flight = &popFlight{ck: ck, acked: acked}
		f.table[ck.key()] = flight
	}
	flight.revived = true
	return flight.acked | flight.replaced
}

// removeTopic has nothing come back of a deleted topic: under its name there may soon be other messages.
func (f *popFlights) removeTopic(topic string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, flight := range f.table {
		if key.topic == topic {
			flight.acked = ^uint32(0)
		}
	}
}

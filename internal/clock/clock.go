// Package clock is the seam through which rooms that depend on time read it, so that tests and brokertest can move
// it. Production uses System.
package clock

import "time"

// Clock tells the time and wakes its users. Safe for concurrent use.
type Clock interface {
	// Now is the wall-clock time. It may step backward.
	Now() time.Time
	// NowMs is Now in milliseconds since the epoch.
	NowMs() int64
	// NewTimer fires once after d of this clock's time.
	NewTimer(d time.Duration) Timer
}

// Timer is a one-shot timer of a Clock.
type Timer interface {
	// C receives the time when the timer fires.
	C() <-chan time.Time
	// Reset arms the timer anew; a value not yet received is dropped.
	Reset(d time.Duration)
	// Stop disarms the timer; a value not yet received is dropped.
	Stop()
}

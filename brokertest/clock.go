package brokertest

import (
	"context"
	"fmt"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

// Clock is the broker's clock. By default it follows real time from where it stands; Advance and Set move it besides. Safe for concurrent use.
type Clock struct {
	manual *clock.Manual // nil with WithSystemClock
	owner  *Broker
}

const (
	// maxStops bounds the due times that Advance stops at.
	maxStops = 10_000
	// stopPatience bounds, in real time, how long Advance waits for what is due at a stop to be delivered.
	stopPatience = time.Second
)

// Now is the time on the clock.
func (c *Clock) Now() time.Time { return c.owner.clk.Now() }

// Advance moves the clock forward by d. It stops at each time at which a delayed or timed message is due, so that these are delivered in the
// order of their times and at their times, and has them delivered when it returns. Everything periodic happens once: a retry ladder goes one
// rung, a transaction is checked once. A negative d, or a clock made by WithSystemClock, is a mistake in the test and panics.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("brokertest: Clock.Advance(%v): use Set to go back", d))
	}
	m := c.movable("Advance")
	target := m.Now().Add(d)
	c.owner.awaitSeen()
	for range maxStops {
		due, ok := c.owner.nextDue()
		if !ok || due > target.UnixMilli() {
			break
		}
		if left := time.UnixMilli(due).Sub(m.Now()); left > 0 {
			m.Jump(left)
		}
		if !c.owner.awaitDelivered(m.Now().UnixMilli()) {
			break // a fault holds it back: the rest goes without stops
		}
	}
	if left := target.Sub(m.Now()); left > 0 {
		m.Jump(left)
	}
	c.owner.awaitDelivered(target.UnixMilli())
}

// Set moves the clock to t: forward as Advance, backward as when somebody sets a machine's clock back.
func (c *Clock) Set(t time.Time) {
	m := c.movable("Set")
	if d := t.Sub(m.Now()); d > 0 {
		c.Advance(d)
		return
	}
	m.Set(t)
}

// Freeze stops the clock where it is. Held pulls are then answered when a message comes or the clock is moved, and only then.
func (c *Clock) Freeze() { c.movable("Freeze").Freeze() }

// Run lets the clock follow real time again.
func (c *Clock) Run() { c.movable("Run").Run() }

// Frozen tells whether the clock stands still.
func (c *Clock) Frozen() bool { return c.manual != nil && !c.manual.Running() }

// AfterFunc calls fn on a goroutine of its own when the clock has moved on by d, unless the broker is closed before. It returns at once.
func (c *Clock) AfterFunc(d time.Duration, fn func()) { c.owner.after(d, fn) }

// Sleep waits until the clock has moved on by d, or ctx ends, whose error it returns.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := c.owner.clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Clock) movable(what string) *clock.Manual {
	if c.manual == nil {
		panic("brokertest: Clock." + what + ": the broker was started WithSystemClock")
	}
	return c.manual
}

// nextDue is when the next delayed or timed message is due, ms.
func (b *Broker) nextDue() (ms int64, ok bool) {
	now := b.now()
	if now == nil {
		return 0, false
	}
	for _, level := range now.Schedule().Pending() {
		if level.NextDue > 0 && (!ok || level.NextDue < ms) {
			ms, ok = level.NextDue, true
		}
	}
	if due := now.Timer().NextDue(); due > 0 && (!ok || due < ms) {
		ms, ok = due, true
	}
	return ms, ok
}

// awaitSeen waits until schedule and timer know of all messages that wait for them.
func (b *Broker) awaitSeen() {
	b.awaitReal(func() bool {
		now := b.now()
		if now == nil {
			return true
		}
		for _, level := range now.Schedule().Pending() {
			if level.Count > 0 && level.NextDue == 0 {
				return false
			}
		}
		return now.Timer().Behind() == 0
	})
}

// awaitDelivered waits until nothing that is due by nowMs is left.
func (b *Broker) awaitDelivered(nowMs int64) bool {
	return b.awaitReal(func() bool {
		due, ok := b.nextDue()
		return !ok || due > nowMs
	})
}

// awaitReal looks at a condition until it is true, for stopPatience of real time at most.
func (b *Broker) awaitReal(condition func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	return poll(ctx, condition) == nil
}

const (
	firstPoll = 20 * time.Microsecond
	lastPoll  = 2 * time.Millisecond
)

// poll looks at a condition until it is true or ctx ends, whose error it returns. It looks often at first and every 2 ms later.
func poll(ctx context.Context, condition func() bool) error {
	pause := firstPoll
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		if condition() {
			return nil
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			if condition() {
				return nil
			}
			return ctx.Err()
		}
		pause = min(2*pause, lastPoll)
		timer.Reset(pause)
	}
}

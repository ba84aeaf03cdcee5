package clock

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Manual is a clock that stands still until it is moved. Its timers count time that passed (Advance, Run), not the wall clock, so
// Step moves the wall clock under waiting timers as it happens to System's. Safe for concurrent use.
type Manual struct {
	mu      sync.Mutex
	wall    time.Time      // guarded by mu; the wall clock when elapsed was what it is
	elapsed time.Duration  // guarded by mu; passed since NewManual
	armed   []*manualTimer // guarded by mu
	changed chan struct{}  // guarded by mu; closed and replaced when a timer is armed or disarmed
	since   time.Time      // guarded by mu; real time up to which elapsed counts; zero while frozen
	wake    *time.Timer    // guarded by mu; real timer for the next due one; nil while frozen
	order   uint64         // guarded by mu; number of armings, decides between equal due times
}

// NewManual returns a clock that stands at start.
func NewManual(start time.Time) *Manual {
	return &Manual{wall: start.Round(0), changed: make(chan struct{})}
}

// Now is the time the clock was set to.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked()
	return m.wall
}

// NowMs is Now in milliseconds since the epoch.
func (m *Manual) NowMs() int64 { return m.Now().UnixMilli() }

// NewTimer fires when d has passed on this clock; at once if d is not positive.
func (m *Manual) NewTimer(d time.Duration) Timer {
	t := &manualTimer{m: m, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// Advance lets d, which is not negative, pass: the clock moves from one due timer to the next in order of due time, lets woken
// goroutines proceed before it goes on, so that one that arms its timer again is woken again, and ends d later.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Advance by a negative duration")
	}
	m.mu.Lock()
	m.followLocked()
	end := m.elapsed + d
	for {
		t := m.nextLocked()
		if t == nil || t.due > end {
			break
		}
		before := len(m.armed)
		m.passLocked(t.due - m.elapsed)
		m.fireLocked()
		m.mu.Unlock()
		m.settle(before)
		m.mu.Lock()
		m.followLocked()
	}
	if end > m.elapsed {
		m.passLocked(end - m.elapsed)
	}
	m.rearmLocked()
	m.mu.Unlock()
}

// Jump lets d, which is not negative, pass at once: each timer that becomes due on the way fires once, when the clock is at the end.
// A machine that was suspended looks like that.
func (m *Manual) Jump(d time.Duration) {
	if d < 0 {
		panic("clock: Jump by a negative duration")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked()
	m.passLocked(d)
	m.fireLocked()
	m.rearmLocked()
}

// Running tells whether the clock follows real time.
func (m *Manual) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.since.IsZero()
}

// Set moves the clock to t: forward as Advance does, backward as Step does.
func (m *Manual) Set(t time.Time) {
	d := t.Sub(m.Now())
	if d < 0 {
		m.Step(d)
		return
	}
	m.Advance(d)
}

// Step moves the wall clock by d, either way, while no time passes: timers keep what is left of their duration.
func (m *Manual) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked()
	m.wall = m.wall.Add(d)
}

// Run lets the clock follow real time from where it stands, until Freeze. Advance, Set and Step work meanwhile.
func (m *Manual) Run() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() {
		m.since = time.Now()
		m.rearmLocked()
	}
}

// Freeze stops the clock where it is.
func (m *Manual) Freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked()
	m.since = time.Time{}
	if m.wake != nil {
		m.wake.Stop()
		m.wake = nil
	}
}

// Waiters counts the armed timers.
func (m *Manual) Waiters() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.armed)
}

// AwaitWaiters returns once at least n timers are armed, or with ctx's error.
func (m *Manual) AwaitWaiters(ctx context.Context, n int) error {
	for {
		m.mu.Lock()
		enough, changed := len(m.armed) >= n, m.changed
		m.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followLocked lets the real time pass that went by since the clock was last looked at, and fires what became due.
func (m *Manual) followLocked() {
	if m.since.IsZero() {
		return
	}
	now := time.Now()
	if d := now.Sub(m.since); d > 0 {
		m.since = now
		m.passLocked(d)
		m.fireLocked()
	}
}

func (m *Manual) passLocked(d time.Duration) {
	m.elapsed += d
	m.wall = m.wall.Add(d)
}

// nextLocked returns the armed timer that is due first.
func (m *Manual) nextLocked() *manualTimer {
	var first *manualTimer
	for _, t := range m.armed {
		if first == nil || t.due < first.due || t.due == first.due && t.order < first.order {
			first = t
		}
	}
	return first
}

// fireLocked fires all timers that are due, in order.
func (m *Manual) fireLocked() {
	for {
		t := m.nextLocked()
		if t == nil || t.due > m.elapsed {
			return
		}
		m.disarmLocked(t)
		t.c <- m.wall // has room: Reset drained it
	}
}

func (m *Manual) disarmLocked(t *manualTimer) {
	for i, other := range m.armed {
		if other == t {
			m.armed = append(m.armed[:i], m.armed[i+1:]...)
			m.changedLocked()
			return
		}
	}
}

func (m *Manual) changedLocked() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// rearmLocked sets the real timer for the next due one while the clock runs.
func (m *Manual) rearmLocked() {
	if m.since.IsZero() {
		return
	}
	t := m.nextLocked()
	if t == nil {
		return
	}
	d := t.due - m.elapsed
	if m.wake == nil {
		m.wake = time.AfterFunc(d, m.wakeUp)
		return
	}
	m.wake.Reset(d)
}

func (m *Manual) wakeUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked()
	m.rearmLocked()
}

type manualTimer struct {
	m     *Manual
	c     chan time.Time
	due   time.Duration // guarded by m.mu; in m.elapsed's count
	order uint64        // guarded by m.mu
}

func (t *manualTimer) C() <-chan time.Time { return t.c }

func (t *manualTimer) Reset(d time.Duration) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.m.followLocked()
	t.m.disarmLocked(t)
	t.drain()
	t.m.order++
	t.due, t.order = t.m.elapsed+max(d, 0), t.m.order
	t.m.armed = append(t.m.armed, t)
	t.m.changedLocked()
	t.m.fireLocked()
	t.m.rearmLocked()
}

func (t *manualTimer) Stop() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.m.disarmLocked(t)
	t.drain()
}

func (t *manualTimer) drain() {
	select {
	case <-t.c:
	default:
	}
}

// settleTime is how much real time Advance gives the goroutines it woke, when they do not arm their timers again.
const settleTime = time.Millisecond

// settle lets goroutines that a timer woke run up to where they wait again: until as many timers are armed as before they were
// woken. It is a courtesy, not a promise: who needs certainty awaits a condition.
func (m *Manual) settle(before int) {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	runtime.Gosched()
	_ = m.AwaitWaiters(ctx, before) // running out of time is the other way to end
}

package clock

import "time"

// System is the machine's clock. Its timers follow the monotonic clock, so a step of the wall clock neither wakes nor delays
// them: see Until.
type System struct{}

// Now is the wall-clock time.
func (System) Now() time.Time { return time.Now() }

// NowMs is Now in milliseconds since the epoch.
func (System) NowMs() int64 { return time.Now().UnixMilli() }

// NewTimer fires once after d.
func (System) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time   { return t.t.C }
func (t systemTimer) Reset(d time.Duration) { t.t.Reset(d) }
func (t systemTimer) Stop()                 { t.t.Stop() }

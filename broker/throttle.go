package broker

import (
	"sync"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
)

// How often a warning of one key may be logged, and how many keys are remembered.
const (
	warnEvery   = time.Minute
	maxWarnKeys = 4096
)

// throttle lets a warning of each key through once in a while. Safe for concurrent use.
type throttle struct {
	clock clock.Clock

	mu   sync.Mutex
	last map[string]int64 // guarded by mu
}

func newThrottle(c clock.Clock) *throttle { return &throttle{clock: c, last: map[string]int64{}} }

// allow tells whether the warning of key is due. When too many keys are remembered the old ones are forgotten.
func (t *throttle) allow(key string) bool {
	now := t.clock.NowMs()
	t.mu.Lock()
	defer t.mu.Unlock()
	last, seen := t.last[key]
	if seen && now-last < warnEvery.Milliseconds() {
		return false
	}
	if !seen && len(t.last) >= maxWarnKeys {
		t.forgetLocked(now)
		if len(t.last) >= maxWarnKeys {
			return false
		}
	}
	t.last[key] = now
	return true
}

func (t *throttle) forgetLocked(now int64) {
	for key, last := range t.last {
		if now-last >= warnEvery.Milliseconds() {
			delete(t.last, key)
		}
	}
}

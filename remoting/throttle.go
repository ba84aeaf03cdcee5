package remoting

import (
	"sync/atomic"

	"github.com/sirupsen/logrus"
)

// throttle lets one log line of a kind through each second and counts the others.
type throttle struct {
	nextMs  atomic.Int64
	skipped atomic.Int64
}

// allow tells whether to log now, and adds how many lines were left out before.
func (t *throttle) allow(nowMs int64, log *logrus.Entry) (*logrus.Entry, bool) {
	next := t.nextMs.Load()
	// A clock that was set back must not silence the log until it has caught up.
	if nowMs < next && next-nowMs <= 1000 || !t.nextMs.CompareAndSwap(next, nowMs+1000) {
		t.skipped.Add(1)
		return nil, false
	}
	if n := t.skipped.Swap(0); n > 0 {
		log = log.WithField("alike", n)
	}
	return log, true
}

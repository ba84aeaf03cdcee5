package broker

import (
	"context"
	"math"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/timer"
)

// putTimer adds how far the timer is.
func (b *Broker) putTimer(table map[string]string, set func(string, int64)) {
	pending, ok := b.pendingTimers()
	behind := int64(0)
	if ok && pending.NextDue > 0 {
		behind = max(b.clock.NowMs()-pending.NextDue, 0) / 1000
	}
	set("timerReadBehind", behind)
	set("timerOffsetBehind", pending.Behind)
	set("timerCongestNum", pending.Total) // TimerMessageStore#getAllCongestNum: all that are pending
	r := &b.stats.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	table["timerEnqueueTps"] = javaDouble(r.rateLocked(timerRateSeconds, func(v rateReading) int64 { return v.enqueued }))
	table["timerDequeueTps"] = javaDouble(r.rateLocked(timerRateSeconds, func(v rateReading) int64 { return v.delivered }))
}

// timerRateSeconds is what the timer's rates are taken over.
const timerRateSeconds = 60

// pendingTimers counts what is pending, in stretches as wide as there are, which are not wanted.
func (b *Broker) pendingTimers() (timer.PendingReport, bool) {
	report, err := b.timer.Pending(context.Background(), timer.PendingQuery{Bucket: 24 * time.Hour})
	if err != nil {
		b.log.WithError(err).Warn("pending timers cannot be counted")
		return report, false
	}
	return report, true
}

// timerDelivered is the time up to which the timer has delivered everything that was handed to it.
func (b *Broker) timerDelivered() int64 {
	report, ok := b.pendingTimers()
	switch {
	case !ok || report.Behind > 0:
		b.log.WithFields(logrus.Fields{"behind": report.Behind}).Debug("timer is behind")
		return math.MinInt64
	case report.NextDue > 0:
		return report.NextDue - 1
	default:
		return math.MaxInt64
	}
}

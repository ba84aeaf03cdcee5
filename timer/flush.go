package timer

import (
	"errors"

	"github.com/rocketd/rocketd/internal/relay"
)

// writeProgress writes the checkpoint if it is time to.
func (t *Timer) writeProgress(now int64) {
	if !t.delivered && !(t.changed && (now-t.savedAt >= checkpointPause.Milliseconds() || now < t.savedAt)) {
		return
	}
	if err := t.writeCheckpoint(now); err != nil {
		t.warn(now, "the timer checkpoint cannot be written, it will be tried again", err, nil)
	}
	t.savedAt = now
}

// writeCheckpoint writes the checkpoint so that it survives a kill.
func (t *Timer) writeCheckpoint(now int64) error {
	t.cpMu.Lock()
	defer t.cpMu.Unlock()
	t.fillLocked(now)
	if err := t.writer.write(&t.cp); err != nil {
		return err
	}
	t.changed, t.delivered = false, false
	return nil
}

// fillLocked takes the worker's state into the checkpoint.
func (t *Timer) fillLocked(now int64) {
	c := &t.cp
	c.progress = copyProgress(c.progress, t.safe)
	c.readMs = t.safe.mark.out
	c.logPos = t.wheelAt
	c.queueOffset, c.masterOffset = t.queueOffset, t.queueOffset
	c.counter++
	c.timestamp = now
	c.clean, c.suspect, c.again = false, t.suspect(), t.sweeper.at < t.againTo
	c.logEnd = t.log.end
	c.oldest = t.sweeper.at
	c.lateFrom = t.lateFrom()
	c.putEnd = t.putEnd
}

// flushRegularly is the flusher. It writes the wheel, makes everything durable and removes files that are not needed.
func (t *Timer) flushRegularly() {
	timer := t.o.Clock.NewTimer(t.limits.Load().flushEvery)
	defer timer.Stop()
	var quiet relay.Throttle
	savedMetrics := t.o.Clock.NowMs()
	for {
		select {
		case <-timer.C():
		case <-t.stop:
			return
		}
		now := t.o.Clock.NowMs()
		err := t.flush()
		if now-savedMetrics >= metricsPause.Milliseconds() || now < savedMetrics {
			err = errors.Join(err, t.metrics.save(t.o.FS, t.configPath("timermetrics"), relay.Quick))
			savedMetrics = now
		}
		if err != nil {
			if missed, ok := quiet.Allow(now); ok {
				t.o.Log.WithError(err).WithField("more", missed).Warn("timer files cannot be flushed, it will be tried again")
			}
		}
		timer.Reset(t.limits.Load().flushEvery)
	}
}

// flush makes the timer log and the wheel durable, then the checkpoint that says so, and removes log files that are done with.
func (t *Timer) flush() error {
	t.wheel.mu.Lock()
	end := t.log.end // what is staged is written before the lock is given back
	t.wheel.mu.Unlock()
	t.cpMu.Lock()
	from := t.wheelAt
	t.cpMu.Unlock()
	if end > from {
		if err := t.log.sync(from, end); err != nil {
			return err
		}
	}
	wrote, err := t.flushWheel()
	if err != nil {
		return err
	}
	if wrote || end > from {
		if err := t.syncCheckpoint(end); err != nil {
			return err
		}
	}
	_, err = t.log.removeBefore(min(t.oldest.Load(), end))
	return err
}

func (t *Timer) flushWheel() (wrote bool, err error) {
	wrote, err = t.file.flush(t.wheel)
	if err == nil && wrote {
		err = t.file.sync()
	}
	return wrote, err
}

// syncCheckpoint notes that the wheel file holds the units before end. What was delivered while the commit log is not yet on disk keeps the
// checkpoint from being forced there before it.
func (t *Timer) syncCheckpoint(end int64) error {
	t.cpMu.Lock()
	t.wheelAt = end
	t.cp.logPos = end
	err := t.writer.write(&t.cp)
	putEnd := t.cp.putEnd
	t.cpMu.Unlock()
	if err != nil || t.o.Store.FlushedOffset() < putEnd {
		return err
	}
	return t.writer.sync()
}

package broker

import "time"

// offsetWriteEvery is how often changed offsets are written, without sync: a killed process loses at most what came since.
// They are synced every flushConsumerOffsetInterval.
const offsetWriteEvery = 500 * time.Millisecond

// start writes the file in the background until close.
func (t *offsetTable) start() { go t.persist() }

// close ends the background writing, waits for it, and saves what there is.
func (t *offsetTable) close() error {
	close(t.stop)
	<-t.done
	return t.file.save()
}

func (t *offsetTable) persist() {
	defer close(t.done)
	timer := t.clock.NewTimer(offsetWriteEvery)
	defer timer.Stop()
	var written, synced int64
	syncedMs := t.clock.NowMs()
	for {
		select {
		case <-t.stop:
			return
		case <-timer.C():
		}
		now := t.clock.NowMs()
		t.mu.RLock()
		changes := t.changes
		t.mu.RUnlock()
		var err error
		switch {
		case synced != changes && now-syncedMs >= int64(t.config().Broker.FlushConsumerOffsetInterval):
			if err = t.file.save(); err == nil {
				written, synced, syncedMs = changes, changes, now
			}
		case written != changes:
			if err = t.file.write(t.encode(), false); err == nil {
				written = changes
			}
		}
		if err != nil && t.warnings.allow("offset file") {
			t.log.WithError(err).Warn("consumer offsets cannot be saved, trying again")
		}
		timer.Reset(offsetWriteEvery)
	}
}

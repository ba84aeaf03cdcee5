package store

import (
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
)

// warnEveryMs is how often the same warning may come.
const warnEveryMs = 10_000

// logUnreadable warns of bytes of the log that the disk does not give.
const logUnreadable = "commit log cannot be read"

// warnings writes warnings that could come with every message, each at most once in warnEveryMs.
type warnings struct {
	log   *logrus.Entry
	clock clock.Clock

	mu   sync.Mutex
	last map[string]int64 // by text; the texts are constants; guarded by mu
}

func newWarnings(log *logrus.Entry, c clock.Clock) *warnings {
	return &warnings{log: log, clock: c, last: make(map[string]int64)}
}

func (w *warnings) due(text string) bool {
	now := w.clock.NowMs()
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.last[text]; ok && now-last < warnEveryMs {
		return false
	}
	w.last[text] = now
	return true
}

// report warns of an error.
func (w *warnings) report(text string, err error) {
	if w.due(text) {
		w.log.WithError(err).Warn(text)
	}
}

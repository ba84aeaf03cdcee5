package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// step is one named part of starting and stopping. Either function may be nil.
type step struct {
	name  string
	start func(context.Context) error
	stop  func(context.Context) error
}

// lifecycle walks steps up to start and down to stop. A failed start takes back what it began.
type lifecycle struct {
	steps []step

	mu      sync.Mutex // held while walking
	started int        // steps whose start has succeeded
	stopped bool
	err     error // of the stop, for later callers
}

func (l *lifecycle) start(ctx context.Context, log *logrus.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started > 0 || l.stopped {
		return errors.New("start broker: it has been started before")
	}
	for _, s := range l.steps {
		if s.start != nil {
			if err := s.start(ctx); err != nil {
				err = fmt.Errorf("start broker: %s: %w", s.name, err)
				return errors.Join(err, l.stopLocked(ctx, log))
			}
		}
		l.started++
	}
	return nil
}

func (l *lifecycle) stop(ctx context.Context, log *logrus.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return l.err
	}
	return l.stopLocked(ctx, log)
}

func (l *lifecycle) stopLocked(ctx context.Context, log *logrus.Entry) error {
	var errs []error
	for l.started > 0 {
		l.started--
		s := l.steps[l.started]
		if s.stop == nil {
			continue
		}
		begun := time.Now()
		if err := s.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop broker: %s: %w", s.name, err))
		}
		log.WithFields(logrus.Fields{"step": s.name, "took": time.Since(begun).Round(time.Microsecond)}).Debug("broker step stopped")
	}
	l.stopped = true
	l.err = errors.Join(errs...)
	return l.err
}

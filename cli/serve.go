package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/standalone"
)

// stopTimeout bounds the waiting for held calls and clients at a stop; flushing is never cut short.
const stopTimeout = 20 * time.Second

// serve starts the parts of a role and returns when a signal has stopped them. A second signal ends the process at once.
func serve(p *Process, f *flags, role conf.Role) (err error) {
	clean, err := f.develop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()
	c, err := f.load(p, role)
	if err != nil {
		return err
	}
	log := newLog(p, c)
	debug.SetGCPercent(int(c.Rocketd.GCPercent))
	if c.Rocketd.MemoryLimitBytes > 0 {
		debug.SetMemoryLimit(c.Rocketd.MemoryLimitBytes)
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()

	logConfig(log, c)
	s, err := standalone.Start(ctx, standalone.Options{
		Config: c, Role: role, Log: log, Clock: clock.System{}, FS: vfs.OS{}, Console: true, Version: p.Version,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting: what had been started is stopped again
		}
		return explain(err, c)
	}
	if _, err := fmt.Fprintln(p.Stdout, readyLine(s, c)); err != nil {
		log.WithError(err).Warn("the ready line cannot be written to stdout")
	}

	giveBack(ctx, clock.System{})
	release()
	log.Info("stopping")
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := s.Close(stop); err != nil {
		return &failure{code: ExitFailure, sentence: "stopped with an error: " + err.Error(), err: err}
	}
	log.Info("stopped")
	return nil
}

// readyLine tells what runs and what to give to clients.
func readyLine(s *standalone.Standalone, c *conf.Config) string {
	parts := []string{"ready"}
	if s.NamesrvAddr() != "" {
		parts = append(parts, "namesrv="+s.NamesrvAddr())
	}
	if s.BrokerAddr() != "" {
		parts = append(parts, "broker="+s.BrokerAddr(), "name="+c.Broker.BrokerName)
	}
	if s.HTTPAddr() != "" {
		parts = append(parts, "http="+s.HTTPAddr())
	}
	return strings.Join(append(parts, "data="+c.Rocketd.DataDir), " ")
}

func newLog(p *Process, c *conf.Config) *logrus.Entry {
	log := logrus.New()
	log.SetOutput(p.Stderr)
	if c.Rocketd.LogFormat == "json" {
		log.SetFormatter(&logrus.JSONFormatter{})
	} else {
		log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "2006-01-02T15:04:05.000Z07:00"})
	}
	if level, err := logrus.ParseLevel(c.Rocketd.LogLevel); err == nil { // conf has checked it
		log.SetLevel(level)
	}
	return logrus.NewEntry(log)
}

// logConfig says what an operator should know of the configuration.
func logConfig(log *logrus.Entry, c *conf.Config) {
	for _, note := range c.Notes() {
		log.Warn(note)
	}
	if ignored := c.Ignored(); len(ignored) > 0 {
		log.WithField("keys", strings.Join(ignored, ", ")).Info("keys that are set and have no effect here")
	}
}

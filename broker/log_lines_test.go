package broker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// logLines collects what is logged, as "message field=value …".
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// Levels implements logrus.Hook.
func (l *logLines) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (l *logLines) Fire(e *logrus.Entry) error {
	line := e.Message
	for key, value := range e.Data {
		line += fmt.Sprintf(" %s=%v", key, value)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// with lists the lines that contain all parts.
func (l *logLines) with(parts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, line := range l.lines {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

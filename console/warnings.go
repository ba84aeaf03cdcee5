package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

const (
	maxWarnings    = 500
	maxWarningText = 1000 // bytes of a message or a field
)

// Warning is a line of the log.
type Warning struct {
	Ms      int64             `json:"ms"`
	Level   string            `json:"level"`
	Message string            `json:"message"`
	Fields  map[string]string `json:"fields"`
}

// Warnings keeps the newest warnings and errors of a log: a logrus hook. The zero value is empty. Safe for concurrent use.
type Warnings struct {
	mu    sync.Mutex
	list  []Warning // ring; guarded by mu like all below
	next  int
	total int64
}

// Levels are those that are kept.
func (w *Warnings) Levels() []logrus.Level {
	return []logrus.Level{logrus.PanicLevel, logrus.FatalLevel, logrus.ErrorLevel, logrus.WarnLevel}
}

// Fire keeps a line.
func (w *Warnings) Fire(e *logrus.Entry) error {
	line := Warning{Ms: e.Time.UnixMilli(), Level: e.Level.String(), Message: shorten(e.Message), Fields: make(map[string]string, len(e.Data))}
	for _, key := range slices.Sorted(maps.Keys(e.Data)) {
		line.Fields[key] = shorten(fmt.Sprint(e.Data[key]))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total++
	if len(w.list) < maxWarnings {
		w.list = append(w.list, line)
		return nil
	}
	w.list[w.next] = line
	w.next = (w.next + 1) % maxWarnings
	return nil
}

// newest lists what is kept, newest first, and how many there were since the start.
func (w *Warnings) newest() (list []Warning, total int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list = make([]Warning, 0, len(w.list))
	for i := range w.list {
		list = append(list, w.list[(w.next+i)%len(w.list)])
	}
	slices.Reverse(list)
	return list, w.total
}

func shorten(s string) string {
	if len(s) > maxWarningText {
		return strings.ToValidUTF8(s[:maxWarningText], "") + "…"
	}
	return s
}

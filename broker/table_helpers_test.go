package broker

import (
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
)

// testNow is where test clocks begin.
var testNow = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// tables is what a table needs around it.
type tables struct {
	fs       *vfs.Mem
	clock    *clock.Manual
	log      *logrus.Entry
	logged   *logLines
	conf     *conf.Config
	files    *stateFiles
	warnings *throttle
}

func newTables(t *testing.T, fs *vfs.Mem) *tables {
	t.Helper()
	if fs == nil {
		fs = vfs.NewMem()
	}
	logged := &logLines{}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.AddHook(logged)
	log := logrus.NewEntry(logger)
	c := clock.NewManual(testNow)
	return &tables{
		fs: fs, clock: c, log: log, logged: logged, conf: conf.Default(),
		files: &stateFiles{fs: fs, dir: "/data/config", log: log}, warnings: newThrottle(c),
	}
}

func (x *tables) config() *conf.Config { return x.conf }

func (x *tables) topics(t *testing.T) *topicTable {
	t.Helper()
	table := newTopicTable(x.files, x.clock, x.log, x.config, x.warnings)
	table.createSystem(x.conf)
	if _, err := table.load(); err != nil {
		t.Fatal(err)
	}
	return table
}

func (x *tables) groups(t *testing.T) *groupTable {
	t.Helper()
	table := newGroupTable(x.files, x.clock, x.log, x.config, x.warnings)
	table.createReserved()
	if err := table.load(); err != nil {
		t.Fatal(err)
	}
	return table
}

func (x *tables) offsets(t *testing.T) *offsetTable {
	t.Helper()
	table := newOffsetTable(x.files, x.clock, x.log, x.config, x.warnings)
	if err := table.load(); err != nil {
		t.Fatal(err)
	}
	return table
}

// write puts a file into the config directory.
func (x *tables) write(t *testing.T, name, content string) {
	t.Helper()
	f := x.files.file(name, func() []byte { return []byte(content) })
	if err := f.save(); err != nil {
		t.Fatal(err)
	}
}

// read is the content of a file of the config directory.
func (x *tables) read(t *testing.T, name string) string {
	t.Helper()
	data, err := vfs.ReadFile(x.fs, "/data/config/"+name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

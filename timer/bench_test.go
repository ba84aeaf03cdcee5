package timer

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/modeltest"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

func TestMain(m *testing.M) {
	modeltest.Fix()
	goleak.VerifyTestMain(m)
}

// begin is where the clock of the tests starts, ms.
const begin = 1_700_000_000_000

// bench is a Timer over a log in memory whose rounds and flushes the test runs itself.
type bench struct {
	t     testing.TB
	clock *clock.Manual
	log   *relaytest.Log
	fs    *vfs.Mem
	fault *vfs.Fault // over fs
	conf  conf.Store
	slots int64
	most  int // maxOpen
	bite  int // openBudget
	tm    *Timer
	keys  int
	lines bytes.Buffer // what was logged
}

// newBench has a small wheel, so that opening is quick: 2,560 slots of a second, a roll window of 600.
func newBench(tb testing.TB, change ...func(b *bench)) *bench {
	tb.Helper()
	b := &bench{t: tb, clock: clock.NewManual(time.UnixMilli(begin)), fs: vfs.NewMem(), conf: conf.Default().Store, slots: 2560}
	b.conf.MappedFileSizeTimerLog = 100*unitSize + 40
	b.conf.TimerRollWindowSlot = 600
	for _, c := range change {
		c(b)
	}
	b.log = relaytest.New(b.clock)
	b.fault = vfs.NewFault(b.fs)
	b.open()
	return b
}

func (b *bench) options() Options {
	return Options{Store: b.log, FS: b.fault, Dir: "store", Clock: b.clock, Log: b.logger(), Config: &b.conf, slots: b.slots, maxOpen: b.most, budget: b.bite}
}

func (b *bench) open() {
	b.t.Helper()
	b.log.Detach()
	tm, err := Open(b.options())
	if err != nil {
		b.t.Fatal(err)
	}
	b.tm = tm
}

// kill forgets what the process had in memory.
func (b *bench) kill() {
	b.t.Helper()
	b.fs = b.fs.Clone()
	b.fault = vfs.NewFault(b.fs)
	b.open()
}

func (b *bench) restart() {
	b.t.Helper()
	if err := b.tm.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *bench) logger() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(&b.lines)
	l.SetFormatter(&logrus.TextFormatter{DisableTimestamp: true, DisableColors: true})
	return logrus.NewEntry(l)
}

// sendWith sends a message to queue 0 of T, through Transform.
func (b *bench) sendWith(body string, properties ...string) error {
	b.keys++
	p := message.Properties(nil).Append("UNIQ_KEY", "K"+body)
	for i := 0; i < len(properties); i += 2 {
		p = p.Append(properties[i], properties[i+1])
	}
	m := message.Message{Topic: "T", Body: []byte(body), Properties: p}
	if _, err := b.tm.Transform(&m); err != nil {
		return err
	}
	return b.log.Send(m)
}

// at sends a message that is wanted a while after begin.
func (b *bench) at(body string, after time.Duration) {
	b.t.Helper()
	if err := b.sendWith(body, "TIMER_DELIVER_MS", strconv.FormatInt(begin+after.Milliseconds(), 10)); err != nil {
		b.t.Fatal(err)
	}
}

// cancel sends a cancel for a message wanted a while after begin.
func (b *bench) cancel(body string, after time.Duration) {
	b.t.Helper()
	err := b.sendWith("cancel of "+body, "TIMER_DELIVER_MS", strconv.FormatInt(begin+after.Milliseconds(), 10), "TIMER_DEL_UNIQKEY", "K"+body)
	if err != nil {
		b.t.Fatal(err)
	}
}

// settle runs rounds until there is nothing to do now.
func (b *bench) settle() {
	b.t.Helper()
	for range 100_000 {
		if _, busy := b.tm.round(); !busy && !b.tm.arrived.Load() {
			return
		}
	}
	b.t.Fatal("rounds do not end")
}

// pass lets time pass in steps and settles after each.
func (b *bench) pass(d, step time.Duration) {
	b.t.Helper()
	b.settle()
	for ; d > 0; d -= step {
		b.clock.Advance(min(d, step))
		b.settle()
	}
}

func (b *bench) flush() {
	b.t.Helper()
	if err := b.tm.flush(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) bodies() []string {
	var out []string
	for _, m := range b.log.Messages("T", 0) {
		out = append(out, string(m.Body))
	}
	return out
}

func (b *bench) want(bodies ...string) {
	b.t.Helper()
	if got := b.bodies(); fmt.Sprint(got) != fmt.Sprint(bodies) {
		b.t.Errorf("at %+d ms T has %.20v, want %.20v", b.clock.NowMs()-begin, got, bodies)
	}
}

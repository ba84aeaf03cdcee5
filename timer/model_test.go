package timer

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// modelTimer is what the model knows of a timer.
type modelTimer struct {
	due       int64 // ms
	cancelled bool
	free      bool // it may come or not: it was due when it was cancelled, or when a crash of the machine took the traces of that
	came      int
	cameAt    time.Duration // first time, in model.passed
}

// model is trivially correct: a list of timers.
type model struct {
	*bench
	timers  []*modelTimer
	passed  time.Duration
	seen    int
	kills   []time.Duration
	crashed bool // the machine crashed or files were damaged: what was delivered may come again
	failing bool
	back    time.Duration // all steps back
}

// TestModel does random things to a Timer and compares with the model after each: nothing early, nothing late, nothing cancelled; once, and
// again after a kill only what came within 100 ms before it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { runModel(rt, newModel(t, rt)) })
}

// TestModelOfCrashes lets the machine crash and files get damaged besides: nothing may be lost even so.
func TestModelOfCrashes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { runModel(rt, newModel(t, rt), "crash", "damage", "damage a unit", "damage a unit") })
}

// TestModelOfPowerLoss has a commit log with SYNC_FLUSH of which a crash leaves what was flushed. No timer of that may be lost.
func TestModelOfPowerLoss(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, rt)
		m.log.Lag = true
		m.crashed = true
		runModel(rt, m, "log flush", "log flush", "log flush", "power loss", "power loss")
	})
}

func newModel(t *testing.T, rt *rapid.T) *model {
	return &model{bench: newBench(t, func(b *bench) {
		b.slots = 1280
		b.conf.TimerRollWindowSlot = rapid.SampledFrom([]int32{2, 5, 30, 0}).Draw(rt, "roll window")
		b.conf.TimerPrecisionMs = rapid.SampledFrom([]int32{1000, 1000, 100}).Draw(rt, "precision")
		b.slots *= 1000 / int64(b.conf.TimerPrecisionMs)
		b.conf.MappedFileSizeTimerLog = rapid.SampledFrom([]int32{5*unitSize + 20, 100 * unitSize}).Draw(rt, "file size")
		b.most = rapid.SampledFrom([]int{8, 1000}).Draw(rt, "max open")
		b.bite = rapid.SampledFrom([]int{1, 4096}).Draw(rt, "open budget")
	})}
}

func runModel(rt *rapid.T, m *model, more ...string) {
	ops := []string{"send", "send", "send", "send", "cancel", "cancel", "pass", "pass", "pass", "flush", "restart", "kill", "back", "forward", "fail", "kill in a write"}
	ops = append(ops, more...)
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		switch op := rapid.SampledFrom(ops).Draw(rt, "op"); op {
		case "send":
			for range rapid.IntRange(1, 6).Draw(rt, "n") {
				m.sendOne(rt)
			}
		case "cancel":
			m.cancelOne(rt)
		case "pass":
			m.run(rt, time.Duration(rapid.IntRange(1, 30_000).Draw(rt, "ms"))*time.Millisecond)
		case "flush":
			m.flush()
		case "restart":
			m.restart()
		case "kill":
			m.killNow()
		case "kill in a write":
			m.killInAWrite(rt)
		case "back":
			d := time.Duration(rapid.IntRange(1, 100_000).Draw(rt, "back")) * time.Millisecond
			if m.back+d < 5*time.Minute { // half a turn of the wheel would be too much
				m.back += d
				m.clock.Step(-d)
			}
		case "forward":
			m.clock.Step(time.Duration(rapid.IntRange(1, 100_000).Draw(rt, "forward")) * time.Millisecond)
		case "fail":
			m.failPuts(rt)
		case "crash":
			m.loseTraces()
			m.fs = m.fs.CrashClone(rapid.Uint64().Draw(rt, "seed"))
			m.fault = vfs.NewFault(m.fs)
			m.open()
		case "damage":
			m.damage(rt)
		case "damage a unit":
			m.damageUnit(rt)
		case "log flush":
			_ = m.log.Flush()
		case "power loss":
			m.losePower(rt)
		}
		m.run(rt, time.Millisecond)
	}
	for range 10 {
		_ = m.log.Flush() // what rolls is seen when it is flushed
		m.run(rt, 2*time.Minute)
	}
	m.finish(rt)
}

func (m *model) sendOne(rt *rapid.T) {
	after := rapid.SampledFrom([]int{0, 1, 10, 300, 999, 1000, 1001, 2000, 5000, 20_000, 100_000, 500_000}).Draw(rt, "after")
	after += rapid.IntRange(0, 20).Draw(rt, "more")
	now := m.clock.NowMs()
	key, value := "TIMER_DELIVER_MS", strconv.FormatInt(now+int64(after), 10)
	if rapid.Bool().Draw(rt, "relative") {
		key, value = "TIMER_DELAY_MS", strconv.Itoa(after)
	}
	if err := m.sendWith(strconv.Itoa(len(m.timers)), key, value); err != nil {
		rt.Fatal(err)
	}
	due := now + int64(after)
	if key == "TIMER_DELAY_MS" && (due-1)%int64(m.conf.TimerPrecisionMs) == 0 && after > 0 {
		due++ // see Transform
	}
	m.timers = append(m.timers, &modelTimer{due: due})
}

// cancelOne cancels a timer in its slot, or somewhere else, or nobody.
func (m *model) cancelOne(rt *rapid.T) {
	i := rapid.IntRange(0, len(m.timers)).Draw(rt, "which")
	if i == len(m.timers) {
		if err := m.sendWith("nobody", "TIMER_DELAY_MS", "1500", "TIMER_DEL_UNIQKEY", "nobody"); err != nil {
			rt.Fatal(err)
		}
		return
	}
	target := m.timers[i]
	precision := int64(m.conf.TimerPrecisionMs)
	due := target.due
	if rapid.Bool().Draw(rt, "elsewhere in the slot") {
		due = (due-1)/precision*precision + 1 + rapid.Int64Range(0, precision-1).Draw(rt, "where")
	}
	other := rapid.IntRange(0, 3).Draw(rt, "other slot") == 0
	if other {
		due += precision
	}
	key := "K" + strconv.Itoa(i)
	if rapid.Bool().Draw(rt, "long key") {
		key = "T+" + key
	}
	err := m.sendWith("cancel", "TIMER_DELIVER_MS", strconv.FormatInt(due, 10), "TIMER_DEL_UNIQKEY", key)
	switch {
	case err != nil && !errors.Is(err, ErrIllegal):
		rt.Fatal(err)
	case err != nil && due > m.clock.NowMs():
		rt.Fatal(err)
	case err == nil && !other && target.came == 0:
		target.cancelled = true
		target.free = target.free || m.log.Lag || target.due <= m.clock.NowMs() // it is on its way, or the cancel may get lost
	}
}

// run lets time pass to each moment at which something is due, and checks.
func (m *model) run(rt *rapid.T, d time.Duration) {
	for d > 0 {
		step := d
		for _, tm := range m.timers {
			if left := time.Duration(tm.due-m.clock.NowMs()) * time.Millisecond; tm.came == 0 && left > 0 {
				step = min(step, left)
			}
		}
		step = min(step, 10*time.Second)
		m.clock.Advance(step)
		m.passed += step
		d -= step
		m.settle()
		m.look(rt)
	}
}

func (m *model) look(rt *rapid.T) {
	got := m.log.Messages("T", 0)
	now := m.clock.NowMs()
	for ; m.seen < len(got); m.seen++ {
		i, err := strconv.Atoi(string(got[m.seen].Body))
		if err != nil {
			rt.Fatalf("a cancel was delivered: %s", got[m.seen].Body)
		}
		tm := m.timers[i]
		if now < tm.due {
			rt.Fatalf("timer %d came early: at %+d, due %+d", i, now-begin, tm.due-begin)
		}
		if tm.cancelled && !tm.free {
			rt.Fatalf("timer %d came at %+d although it was cancelled, due %+d\n%s%s", i, now-begin, tm.due-begin, m.dump(strconv.Itoa(i)), m.dump("cancel"))
		}
		if tm.came == 0 {
			tm.cameAt = m.passed
		}
		tm.came++
	}
	if m.failing || m.log.Lag {
		return
	}
	for i, tm := range m.timers {
		if tm.came == 0 && !tm.cancelled && !tm.free && tm.due <= now {
			rt.Fatalf("timer %d is late: now %+d, due %+d\n%s", i, now-begin, tm.due-begin, m.dump(strconv.Itoa(i)))
		}
	}
	for _, c := range m.tm.TopicCounts() {
		if c.Count < 0 {
			rt.Fatalf("%d timers pending", c.Count)
		}
	}
}

func (m *model) killNow() {
	m.kills = append(m.kills, m.passed)
	m.kill()
}

// killInAWrite kills the process at a random write of its files.
func (m *model) killInAWrite(rt *rapid.T) {
	k := rapid.Int64Range(1, 12).Draw(rt, "at")
	m.fault.SetRule(vfs.CrashAt(m.fault.Count() + k))
	m.failing = true
	for i := 0; i < 30 && !m.fault.Crashed(); i++ {
		m.clock.Advance(100 * time.Millisecond)
		m.passed += 100 * time.Millisecond
		m.settle()
		_ = m.tm.flush()
		m.look(rt)
	}
	if rapid.Bool().Draw(rt, "in close") {
		_ = m.tm.Close()
		m.look(rt)
	}
	m.failing = false
	m.killNow()
}

func (m *model) failPuts(rt *rapid.T) {
	m.failing = true
	m.log.FailPut = func(msg *message.Message) error {
		if msg.Topic == "T" && len(msg.Body)%2 == 1 || msg.Topic == message.TopicTimer {
			return errors.New("disk is full")
		}
		return nil
	}
	m.run(rt, time.Duration(rapid.IntRange(1, 1500).Draw(rt, "fails for"))*time.Millisecond)
	m.log.FailPut = nil
	m.run(rt, retryPause)
	m.failing = false
}

func (m *model) damage(rt *rapid.T) {
	m.loseTraces()
	what := rapid.SampledFrom([]string{"timerwheel", "timerwheel.sums", "timerlog", "config/timercheck", "config/timermetrics"}).Draw(rt, "what")
	if err := m.fs.RemoveAll("store/" + what); err != nil {
		rt.Fatal(err)
	}
	m.killNow()
}

// damageUnit overwrites some units of the log with garbage. A cancel whose unit is damaged cancels nothing.
func (m *model) damageUnit(rt *rapid.T) {
	m.crashed = true
	var all []int64
	for pos := m.tm.log.begin(); pos < m.tm.log.end; pos = m.tm.log.next(pos) {
		all = append(all, pos)
	}
	if len(all) == 0 {
		return
	}
	at := rapid.IntRange(0, len(all)-1).Draw(rt, "unit")
	for _, pos := range all[at:min(len(all), at+rapid.IntRange(1, 3).Draw(rt, "units"))] {
		garbage := make([]byte, 8)
		for i := range garbage {
			garbage[i] = 0xa5
		}
		if err := m.tm.log.writeAt(garbage, pos+rapid.Int64Range(0, unitSize-8).Draw(rt, "byte")); err != nil {
			rt.Fatal(err)
		}
	}
	for _, tm := range m.timers {
		tm.free = tm.free || tm.cancelled
	}
}

// losePower leaves of the commit log what was flushed, and of the other files what chance has it.
func (m *model) losePower(rt *rapid.T) {
	m.loseTraces()
	m.log.CutBehind(m.log.FlushedOffset())
	m.fs = m.fs.CrashClone(rapid.Uint64().Draw(rt, "seed"))
	m.fault = vfs.NewFault(m.fs)
	// What was not flushed was never acknowledged, and what was delivered and is gone must come again.
	kept := map[string]bool{}
	for _, r := range m.log.Messages(message.TopicTimer, 0) {
		kept[string(r.Body)] = true
	}
	for i, tm := range m.timers {
		tm.came = 0
		tm.free = tm.free || tm.cancelled || !kept[strconv.Itoa(i)]
	}
	m.seen = 0
	for _, r := range m.log.Messages("T", 0) {
		if i, err := strconv.Atoi(string(r.Body)); err == nil {
			m.timers[i].came++
		}
		m.seen++
	}
	m.open()
}

func (m *model) loseTraces() {
	m.crashed = true
	for _, tm := range m.timers {
		if tm.cancelled && tm.due <= m.clock.NowMs() {
			tm.free = true
		}
	}
}

func (m *model) finish(rt *rapid.T) {
	for i, tm := range m.timers {
		switch {
		case tm.came == 0 && !tm.cancelled && !tm.free:
			rt.Fatalf("timer %d never came, due %+d\n%s", i, tm.due-begin, m.dump(strconv.Itoa(i)))
		case tm.came > 1 && !m.crashed && !tm.free && !m.killedSoonAfter(tm.cameAt):
			rt.Fatalf("timer %d came %d times, due %+d, first at %v, kills %v\n%s", i, tm.came, tm.due-begin, tm.cameAt, m.kills, m.dump(strconv.Itoa(i)))
		}
	}
	if s := m.tm.Stats(); s.Skipped > 0 {
		rt.Fatal(fmt.Sprint("skipped: ", s.Skipped))
	}
	for _, c := range m.tm.TopicCounts() {
		if c.Count != 0 && !m.crashed {
			rt.Fatalf("%d timers pending at the end", c.Count)
		}
	}
}

func (m *model) killedSoonAfter(at time.Duration) bool {
	for _, k := range m.kills {
		if k >= at && k-at <= 100*time.Millisecond {
			return true
		}
	}
	return false
}

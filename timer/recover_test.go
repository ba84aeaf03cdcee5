package timer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// fill sends timers that spread over ten minutes, delivers those of the first two, and returns all bodies.
func fill(b *bench) []string {
	b.t.Helper()
	var all []string
	for i := range 300 {
		body := strconv.Itoa(i)
		all = append(all, body)
		b.at(body, time.Duration(i)*2*time.Second+time.Duration(i*7%1000)*time.Millisecond+time.Millisecond)
	}
	b.pass(2*time.Minute, 500*time.Millisecond)
	return all
}

// wantOnce checks that each of bodies came exactly once.
func (b *bench) wantOnce(bodies []string) {
	b.t.Helper()
	b.wantAtMost(bodies, 1)
}

func (b *bench) wantAtMost(bodies []string, times int) {
	b.t.Helper()
	seen := map[string]int{}
	for _, body := range b.bodies() {
		seen[body]++
	}
	var never, often []string
	for _, body := range bodies {
		switch n := seen[body]; {
		case n < 1:
			never = append(never, body)
		case n > times:
			often = append(often, body)
		}
		delete(seen, body)
	}
	if len(never)+len(often) > 0 {
		b.t.Errorf("never came: %d %.10v, more than %d times: %d %.10v", len(never), never, times, len(often), often)
	}
	if len(seen) > 0 {
		b.t.Errorf("unexpected: %v", seen)
	}
}

// write puts a file into the store.
func (b *bench) write(name string, data []byte) {
	b.t.Helper()
	f, err := b.fs.OpenFile(filepath.Join("store", name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) []byte {
	b.t.Helper()
	data, err := vfs.ReadFile(b.fs, filepath.Join("store", name), 1<<30)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

func TestAfterACleanRestartNothingComesTwice(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	for range 20 {
		b.pass(777*time.Millisecond, 777*time.Millisecond)
		b.restart()
	}
	b.restart() // again, with nothing done in between
	b.pass(10*time.Minute, time.Second)
	b.wantOnce(all)
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
}

func TestAfterAKillNothingIsLost(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	for i := range 20 {
		b.pass(777*time.Millisecond, 777*time.Millisecond)
		if i%3 == 0 {
			b.flush()
		}
		b.kill()
	}
	b.pass(10*time.Minute, time.Second)
	b.wantOnce(all) // every round writes its progress
	b.settle()
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
}

func TestWhatFellDueWhileDownComesAtOnce(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	if err := b.tm.Close(); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	b.open()
	b.settle()
	b.wantOnce(all)
}

func TestALongTimeDown(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	b.flush()
	b.clock.Advance(100 * 24 * time.Hour) // many turns of the small wheel
	b.kill()
	b.at("new", b.since()+5*time.Second)
	b.pass(6*time.Second, time.Second)
	b.wantOnce(append(all, "new"))
}

// since is how far the clock is from begin.
func (b *bench) since() time.Duration { return time.Duration(b.clock.NowMs()-begin) * time.Millisecond }

func TestADamagedWheelIsBuiltAnew(t *testing.T) {
	garbage := func(n int) []byte {
		data := make([]byte, n)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		return data
	}
	for name, damage := range map[string]func(b *bench){
		"missing":         func(b *bench) { _ = b.fs.Remove("store/timerwheel") },
		"sums missing":    func(b *bench) { _ = b.fs.Remove("store/timerwheel.sums") },
		"empty":           func(b *bench) { b.write("timerwheel", nil) },
		"short":           func(b *bench) { b.write("timerwheel", b.read("timerwheel")[:5000]) },
		"zeros":           func(b *bench) { b.write("timerwheel", make([]byte, len(b.read("timerwheel")))) },
		"garbage":         func(b *bench) { b.write("timerwheel", garbage(len(b.read("timerwheel")))) },
		"one bit":         func(b *bench) { d := b.read("timerwheel"); flipUsed(d); b.write("timerwheel", d) },
		"sums of garbage": func(b *bench) { b.write("timerwheel.sums", garbage(len(b.read("timerwheel.sums")))) },
	} {
		for _, clean := range []bool{true, false} {
			b := newBench(t)
			all := fill(b)
			b.flush()
			if clean {
				if err := b.tm.Close(); err != nil {
					t.Fatal(err)
				}
			}
			damage(b)
			b.kill()
			b.pass(10*time.Minute, time.Second)
			b.t.Logf("%s, clean %v", name, clean)
			b.wantOnce(all)
		}
	}
}

func flipUsed(data []byte) {
	for i, c := range data {
		if c != 0 {
			data[i] ^= 0x10
			return
		}
	}
}

func TestALostTimerLogIsBuiltFromTheSystemTopic(t *testing.T) {
	for name, files := range map[string][]string{
		"log":           {"timerlog"},
		"log and wheel": {"timerlog", "timerwheel", "timerwheel.sums"},
	} {
		b := newBench(t)
		all := fill(b)
		b.flush()
		for _, f := range files {
			if err := b.fs.RemoveAll("store/" + f); err != nil {
				t.Fatal(err)
			}
		}
		b.kill()
		b.pass(10*time.Minute, time.Second)
		t.Log(name)
		b.wantOnce(all)
	}
}

func TestWithoutACheckpointNothingIsLost(t *testing.T) {
	for name, damage := range map[string]func(b *bench){
		"missing": func(b *bench) { _ = b.fs.Remove("store/config/timercheck") },
		"zeros":   func(b *bench) { b.write("config/timercheck", make([]byte, 4096)) },
		"short":   func(b *bench) { b.write("config/timercheck", make([]byte, 20)) },
		"garbage": func(b *bench) { b.write("config/timercheck", slices.Repeat([]byte{0xA5}, 4096)) },
		"own part": func(b *bench) {
			d := b.read("config/timercheck")
			d[100] ^= 1
			b.write("config/timercheck", d)
		},
	} {
		b := newBench(t)
		all := fill(b)
		b.flush()
		damage(b)
		b.kill()
		b.pass(10*time.Minute, time.Second)
		t.Log(name)
		b.wantAtMost(all, 2)
	}
}

func TestAllTimerFilesLost(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	b.fs = vfs.NewMem()
	b.fault = vfs.NewFault(b.fs)
	b.open()
	b.pass(10*time.Minute, time.Second)
	b.wantAtMost(all, 2)
}

// logEnd is where the timer log ended when the process was killed.
func logFiles(b *bench) (names []string) {
	b.t.Helper()
	entries, err := b.fs.ReadDir("store/timerlog")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, "timerlog/"+e.Name())
	}
	return names
}

func TestATornTimerLog(t *testing.T) {
	for cut := range 3 * unitSize {
		b := newBench(t, func(b *bench) { b.conf.MappedFileSizeTimerLog = 250*unitSize + 40 })
		all := fill(b)
		b.at("last", 500*time.Second)
		b.settle()
		if cut%2 == 0 {
			b.flush() // the wheel knows of what is torn off
		}
		names := logFiles(b)
		last := names[len(names)-1]
		end := int(b.tm.log.end % b.tm.log.fileSize)
		data := b.read(last)
		clear(data[end-cut : end])
		b.write(last, data)
		b.kill()
		b.pass(10*time.Minute, time.Second)
		b.wantOnce(append(all, "last"))
	}
}

func TestAFlippedByteInTheTimerLog(t *testing.T) {
	for at := 0; at < 5*unitSize; at += 3 {
		b := newBench(t)
		all := fill(b)
		if at%2 == 0 {
			b.flush()
		}
		names := logFiles(b)
		name := names[at%len(names)]
		data := b.read(name)
		i := 20*unitSize + at
		data[i] ^= 1 << (at % 8)
		b.write(name, data)
		b.kill()
		b.pass(10*time.Minute, time.Second)
		t.Logf("byte %d of %s, flushed %v", i, name, at%2 == 0)
		b.wantOnce(all)
	}
}

func TestAMissingFileInTheMiddleOfTheTimerLog(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	b.flush()
	names := logFiles(b)
	if len(names) < 3 {
		t.Fatalf("only %d files", len(names))
	}
	if err := b.fs.Remove("store/" + names[1]); err != nil {
		t.Fatal(err)
	}
	b.kill()
	b.pass(10*time.Minute, time.Second)
	b.wantOnce(all)
}

func TestACrashThatTookTheEndOfTheCommitLog(t *testing.T) {
	b := newBench(t)
	all := fill(b)
	b.flush()
	var at []int64
	for _, m := range b.log.Messages(message.TopicTimer, 0) {
		at = append(at, m.PhysicalOffset)
	}
	// Everything after the 250th timer is lost, the deliveries too; other messages take its place.
	b.log.CutBehind(at[250])
	b.kill()
	for i := range 20 {
		b.at(fmt.Sprintf("other %d", i), 590*time.Second)
	}
	b.pass(11*time.Minute, time.Second)
	want := all[60:250]
	for i := range 20 {
		want = append(want, fmt.Sprintf("other %d", i))
	}
	b.wantOnce(want)
}

func TestDoneFilesOfTheLogAreRemoved(t *testing.T) {
	b := newBench(t)
	fill(b)
	b.flush()
	before := len(logFiles(b))
	b.pass(9*time.Minute, time.Second)
	b.flush()
	if after := len(logFiles(b)); before < 3 || after != 1 {
		t.Errorf("%d files before, %d after everything was delivered, want 3 or more and 1", before, after)
	}
	b.restart()
	b.at("new", b.since()+time.Second)
	b.pass(time.Second, time.Second)
	if got := b.bodies(); got[len(got)-1] != "new" {
		t.Errorf("last is %s", got[len(got)-1])
	}
}

func TestTimersAreRolledForwardBeforeRetentionTakesThem(t *testing.T) {
	b := newBench(t, func(b *bench) {
		b.conf.FileReservedTime = 1
		b.slots = 128 * 1000
		b.conf.TimerRollWindowSlot = 0 // as long as the wheel allows
	})
	b.at("far", 5*time.Hour)
	b.at("cancelled", 5*time.Hour)
	b.cancel("cancelled", 5*time.Hour)
	b.at("near", 50*time.Minute)
	for range 5 * 60 {
		b.pass(time.Minute, 20*time.Second)
		b.log.DropOlder(b.clock.NowMs() - time.Hour.Milliseconds())
		b.flush()
		if keep := b.log.KeepFrom(); keep < b.log.MinPhysicalOffset() {
			t.Fatalf("at %v a record is needed at %d, the log begins at %d", b.since(), keep, b.log.MinPhysicalOffset())
		}
	}
	b.want("near", "far")
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
	if got := b.tm.Stats(); got.Rolled < 12 || got.Skipped != 0 || got.Cancelled != 1 {
		t.Errorf("stats %+v", got)
	}
}

func TestRollBefore(t *testing.T) {
	b := newBench(t)
	b.at("a", 500*time.Second)
	b.at("b", 501*time.Second)
	b.settle()
	b.at("c", 502*time.Second)
	second := b.log.Messages(message.TopicTimer, 0)[2].PhysicalOffset
	b.tm.RollBefore(second)
	b.pass(2*time.Second, time.Second)
	if keep := b.tm.KeepFrom(); keep < second {
		t.Errorf("keeps from %d, want %d or more", keep, second)
	}
	b.log.DropBefore(second)
	b.kill()
	b.pass(510*time.Second, time.Second)
	b.wantOnce([]string{"a", "b", "c"})
}

func TestSettingsThatDoNotFit(t *testing.T) {
	b := newBench(t)
	b.at("a", 500*time.Second)
	b.settle()
	if err := b.tm.Close(); err != nil {
		t.Fatal(err)
	}
	b.conf.MappedFileSizeTimerLog = 4 * unitSize
	if _, err := Open(b.options()); err == nil {
		t.Error("a log of files of another size was opened")
	}
	b.conf.MappedFileSizeTimerLog = 100*unitSize + 40
	b.conf.TimerPrecisionMs = 100 // the wheel is built anew
	b.open()
	b.pass(501*time.Second, time.Second)
	b.want("a")
	b.conf.TimerPrecisionMs = 0
	if _, err := Open(b.options()); err == nil {
		t.Error("timerPrecisionMs 0 was accepted")
	}
}

func TestAFullDisk(t *testing.T) {
	b := newBench(t)
	full := fmt.Errorf("no space left on device")
	b.fault.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op == vfs.OpWrite || c.Op == vfs.OpCreate {
			return vfs.Action{Err: full, Keep: 30}
		}
		return vfs.Action{}
	})
	var all []string
	for i := range 200 {
		all = append(all, strconv.Itoa(i))
		b.at(all[i], time.Second+time.Duration(i)*time.Millisecond)
	}
	b.pass(5*time.Second, 100*time.Millisecond)
	if n := len(b.bodies()); n > 0 {
		t.Errorf("%d came although they could not be enqueued", n)
	}
	b.fault.SetRule(nil)
	b.pass(time.Second, 100*time.Millisecond)
	b.wantOnce(all)
}

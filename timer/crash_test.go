package timer

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
)

var errFull = errors.New("no space left on device")

// life is what the room does in the rounds of TestACrashAtEveryWrite: timers near and far, cancels, a roll, a step back of the clock, flushes
// and a clean stop. It stops early when the file system crashed.
func life(b *bench) {
	b.t.Helper()
	for i := range 12 {
		b.at(strconv.Itoa(i), time.Duration(200+i*300)*time.Millisecond)
	}
	b.at("rolls", 20*time.Second)
	b.cancel("3", 1100*time.Millisecond)
	for step := range 20 {
		b.clock.Advance(100 * time.Millisecond)
		b.settle()
		switch step {
		case 3, 9:
			_ = b.tm.flush() // fails after the crash
		case 12:
			b.clock.Step(-50 * time.Millisecond)
		}
		if b.fault.Crashed() {
			return
		}
	}
	_ = b.tm.Close() // fails after the crash
}

// liveOn goes on after the crash, to the end, and checks that everything came, and what came twice had come in the last 100 ms.
func liveOn(b *bench, killedAt time.Duration, again bool) {
	b.t.Helper()
	before := make(map[string]int64)
	for _, m := range b.log.Messages("T", 0) {
		before[string(m.Body)] = m.StoreTimestamp - begin
	}
	b.pass(22*time.Second, 50*time.Millisecond)
	times := make(map[string]int)
	for _, body := range b.bodies() {
		times[body]++
	}
	for i := range 13 {
		body := strconv.Itoa(i)
		if i == 12 {
			body = "rolls"
		}
		at, came := before[body]
		recent := came && at >= killedAt.Milliseconds()-150 // the clock may have been set back by 50 ms
		switch n := times[body]; {
		case i == 3 && n > 0:
			b.t.Errorf("a cancelled timer came")
		case i != 3 && n == 0:
			b.t.Errorf("%s is lost", body)
		case n > 2 || n == 2 && !recent && !again:
			b.t.Errorf("%s came %d times, first at %d ms, killed at %v", body, n, at, killedAt)
		}
	}
}

func crashBench(t *testing.T) *bench {
	t.Helper()
	return newBench(t, func(b *bench) {
		b.conf.MappedFileSizeTimerLog = 5*unitSize + 20
		b.conf.TimerRollWindowSlot = 8
	})
}

func TestACrashAtEveryWrite(t *testing.T) {
	whole := crashBench(t)
	first := whole.fault.Count()
	life(whole)
	count := whole.fault.Count()
	if count-first < 50 {
		t.Fatalf("only %d writes", count-first)
	}
	for k := first + 1; k <= count; k++ {
		b := crashBench(t)
		b.fault.SetRule(vfs.CrashAt(k))
		life(b)
		if !b.fault.Crashed() {
			t.Fatalf("no crash at write %d", k)
		}
		killedAt := b.since()
		b.kill() // of the process: what was written is there
		liveOn(b, killedAt, false)
		if t.Failed() {
			t.Fatalf("after a crash at write %d of %d", k, count)
		}
	}
	t.Logf("%d rounds", count-first)
}

func TestAPowerFailureAtEveryWrite(t *testing.T) {
	whole := crashBench(t)
	first := whole.fault.Count()
	life(whole)
	count := whole.fault.Count()
	for k := first + 1; k <= count; k++ {
		for seed := range uint64(4) {
			b := crashBench(t)
			b.fault.SetRule(vfs.CrashAt(k))
			life(b)
			killedAt := b.since()
			b.fs = b.fs.CrashClone(seed*1000 + uint64(k))
			b.fault = vfs.NewFault(b.fs)
			b.open()
			liveOn(b, killedAt, true)
			if t.Failed() {
				t.Fatalf("after a power failure at write %d of %d, seed %d", k, count, seed)
			}
		}
	}
	t.Logf("%d rounds", 4*(count-first))
}

func TestAFailureOfEveryWrite(t *testing.T) {
	whole := crashBench(t)
	first := whole.fault.Count()
	life(whole)
	count := whole.fault.Count()
	for k := first + 1; k <= count; k++ {
		b := crashBench(t)
		b.fault.SetRule(vfs.FailAt(k, errFull))
		life(b)
		killedAt := b.since()
		b.kill()
		liveOn(b, killedAt, false)
		if t.Failed() {
			t.Fatalf("after a failure of write %d of %d", k, count)
		}
	}
	t.Logf("%d rounds", count-first)
}

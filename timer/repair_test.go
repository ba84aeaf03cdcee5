package timer

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// damageUnits overwrites the units of messages of the timer topic, given by their place in it.
func (b *bench) damageUnits(which ...int) {
	b.t.Helper()
	for _, n := range which {
		if err := b.tm.log.writeAt([]byte{0xff, 0xff, 0xff, 0xff}, int64(n)*unitSize); err != nil {
			b.t.Fatal(err)
		}
	}
	b.tm.reader.reset()
	b.tm.sweeper.reader.reset()
}

// TestADamagedUnitDoesNotCutOffTheUnitsBeforeIt: what takes the place of a damaged unit goes on with its chain, which is read again when the
// slot did not fit into memory, when the clock went back, and after a restart.
func TestADamagedUnitDoesNotCutOffTheUnitsBeforeIt(t *testing.T) {
	const n = 14
	for name, damaged := range map[string][]int{
		"first": {0}, "second": {2}, "middle": {7}, "some": {3, 4, 9}, "last": {n}, "last two": {n - 1, n}, "all but one": {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, n},
	} {
		for again, between := range map[string]func(b *bench){
			"slot does not fit":   func(*bench) {},
			"clock goes back":     func(b *bench) { b.clock.Step(-2 * time.Second); b.settle(); b.clock.Step(2 * time.Second) },
			"restart":             func(b *bench) { b.restart() },
			"kill":                func(b *bench) { b.kill() },
			"kill with new wheel": func(b *bench) { _ = b.fs.RemoveAll("store/timerwheel"); b.kill() },
		} {
			b := newBench(t, func(b *bench) {
				b.conf.MappedFileSizeTimerLog = 100*unitSize + 20
				b.most = 8
				if again != "slot does not fit" {
					b.most = 1000
				}
			})
			// Those of one slot, in falling order of time, with one of another slot among them.
			for i := range n {
				b.at(strconv.Itoa(i), 9*time.Second-time.Duration(i+1)*time.Millisecond)
				if i == 4 {
					b.at("other", 20*time.Second)
				}
			}
			b.settle()
			b.flush()
			b.damageUnits(damaged...)
			b.pass(8500*time.Millisecond, 500*time.Millisecond)
			between(b)
			b.pass(12*time.Second, 100*time.Millisecond)
			came := make(map[string]int)
			for _, body := range b.bodies() {
				came[body]++
			}
			if len(came) != n+1 || len(b.bodies()) != n+1 {
				t.Errorf("%s damaged, %s: %d came, %d different ones, want %d: %v\n%s", name, again, len(b.bodies()), len(came), n+1, fmt.Sprint(came), b.dump("0"))
			}
		}
	}
}

// TestALostUnitOfATimerDeliveredBeforeTheClockWentBack: the machine lost the end of the log while it was written at a stop. What was
// delivered before the clock went back does not come again when its time comes again.
func TestALostUnitOfATimerDeliveredBeforeTheClockWentBack(t *testing.T) {
	b := newBench(t)
	b.at("a", 100*time.Millisecond)
	b.at("b", 110*time.Millisecond)
	b.pass(200*time.Millisecond, 10*time.Millisecond)
	b.clock.Step(-3 * time.Second)
	b.pass(2800*time.Millisecond, 100*time.Millisecond)
	b.at("c", 9*time.Second)
	b.settle()
	b.damageUnits(1)
	b.kill()
	b.pass(10*time.Second, 100*time.Millisecond)
	b.want("a", "b", "c")
}

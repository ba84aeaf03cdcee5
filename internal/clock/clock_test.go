package clock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2024, 2, 28, 23, 59, 0, 0, time.UTC)

func fired(t clock.Timer) bool {
	select {
	case <-t.C():
		return true
	default:
		return false
	}
}

func TestManualStandsStillUntilMoved(t *testing.T) {
	c := clock.NewManual(start)
	if !c.Now().Equal(start) || c.NowMs() != start.UnixMilli() {
		t.Fatalf("got %v, want %v", c.Now(), start)
	}
	c.Advance(2 * time.Hour)
	if want := start.Add(2 * time.Hour); !c.Now().Equal(want) {
		t.Fatalf("got %v, want %v", c.Now(), want)
	}
}

func TestManualFiresInOrderOfDueTimeAtTheirDueTime(t *testing.T) {
	c := clock.NewManual(start)
	delays := []time.Duration{3 * time.Second, time.Second, 2 * time.Second, time.Second}
	var mu sync.Mutex
	var got []time.Duration
	var done sync.WaitGroup
	for _, d := range delays {
		timer := c.NewTimer(d)
		done.Go(func() {
			at := <-timer.C()
			mu.Lock()
			got = append(got, at.Sub(start))
			mu.Unlock()
		})
	}
	c.Advance(999 * time.Millisecond)
	if c.Waiters() != len(delays) {
		t.Fatalf("%d timers armed before any is due, want %d", c.Waiters(), len(delays))
	}
	for range delays {
		c.Advance(time.Second)
	}
	done.Wait()
	want := []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("fired at %v, want %v", got, want)
		}
	}
}

func TestManualAdvanceWakesALoopForEachRound(t *testing.T) {
	c := clock.NewManual(start)
	stop := make(chan struct{})
	rounds := make(chan time.Time, 1000)
	var done sync.WaitGroup
	done.Go(func() {
		timer := c.NewTimer(time.Second)
		defer timer.Stop()
		for {
			select {
			case at := <-timer.C():
				rounds <- at
				timer.Reset(time.Second)
			case <-stop:
				return
			}
		}
	})
	if err := c.AwaitWaiters(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		c.Advance(time.Second)
		if at, want := <-rounds, start.Add(time.Duration(i+1)*time.Second); !at.Equal(want) {
			t.Fatalf("round %d at %v, want %v", i, at, want)
		}
		if err := c.AwaitWaiters(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	done.Wait()
}

func TestManualTimerFiresAtOnceWithoutADuration(t *testing.T) {
	c := clock.NewManual(start)
	for _, d := range []time.Duration{0, -time.Second} {
		if !fired(c.NewTimer(d)) {
			t.Errorf("NewTimer(%v) has not fired", d)
		}
	}
}

func TestManualResetAndStopDropWhatWasNotReceived(t *testing.T) {
	c := clock.NewManual(start)
	timer := c.NewTimer(time.Second)
	c.Advance(time.Second)
	timer.Reset(time.Second)
	if fired(timer) {
		t.Fatal("the old value survived Reset")
	}
	c.Advance(time.Second)
	timer.Stop()
	if fired(timer) {
		t.Fatal("the old value survived Stop")
	}
	c.Advance(time.Hour)
	if fired(timer) || c.Waiters() != 0 {
		t.Fatal("a stopped timer fired or is armed")
	}
}

func TestManualStepMovesTheWallUnderTimers(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		c := clock.NewManual(start)
		timer := c.NewTimer(time.Second)
		c.Step(step)
		if fired(timer) {
			t.Fatalf("step %v: fired though no time passed", step)
		}
		if want := start.Add(step); !c.Now().Equal(want) {
			t.Fatalf("step %v: now %v, want %v", step, c.Now(), want)
		}
		c.Advance(time.Second)
		if !fired(timer) {
			t.Fatalf("step %v: not fired after its duration", step)
		}
	}
}

func TestManualJumpFiresEachTimerOnceAtTheEnd(t *testing.T) {
	c := clock.NewManual(start)
	first, second, far := c.NewTimer(time.Second), c.NewTimer(time.Minute), c.NewTimer(3*time.Hour)
	c.Jump(2 * time.Hour)
	end := start.Add(2 * time.Hour)
	if !c.Now().Equal(end) {
		t.Fatalf("now %v, want %v", c.Now(), end)
	}
	for _, timer := range []clock.Timer{first, second} {
		if at := <-timer.C(); !at.Equal(end) {
			t.Errorf("fired at %v, want %v", at, end)
		}
	}
	if fired(far) || c.Waiters() != 1 {
		t.Fatal("the timer beyond the jump fired or is gone")
	}
	c.Jump(time.Hour)
	if !fired(far) {
		t.Fatal("not fired after its duration")
	}
}

func TestManualSet(t *testing.T) {
	c := clock.NewManual(start)
	timer := c.NewTimer(time.Minute)
	c.Set(start.Add(-time.Hour))
	if fired(timer) || !c.Now().Equal(start.Add(-time.Hour)) {
		t.Fatalf("backward: now %v, want an hour before %v and no timer fired", c.Now(), start)
	}
	c.Set(start.Add(time.Minute))
	if !fired(timer) || !c.Now().Equal(start.Add(time.Minute)) {
		t.Fatalf("forward: now %v, want %v and the timer fired", c.Now(), start.Add(time.Minute))
	}
}

func TestManualRunFollowsRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewManual(start)
		timer := c.NewTimer(time.Minute)
		time.Sleep(time.Hour)
		if !c.Now().Equal(start) {
			t.Fatalf("frozen clock moved to %v", c.Now())
		}
		c.Run()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if fired(timer) {
			t.Fatal("fired a second early")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !fired(timer) {
			t.Fatal("not fired while running")
		}
		c.Advance(time.Hour)
		if want := start.Add(time.Hour + time.Minute); !c.Now().Equal(want) {
			t.Fatalf("got %v, want %v", c.Now(), want)
		}
		late := c.NewTimer(time.Second)
		c.Freeze()
		time.Sleep(time.Hour)
		synctest.Wait()
		if fired(late) {
			t.Fatal("fired while frozen")
		}
		c.Run()
		time.Sleep(time.Second)
		synctest.Wait()
		if !fired(late) {
			t.Fatal("not fired when running again")
		}
		c.Freeze()
	})
}

func TestAwaitWaitersEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := clock.NewManual(start).AwaitWaiters(ctx, 1); err == nil {
		t.Fatal("returned though nobody waits")
	}
}

func TestSystemTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock.Clock = clock.System{}
		begin := c.NowMs()
		timer := c.NewTimer(time.Hour)
		timer.Reset(time.Minute)
		<-timer.C()
		if got := c.NowMs() - begin; got != time.Minute.Milliseconds() {
			t.Fatalf("fired after %d ms, want a minute", got)
		}
		timer.Reset(time.Minute)
		timer.Stop()
		time.Sleep(time.Hour)
		if fired(timer) {
			t.Fatal("fired though stopped")
		}
	})
}

func TestUntilBoundsTheWait(t *testing.T) {
	c := clock.NewManual(start)
	for _, row := range []struct {
		name string
		left time.Duration
		want time.Duration
	}{
		{"past", -time.Hour, 0},
		{"now", 0, 0},
		{"soon", 250 * time.Millisecond, 250 * time.Millisecond},
		{"at the bound", clock.MaxWait, clock.MaxWait},
		{"far", 40 * 24 * time.Hour, clock.MaxWait},
	} {
		if got := clock.Until(c, start.Add(row.left).UnixMilli()); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
	if got := clock.Until(c, -1<<63); got != 0 {
		t.Errorf("smallest time: got %v, want 0", got)
	}
	if got := clock.Until(c, 1<<63-1); got != clock.MaxWait {
		t.Errorf("largest time: got %v, want %v", got, clock.MaxWait)
	}
}

func TestManualConcurrentUse(t *testing.T) {
	c := clock.NewManual(start)
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			timer := c.NewTimer(time.Millisecond)
			for range 100 {
				c.NowMs()
				timer.Reset(time.Millisecond)
				c.Step(time.Millisecond)
				c.Waiters()
			}
			timer.Stop()
		})
	}
	for range 50 {
		c.Advance(time.Millisecond)
	}
	users.Wait()
	if c.Waiters() != 0 {
		t.Fatalf("%d timers left", c.Waiters())
	}
}

package schedule

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/message"
)

// modelMessage is what the model knows of a message: when it was sent and must come.
type modelMessage struct {
	due     int64 // wall clock, ms
	elapsed time.Duration
	jumped  time.Duration
	delay   time.Duration
	level   int
	came    []int64 // wall clock
	cameAt  []time.Duration
}

// model is trivially correct: a list.
type model struct {
	*bench
	sent    []*modelMessage
	passed  time.Duration // since the start, however the wall clock was set
	jumped  time.Duration // steps forward: the movable clock has no other time than the wall's, so they count as passed
	stepped bool          // the wall clock was set back
	seen    int
	failing bool // messages cannot be put back, or that is not long ago
	// disturbed counts steps back and starts.
	disturbed int
	kills     []time.Duration
}

// TestModel does random things to a Schedule and compares with the model after each: nothing early, nothing late, order kept, once
// over clean restarts, and again after a kill only what came within 100 ms before it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{bench: newBench(t, "1s 2s 5s 0s 1m")}
		steps := rapid.IntRange(1, 40).Draw(rt, "steps")
		for range steps {
			switch rapid.SampledFrom([]string{"send", "send", "send", "pass", "pass", "pass", "restart", "kill", "back", "forward", "fail"}).Draw(rt, "op") {
			case "send":
				for range rapid.IntRange(1, 5).Draw(rt, "n") {
					m.sendOne(rapid.IntRange(1, 6).Draw(rt, "level"))
				}
			case "pass":
				m.run(rt, time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms"))*time.Millisecond)
			case "restart":
				if err := m.s.Close(); err != nil {
					rt.Fatal(err)
				}
				m.disturbed++
				m.open()
			case "kill":
				m.disturbed++
				m.kills = append(m.kills, m.passed)
				m.open()
			case "back":
				d := time.Duration(rapid.IntRange(1, 100_000).Draw(rt, "back")) * time.Millisecond
				m.stepped = true
				m.disturbed++
				m.clock.Step(-d)
			case "forward":
				d := time.Duration(rapid.IntRange(1, 10_000).Draw(rt, "forward")) * time.Millisecond
				m.clock.Step(d)
				m.jumped += d
			case "fail":
				m.failing = true
				m.log.FailPut = func(*message.Message) error { return errNotThere }
				m.run(rt, 150*time.Millisecond)
				m.log.FailPut = nil
				m.run(rt, retryPause)
				m.failing = false
			}
			m.run(rt, time.Millisecond)
		}
		m.run(rt, 5*time.Minute)
		m.finish(rt)
	})
}

func (m *model) sendOne(level int) {
	actual := min(level, 5)
	delay := m.levels.Delay(int32(actual))
	now := m.clock.NowMs()
	m.send("T", level, strconv.Itoa(len(m.sent)))
	m.sent = append(m.sent, &modelMessage{due: now + delay.Milliseconds(), elapsed: m.passed, jumped: m.jumped, delay: delay, level: actual})
}

// run lets time pass to each moment at which something is due, and checks.
func (m *model) run(rt *rapid.T, d time.Duration) {
	for d > 0 {
		step := d
		for _, s := range m.sent {
			if left := time.Duration(s.due-m.clock.NowMs()) * time.Millisecond; len(s.came) == 0 && left > 0 {
				step = min(step, left)
			}
		}
		step = min(step, time.Second)
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
			rt.Fatal(err)
		}
		s := m.sent[i]
		if m.passed-s.elapsed+m.jumped-s.jumped < s.delay && now < s.due {
			rt.Fatalf("message %d of level %d came early: at %d, due %d, %v after it was sent", i, s.level, now, s.due, m.passed-s.elapsed)
		}
		s.came = append(s.came, now)
		s.cameAt = append(s.cameAt, m.passed)
	}
	if m.stepped || m.failing {
		return
	}
	for i, s := range m.sent {
		if len(s.came) == 0 && s.due <= now {
			rt.Fatalf("message %d of level %d is late: now %d, due %d", i, s.level, now, s.due)
		}
	}
}

func (m *model) finish(rt *rapid.T) {
	last := map[int]int{}
	for i, s := range m.sent {
		switch {
		case len(s.came) == 0:
			rt.Fatalf("message %d of level %d never came", i, s.level)
		case len(s.came) > 1+len(m.kills):
			rt.Fatalf("message %d came %d times with %d kills", i, len(s.came), len(m.kills))
		case len(s.came) > 1 && !m.killedSoonAfter(s.cameAt[0]):
			rt.Fatalf("message %d came %d times, first %v before any kill", i, len(s.came), s.cameAt)
		}
		// Each step back, and each start after one, may make anybody wait for one more delay.
		if wait := s.cameAt[0] - s.elapsed; wait > time.Duration(1+m.disturbed)*(s.delay+clockTolerance)+time.Second {
			rt.Fatalf("message %d of level %d came %v after it was sent", i, s.level, wait)
		}
		if j, ok := last[s.level]; ok && m.sent[j].cameAt[0] > s.cameAt[0] {
			rt.Fatalf("level %d: message %d came before message %d", s.level, i, j)
		}
		last[s.level] = i
	}
	if len(m.kills) == 0 && m.seen != len(m.sent) {
		rt.Fatal(fmt.Sprint("sent ", len(m.sent), ", came ", m.seen))
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

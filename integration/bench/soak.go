package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// soak puts full load on rocketd for a time: sends, pulls of the newest messages and timers. Files that the log no longer needs are deleted
// while it runs, so that the disk lasts. It reports how memory and speed changed.
func soak(o options, during time.Duration) error {
	h := &measure.Host{}
	defer h.Close()
	// The disk counts as nearly full all the time: finished files go at once.
	settings := []string{
		"mappedFileSizeCommitLog=268435456", "cleanResourceInterval=1000", "diskMinFreeBytes=0", "diskMaxUsedSpaceRatio=10", "diskSpaceCleanForciblyRatio=30",
		"diskSpaceWarningLevelRatio=99", "deleteCommitLogFilesInterval=0",
	}
	dir := h.TempDir()
	if free, used := measure.FreeBytes(dir); used < 0.31 && free < 200<<30 {
		return fmt.Errorf("the disk of %s must be used by more than 30 %%, or have 200 GB free: old files are only deleted when it fills", dir)
	}
	t := &target{side: sideRocketd, o: o, dir: dir}
	if err := measure.Attempt(func() error { t.startOn(h, dir, settings); return nil }); err != nil {
		return err
	}
	s := &soaking{t: t, end: time.Now().Add(during)}
	var wait sync.WaitGroup
	wait.Go(s.send)
	wait.Go(s.pull)
	wait.Go(s.timers)
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	s.watch(done, during)
	<-done
	for _, err := range s.errs {
		return err
	}
	return nil
}

type soaking struct {
	t   *target
	end time.Time

	mu   sync.Mutex
	errs []error // guarded by mu
	sent int64   // guarded by mu
}

func (s *soaking) fail(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, fmt.Errorf("%s: %w", what, err))
}

// send sends as fast as it can, in pieces, so that the client's own memory does not grow.
func (s *soaking) send() {
	for time.Now().Before(s.end) {
		l := load{conns: 8, inFlight: 16, during: min(5*time.Second, time.Until(s.end)), okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
			return jsonFrame(remoting.SendMessageV2, sendFields("soak", conn%4, properties, false), payload(1024))
		}}
		r, err := l.run(s.t.addr)
		if err != nil {
			s.fail("send", err)
			return
		}
		s.mu.Lock()
		s.sent += int64(len(r.latencies))
		s.mu.Unlock()
	}
}

// pull follows the ends of the queues.
func (s *soaking) pull() {
	time.Sleep(time.Second)
	for time.Now().Before(s.end) {
		next := make([]int64, 4)
		for q := range next {
			a, err := measure.Ask(s.t.addr, measure.JSONFrame(remoting.GetMaxOffset, 1, measure.QueueFields("soak", q), nil))
			if err != nil {
				s.fail("pull", err)
				return
			}
			next[q] = a.Number("offset")
		}
		l := load{conns: 4, inFlight: 1, during: min(5*time.Second, time.Until(s.end)), okCodes: []int32{remoting.Success, remoting.PullNotFound, remoting.PullRetryImmediately, remoting.PullOffsetMoved}}
		l.next = func(conn, _ int) prebuilt {
			return jsonFrame(remoting.PullMessage, pullFields("soak", conn, next[conn], true), nil)
		}
		l.seen = func(conn, _ int, a measure.Answer) {
			if n := a.Number("nextBeginOffset"); n >= 0 {
				next[conn] = n
			}
		}
		if _, err := l.run(s.t.addr); err != nil {
			s.fail("pull", err)
			return
		}
	}
}

// timers keeps some thousand timers pending.
func (s *soaking) timers() {
	for time.Now().Before(s.end) {
		due := time.Now().Add(5 * time.Second).UnixMilli()
		l := load{conns: 1, inFlight: 16, requests: 500, okCodes: []int32{remoting.Success}, frame: func(int) prebuilt {
			return jsonFrame(remoting.SendMessageV2, sendFields("soaktimers", 0, fmt.Sprintf("%sTIMER_DELIVER_MS\x01%d\x02", properties, due), false), payload(1024))
		}}
		if _, err := l.run(s.t.addr); err != nil {
			s.fail("timers", err)
			return
		}
		time.Sleep(time.Second)
	}
}

// watch prints memory and speed sixty times, and in the end how the last sixth of the memory compares with the second.
func (s *soaking) watch(done <-chan struct{}, during time.Duration) {
	step := max(time.Second, during/60)
	tick := time.NewTicker(step)
	defer tick.Stop()
	begun, cpu := time.Now(), measure.CPUSeconds(s.t.pid)
	var memory []float64
	var before int64
	fmt.Println("| minutes | anonymous MB | messages/s | store GB |\n| --- | --- | --- | --- |")
	for running := true; running; {
		select {
		case <-tick.C:
			s.mu.Lock()
			sent := s.sent
			s.mu.Unlock()
			memory = append(memory, measure.AnonymousMB(s.t.pid))
			fmt.Printf("| %.1f | %s | %s | %s |\n", time.Since(begun).Minutes(), number(memory[len(memory)-1]), number(float64(sent-before)/step.Seconds()),
				number(float64(measure.DiskBytes(s.t.dir))/(1<<30)))
			before = sent
		case <-done:
			running = false
		}
	}
	if sixth := len(memory) / 6; sixth > 0 {
		early, late := mean(memory[sixth:2*sixth]), mean(memory[len(memory)-sixth:])
		fmt.Printf("\n%d messages in %v, %s CPU s per million of them (pulls and timers included). Anonymous memory: %s MB in the second sixth, %s MB in the last one, %+.1f %%.\n",
			before, time.Since(begun).Round(time.Second), number((measure.CPUSeconds(s.t.pid)-cpu)/float64(before)*1e6), number(early), number(late), 100*(late-early)/early)
	} else {
		fmt.Fprintln(os.Stderr, "too short to compare memory")
	}
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

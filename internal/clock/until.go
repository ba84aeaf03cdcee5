package clock

import "time"

// MaxWait bounds how long somebody who waits for a moment of the wall clock sleeps before looking at it again. A step of the wall
// clock (NTP, an operator, a suspended machine) is therefore noticed at most MaxWait late; one wake-up a second costs nothing
// that can be measured.
const MaxWait = time.Second

// Until returns how long to sleep before looking at c again, for somebody who waits for dueMs on the wall clock: the time left, at
// least 0 and at most MaxWait. The pattern is
//
//	for c.NowMs() < dueMs {
//		timer.Reset(clock.Until(c, dueMs))
//		select { case <-timer.C(): case <-stop: return }
//	}
func Until(c Clock, dueMs int64) time.Duration {
	now := c.NowMs()
	if dueMs <= now {
		return 0
	}
	return time.Duration(min(uint64(dueMs)-uint64(now), uint64(MaxWait.Milliseconds()))) * time.Millisecond
}

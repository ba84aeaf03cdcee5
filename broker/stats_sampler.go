package broker

import "time"

// start fills the windows until close: the minute's every 10 s, the hour's every 10 min, the day's every hour, and
// the store-wide rates every second.
func (s *stats) start() { go s.sample() }

// close ends the sampling and waits for it. It must follow start, once.
func (s *stats) close() {
	close(s.stop)
	<-s.done
}

func (s *stats) sample() {
	defer close(s.done)
	begun := s.clock.NowMs()
	nextMinute, nextHour, nextDay := begun, begun, begun
	morning := nextMorning(s.clock.Now())
	timer := s.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C():
		}
		now := s.clock.Now()
		nowMs := now.UnixMilli()
		s.runtime.sample(nowMs)
		if nowMs >= nextMinute {
			s.sampleItems(func(i *statItem) { i.sampleSeconds(nowMs) })
			nextMinute = following(nextMinute, nowMs, minuteStepMs)
		}
		if nowMs >= nextHour {
			s.sampleItems(func(i *statItem) { i.sampleMinutes(nowMs) })
			s.dropIdle(nowMs)
			nextHour = following(nextHour, nowMs, hourStepMs)
		}
		if nowMs >= nextDay {
			s.sampleItems(func(i *statItem) { i.sampleHour(nowMs) })
			nextDay = following(nextDay, nowMs, dayStepMs)
		}
		if !now.Before(morning) {
			s.runtime.newDay(s.brokerPutNoSystem.value.Load(), s.brokerGetNoSystem.value.Load())
			morning = nextMorning(now)
		}
		timer.Reset(time.Second)
	}
}

// following is the first multiple of step behind due that lies after now; a clock that went back starts anew.
func following(due, now, step int64) int64 {
	if due-now > step {
		return now + step
	}
	return due + (now-due)/step*step + step
}

// nextMorning is the coming midnight, local time (UtilAll#computeNextMorningTimeMillis).
func nextMorning(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
}

func (s *stats) sampleItems(fn func(*statItem)) {
	s.sampleMu.Lock()
	defer s.sampleMu.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, items := range s.items {
		for _, item := range items {
			if !item.moment {
				fn(item)
			}
		}
	}
}

// dropIdle removes the counters that rest longer than maxStatsIdleTimeInMinutes (BrokerStatsManager#cleanAllResource).
func (s *stats) dropIdle(nowMs int64) {
	if s.idle <= 0 {
		return
	}
	oldest := nowMs - s.idle.Milliseconds()
	s.sampleMu.Lock()
	defer s.sampleMu.Unlock()
	s.drop(func(_, _ string, item *statItem) bool { return item.changedMs != 0 && item.changedMs < oldest })
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.topics {
		if t.slots[topicPutNums].Load() == nil {
			delete(s.topics, name)
		}
	}
	for key, g := range s.groups {
		if g.slots[groupGetNums].Load() == nil {
			delete(s.groups, key)
		}
	}
}

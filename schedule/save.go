package schedule

import (
	"strconv"

	"github.com/rocketd/rocketd/internal/relay"
)

// collectSafe takes over the offsets that may be written by now.
func (s *Schedule) collectSafe() {
	safe := s.o.Store.SafeOffset()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		n := 0
		for n < len(l.unsafe) && l.unsafe[n].end <= safe {
			l.safe = l.unsafe[n].offset
			n++
		}
		if n > 0 {
			l.unsafe = l.unsafe[:copy(l.unsafe, l.unsafe[n:])]
		}
	}
}

// saveQuickly writes the offsets so that they survive a kill.
func (s *Schedule) saveQuickly(now int64) {
	if err := s.save(relay.Quick); err != nil {
		if missed, ok := s.saveLog.Allow(now); ok {
			s.o.Log.WithError(err).WithField("more", missed).Warn("delay offsets cannot be written, it will be tried again")
		}
	}
	s.saved = now
}

func (s *Schedule) save(d relay.Durability) error {
	s.mu.Lock()
	changed, rest := false, false
	for _, l := range s.lanes {
		key := strconv.Itoa(int(l.level))
		if written, ok := s.table.Offsets[key]; written != l.safe || !ok && l.safe > 0 {
			s.table.Offsets[key] = l.safe
			changed = true
		}
		rest = rest || len(l.unsafe) > 0
	}
	if changed {
		s.table.DataVersion.Counter++
		s.table.DataVersion.Timestamp = s.o.Clock.NowMs()
	}
	data := s.table.encode()
	s.mu.Unlock()
	if !changed && d == relay.Quick {
		s.unsaved = rest
		return nil
	}
	if err := relay.ReplaceFile(s.o.FS, s.path, data, d); err != nil {
		return err
	}
	s.unsaved = rest
	return nil
}

// saveRegularly is the saver. It writes the copy that is read when a crash of the machine spoilt the file itself.
func (s *Schedule) saveRegularly() {
	timer := s.o.Clock.NewTimer(s.o.FlushInterval)
	defer timer.Stop()
	version := int64(-1)
	var quiet relay.Throttle
	for {
		select {
		case <-timer.C():
		case <-s.stop:
			return
		}
		s.mu.Lock()
		current, data := s.table.DataVersion.Counter, s.table.encode()
		s.mu.Unlock()
		if current != version {
			err := relay.ReplaceFile(s.o.FS, s.path+".bak", data, relay.Synced)
			if err == nil {
				version = current
			} else if missed, ok := quiet.Allow(s.o.Clock.NowMs()); ok {
				s.o.Log.WithError(err).WithField("more", missed).Warn("copy of the delay offsets cannot be written, it will be tried again")
			}
		}
		timer.Reset(s.o.FlushInterval)
	}
}

// awaitSafe waits until the log is safe up to what was delivered, so that the offsets can be written.
func (s *Schedule) awaitSafe() {
	end := int64(0)
	for _, l := range s.lanes {
		if n := len(l.unsafe); n > 0 {
			end = max(end, l.unsafe[n-1].end)
		}
	}
	relay.AwaitSafe(s.o.Store, end, closePatience)
}

// OffsetsJSON is the content of delayOffset.json, the answer to GET_ALL_DELAY_OFFSET.
func (s *Schedule) OffsetsJSON() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := offsetTable{DataVersion: s.table.DataVersion, Offsets: make(map[string]int64, len(s.lanes))}
	for _, l := range s.lanes {
		if _, ok := s.table.Offsets[strconv.Itoa(int(l.level))]; ok || l.offset > 0 {
			t.Offsets[strconv.Itoa(int(l.level))] = l.offset
		}
	}
	return t.encode()
}

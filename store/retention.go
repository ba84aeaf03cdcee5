package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
)

// Rhythm of the janitor.
const (
	// janitorTick is how often the disk is measured.
	janitorTick = time.Second
	// firstCleanMs is how long after the start cleaning begins.
	firstCleanMs = 60_000
	// manualRounds is how many rounds a manual deletion lasts (CleanCommitLogService.MAX_MANUAL_DELETE_FILE_TIMES).
	manualRounds = 20
	// viewIdleTicks: a file nobody has read for so many ticks is unmapped.
	viewIdleTicks = 300
	// nextFileShare: with so much of the last file full the next one is made in advance.
	nextFileShare = 0.8
)

// runJanitor watches the disk, cleans and frees what is not used.
func (s *Store) runJanitor() {
	timer := s.clock.NewTimer(time.Hour)
	defer timer.Stop()
	lastClean := s.clock.NowMs() + firstCleanMs
	var indexed int64
	for tick := int64(1); ; tick++ {
		timer.Reset(janitorTick)
		select {
		case <-timer.C():
		case <-s.stop:
			return
		}
		s.measure()
		s.heal()
		s.flusher.expire()
		s.prepareNextFile()
		s.closeIdle(tick)
		if tick%viewIdleTicks == 0 {
			if at := s.index.position.Load(); at == indexed {
				s.index.trim()
			} else {
				indexed = at
			}
		}
		now := s.clock.NowMs()
		if now-lastClean >= int64(s.settings.Load().conf.CleanResourceInterval) || s.expireSoon.Load() > 0 {
			lastClean = now
			s.clean()
		}
	}
}

// prepareNextFile makes the log's next file before it is needed, so that no message waits for it.
func (s *Store) prepareNextFile() {
	last := s.files.last()
	if last == nil || float64(s.log.end.Load()-last.base) < nextFileShare*float64(last.size) {
		return
	}
	if s.log.refusal() != nil {
		return
	}
	if _, err := s.files.create(last.end()); err != nil {
		s.warn.report("the commit log's next file cannot be made in advance", err)
	}
}

// closeIdle unmaps files that nobody has read for a while.
func (s *Store) closeIdle(tick int64) {
	files := s.files.all()
	for i, f := range files {
		if v := f.current.Load(); v == nil || i >= len(files)-2 {
			continue
		}
		if f.used.Swap(false) {
			f.lastUse.Store(tick)
		} else if tick-f.lastUse.Load() > viewIdleTicks {
			f.dropView()
		}
	}
}

// CleanExpired starts the reference's manual deletion (DELETE_EXPIRED_COMMITLOG): expired files go in the next rounds of the janitor
// whatever deleteWhen says.
func (s *Store) CleanExpired() { s.expireSoon.Store(manualRounds) }

// clean removes files of the log that are too old or stand in the way of a disk that is nearly full, and what hung on them
// (CleanCommitLogService.deleteExpiredFiles).
func (s *Store) clean() {
	set := s.settings.Load()
	manual := s.expireSoon.Load() > 0
	if manual {
		s.expireSoon.Add(-1)
	}
	tight, full := s.pressure(set)
	forced := full && set.conf.CleanFileForciblyEnable
	if !manual && !tight && !full && !timeToDelete(set.conf.DeleteWhen, s.clock.Now()) {
		return
	}
	removed, err := s.removeExpired(set, forced)
	if err != nil {
		s.warn.report("commit log cannot be cleaned", err)
	}
	if removed == 0 {
		if tight || full {
			s.warn.report("the disk is nearly full and nothing can be deleted", fmt.Errorf("%s: fileReservedTime is %d h", s.DiskUsage().Path, set.conf.FileReservedTime))
		}
		return
	}
	first := s.files.first()
	s.logger.WithField("files", removed).WithField("minPhysicalOffset", first).Info("commit log cleaned")
	if err := errors.Join(s.queues.raiseMin(first), s.index.removeBelow(first)); err != nil {
		s.warn.report("consume queues and index cannot be cleaned", err)
	}
	s.measure()
}

// pressure tells whether the disk asks for cleaning at all, and whether for cleaning regardless of age.
func (s *Store) pressure(set *settings) (tight, full bool) {
	s.disk.mu.Lock()
	u, need := s.disk.usage, s.disk.need
	s.disk.mu.Unlock()
	if u.Ratio < 0 {
		return true, false // not measurable counts as tight (CleanCommitLogService.isSpaceToDelete)
	}
	if set.diskMinFree > 0 {
		free := int64(u.Free)
		return free < 4*need, free < 2*need
	}
	ratio := max(u.Ratio, u.QueueRatio)
	return ratio > float64(set.conf.DiskMaxUsedSpaceRatio)/100, ratio > clampRatio(set.conf.DiskSpaceCleanForciblyRatio, 30, 85)
}

// timeToDelete tells whether the hour is one of deleteWhen (UtilAll.isItTimeToDo).
func timeToDelete(when string, now time.Time) bool {
	for _, hour := range strings.Split(when, ";") {
		if n, err := strconv.Atoi(strings.TrimSpace(hour)); err == nil && n == now.Hour() {
			return true
		}
	}
	return false
}

// removeExpired deletes whole files from the beginning of the log, never the one that is written (MappedFileQueue.deleteExpiredFileByTime).
// What is still needed for something pending stays, unless forced leaves no other way: then it is said.
func (s *Store) removeExpired(set *settings, forced bool) (removed int, err error) {
	keep, name := s.kept()
	oldest := s.clock.NowMs() - int64(set.conf.FileReservedTime)*time.Hour.Milliseconds()
	most := max(int(set.conf.DeleteFileBatchMax), 1)
	for _, f := range s.files.all() {
		if f.end() > s.log.flushed.Load() || removed >= most {
			break
		}
		expired := s.lastTime(f) < oldest
		if !expired && !forced {
			break
		}
		if f.end() > keep {
			what := fmt.Errorf("%s holds what %s still needs from offset %d", f.path, name, keep)
			if !forced {
				s.warn.report("an expired file of the commit log is kept", what)
				break
			}
			if removed > 0 {
				break // see first whether that was enough
			}
			s.logger.WithError(what).Error("the disk is nearly full: a file of the commit log with pending messages is deleted")
		}
		s.files.drop(f)
		if err := f.remove(); err != nil {
			return removed, err
		}
		if err := s.fs.SyncDir(filepath.Dir(f.path)); err != nil {
			return removed, err
		}
		removed++
		if pause := set.conf.DeleteCommitLogFilesInterval; pause > 0 && removed < most && !s.sleep(time.Duration(pause)*time.Millisecond) {
			break
		}
	}
	return removed, nil
}

// sleep waits; false when the store is closing.
func (s *Store) sleep(d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-s.stop:
		return false
	}
}

// lastTime is about the store time of a file's last record: that of the first one behind it. The age of the file itself would change
// when it is copied, and does not move with the clock.
func (s *Store) lastTime(f *logFile) int64 {
	ms, ok := s.storeTime(f.end())
	if !ok {
		return s.clock.NowMs()
	}
	return ms
}

// DeleteTopic removes the queues of topic and their files. Its records stay in the log.
func (s *Store) DeleteTopic(topic string) error {
	_, err := s.removeTopics(func(q *ConsumeQueue) bool { return q.topic == topic })
	return err
}

// CleanExpiredQueues removes queues whose last entry is below the log's beginning (CLEAN_EXPIRED_CONSUMEQUEUE), but not those of system
// topics, and returns their number.
func (s *Store) CleanExpiredQueues() int {
	first := s.files.first()
	n, err := s.removeTopics(func(q *ConsumeQueue) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.lastEnd > 0 && q.lastEnd <= first && !message.IsSystemTopic(q.topic)
	})
	if err != nil {
		s.warn.report("expired consume queues cannot be removed", err)
	}
	return n
}

// CleanUnusedTopics removes the queues of every topic that keep does not want, system topics and light queues aside
// (CLEAN_UNUSED_TOPIC), and returns the number of topics.
func (s *Store) CleanUnusedTopics(keep func(topic string) bool) int {
	unused := make(map[string]bool)
	_, err := s.removeTopics(func(q *ConsumeQueue) bool {
		wanted, seen := unused[q.topic]
		if !seen {
			wanted = !keep(q.topic) && !message.IsSystemTopic(q.topic) && !message.IsLMQ(q.topic)
			unused[q.topic] = wanted
		}
		return wanted
	})
	if err != nil {
		s.warn.report("consume queues of unused topics cannot be removed", err)
	}
	n := 0
	for _, gone := range unused {
		if gone {
			n++
		}
	}
	return n
}

// removeTopics removes the chosen queues and makes sure that a crash does not bring them back. What is staged is committed before, so that no
// queue goes that somebody has an offset in.
func (s *Store) removeTopics(chosen func(*ConsumeQueue) bool) (int, error) {
	l := &s.log
	l.commitMu.Lock()
	err := l.commitPending(true)
	var list []*ConsumeQueue
	l.mu.Lock()
	if len(l.pending.records) == 0 {
		for _, q := range s.queues.all() {
			if chosen(q) {
				list = append(list, q)
			}
		}
		s.queues.detach(list)
	}
	l.mu.Unlock()
	l.commitMu.Unlock()
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return len(list), errors.Join(s.queues.removeQueues(list), s.Flush())
}

package store

import (
	"errors"
	"fmt"
	"sync"
)

// fullRetryMs: a write that failed because the disk was full is tried again after so long, whatever the system says about free bytes: a
// quota does not show there.
const fullRetryMs = 5000

// minRoom is the least that must be free for writing to go on after a write failed.
const minRoom = 1 << 20

// diskState is the last measurement of the disk.
type diskState struct {
	mu      sync.Mutex
	usage   DiskUsage
	need    int64 // free bytes wanted, 0: the ratios count
	failing int64 // when a write failed for lack of room, ms; 0: it did not
}

// DiskUsage is a measurement of a file system.
type DiskUsage struct {
	Path        string
	Total, Free uint64  // bytes
	Ratio       float64 // used share, 0 to 1; -1 when it could not be measured
	QueueRatio  float64 // the same for the consume queues' file system
}

// DiskUsage is the last measured state of the file system that holds the commit log: of several, the one with the most room.
func (s *Store) DiskUsage() DiskUsage {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.usage
}

// refuse stops writing until measure finds room.
func (s *Store) refuse(err error) { s.log.full.Store(&err) }

// measure looks at the disk and refuses or admits messages accordingly.
func (s *Store) measure() {
	usage := DiskUsage{Ratio: -1, QueueRatio: -1}
	for _, dir := range s.files.dirs {
		total, free, err := s.fs.Usage(dir)
		if err != nil || total == 0 {
			continue
		}
		if usage.Ratio < 0 || free > usage.Free {
			usage.Path, usage.Total, usage.Free = dir, total, free
			usage.Ratio = float64(total-free) / float64(total)
		}
	}
	if total, free, err := s.fs.Usage(s.queues.files.dir); err == nil && total > 0 {
		usage.QueueRatio = float64(total-free) / float64(total)
	}
	set := s.settings.Load()
	need := min(set.diskMinFree, int64(usage.Total/20))
	now := s.clock.NowMs()
	s.log.measureEvery.Store(max(minRoom, need/4))

	d := &s.disk
	d.mu.Lock()
	d.usage, d.need = usage, need
	full := s.log.full.Load()
	switch {
	case full == nil:
		d.failing = 0
	case d.failing == 0:
		d.failing = now
	}
	failing := d.failing
	d.mu.Unlock()

	if err := set.lack(usage, need); err != nil {
		if full == nil {
			s.logger.Warn(err.Error())
		}
		s.refuse(err)
		return
	}
	if full == nil {
		return
	}
	if usage.Ratio >= 0 && int64(usage.Free) < minRoom && now-failing < fullRetryMs {
		return
	}
	if errors.Is(*full, ErrDiskFull) && now-failing < fullRetryMs && usage.Ratio < 0 {
		return
	}
	s.logger.Info("writing goes on")
	s.log.full.CompareAndSwap(full, nil)
}

// writeFailed tells of a write that found no room what the disk is like; of another failed one it warns.
func (s *Store) writeFailed(err error) error {
	if !errors.Is(err, ErrDiskFull) {
		s.warn.report("messages are refused: the commit log cannot be written", err)
		return err
	}
	s.measure()
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return fmt.Errorf("%w (%s has %d of %d bytes free, diskMinFreeBytes asks for %d)", err, s.disk.usage.Path, s.disk.usage.Free, s.disk.usage.Total, s.disk.need)
}

// lack tells whether the disk has too little room, by free bytes or by the reference's ratio (CleanCommitLogService.isSpaceFull).
func (set *settings) lack(u DiskUsage, need int64) error {
	if u.Ratio < 0 {
		return nil
	}
	if set.diskMinFree > 0 {
		if int64(u.Free) < need {
			return fmt.Errorf("%w: %s has %d bytes free, diskMinFreeBytes asks for %d of %d", ErrDiskFull, u.Path, u.Free, need, u.Total)
		}
		return nil
	}
	warning := clampRatio(set.conf.DiskSpaceWarningLevelRatio, 35, 90)
	if ratio := max(u.Ratio, u.QueueRatio); ratio > warning {
		return fmt.Errorf("%w: %s is used to %.2f, diskSpaceWarningLevelRatio is %.2f, %d bytes are free", ErrDiskFull, u.Path, ratio, warning, u.Free)
	}
	return nil
}

// clampRatio is a percentage as a share, within the bounds that the reference puts to it.
func clampRatio(percent int32, low, high int32) float64 {
	return float64(min(max(percent, low), high)) / 100
}

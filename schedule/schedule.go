package schedule

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

const (
	// batchSize is how many messages of one level are put back before the next level has its turn.
	batchSize = 128
	// batchBytes bounds the records of a batch, but for the last one.
	batchBytes = 1 << 20
	// saveInterval is how old the written offsets get at most while messages are delivered.
	saveInterval = 50 * time.Millisecond
	// retryPause passes before a put or a read that failed is tried again (DELAY_FOR_A_WHILE).
	retryPause = 100 * time.Millisecond
	// readTries bounds how often a record that is there but cannot be read is tried.
	readTries = 50
	// closePatience bounds how long Close waits for the disk to have what was delivered (SYNC_FLUSH).
	closePatience = 5 * time.Second
	// never is later than everything.
	never = math.MaxInt64
)

// Options are what New needs. Store, FS, Dir, Clock, Log and Levels must be set.
type Options struct {
	// Store must be open and not yet started.
	Store relay.Store
	FS    vfs.FS
	// Dir is the root directory (storePathRootDir).
	Dir   string
	Clock clock.Clock
	Log   *logrus.Entry
	// Levels is shared with the store, which asks it for the time of delivery.
	Levels *Levels
	// FlushInterval is how often the offsets are written through to the disk (flushDelayOffsetInterval). 0: 10 s.
	FlushInterval time.Duration
}

// Schedule delivers messages with a delay level. Its exported methods are safe for concurrent use.
type Schedule struct {
	o        Options
	levels   *Levels
	path     string
	lateness relay.Lateness

	// arrived notes that a message came into a level's queue since the worker looked.
	arrived [MaxLevels]atomic.Bool
	wake    chan struct{}

	mu     sync.Mutex
	lanes  []*lane     // guarded by mu; level 1 first; added to, never removed from
	table  offsetTable // guarded by mu; what is written, or about to be
	failed int64       // guarded by mu; messages that could not be delivered and were skipped

	saved    int64 // worker only; when the offsets were last written, ms
	unsaved  bool  // worker only; offsets changed since
	batch    batch // worker only
	putLog   relay.Throttle
	skipLog  relay.Throttle
	saveLog  relay.Throttle
	stop     chan struct{}
	wg       sync.WaitGroup
	started  bool // guarded by mu
	stopping bool // guarded by mu
}

// New reads the offsets and registers with the store, which has not been started yet.
func New(o Options) (*Schedule, error) {
	if o.FlushInterval <= 0 {
		o.FlushInterval = 10 * time.Second
	}
	s := &Schedule{
		o:      o,
		levels: o.Levels,
		path:   filepath.Join(o.Dir, "config", "delayOffset.json"),
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
	}
	t, problem := loadOffsets(o.FS, s.path)
	if problem != nil {
		o.Log.WithError(problem).Warn("delay offsets are damaged")
	}
	s.table.DataVersion = t.DataVersion
	s.table.Offsets = make(map[string]int64)
	for key, offset := range t.Offsets {
		level, err := strconv.Atoi(key)
		if err != nil {
			return nil, fmt.Errorf("delay offsets in %s: level %q: %w", s.path, key, err)
		}
		s.addLanes(level)
		s.lanes[level-1].offset = offset
		s.lanes[level-1].safe = offset
	}
	for id := range int32(MaxLevels) {
		if o.Store.Queue(message.TopicSchedule, id) != nil {
			s.addLanes(int(id) + 1)
		}
	}
	s.addLanes(int(s.levels.Max()))
	now := o.Clock.NowMs()
	s.setHorizons(o.Clock.Now())
	for _, l := range s.lanes {
		s.look(l, now)
	}
	o.Store.OnArrival(message.TopicSchedule, s.noteArrival)
	o.Store.Keep("delay levels", s.KeepFrom)
	return s, nil
}

// addLanes makes lanes up to a level. Lanes stay when the levels become fewer: what waits in them is still delivered.
func (s *Schedule) addLanes(level int) {
	for len(s.lanes) < level {
		s.lanes = append(s.lanes, &lane{level: int32(len(s.lanes)) + 1, keep: never, delay: never})
	}
}

// Start begins delivering.
func (s *Schedule) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.stopping {
		return
	}
	s.started = true
	s.wg.Go(s.work)
	s.wg.Go(s.saveRegularly)
}

// Close ends delivering and writes the offsets through to the disk. The store must still be open. Calling it again does nothing.
func (s *Schedule) Close() error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		s.wg.Wait()
		return nil
	}
	s.stopping = true
	s.mu.Unlock()
	close(s.stop)
	s.wg.Wait()
	s.o.Store.Rest(true)
	err := s.o.Store.Flush()
	s.awaitSafe()
	s.collectSafe()
	return errors.Join(err, s.save(relay.Synced))
}

// SetLevels replaces the levels at once, or leaves them and tells why (ErrLevels). Messages of a level that got shorter wait at most the
// new delay from now on; those of a level that no longer exists are delivered when they were due.
func (s *Schedule) SetLevels(text string) error {
	if err := s.levels.Set(text); err != nil {
		return err
	}
	s.mu.Lock()
	s.addLanes(int(s.levels.Max()))
	s.mu.Unlock()
	s.signal()
	return nil
}

func (s *Schedule) noteArrival(queueID int32, _ int64) {
	if queueID < 0 || queueID >= MaxLevels {
		return
	}
	if !s.arrived[queueID].Load() && s.arrived[queueID].CompareAndSwap(false, true) {
		s.signal()
	}
}

func (s *Schedule) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// work is the worker.
func (s *Schedule) work() {
	timer := s.o.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		next, busy := s.round()
		if busy {
			select {
			case <-s.stop:
				return
			default:
				continue
			}
		}
		s.o.Store.Rest(false)
		timer.Reset(s.sleep(next))
		select {
		case <-timer.C():
		case <-s.wake:
		case <-s.stop:
			return
		}
	}
}

// sleep is how long to wait for nextMs on the wall clock, at most clock.MaxWait: the clock may be set meanwhile.
func (s *Schedule) sleep(nextMs int64) time.Duration {
	now := s.o.Clock.Now()
	if nextMs-now.UnixMilli() > clock.MaxWait.Milliseconds() {
		return clock.MaxWait
	}
	return max(0, time.UnixMilli(nextMs).Sub(now))
}

// round gives every level that is due one batch and tells when the next message is due, and whether there is more to do now.
func (s *Schedule) round() (next int64, busy bool) {
	lanes := s.setHorizons(s.o.Clock.Now())
	next = never
	for _, l := range lanes {
		now := s.o.Clock.NowMs()
		s.refresh(l, now)
		if due := l.nextDue(); due <= now {
			busy = s.drain(l, now) || busy
		}
		next = min(next, l.nextDue())
	}
	now := s.o.Clock.NowMs()
	s.collectSafe()
	if s.unsaved && now-s.saved >= saveInterval.Milliseconds() || now < s.saved {
		s.saveQuickly(now)
	}
	if s.unsaved {
		next = min(next, s.saved+saveInterval.Milliseconds())
	}
	return next, busy
}

// refresh looks at the queue of a lane that was empty, or puts off no longer what is due suspiciously late.
func (s *Schedule) refresh(l *lane, now int64) {
	if l.retryAt > now+retryPause.Milliseconds() {
		l.retryAt = now
	}
	if !l.hasHead && s.arrived[l.level-1].Load() || l.hasHead && l.tooLate() {
		s.look(l, now)
	}
}

// look finds the first entry of a lane.
func (s *Schedule) look(l *lane, now int64) {
	s.arrived[l.level-1].Store(false)
	q := s.o.Store.Queue(message.TopicSchedule, l.level-1)
	if q == nil {
		return
	}
	s.fit(l, q)
	entries, err := s.batch.entries(q, l.offset, 1)
	if err != nil {
		s.fail(l, now, "reading the delay queue", err)
		return
	}
	s.setHead(l, entries, now)
}

// fit brings a lane's offset into what its queue has.
func (s *Schedule) fit(l *lane, q relay.Queue) {
	lowest, highest := q.MinOffset(), q.MaxOffset()
	offset := min(max(l.offset, lowest), highest)
	if offset == l.offset {
		return
	}
	s.o.Log.WithFields(logrus.Fields{"level": l.level, "offset": l.offset, "min": lowest, "max": highest}).
		Warn("delay offset lies outside its queue and is corrected")
	s.mu.Lock()
	l.offset, l.safe, l.unsafe = offset, offset, l.unsafe[:0]
	s.mu.Unlock()
	s.unsaved = true
}

// tooLate tells that the first entry is due later than a whole delay from now, which only a step of the clock or new levels bring about.
func (l *lane) tooLate() bool { return l.due(l.head) > l.horizon }

// setHorizons prepares the lanes for a round and returns them.
func (s *Schedule) setHorizons(now time.Time) []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		l.horizon = never
		if delay := s.delayMs(l); delay != never {
			l.horizon = now.UnixMilli() + delay + clockTolerance.Milliseconds()
		}
		if l.capOffset > 0 {
			l.capTime = l.cappedAt.Add(l.cap).Sub(now).Milliseconds() + now.UnixMilli()
		}
	}
	return s.lanes
}

// clockTolerance is how far the clock may be set back without more consequence than that messages come as much later.
const clockTolerance = time.Second

// delayMs is the delay of a lane's level, the last known one if the level is gone; never: it is not known.
func (s *Schedule) delayMs(l *lane) int64 {
	if l.level <= s.levels.Max() {
		l.delay = s.levels.Delay(l.level).Milliseconds()
	}
	return l.delay
}

package timer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

const (
	// enqueueBatch bounds the messages taken from the system topic in one round, deliverBatch those put back.
	enqueueBatch = 512
	deliverBatch = 256
	// deliverBytes bounds the records of a batch, but for the last one.
	deliverBytes = 1 << 20
	// lookahead is how long before it begins a slot is opened.
	lookahead = 3 * time.Second
	// maxOpen bounds the timers of open slots that are held in memory, at 64 bytes each.
	maxOpen = 1 << 18
	// openBudget bounds the units read in one round to open slots, sweepBudget those read to look for old ones.
	openBudget  = 4096
	sweepBudget = 4096
	// gatherPause passes between an arrival and the round that enqueues it, so that one round takes many, unless something is due earlier or
	// was sent with less than soon to wait. What the store takes longer than soon to show is that much later.
	gatherPause = 2 * time.Millisecond
	soon        = 50 * time.Millisecond
	// retryPause passes before a put that failed is tried again.
	retryPause = 100 * time.Millisecond
	// checkpointPause passes at most before what was enqueued is noted in the checkpoint. What was delivered is noted at once.
	checkpointPause = 100 * time.Millisecond
	sweepPause      = time.Second
	metricsPause    = 10 * time.Second
	closePatience   = 5 * time.Second
	maxUnsafe       = 64
)

// Options are what Open needs. Store, FS, Dir, Clock and Log must be set.
type Options struct {
	// Store must be open and not yet started.
	Store relay.Store
	FS    vfs.FS
	// Dir is the root directory (storePathRootDir).
	Dir   string
	Clock clock.Clock
	Log   *logrus.Entry
	// Config holds the reference's keys; nil: their defaults. Sizes, precision and roll window stay those of Open; see Configure.
	Config *conf.Store
	// OnDelivered, when set, is called for n delivered messages of a topic, whose name it must not keep. It must not block.
	OnDelivered func(topic string, n int64)

	slots   int64 // of the wheel; 0: wheelSlots. Tests use fewer.
	maxOpen int   // 0: maxOpen. Tests use fewer.
	budget  int   // 0: openBudget. Tests use fewer.
}

// limits are the settings that may change while the room is open.
type limits struct {
	enabled    bool
	maxDelayMs int64
	congestion int64 // timers due in one slot
	keepMs     int64 // how long the commit log is kept
	flushEvery time.Duration
}

// Timer delivers timer messages. Its exported methods are safe for concurrent use.
type Timer struct {
	o      Options
	limits atomic.Pointer[limits]

	precision  int64 // ms
	rollWindow int64 // slots
	maxOpen    int
	openBudget int

	log      *timerLog
	wheel    *wheel
	file     *wheelFile // flusher only
	metrics  *metrics
	lateness relay.Lateness
	counts   counters

	arrived    atomic.Bool // something came into the system topic since the worker looked
	wake       chan struct{}
	keep       atomic.Int64 // see KeepFrom
	rollTo     atomic.Int64 // see RollBefore
	oldest     atomic.Int64 // set by the worker; units before are done
	nextDue    atomic.Int64 // set by the worker; see Stats
	enqueuedTo atomic.Int64 // set by the worker, after nextDue; see Behind
	hurry      atomic.Int64 // ms; until then arrivals are not gathered
	gathering  atomic.Bool  // the worker lets arrivals gather

	// Worker only:
	queueOffset int64
	progress    progress
	safe        progress // as far as progress may be written
	unsafe      []unsafeProgress
	durable     progress       // as far as the put messages are on disk
	undurable   unsafeProgress // what is to become durable next
	putEnd      int64          // where the log ended behind the last message put
	window      window
	reader      *unitReader
	sweeper     sweeper
	recount     *recount
	names       *names
	rebuild     relay.Rebuilder
	put         putBatch
	requests    []request
	undo        []undoSlot
	lates       []lateBatch
	closed      int64 // slots before are cleared
	suspectTo   int64 // before this position of the log there may be two units of one message
	againFrom   int64 // from here to againTo there may be units out of the order of the system topic
	againTo     int64
	retryAt     int64
	retries     int
	savedAt     int64
	rolling     bool // the last batch had timers that roll
	backlog     bool // the system topic has more than was enqueued
	changed     bool // something was enqueued since the checkpoint was written
	delivered   bool // something was delivered, safely, since the checkpoint was written
	identify    bool // read fills request.id
	rolledOn    rolledOn
	seeds       [2]maphash.Seed
	quiet       map[string]*relay.Throttle

	cpMu    sync.Mutex
	cp      checkpoint // guarded by cpMu
	writer  *checkpointWriter
	wheelAt int64 // guarded by cpMu; the wheel file holds all units before

	mu       sync.Mutex
	started  bool // guarded by mu
	stopping bool // guarded by mu
	stop     chan struct{}
	wg       sync.WaitGroup
}

// unsafeProgress: with the commit log safe up to end, p may be written.
type unsafeProgress struct {
	end int64
	p   progress
}

// counters count since the start.
type counters struct {
	enqueued, delivered, rolled, cancelled, skipped, retried, repaired atomic.Int64
}

// Open reads and repairs what is there and registers with the store, which has not been started yet.
func Open(o Options) (*Timer, error) {
	if o.Config == nil {
		o.Config = &conf.Default().Store
	}
	t := &Timer{
		o: o, wake: make(chan struct{}, 1), stop: make(chan struct{}), metrics: newMetrics(), names: newNames(),
		quiet: make(map[string]*relay.Throttle),
	}
	t.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	if err := t.size(); err != nil {
		return nil, err
	}
	t.Configure(o.Config)
	t.keep.Store(never)
	t.nextDue.Store(never)
	if err := t.recover(); err != nil {
		t.o.Store.Rest(true)
		return nil, errors.Join(err, t.closeFiles())
	}
	o.Store.OnArrival(message.TopicTimer, func(int32, int64) {
		if !t.arrived.Load() && t.arrived.CompareAndSwap(false, true) {
			t.signal()
		}
	})
	o.Store.Keep("timers", t.KeepFrom)
	return t, nil
}

// size takes over the settings that cannot change.
func (t *Timer) size() error {
	c := t.o.Config
	slots := t.o.slots
	if slots == 0 {
		slots = wheelSlots
	}
	t.maxOpen = t.o.maxOpen
	if t.maxOpen == 0 {
		t.maxOpen = maxOpen
	}
	t.openBudget = t.o.budget
	if t.openBudget == 0 {
		t.openBudget = openBudget
	}
	t.precision = int64(c.TimerPrecisionMs)
	if t.precision < 1 || t.precision > 60_000 {
		return fmt.Errorf("timerPrecisionMs is %d, want 1 to 60000", t.precision)
	}
	fileSize := int64(c.MappedFileSizeTimerLog)
	if fileSize < unitSize+blankSize {
		return fmt.Errorf("mappedFileSizeTimerLog is %d, want at least %d", fileSize, unitSize+blankSize)
	}
	t.rollWindow = int64(c.TimerRollWindowSlot)
	if t.rollWindow < 2 || t.rollWindow > slots/2-blankSlots {
		t.rollWindow = slots/2 - blankSlots
	}
	t.rollWindow = min(t.rollWindow, maxUnitDelay/t.precision)
	t.log = newTimerLog(t.o.FS, filepath.Join(t.o.Dir, "timerlog"), fileSize)
	t.wheel = newWheel(slots, t.precision)
	t.file = newWheelFile(t.o.FS, filepath.Join(t.o.Dir, "timerwheel"), len(t.wheel.pages))
	t.reader = newUnitReader(t.log)
	return nil
}

// Configure takes over the settings that may change while the room is open: timerWheelEnable, timerMaxDelaySec, timerCongestNumEachSlot,
// timerFlushIntervalMs and fileReservedTime.
func (t *Timer) Configure(c *conf.Store) {
	t.limits.Store(&limits{
		enabled:    c.TimerWheelEnable,
		maxDelayMs: int64(c.TimerMaxDelaySec) * 1000,
		congestion: int64(c.TimerCongestNumEachSlot),
		keepMs:     max(60_000, int64(c.FileReservedTime)*3600_000),
		flushEvery: time.Duration(max(100, c.TimerFlushIntervalMs)) * time.Millisecond,
	})
}

func (t *Timer) configPath(name string) string { return filepath.Join(t.o.Dir, "config", name) }

// Start begins delivering.
func (t *Timer) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started || t.stopping {
		return
	}
	t.started = true
	t.wg.Go(t.work)
	t.wg.Go(t.flushRegularly)
}

// Close ends delivering and leaves the directory so that neither this room nor the reference's broker delivers anything twice. The store
// must still be open. Calling it again does nothing.
func (t *Timer) Close() error {
	t.mu.Lock()
	if t.stopping {
		t.mu.Unlock()
		t.wg.Wait()
		return nil
	}
	t.stopping = true
	t.mu.Unlock()
	close(t.stop)
	t.wg.Wait()
	err := t.handOver()
	t.o.Store.Rest(true)
	return errors.Join(err, t.closeFiles())
}

func (t *Timer) closeFiles() error {
	err := errors.Join(t.log.close(), t.file.close())
	if t.writer != nil {
		err = errors.Join(err, t.writer.f.Close())
	}
	return err
}

func (t *Timer) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// work is the worker.
func (t *Timer) work() {
	timer := t.o.Clock.NewTimer(0)
	defer timer.Stop()
	pause := time.NewTimer(gatherPause) // of the machine: messages do not come by the clock
	defer pause.Stop()
	for {
		next, busy := t.round()
		if !busy && !t.arrived.Load() {
			timer.Reset(t.sleep(next))
			select {
			case <-timer.C():
			case <-t.wake:
			case <-t.stop:
			}
		}
		if !busy {
			t.gatherArrivals(pause, next)
		}
		select {
		case <-t.stop:
			return
		default:
		}
	}
}

// gatherArrivals waits until gatherPause has passed, unless something is due before or announced that will be soon.
func (t *Timer) gatherArrivals(pause *time.Timer, next int64) {
	t.gathering.Store(true)
	defer t.gathering.Store(false)
	if !t.mayGather(next) { // asked for behind the note: noteSoon looks at them the other way round
		return
	}
	pause.Reset(gatherPause)
	select {
	case <-pause.C:
	case <-t.wake:
	case <-t.stop:
	}
}

// mayGather tells whether nothing is due before gatherPause has passed.
func (t *Timer) mayGather(next int64) bool {
	now, hurry := t.o.Clock.NowMs(), t.hurry.Load()
	return next-now > gatherPause.Milliseconds() && (now > hurry || hurry > now+soon.Milliseconds())
}

// noteSoon makes the worker look at once at what arrives until out, if that is soon.
func (t *Timer) noteSoon(out, now int64) {
	if out-now > soon.Milliseconds() {
		return
	}
	for {
		old := t.hurry.Load()
		if old >= out || t.hurry.CompareAndSwap(old, out) {
			break
		}
	}
	if t.gathering.Load() {
		t.signal()
	}
}

// sleep is how long to wait for nextMs on the wall clock, at most clock.MaxWait: the clock may be set meanwhile.
func (t *Timer) sleep(nextMs int64) time.Duration {
	now := t.o.Clock.Now()
	if nextMs-now.UnixMilli() > clock.MaxWait.Milliseconds() {
		return clock.MaxWait
	}
	return max(0, time.UnixMilli(nextMs).Sub(now))
}

// round does a bounded piece of each step. It tells when there is something to do again, and whether that is now.
func (t *Timer) round() (next int64, busy bool) {
	now := t.o.Clock.NowMs()
	if !t.watchClock(now) {
		return now + retryPause.Milliseconds(), false
	}
	busy = t.enqueue(now)
	busy = t.openSlots(now) || busy
	busy = t.deliver(now) || busy
	t.settle(now)
	busy = t.sweep(now) || busy
	busy = t.recountSome(now) || busy
	t.writeProgress(now)
	return t.nextRound(now), busy
}

// watchClock notes a step back of the clock before anything is enqueued on the new time. It is false when that could not be written.
func (t *Timer) watchClock(now int64) bool {
	if now-1 >= t.progress.mark.out {
		return true
	}
	t.o.Log.WithFields(logrus.Fields{"now": now, "before": t.progress.mark.out}).Info("the clock went back, timers wait for it")
	for _, p := range t.allProgress() {
		if now-1 < p.mark.out {
			p.stepBack(now, t.log.end, t.queueOffset)
		}
	}
	t.forgetCancels(now)
	t.window.reset(t.wheel.key(t.progress.mark.out))
	t.closed = min(t.closed, t.window.until)
	err := t.writeCheckpoint(now)
	if err == nil {
		// What comes now must not look delivered, not even after a crash of the machine.
		err = t.writer.sync()
	}
	if err != nil {
		t.progress.mark.out = now // so that this is done again
		t.warn(now, "the timer checkpoint cannot be written, it will be tried again", err, nil)
	}
	return err == nil
}

func (t *Timer) allProgress() []*progress {
	all := []*progress{&t.progress, &t.safe, &t.durable, &t.undurable.p}
	for i := range t.unsafe {
		all = append(all, &t.unsafe[i].p)
	}
	return all
}

// settle notes how far everything is delivered, and takes over what became safe.
func (t *Timer) settle(now int64) {
	t.progress.advance(earlier(t.frontier(), mark{now - 1, t.log.end}))
	if len(t.unsafe) == 0 {
		t.safe = copyProgress(t.safe, t.progress)
	} else {
		t.collectSafe()
	}
	t.collectDurable()
	t.closeSlots(now)
	if t.rolledOn.rolled != nil && t.progress.mark.out > t.rolledOn.at {
		t.rolledOn = rolledOn{}
	}
}

// copyProgress is from, in to's memory.
func copyProgress(to, from progress) progress {
	return progress{mark: from.mark, barriers: append(to.barriers[:0], from.barriers...)}
}

// noteUnsafe remembers that the progress made so far counts once the commit log is safe up to end.
func (t *Timer) noteUnsafe(now, end int64) {
	t.progress.advance(earlier(t.frontier(), mark{now - 1, t.log.end}))
	if len(t.unsafe) == maxUnsafe {
		t.unsafe = t.unsafe[:maxUnsafe-1]
	}
	t.putEnd = max(t.putEnd, end)
	t.unsafe = append(t.unsafe, unsafeProgress{end, t.progress.clone()})
	t.collectSafe()
}

func (t *Timer) collectSafe() {
	safe, n := t.o.Store.SafeOffset(), 0
	for n < len(t.unsafe) && t.unsafe[n].end <= safe {
		n++
	}
	if n > 0 {
		t.safe = copyProgress(t.safe, t.unsafe[n-1].p)
		t.unsafe = t.unsafe[:copy(t.unsafe, t.unsafe[n:])]
		t.delivered = true
	}
}

// collectDurable takes over what the disk has by now.
func (t *Timer) collectDurable() {
	if t.o.Store.FlushedOffset() < t.undurable.end {
		return
	}
	t.durable = copyProgress(t.durable, t.undurable.p)
	t.undurable = unsafeProgress{t.putEnd, copyProgress(t.undurable.p, t.safe)}
	if t.undurable.end <= t.o.Store.FlushedOffset() {
		t.durable = copyProgress(t.durable, t.undurable.p)
	}
}

// nextRound is when something is to be done again if nothing arrives.
func (t *Timer) nextRound(now int64) int64 {
	next := now + clock.MaxWait.Milliseconds()
	due := t.window.nextDue()
	t.nextDue.Store(due)
	t.enqueuedTo.Store(t.queueOffset)
	if due <= now { // held up by a failure
		due = t.retryAt
	}
	next = min(next, due)
	if len(t.unsafe) > 0 {
		next = min(next, now+unsafePause.Milliseconds())
	}
	if t.changed {
		next = min(next, t.savedAt+checkpointPause.Milliseconds())
	}
	return max(next, now)
}

// unsafePause passes between looks at how far the disk is (SYNC_FLUSH).
const unsafePause = 10 * time.Millisecond

// warn logs one of many equal problems in ten seconds.
func (t *Timer) warn(now int64, what string, err error, fields logrus.Fields) {
	q := t.quiet[what]
	if q == nil {
		q = &relay.Throttle{}
		t.quiet[what] = q
	}
	if missed, ok := q.Allow(now); ok {
		t.o.Log.WithError(err).WithFields(fields).WithField("more", missed).Warn(what)
	}
}

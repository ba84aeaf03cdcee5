package timer

import (
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
)

// recovery is what Open finds out.
type recovery struct {
	cp      checkpoint
	found   bool // there was a checkpoint
	trusted bool // it was written here, and with the same wheel
	rebuilt bool // the wheel was built from the log
	units   int64
	lost    bool  // the log ends before what the checkpoint knows of
	last    unit  // the last unit of the log
	lastPos int64 // noUnit: the log is empty
	fillers bool  // damaged units of the log were replaced, so that it is out of order
	relinks int64
	wheelAt int64 // the wheel file holds all units before
}

// mixed tells that the log may lack units of any message, not just of the last ones.
func (r *recovery) mixed() bool { return (r.lost || !r.cp.own) && (r.cp.again || r.fillers) }

// believable is how far ahead of the clock the read time of a checkpoint without a checksum may be.
const believable = time.Hour

// recover loads the files and makes them agree: the log ends at its first invalid unit, the wheel holds all units of the log that are not
// done, and what the system topic has and the log should have but has not is enqueued again.
func (t *Timer) recover() error {
	begun := t.o.Clock.Now()
	r := recovery{lastPos: noUnit}
	var err error
	if r.cp, r.found, err = loadCheckpoint(t.o.FS, t.configPath("timercheck")); err != nil {
		return err
	}
	if ahead := r.cp.readMs - t.o.Clock.NowMs(); r.found && !r.cp.own && ahead > believable.Milliseconds() {
		t.o.Log.WithField("readTime", r.cp.readMs).Warn("the timer checkpoint is of the future and not believed, timers may come twice")
		r.cp, r.found = checkpoint{}, false
	}
	if problem := t.metrics.load(t.o.FS, t.configPath("timermetrics")); problem != nil {
		t.o.Log.WithError(problem).Warn("timer metrics are damaged, they are counted anew")
	}
	for topic := range t.metrics.snapshot(shown).TimingCount {
		t.names.note(topic)
	}
	r.trusted = r.cp.own && r.cp.precision == t.precision && r.cp.slots == t.wheel.slots()
	t.progress = r.cp.progress
	if !r.cp.own {
		// The reference counts on in steps of the precision from whatever time it finds, ours too: the slot of that time is not done.
		t.progress = progress{mark: mark{out: r.cp.readMs - r.cp.readMs%t.precision}}
	}
	if t.writer, err = openCheckpoint(t.o.FS, t.configPath("timercheck")); err != nil {
		return err
	}
	if err := t.log.load(); err != nil {
		return err
	}
	if err := t.recoverLog(&r); err != nil {
		return err
	}
	t.progress.cut(t.log.end)
	t.safe, t.durable = t.progress.clone(), t.progress.clone()
	t.undurable = unsafeProgress{p: t.progress.clone()}
	t.window.reset(t.wheel.key(t.progress.mark.out))
	t.closed = t.window.until
	if err := t.noteCut(&r); err != nil {
		return err
	}
	if err := t.recoverQueue(&r); err != nil {
		return err
	}
	anew := !r.cp.clean || !r.trusted || r.relinks > 0
	if anew || r.cp.suspect {
		t.suspectTo = t.log.end
	}
	if r.cp.again || r.fillers {
		t.againTo = t.log.end
	}
	if r.cp.own && r.cp.lateFrom < t.queueOffset {
		t.lates = append(t.lates, lateBatch{mark{t.o.Clock.NowMs(), t.log.end}, r.cp.lateFrom})
	}
	if err := t.noteRolled(&r); err != nil {
		return err
	}
	t.startSweeper(&r)
	if anew {
		t.recount = t.newRecount()
	}
	t.cp, t.wheelAt = r.cp, r.wheelAt
	t.cp.own, t.cp.precision, t.cp.slots = true, t.precision, t.wheel.slots()
	t.keep.Store(t.keepNow())
	if err := t.writeCheckpoint(t.o.Clock.NowMs()); err != nil {
		return err
	}
	t.o.Log.WithFields(logrus.Fields{
		"checkpoint": r.found, "clean": r.cp.clean, "own": r.cp.own, "units": r.units, "wheelRebuilt": r.rebuilt, "relinked": r.relinks,
		"logEnd": t.log.end, "queueOffset": t.queueOffset, "readTime": t.progress.mark.out, "took": t.o.Clock.Now().Sub(begun),
	}).Info("timers recovered")
	return nil
}

// recoverLog finds the log's end and loads or rebuilds the wheel.
func (t *Timer) recoverLog(r *recovery) error {
	begin := t.log.begin()
	from := begin
	wheelErr := errWheel
	if r.trusted && r.cp.logPos >= begin {
		wheelErr = t.file.load(t.wheel, t.wheel.key(t.progress.mark.out))
		if wheelErr == nil && !t.lastUnitStands(r.cp.logPos) {
			wheelErr = fmt.Errorf("%w: the timer log ends before what it holds", errWheel)
		}
	}
	r.wheelAt = begin
	if wheelErr == nil {
		from, r.wheelAt = r.cp.logPos, r.cp.logPos
	} else if err := t.emptyWheel(r, wheelErr); err != nil {
		return err
	}
	if err := t.scan(r, from); err != nil {
		return err
	}
	if wheelErr != nil || t.wheelFits() {
		return t.finishLog(r)
	}
	if err := t.emptyWheel(r, fmt.Errorf("%w: it points behind the end of the timer log", errWheel)); err != nil {
		return err
	}
	r.wheelAt = begin
	if err := t.scan(r, begin); err != nil {
		return err
	}
	return t.finishLog(r)
}

func (t *Timer) emptyWheel(r *recovery, why error) error {
	if r.found {
		t.o.Log.WithError(why).Warn("the timer wheel is built anew from the timer log")
	}
	r.rebuilt = true
	clear(t.wheel.pages)
	if r.cp.own && r.cp.logPos != t.log.begin() {
		// No checkpoint may go on saying that the file holds something.
		r.cp.logPos = t.log.begin()
		if err := errors.Join(t.writer.write(&r.cp), t.writer.sync()); err != nil {
			return err
		}
	}
	return t.file.reset()
}

// lastUnitStands tells whether the unit before pos is there and its record is in the commit log.
func (t *Timer) lastUnitStands(pos int64) bool {
	prev := t.log.before(pos)
	if prev == noUnit {
		return pos == t.log.begin()
	}
	u, ok, err := t.reader.unit(prev)
	return err == nil && ok && !t.ahead(&u)
}

// ahead tells that a unit's record lies behind the end of the commit log: a crash of the machine took it.
func (t *Timer) ahead(u *unit) bool { return u.offset+int64(u.size) > t.o.Store.MaxPhysicalOffset() }

// scan reads the log from a position on to its end and links what the wheel does not know yet.
func (t *Timer) scan(r *recovery, from int64) error {
	begin := t.log.begin()
	r.units, r.lastPos = 0, noUnit
	pos := from
	if prev := t.log.before(pos); prev != noUnit && prev >= begin {
		if u, ok, err := t.reader.unit(prev); err == nil && ok && !u.filler() {
			r.last, r.lastPos = u, prev
		}
	}
	t.reader.reset()
	for t.log.holds(pos) {
		u, ok, err := t.reader.unit(pos)
		if err != nil {
			return err
		}
		if !ok || t.ahead(&u) {
			break
		}
		t.relink(&u, pos)
		if u.filler() {
			r.fillers = true
		} else {
			r.last, r.lastPos = u, pos
		}
		r.units++
		pos = t.log.next(pos)
	}
	t.log.end = pos
	return nil
}

// relink links a unit of the log, unless the wheel holds it already or it is done.
func (t *Timer) relink(u *unit, pos int64) {
	key := t.wheel.key(u.out)
	if t.over(u, pos, &t.progress) {
		return
	}
	old := t.wheel.raw(key)
	if old.used() && old.key == key && old.last >= pos {
		return
	}
	if old.used() && old.key > key {
		return // the slot was taken over by a later turn, so this one is done
	}
	t.wheel.link(u, pos)
}

// wheelFits tells whether the wheel knows of no unit that the log has not.
func (t *Timer) wheelFits() bool {
	fits := true
	t.wheel.each(func(s slot) { fits = fits && s.last < t.log.end })
	return fits
}

// finishLog cuts the log where it ends, if something lies behind.
func (t *Timer) finishLog(r *recovery) error {
	end := t.log.end
	r.lost = r.cp.own && r.cp.logEnd > end
	dirty, err := t.log.dirtyBehind(end)
	if err != nil || !dirty {
		return err
	}
	t.o.Log.WithFields(logrus.Fields{"end": end, "was": r.cp.logEnd}).Warn("the timer log is torn and is cut")
	return t.log.cut(end)
}

// noteCut makes it durable that nothing is said about positions behind the log's end any more, before other units take the place of those that
// were cut off. The checkpoint still has the old end: should the machine crash again, they will be missed again.
func (t *Timer) noteCut(r *recovery) error {
	if !r.lost {
		return nil
	}
	r.cp.progress = t.progress.clone()
	r.cp.clean = false
	if r.mixed() {
		r.cp.logEnd = never // more units may come than were cut off
	}
	r.cp.logPos, r.cp.oldest = r.wheelAt, min(r.cp.oldest, t.log.begin())
	return errors.Join(t.writer.write(&r.cp), t.writer.sync())
}

// recoverQueue finds the next message of the system topic to enqueue, and enqueues again what should have a unit but lost it.
func (t *Timer) recoverQueue(r *recovery) error {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	known := max(r.cp.queueOffset, 0)
	from := t.offsetBehind(r)
	if q == nil {
		t.queueOffset = 0
		return nil
	}
	if from < 0 { // the record of the last unit is not there any more
		from = known
		if r.lastPos == noUnit {
			from = q.MinOffset()
		}
	}
	if r.trusted && !r.lost { // all that the checkpoint knows of is there
		from = max(from, known)
	}
	from = min(max(from, q.MinOffset()), q.MaxOffset())
	t.queueOffset = min(max(from, known), q.MaxOffset())
	if r.mixed() {
		from = q.MinOffset() // a unit that is lost now may have been of any message
	}
	if from >= t.queueOffset {
		return nil
	}
	lateFrom := t.queueOffset
	if r.cp.own {
		lateFrom = r.cp.lateFrom
	}
	mark := markLive
	if r.mixed() {
		mark = markAgain
	}
	rest, err := t.enqueueAgain(from, t.queueOffset, lateFrom, mark, &r.relinks)
	t.queueOffset = rest // what could not be linked yet is enqueued when its slot is free
	return err
}

// offsetBehind is the queue offset behind the message of the log's last unit, -1 when it is not known.
func (t *Timer) offsetBehind(r *recovery) int64 {
	if r.lastPos == noUnit {
		return -1
	}
	rec, err := t.o.Store.Record(r.last.offset, r.last.size)
	if err != nil {
		return -1
	}
	defer rec.Release()
	m := &t.put.record
	if _, err := message.DecodeRecord(rec.Bytes(), m, false); err != nil || m.Topic != message.TopicTimer {
		return -1
	}
	return m.QueueOffset + 1
}

// lastMessages is how many messages before the end of the system topic may come from rolls that the checkpoint does not know of.
const lastMessages = 10_000

// noteRolled remembers, after a kill, which timers had been rolled on: those whose roll is not in the checkpoint would roll twice.
func (t *Timer) noteRolled(r *recovery) error {
	q := t.o.Store.Queue(message.TopicTimer, 0)
	if q == nil || r.cp.clean {
		return nil
	}
	rolled, err := t.rolledSince(max(q.MinOffset(), min(r.cp.queueOffset, q.MaxOffset()-lastMessages)))
	if err != nil {
		return err
	}
	t.rolledOn = rolledOn{rolled, t.log.end, t.o.Clock.NowMs()}
	return nil
}

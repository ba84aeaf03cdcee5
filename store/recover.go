package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/rocketd/rocketd/message"
)

const abortName = "abort"

// Severity grades a problem.
type Severity string

// Severities.
const (
	// Warning: odd, harmless, or put right.
	Warning Severity = "warning"
	// Damage: messages are missing or cannot be found.
	Damage Severity = "damage"
)

// Problem is something wrong with a file.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Offset   int64    `json:"offset"` // in the file; -1: the whole file
	Text     string   `json:"text"`
}

func (p Problem) String() string {
	if p.Offset < 0 {
		return fmt.Sprintf("%s: %s: %s", p.Severity, p.File, p.Text)
	}
	return fmt.Sprintf("%s: %s at %d: %s", p.Severity, p.File, p.Offset, p.Text)
}

// RecoveryReport is what Open found and did. It never changes.
type RecoveryReport struct {
	// Clean: the store had been closed properly.
	Clean bool
	// ScannedFrom and LogEnd are physical offsets: the part of the log that was read.
	ScannedFrom, LogEnd int64
	// Records is how many records were in it.
	Records int64
	// RebuiltQueues is how many consume queues were built again from the whole log.
	RebuiltQueues int
	Problems      []Problem
}

// recovery brings log and queues together when a store is opened.
type recovery struct {
	s      *Store
	report RecoveryReport
	cp     checkpoint
	state  *queueState // nil when there is none that can be trusted
	// rebuild holds the queues that must be built again from the whole log.
	rebuild map[*ConsumeQueue]bool
	// known: records were known to exist up to here.
	known int64

	lastRecord, lastMs int64
	gaps               []scanned
	end                scanned
	// firstGap is where the first gap that was found begins: what was there is not what index files know.
	firstGap int64
}

func (s *Store) recover() error {
	r := &recovery{s: s, rebuild: make(map[*ConsumeQueue]bool), lastRecord: -1, firstGap: math.MaxInt64}
	if err := r.run(); err != nil {
		return err
	}
	s.report = &r.report
	for _, p := range r.report.Problems {
		entry := s.logger.WithField("file", p.File).WithField("offset", p.Offset)
		if p.Severity == Damage {
			entry.Error(p.Text)
		} else {
			entry.Warn(p.Text)
		}
	}
	return nil
}

func (r *recovery) problem(severity Severity, file string, offset int64, format string, args ...any) {
	r.report.Problems = append(r.report.Problems, Problem{severity, file, offset, fmt.Sprintf(format, args...)})
}

func (r *recovery) run() error {
	s := r.s
	_, err := s.fs.Stat(filepath.Join(s.dir, abortName))
	r.report.Clean = errors.Is(err, fs.ErrNotExist)
	if err != nil && !r.report.Clean {
		return err
	}
	var found bool
	if r.cp, found, err = readCheckpoint(s.fs, s.dir); err != nil {
		return err
	}
	if err := r.loadLog(); err != nil {
		return err
	}
	if len(s.files.all()) > 0 && !found && r.report.Clean {
		r.problem(Warning, filepath.Join(s.dir, checkpointName), -1, "checkpoint is missing or unreadable, the whole log is read")
	}
	r.readState()
	// From here on files change.
	if err := s.createAbort(); err != nil {
		return err
	}
	if len(s.files.all()) == 0 {
		return r.emptyLog()
	}
	if s.options.rebuild {
		r.report.Clean, r.state = false, nil
		if err := s.index.forget(); err != nil {
			return err
		}
		return r.readLog()
	}
	if r.untouched() {
		return r.resume()
	}
	return r.readLog()
}

// createAbort makes the file that tells an unclean end.
func (s *Store) createAbort() error {
	path := filepath.Join(s.dir, abortName)
	f, err := s.fs.OpenFile(path, osUpdate|osCreate|osTrunc, filePerm)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(syscall.Getpid())), 0)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return s.fs.SyncDir(s.dir)
}

// loadLog lists the log's files and gives those that are too short their length.
func (r *recovery) loadLog() error {
	s := r.s
	lengths, err := s.files.load(s.allLogDirs)
	if err != nil {
		return err
	}
	files := s.files.all()
	for i, f := range files {
		switch {
		case lengths[i] == f.size:
		case lengths[i] == 0 && i == len(files)-1:
			r.problem(Warning, f.path, -1, "empty file removed")
			s.files.drop(f)
			if err := f.remove(); err != nil {
				return err
			}
		default:
			severity := Damage
			if i == len(files)-1 {
				severity = Warning
			}
			r.problem(severity, f.path, lengths[i], "the file ended here, %d bytes short; it got its length again", f.size-lengths[i])
			w, err := f.writer()
			if err == nil {
				err = errors.Join(w.Truncate(f.size), w.Sync())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readState reads what the queues held at the last checkpoint, if that can be trusted: nobody else has written a checkpoint since, and the last
// record it knows is where it says.
func (r *recovery) readState() {
	s := r.s
	path := filepath.Join(s.dir, queueStateName)
	b, err := readFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var state *queueState
	if err == nil {
		state, err = decodeQueueState(b)
	}
	if err != nil {
		r.problem(Warning, path, -1, "%v; the consume queues are read instead", err)
		return
	}
	if state.checkpoint != r.cp || state.logEnd < s.files.first() {
		return
	}
	if state.lastRecord >= 0 {
		found, ok := r.recordAt(state.lastRecord)
		if !ok || r.overBlank(found.to) != state.logEnd && found.to != state.logEnd || found.r.StoreTimestamp != state.lastRecordMs {
			return
		}
	}
	r.state = state
}

// overBlank is the end of the file when a record ends at offset and only a blank one follows, else offset: a log that lost its last records may
// end there.
func (r *recovery) overBlank(offset int64) int64 {
	file := r.s.files.find(offset)
	if file == nil || file.end()-offset < message.BlankSize {
		return offset
	}
	var b [message.BlankSize]byte
	if err := file.readPlain(b[:], offset); err != nil {
		return offset
	}
	if size, err := message.PeekSize(b[:]); errors.Is(err, message.ErrBlank) && offset+int64(size) == file.end() {
		return file.end()
	}
	return offset
}

// recordAt reads the record at an offset; ok is false when none is there.
func (r *recovery) recordAt(offset int64) (found scanned, ok bool) {
	file := r.s.files.find(offset)
	if file == nil || file.end()-offset < message.MinRecordSize {
		return found, false
	}
	sc := &scanner{files: r.s.files, pos: offset, end: file.end(), verify: true}
	found, err := sc.recordAt(file, offset, file.end()-offset, true)
	if closeErr := sc.close(); closeErr != nil {
		return found, false
	}
	return found, err == nil
}

// emptyLog removes consume queues that lead nowhere (CommitLog.recoverNormally).
func (r *recovery) emptyLog() error {
	s := r.s
	if err := r.loadQueuesFromDirs(); err != nil {
		return err
	}
	list := s.queues.all()
	if len(list) > 0 {
		r.problem(Warning, s.queues.files.dir, -1, "the commit log is empty: %d consume queues removed", len(list))
		if err := s.queues.removeQueues(list); err != nil {
			return err
		}
	}
	s.log.reset(0, -1, 0)
	s.index.prepare(false, indexPosition{}, 0)
	return nil
}

// untouched tells whether the store is as its Close left it.
func (r *recovery) untouched() bool {
	if !r.report.Clean || r.state == nil || !r.state.closed || r.state.logFirst > r.s.files.first() {
		return false
	}
	end := r.state.logEnd
	file := r.s.files.find(end)
	if file == nil {
		last := r.s.files.last()
		return end == last.end()
	}
	// Behind it there may be one more file, made in advance.
	last := r.s.files.last()
	if last != file && last.base != file.end() {
		return false
	}
	return endsAt(file, end) && (last == file || endsAt(last, last.base))
}

// endsAt tells whether nothing is written at an offset.
func endsAt(file *logFile, offset int64) bool {
	b := make([]byte, min(message.BlankSize, file.end()-offset))
	return file.readPlain(b, offset) == nil && allZero(b)
}

// resume takes everything over from the file of Close.
func (r *recovery) resume() error {
	s := r.s
	st := r.state
	r.report.ScannedFrom, r.report.LogEnd = st.logEnd, st.logEnd
	if err := r.loadQueuesFromState(); err != nil {
		return err
	}
	r.lastRecord, r.lastMs = st.lastRecord, st.lastRecordMs
	if len(r.rebuild) > 0 {
		if err := r.rebuildQueues(st.logEnd); err != nil {
			return err
		}
	}
	if st.logFirst < s.files.first() {
		if err := s.queues.raiseMin(s.files.first()); err != nil {
			return err
		}
	}
	r.finish(st.logEnd, true, st.index)
	return nil
}

// finish hands log and queues over to the writing side.
func (r *recovery) finish(end int64, clean bool, indexed indexPosition) {
	s := r.s
	r.report.LogEnd = end
	for _, q := range s.queues.all() {
		q.next = q.MaxOffset()
	}
	s.log.reset(end, r.lastRecord, r.lastMs)
	s.startEnd = end
	trusted := end
	if !clean {
		// Behind it the log may have lost records since the index was written. No checkpoint is written before the index has been cut there,
		// so that the next start reads from there again when this one ends early.
		trusted = r.report.ScannedFrom
	}
	s.index.prepare(clean, indexed, min(trusted, r.firstGap))
}

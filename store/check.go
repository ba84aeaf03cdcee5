package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// maxProblems bounds the problems of a report.
const maxProblems = 1000

// CheckOptions are what Check needs. Dir and FS must be set.
type CheckOptions struct {
	Dir string
	FS  vfs.FS
	// Config gives paths and sizes of files and the delay levels; nil: the defaults.
	Config *conf.Store
	// DeliverTime is that of Options.
	DeliverTime func(level int32, storeTimestamp int64) int64
}

// CheckReport is what Check found.
type CheckReport struct {
	Dir string `json:"dir"`
	// Closed: the store was closed properly (there is no abort file).
	Closed bool `json:"closed"`
	// LogFirst and LogEnd are physical offsets.
	LogFirst int64 `json:"logFirst"`
	LogEnd   int64 `json:"logEnd"`
	LogFiles int   `json:"logFiles"`
	Records  int64 `json:"records"`
	// Sealed is the number of records that stand in the place of damage found by an earlier start.
	Sealed     int64 `json:"sealed"`
	Queues     int   `json:"queues"`
	Entries    int64 `json:"entries"`
	IndexFiles int   `json:"indexFiles"`
	Keys       int64 `json:"keys"`
	// Damages and Warnings count all problems, also those beyond the first thousand, which are not listed.
	Damages  int64     `json:"damages"`
	Warnings int64     `json:"warnings"`
	Problems []Problem `json:"problems"`
}

// Damaged tells whether messages are missing or cannot be found: `store check` then exits with 1.
func (r *CheckReport) Damaged() bool { return r.Damages > 0 }

// WriteText writes the report for people.
func (r *CheckReport) WriteText(w io.Writer) error {
	var b strings.Builder
	state := "was closed"
	if !r.Closed {
		state = "was not closed, or is open"
	}
	fmt.Fprintf(&b, "store %s %s\n", r.Dir, state)
	fmt.Fprintf(&b, "commit log     %d to %d in %d files, %d records, %d sealed\n", r.LogFirst, r.LogEnd, r.LogFiles, r.Records, r.Sealed)
	fmt.Fprintf(&b, "consume queues %d with %d entries\n", r.Queues, r.Entries)
	fmt.Fprintf(&b, "key index      %d files with %d keys\n", r.IndexFiles, r.Keys)
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p)
	}
	if n := r.Damages + r.Warnings - int64(len(r.Problems)); n > 0 {
		fmt.Fprintf(&b, "%d more problems\n", n)
	}
	fmt.Fprintf(&b, "%d damages, %d warnings\n", r.Damages, r.Warnings)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *CheckReport) problem(severity Severity, file string, offset int64, format string, args ...any) {
	if severity == Damage {
		r.Damages++
	} else {
		r.Warnings++
	}
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{severity, file, offset, fmt.Sprintf(format, args...)})
	}
}

// checker compares log, consume queues and index of a store that it does not change.
type checker struct {
	o      CheckOptions
	dir    string
	set    *settings
	report *CheckReport
	files  *logFiles
	queues map[queueKey]*checkQueue
	index  *checkIndex
	scan   *scanner
	state  *queueState // of the last checkpoint; nil when there is none
	sealed int64       // bytes of the log that earlier starts found damaged
	// behind is the severity of what the next start puts right: of a store that was closed nothing should be missing.
	behind Severity
}

// Check reads a whole store and compares what belongs together: every record with its place and checksum, every consume-queue entry with its
// record and the other way round, every key with its record. It changes nothing and needs no lock; of a store that is open the newest
// part may not be complete. An error means that it could not be read.
func Check(o CheckOptions) (*CheckReport, error) {
	c, err := newChecker(o)
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("check %s: %w", c.dir, err)
	}
	return c.report, nil
}

func newChecker(o CheckOptions) (*checker, error) {
	if o.FS == nil || o.Dir == "" {
		return nil, errors.New("check store: Dir and FS must be given")
	}
	if o.Config == nil {
		o.Config = &conf.Default().Store
	}
	if err := checkSizes(o.Config); err != nil {
		return nil, err
	}
	dir := filepath.Clean(o.Dir)
	if _, err := o.FS.Stat(dir); err != nil {
		return nil, err
	}
	options := Options{DeliverTime: o.DeliverTime}
	c := &checker{o: o, dir: dir, set: options.settings(o.Config), report: &CheckReport{Dir: dir, Problems: []Problem{}}}
	_, all := logDirs(dir, o.Config.StorePathCommitLog, o.Config.ReadOnlyCommitLogStorePaths)
	c.files = newLogFiles(o.FS, all, int64(o.Config.MappedFileSizeCommitLog))
	return c, nil
}

func (c *checker) run() (err error) {
	r := c.report
	_, err = c.o.FS.Stat(filepath.Join(c.dir, abortName))
	r.Closed = errors.Is(err, fs.ErrNotExist)
	c.behind = Warning
	if r.Closed {
		c.behind = Damage
	}
	lengths, err := c.files.load(c.files.dirs)
	if err != nil {
		return err
	}
	for i, f := range c.files.all() {
		if lengths[i] != f.size {
			r.problem(Damage, f.path, lengths[i], "the file has %d bytes, mappedFileSizeCommitLog is %d", lengths[i], f.size)
		}
	}
	r.LogFiles = len(lengths)
	r.LogFirst = c.files.first()
	if err := c.loadState(); err != nil {
		return err
	}
	if err := c.loadQueues(); err != nil {
		return err
	}
	if c.index, err = c.loadIndex(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeAll()) }()
	if err := c.log(lengths); err != nil {
		return err
	}
	if err := c.finishQueues(); err != nil {
		return err
	}
	c.index.finish(c)
	return c.checkpoint()
}

func (c *checker) closeAll() error {
	err := c.index.close()
	for _, q := range c.queues {
		err = errors.Join(err, q.close())
	}
	if c.scan != nil {
		err = errors.Join(err, c.scan.close())
	}
	return err
}

// log reads all records. A short last file ends the log where it ends.
func (c *checker) log(lengths []int64) error {
	r := c.report
	r.LogEnd = r.LogFirst
	files := c.files.all()
	if len(files) == 0 {
		return nil
	}
	last := len(files) - 1
	c.scan = &scanner{files: c.files, pos: r.LogFirst, end: files[last].base + lengths[last], verify: true, known: c.knownEnd()}
	for {
		found, err := c.scan.next()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			r.LogEnd = c.scan.pos
			return nil // a short file in the middle, which has been reported
		}
		if err != nil {
			return err
		}
		switch found.kind {
		case scanRecord:
			if err := c.record(&found); err != nil {
				return err
			}
		case scanGap:
			c.gap(&found)
		case scanEnd:
			r.LogEnd = found.to
			return c.tail(&found)
		}
	}
}

// knownEnd is how far the consume queues say that there are records.
func (c *checker) knownEnd() int64 {
	end := int64(0)
	for _, q := range c.queues {
		end = max(end, q.lastEnd)
	}
	return end
}

func (c *checker) gap(found *scanned) {
	file := c.files.find(found.from)
	if file == nil {
		c.report.problem(Damage, c.files.pathOf(found.from-found.from%c.files.size), -1, "file is missing: the records from %d to %d are lost", found.from, found.to)
		return
	}
	c.report.problem(Damage, file.path, found.from-file.base, "%d bytes are no record: %v", found.to-found.from, found.reason)
}

// tail looks at what lies behind the last record.
func (c *checker) tail(found *scanned) error {
	for _, f := range c.files.all() {
		from := max(f.base, found.to)
		if from >= min(f.end(), c.scan.end) {
			continue
		}
		to, err := lastNonZero(f, from, min(f.end(), from+lookAhead, c.scan.end))
		if err != nil {
			return err
		}
		if to > from {
			reason := "no record"
			if found.reason != nil {
				reason = found.reason.Error()
			}
			c.report.problem(c.behind, f.path, from-f.base, "%d bytes behind the last record: %s", to-from, reason)
		}
	}
	return nil
}

// record compares one record with its queue and its keys.
func (c *checker) record(found *scanned) error {
	r := c.report
	m := &found.r
	r.Records++
	switch m.TransactionType() {
	case message.TransactionPrepared, message.TransactionRollback:
		if sealed(m) {
			r.Sealed++
			c.sealed += found.to - found.from
		}
	default:
		if err := c.entry(found); err != nil {
			return err
		}
	}
	c.index.record(c, m)
	return nil
}

// loadState reads what the queues held at the last checkpoint, if it is ours.
func (c *checker) loadState() error {
	path := filepath.Join(c.dir, queueStateName)
	b, err := readFile(c.o.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := decodeQueueState(b)
	if err != nil {
		c.report.problem(Warning, path, -1, "%v", err)
		return nil
	}
	if cp, _, err := readCheckpoint(c.o.FS, c.dir); err == nil && cp == state.checkpoint {
		c.state = state
	}
	return nil
}

// checkpoint looks at the checkpoint.
func (c *checker) checkpoint() error {
	cp, ok, err := readCheckpoint(c.o.FS, c.dir)
	path := filepath.Join(c.dir, checkpointName)
	switch {
	case err != nil:
		return err
	case !ok && c.report.Closed && c.report.Records > 0:
		c.report.problem(Warning, path, -1, "checkpoint is missing or unreadable")
	case cp.queueRecord > c.report.LogEnd:
		c.report.problem(Warning, path, 40, "it names the record at %d, the log ends at %d", cp.queueRecord, c.report.LogEnd)
	}
	return nil
}

// sortProblems orders by file and offset, which is easier to read than the order of finding them.
func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return int(min(max(a.Offset-b.Offset, -1), 1))
	})
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// checkBuffer is how many entries of a queue are read at a time.
const checkBuffer = 512

// checkQueue reads the files of a consume queue without changing them.
type checkQueue struct {
	fs       vfs.FS
	dir      string
	fileSize int64
	unit     int64  // bytes of an entry
	setting  string // of fileSize
	key      queueKey
	bases    []int64
	count    int64 // number behind the last entry, an offset but in a batch queue
	lastEnd  int64

	next    int64 // queue offset expected from the log; -1 before the first record
	matched int64 // entries that fit a record
	at      int64 // of a batch queue: the first entry whose record has not come yet
	broken  bool  // the files cannot be compared
	// found are the problems of the records so far. They count only if the queue does not begin anew later: then its topic was deleted.
	found    []Problem
	foundNum int64
	worst    Severity // of those beyond found

	f     vfs.File
	fBase int64
	buf   []byte
	bufAt int64 // queue offset of the first entry in buf
}

func (q *checkQueue) path(base int64) string { return filepath.Join(q.dir, offsetName(base)) }

// position is the file and the place in it of an entry.
func (q *checkQueue) position(offset int64) (string, int64) {
	at := offset * q.unit
	return q.path(at - at%q.fileSize), at % q.fileSize
}

func (q *checkQueue) close() error {
	if q.f == nil {
		return nil
	}
	f := q.f
	q.f = nil
	return f.Close()
}

// suspect notes a problem of a record.
func (q *checkQueue) suspect(severity Severity, file string, offset int64, format string, args ...any) {
	q.foundNum++
	if q.foundNum <= maxProblems/10 {
		q.found = append(q.found, Problem{severity, file, offset, fmt.Sprintf(format, args...)})
	} else if q.worst != Damage {
		q.worst = severity
	}
}

// entry reads one entry below count.
func (q *checkQueue) entry(offset int64) (Entry, error) {
	b, err := q.raw(offset)
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(b, offset), nil
}

// raw is the bytes of entry n, valid until the next call.
func (q *checkQueue) raw(offset int64) ([]byte, error) {
	if i := offset - q.bufAt; i >= 0 && i < int64(len(q.buf))/q.unit {
		return q.buf[i*q.unit:], nil
	}
	at := offset * q.unit
	base := at - at%q.fileSize
	if q.f == nil || q.fBase != base {
		if err := q.close(); err != nil {
			return nil, err
		}
		f, err := q.fs.OpenFile(q.path(base), osRead, 0)
		if err != nil {
			return nil, err
		}
		q.f, q.fBase = f, base
	}
	n := min(checkBuffer*q.unit, base+q.fileSize-at)
	if q.buf == nil {
		q.buf = make([]byte, checkBuffer*q.unit)
	}
	q.buf, q.bufAt = q.buf[:n], offset
	if _, err := q.f.ReadAt(q.buf, at-base); err != nil {
		q.buf = q.buf[:0]
		return nil, fmt.Errorf("read %s at %d: %w", q.path(base), at-base, noEOF(err))
	}
	// Files stay open only as long as they are read one behind the other.
	return q.buf, q.close()
}

// loadQueues lists the consume queues and finds their ends.
func (c *checker) loadQueues() error {
	c.queues = make(map[queueKey]*checkQueue)
	for _, kind := range []QueueKind{SimpleQueue, BatchQueue} {
		if err := c.loadKind(kind); err != nil {
			return err
		}
	}
	c.report.Queues = len(c.queues)
	return nil
}

func (c *checker) loadKind(kind QueueKind) error {
	dir := filepath.Join(c.dir, kind.directory())
	topics, err := c.o.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, t := range topics {
		if !t.IsDir() {
			c.report.problem(Warning, filepath.Join(dir, t.Name()), -1, "no directory of a topic")
			continue
		}
		ids, err := c.o.FS.ReadDir(filepath.Join(dir, t.Name()))
		if err != nil {
			return err
		}
		for _, d := range ids {
			path := filepath.Join(dir, t.Name(), d.Name())
			id, err := strconv.ParseInt(d.Name(), 10, 32)
			if err != nil || !d.IsDir() {
				c.report.problem(Warning, path, -1, "no directory of a queue")
				continue
			}
			key := queueKey{t.Name(), int32(id)}
			if other := c.queues[key]; other != nil {
				c.report.problem(Warning, path, -1, "the queue is in %s too: the next start removes one of them", other.dir)
				continue
			}
			if err := c.loadQueue(path, key, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) loadQueue(dir string, key queueKey, kind QueueKind) error {
	q := &checkQueue{fs: c.o.FS, dir: dir, fileSize: queueFileSize(c.o.Config), unit: entrySize, setting: "mappedFileSizeConsumeQueue", key: key, next: -1}
	if kind == BatchQueue {
		q.fileSize, q.unit, q.setting = int64(c.o.Config.MapperFileSizeBatchConsumeQueue), batchUnitSize, "mapperFileSizeBatchConsumeQueue"
	}
	c.queues[key] = q
	entries, err := c.o.FS.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		base, ok := parseOffsetName(e.Name())
		if !ok || base%q.fileSize != 0 {
			c.report.problem(Damage, path, -1, "no file of a consume queue with %s = %d", q.setting, q.fileSize)
			q.broken = true
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() != q.fileSize {
			c.report.problem(Damage, path, info.Size(), "the file has %d bytes, %s is %d", info.Size(), q.setting, q.fileSize)
			q.broken = true
			continue
		}
		if n := len(q.bases); n > 0 && q.bases[n-1]+q.fileSize != base {
			c.report.problem(Damage, path, -1, "the file before it is missing")
			q.broken = true
		}
		q.bases = append(q.bases, base)
	}
	if q.broken || len(q.bases) == 0 {
		return nil
	}
	return c.findQueueEnd(q)
}

// findQueueEnd reads all entries: behind the first that was not written none may be.
func (c *checker) findQueueEnd(q *checkQueue) error {
	first := q.bases[0] / q.unit
	end := (q.bases[len(q.bases)-1] + q.fileSize) / q.unit
	q.at = first
	q.count = end
	var last Entry
	for i := first; i < end; i++ {
		e, err := q.entry(i)
		if err != nil {
			return err
		}
		switch {
		case e.written() && i > q.count:
			path, at := q.position(q.count)
			c.report.problem(Damage, path, at, "entry %d of %s/%d is empty, entry %d is not", q.count, q.key.topic, q.key.id, i)
			q.broken = true
			return nil
		case e.written():
			if !e.filler() && e.PhysicalOffset < last.PhysicalOffset {
				path, at := q.position(i)
				c.report.problem(Damage, path, at, "entry %d of %s/%d points to %d, the one before to %d", i, q.key.topic, q.key.id, e.PhysicalOffset, last.PhysicalOffset)
			}
			last = e
		case q.count == end:
			q.count = i
		}
	}
	if last.written() && !last.filler() {
		q.lastEnd = last.end()
	}
	return nil
}

// entry compares a record with the entry it must have.
func (c *checker) entry(found *scanned) error {
	m := &found.r
	file := c.files.find(found.from)
	q := c.queues[queueKey{m.Topic, m.QueueID}]
	if q == nil {
		q = c.missingQueue(m, file, found.from)
	}
	if q.unit == batchUnitSize {
		return c.batchEntry(q, found)
	}
	switch {
	case m.QueueOffset == q.next || q.next < 0:
	case m.QueueOffset == 0:
		// The topic was deleted and made again.
		q.found, q.foundNum, q.matched, q.worst = nil, 0, 0, ""
	case q.holes(q.next, m.QueueOffset, found.from), q.broken && m.QueueOffset > q.next && m.QueueOffset-q.next <= c.sealed/message.MinRecordSize:
		q.suspect(Warning, file.path, found.from-file.base, "messages %d to %d of queue %s/%d are lost, as an earlier start found", q.next, m.QueueOffset-1, m.Topic, m.QueueID)
	default:
		q.suspect(Damage, file.path, found.from-file.base, "the record says it is %d of queue %s/%d, where %d follows", m.QueueOffset, m.Topic, m.QueueID, q.next)
	}
	q.next = m.QueueOffset + 1
	if m.SysFlag&message.SysInnerBatch != 0 {
		q.next += int64(innerMessages(m)) - 1 // its queue has no directory
	}
	if q.broken {
		return nil
	}
	path, at := q.position(m.QueueOffset)
	if m.QueueOffset >= q.count {
		q.suspect(c.behind, path, at, "entry %d of %s/%d for the record at %d is missing", m.QueueOffset, m.Topic, m.QueueID, found.from)
		return nil
	}
	if m.QueueOffset*entrySize < q.bases[0] {
		q.suspect(Damage, path, -1, "the file with entry %d of %s/%d for the record at %d is missing", m.QueueOffset, m.Topic, m.QueueID, found.from)
		return nil
	}
	e, err := q.entry(m.QueueOffset)
	if err != nil {
		return err
	}
	switch want := c.set.recordTagsCode(m); {
	case e.PhysicalOffset != found.from || e.Size != m.Size:
		q.suspect(Damage, path, at, "entry %d of %s/%d is %d+%d, its record is %d+%d", m.QueueOffset, m.Topic, m.QueueID, e.PhysicalOffset, e.Size, found.from, m.Size)
	case e.TagsCode != want && !isExtAddress(e.TagsCode) && (m.Topic != message.TopicSchedule || c.o.DeliverTime != nil):
		q.suspect(Damage, path, at, "entry %d of %s/%d has tags code %d, its record %d", m.QueueOffset, m.Topic, m.QueueID, e.TagsCode, want)
	default:
		q.matched++
	}
	return nil
}

// holes tells whether the entries of [from, to) are known to be lost: they repeat the one behind them.
func (q *checkQueue) holes(from, to, physical int64) bool {
	if q.broken || from >= to || to >= q.count || from*entrySize < q.bases[0] {
		return false
	}
	for i := from; i < to; i++ {
		if e, err := q.entry(i); err != nil || e.PhysicalOffset != physical {
			return false
		}
	}
	return true
}

// missingQueue notes that there is no directory for a record's queue: its topic was deleted, unless the last checkpoint knows it.
func (c *checker) missingQueue(m *message.Record, file *logFile, offset int64) *checkQueue {
	key := queueKey{strings.Clone(m.Topic), m.QueueID} // the record dies with the scanner's buffer
	q := &checkQueue{key: key, next: -1, broken: true}
	c.queues[key] = q
	if c.state != nil && slices.ContainsFunc(c.state.queues, func(s queueSummary) bool { return s.topic == key.topic && s.id == key.id }) {
		c.report.problem(Damage, file.path, offset-file.base, "consume queue %s/%d of this record is missing", m.Topic, m.QueueID)
	} else {
		c.report.problem(Warning, file.path, offset-file.base, "consume queue %s/%d of this record is missing or was deleted", m.Topic, m.QueueID)
	}
	return q
}

// finishQueues looks at entries that no record was found for.
func (c *checker) finishQueues() error {
	for _, q := range c.queues {
		for _, p := range q.found {
			c.report.problem(p.Severity, p.File, p.Offset, "%s", p.Text)
		}
		if n := q.foundNum - int64(len(q.found)); n > 0 {
			c.report.problem(q.worst, q.dir, -1, "%d more problems of %s/%d", n, q.key.topic, q.key.id)
		}
		c.report.Entries += q.matched
		if q.broken {
			continue
		}
		if q.unit == batchUnitSize {
			if err := c.finishBatch(q); err != nil {
				return err
			}
			continue
		}
		inLog, holes, beyond := int64(0), int64(0), int64(-1)
		var next Entry
		for i := q.count - 1; len(q.bases) > 0 && i >= q.bases[0]/entrySize; i-- {
			e, err := q.entry(i)
			if err != nil {
				return err
			}
			if e.filler() || e.PhysicalOffset < c.report.LogFirst {
				break
			}
			if e.PhysicalOffset >= c.report.LogEnd {
				beyond = i
				continue
			}
			if next.written() && next.PhysicalOffset == e.PhysicalOffset {
				holes++
			}
			inLog++
			next = e
		}
		if beyond >= 0 {
			path, at := q.position(beyond)
			c.report.problem(c.behind, path, at, "entries %d to %d of %s/%d point behind the log's end at %d", beyond, q.count-1, q.key.topic, q.key.id, c.report.LogEnd)
		}
		if n := inLog - holes - q.matched; n > 0 {
			c.report.problem(Damage, q.dir, -1, "%d entries of %s/%d have no record", n, q.key.topic, q.key.id)
		}
	}
	return nil
}

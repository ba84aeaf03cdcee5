package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// readLog reads the log from where its queues are known to be right, builds the entries behind that again and cuts off what is no record.
func (r *recovery) readLog() error {
	s := r.s
	var err error
	if r.state != nil {
		if err = r.loadQueuesFromState(); err == nil {
			err = r.findStrangers()
		}
	} else {
		err = r.loadQueuesFromDirs()
	}
	if err != nil {
		return err
	}
	first := s.files.first()
	start, lastMs := r.start()
	if s.options.rebuild {
		start, lastMs = first, 0
		if err := r.dropQueues(); err != nil {
			return err
		}
	}
	r.report.ScannedFrom = start
	if err := r.cutQueues(start); err != nil {
		return err
	}
	b := newRebuilder(r, start <= first, nil)
	if err := r.scan(b, start, s.files.last().end(), lastMs); err != nil {
		return err
	}
	b.finish()
	end := r.end.to
	if err := r.sealGaps(); err != nil {
		return err
	}
	if err := r.cutTail(end); err != nil {
		return err
	}
	for q := range b.marked {
		r.rebuild[q] = true
	}
	if len(r.rebuild) > 0 {
		if err := r.rebuildQueues(end); err != nil {
			return err
		}
	}
	if err := r.settleQueues(); err != nil {
		return err
	}
	var indexed indexPosition
	if r.state != nil && r.report.Clean {
		indexed = r.state.index
	}
	r.finish(end, r.report.Clean, indexed)
	return nil
}

// dropQueues removes the queues that the log can give back.
func (r *recovery) dropQueues() error {
	var list []*ConsumeQueue
	for _, q := range r.s.queues.all() {
		if r.rebuild[q] || q.lastEnd == 0 || q.lastEnd > r.s.files.first() {
			list = append(list, q)
		}
	}
	r.report.RebuiltQueues = len(list)
	clear(r.rebuild)
	return r.s.queues.removeQueues(list)
}

// maxAheadMs is how far the store time of a record may be ahead of the clock: further, and it is damaged, or the clock was. New
// messages do not continue from there.
const maxAheadMs = 24 * 3600 * 1000

// scan reads [from, to) of the log record by record.
func (r *recovery) scan(b *rebuilder, from, to, lastMs int64) (err error) {
	s := r.s
	sc := &scanner{files: s.files, pos: from, end: to, known: r.known, verify: s.settings.Load().conf.CheckCRCOnRecover, lastMs: lastMs}
	sc.maxMs = s.clock.NowMs() + maxAheadMs
	defer func() { err = errors.Join(err, sc.close()) }()
	for {
		found, err := sc.next()
		if err != nil {
			return err
		}
		switch found.kind {
		case scanRecord:
			r.report.Records++
			r.lastRecord, r.lastMs = found.from, sc.lastMs
			if sealed(&found.r) {
				b.lost += found.to - found.from // an earlier start found the damage
			}
			b.record(&found.r)
		case scanGap:
			b.lost += found.to - found.from
			found.r.StoreTimestamp = sc.lastMs
			r.gaps = append(r.gaps, found)
		case scanEnd:
			r.end = found
			return nil
		}
	}
}

// start chooses where reading begins: at a record up to which all entries are in the queues. lastMs is the store time before it, 0 when
// it is not known.
func (r *recovery) start() (offset, lastMs int64) {
	first := r.s.files.first()
	if r.state != nil {
		r.lastRecord, r.lastMs = r.state.lastRecord, r.state.lastRecordMs
		return max(r.state.logEnd, first), r.state.lastRecordMs
	}
	last, have := r.lastEntry()
	if !have {
		return first, 0
	}
	if r.report.Clean {
		if _, ok := r.recordAt(last.PhysicalOffset); ok && last.PhysicalOffset >= first {
			return last.PhysicalOffset, 0
		}
	}
	if offset, ok := r.checkpointRecord(); ok {
		return offset, 0
	}
	return r.checkpointFile(), 0
}

// checkpointRecord is the record that the checkpoint names, if it is there, was flushed, and is in its queue.
func (r *recovery) checkpointRecord() (int64, bool) {
	offset := r.cp.queueRecord
	if offset <= 0 || offset < r.s.files.first() {
		return 0, false
	}
	found, ok := r.recordAt(offset)
	if !ok || found.r.StoreTimestamp > r.cp.logMs {
		return 0, false
	}
	switch found.r.TransactionType() {
	case message.TransactionPrepared, message.TransactionRollback:
		return offset, true
	}
	q := r.s.queues.get(found.r.Topic, found.r.QueueID)
	if q == nil || r.rebuild[q] {
		return 0, false
	}
	e, ok := q.Entry(found.r.QueueOffset)
	return offset, ok && e.PhysicalOffset == offset
}

// checkpointFile is the beginning of the newest file whose first record was surely flushed, entries included
// (CommitLog.isMappedFileMatchedRecover).
func (r *recovery) checkpointFile() int64 {
	files := r.s.files.all()
	for i := len(files) - 1; i > 0; i-- {
		found, ok := r.recordAt(files[i].base)
		if ok && found.r.StoreTimestamp <= r.cp.startMs() {
			return files[i].base
		}
	}
	return files[0].base
}

// maxAside bounds the bytes of one piece that are kept aside.
const maxAside = 256 << 20

// keepAside copies bytes of the log into a file of their own below lost/ and returns its name. Not being able to is no reason
// not to start.
func (r *recovery) keepAside(file *logFile, from, to int64) string {
	s := r.s
	b := make([]byte, min(to-from, maxAside))
	err := file.readPlain(b, from)
	path := filepath.Join(s.dir, "lost", fmt.Sprintf("commitlog-%s-%d", offsetName(from), to-from))
	if err == nil {
		err = makeDir(s.fs, filepath.Dir(path))
	}
	if err == nil {
		err = replaceFile(s.fs, path, b)
	}
	if err != nil {
		return fmt.Sprintf("they could not be kept: %v", err)
	}
	return "they are kept in " + path
}

// lostTopic is the topic of the records that stand in the place of damaged ones.
const lostTopic = message.SystemTopicPrefix + "lost"

// sealGaps puts records that nobody sees in the place of what is no record, so that the log can be read from one end to the other,
// by the reference too, which stops at the first damage.
func (r *recovery) sealGaps() error {
	for i := range r.gaps {
		g := &r.gaps[i]
		r.firstGap = min(r.firstGap, g.from)
		file := r.s.files.find(g.from)
		if file == nil {
			r.problem(Damage, r.s.files.pathOf(g.from-g.from%r.s.files.size), -1, "file is missing: the records from %d to %d are lost", g.from, g.to)
			continue
		}
		kept := r.keepAside(file, g.from, g.to)
		if err := r.seal(file, g); err != nil {
			return err
		}
		r.problem(Damage, file.path, g.from-file.base, "%d bytes are no record (%v); %s", g.to-g.from, g.reason, kept)
	}
	return nil
}

// seal overwrites a gap with records that have the type of a rolled-back transaction and the damaged bytes for their body; at a file's end a
// blank one follows, as behind other records. Later starts see by them how much is lost.
func (r *recovery) seal(file *logFile, g *scanned) error {
	w, err := file.writer()
	if err != nil {
		return err
	}
	to := g.to
	if g.to == file.end() {
		if to -= message.BlankSize; to-g.from < message.MinRecordSize {
			to = g.from
		}
		if err := sealEnd(w, to-file.base, g.to-file.base); err != nil || to == g.from {
			return errors.Join(err, w.Sync())
		}
	}
	if to-g.from < message.MinRecordSize {
		return nil // no record is so small; the next start goes over it as this one did
	}
	for from := g.from; from < to; {
		n := min(to-from, int64(r.s.settings.Load().maxMessageSize))
		if left := to - from - n; left > 0 && left < 2*message.MinRecordSize {
			n -= 2 * message.MinRecordSize
		}
		if err := r.sealPiece(file, from, n, g.r.StoreTimestamp); err != nil {
			return err
		}
		from += n
	}
	return w.Sync()
}

// sealEnd puts a blank record at the end of a file, or as much of its head as there is room for.
func sealEnd(w vfs.File, from, to int64) error {
	n := min(to-from, message.BlankSize)
	b := message.AppendBlank(make([]byte, 0, message.BlankSize), message.BlankSize)
	binary.BigEndian.PutUint32(b, uint32(to-from))
	_, err := w.WriteAt(b[:n], from)
	return err
}

func (r *recovery) sealPiece(file *logFile, from, n, storeMs int64) error {
	damaged := make([]byte, n)
	if err := file.readPlain(damaged, from); err != nil {
		return err
	}
	topic := lostTopic[:min(len(lostTopic), max(int(n)-message.MinRecordSize, 0))]
	m := message.Message{Topic: topic, SysFlag: message.TransactionRollback}
	m.Body = damaged[:max(int(n)-message.MinRecordSize-len(topic), 0)]
	b, err := message.AppendRecord(nil, &m, message.Placement{PhysicalOffset: from, StoreTimestamp: storeMs})
	if err != nil {
		return err
	}
	if int64(len(b)) != n {
		return fmt.Errorf("%w: %s at %d: %d bytes between two records", ErrCorrupt, file.path, from-file.base, n)
	}
	w, err := file.writer()
	if err != nil {
		return err
	}
	_, err = w.WriteAt(b, from-file.base)
	return err
}

// cutTail makes the log end at end: what lies behind it is kept aside and overwritten with zeros; later files go.
func (r *recovery) cutTail(end int64) error {
	s := r.s
	file := s.files.find(end)
	if file == nil {
		file = s.files.find(end - 1)
	}
	for _, f := range s.files.all() {
		if f.base < end || f == file {
			continue
		}
		if err := r.removeLater(f); err != nil {
			return err
		}
	}
	if file == nil || end >= file.end() {
		return nil
	}
	to, err := lastNonZero(file, end, min(file.end(), end+lookAhead))
	if err != nil || to == end {
		return err
	}
	kept := r.keepAside(file, end, to)
	w, err := file.writer()
	if err == nil {
		err = errors.Join(writeZeros(w, end-file.base, to-file.base), w.Sync())
	}
	if err != nil {
		return fmt.Errorf("cut %s at %d: %w", file.path, end-file.base, err)
	}
	reason := "no record"
	if r.end.reason != nil {
		reason = r.end.reason.Error()
	}
	r.problem(Warning, file.path, end-file.base, "the log ends here: %d bytes behind it are no record (%s); %s", to-end, reason, kept)
	return nil
}

// removeLater takes a file behind the log's end away: an empty one for good, another one into lost/.
func (r *recovery) removeLater(f *logFile) error {
	s := r.s
	to, err := lastNonZero(f, f.base, min(f.end(), f.base+lookAhead))
	if err != nil {
		return err
	}
	s.files.drop(f)
	f.dropView()
	if err := f.closeWriter(); err != nil {
		return err
	}
	if to == f.base {
		return f.remove()
	}
	target := filepath.Join(s.dir, "lost", "commitlog-"+offsetName(f.base))
	if err := makeDir(s.fs, filepath.Dir(target)); err != nil {
		return err
	}
	if err := s.fs.Rename(f.path, target); err != nil {
		return err
	}
	r.problem(Damage, f.path, -1, "file lies behind the end of the log; moved to %s", target)
	return errors.Join(s.fs.SyncDir(filepath.Dir(f.path)), s.fs.SyncDir(filepath.Dir(target)))
}

// lastNonZero is the offset behind the last byte in [from, to) that is not zero, from when there is none.
func lastNonZero(file *logFile, from, to int64) (int64, error) {
	end := from
	buf := make([]byte, min(scanBuffer, to-from))
	f, err := file.fs.OpenFile(file.path, osRead, 0)
	if err != nil {
		return 0, err
	}
	for at := from; at < to && err == nil; {
		b := buf[:min(int64(len(buf)), to-at)]
		var n int
		if n, err = f.ReadAt(b, at-file.base); n == len(b) {
			err = nil
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != 0 {
				end = at + int64(i) + 1
				break
			}
			if i&511 == 511 && allZero(b[i-511:i+1]) {
				i -= 511
			}
		}
		at += int64(len(b))
	}
	return end, errors.Join(err, f.Close())
}

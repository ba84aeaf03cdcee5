package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rocketd/rocketd/internal/vfs"
)

// eachQueue calls fn for queues, several at a time.
func eachQueue(list []*ConsumeQueue, fn func(*ConsumeQueue) error) error {
	return parallel(len(list), func(i int) error { return fn(list[i]) })
}

// loadQueuesFromState takes the queues over from the file of the last checkpoint. Those whose files are not as it says are to be
// built again.
func (r *recovery) loadQueuesFromState() error {
	s := r.s
	r.known = r.state.logEnd
	list := make([]*ConsumeQueue, 0, len(r.state.queues))
	untouched := r.report.Clean && r.state.closed
	s.queues.expect(len(r.state.queues))
	var foreign []queueDirectory
	for i := range r.state.queues {
		sum := &r.state.queues[i]
		if s.queues.otherKind(sum.topic, sum.batch) {
			foreign = append(foreign, s.queues.directory(sum))
			continue
		}
		q := s.queues.obtainKind(queueKey{sum.topic, sum.id}, sum.batch)
		q.min.Store(sum.min)
		q.max.Store(sum.max)
		q.tailFrom, q.written, q.synced = sum.max, sum.max, sum.max
		q.firstBase, q.lastBase, q.lastEnd = sum.firstBase, sum.lastBase, sum.lastEnd
		list = append(list, q)
		if untouched {
			q.modified = sum.modified
		}
	}
	if err := r.replaceForeign(foreign); err != nil {
		return err
	}
	var mu sync.Mutex
	return eachQueue(list, func(q *ConsumeQueue) error {
		if q.modified > 0 && q.unmodified() {
			return nil
		}
		q.modified = 0
		reason, err := q.checkFiles()
		if err == nil && reason == "" {
			reason = q.loadBatchOffsets()
		}
		if err != nil || reason == "" {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		r.problem(Warning, q.files.queueDir(q), -1, "consume queue is built again from the log: %s", reason)
		r.rebuild[q] = true
		return nil
	})
}

// unmodified tells whether the queue has one file and that was last changed at q.modified.
func (q *ConsumeQueue) unmodified() bool {
	files := q.files
	if q.batch != nil || q.lastBase < 0 || files.base(q.min.Load()) < q.lastBase || q.lastBase != files.base(q.max.Load()-1) {
		return false
	}
	size, modified, err := q.look()
	return err == nil && size == files.size && modified == q.modified
}

// look tells size and time of the last change of the queue's last file, ns.
func (q *ConsumeQueue) look() (size, modified int64, err error) { return q.lookAt(q.lastBase) }

// lookAt is look for the file that begins at base.
func (q *ConsumeQueue) lookAt(base int64) (size, modified int64, err error) {
	t := q.table
	if t.tree != nil && q.batch == nil {
		var b [64]byte
		return t.tree.Look(string(appendQueuePath(b[:0], q, base)))
	}
	info, err := t.fs.Stat(q.files.path(q, base))
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.ModTime().UnixNano(), nil
}

// checkFiles compares the files with what is known about the queue: their lengths, its first and its last entry. reason tells what is wrong.
func (q *ConsumeQueue) checkFiles() (reason string, err error) {
	files := q.files
	first, end := q.min.Load(), q.max.Load()
	q.stale = first == end
	if q.stale {
		return "", nil
	}
	if q.lastBase < 0 || q.lastBase != files.base(end-1) {
		return "its last file is not known", nil
	}
	for base := max(q.firstBase, files.base(first)); base <= q.lastBase; base += files.size {
		f, err := files.fs.OpenFile(files.path(q, base), osUpdate, filePerm)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("file %s is missing", offsetName(base)), nil
		}
		if err != nil {
			return "", err
		}
		reason, err = q.checkFile(f, base, first, end)
		if err = errors.Join(err, f.Close()); err != nil || reason != "" {
			return reason, err
		}
	}
	return "", nil
}

func (q *ConsumeQueue) checkFile(f vfs.File, base, first, end int64) (reason string, err error) {
	files := q.files
	size, err := f.Size()
	if err != nil {
		return "", err
	}
	if size != files.size {
		return fmt.Sprintf("file %s has %d bytes, %s is %d", offsetName(base), size, files.setting(), files.size), nil
	}
	for _, at := range [...]int64{max(first, base/files.unit), min(end, (base+files.size)/files.unit) - 1} {
		var b [unitMost]byte
		if _, err := f.ReadAt(b[:files.unit], at*files.unit-base); err != nil {
			return "", err
		}
		e := decodeEntry(b[:], at)
		if !e.written() || e.filler() || at == end-1 && q.lastEnd > 0 && e.end() != q.lastEnd {
			return fmt.Sprintf("entry %d is %d+%d in file %s", at, e.PhysicalOffset, e.Size, offsetName(base)), nil
		}
	}
	// Behind the end a crash may have left pages without those before them, and a file without the last pages of the one before.
	if at := end*files.unit - base; at <= files.size && !q.stale {
		buf := files.page()
		_, found, err := nextNonZero(f, at, files.size, buf[:])
		files.pages.Put(buf)
		if err != nil {
			return "", err
		}
		q.stale = found > 0
	}
	// So may the removal of the file before the first one be undone.
	for _, other := range [...]int64{base + files.size, q.firstBase - files.size} {
		if q.stale || base != q.lastBase || other < 0 {
			continue
		}
		_, _, err = q.lookAt(other)
		if q.stale = err == nil; !q.stale && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// findStrangers finds the queues that have a directory and that the file of the last checkpoint does not name: made since, or left of a
// topic that was deleted, or of messages a crash took. Their entries come from the log, if from anywhere.
func (r *recovery) findStrangers() error {
	list, err := r.listQueues()
	for _, q := range list {
		q.stranger = true
	}
	return err
}

// loadQueuesFromDirs finds the queues by their directories and their ends by their entries, as the reference does.
func (r *recovery) loadQueuesFromDirs() error {
	list, err := r.listQueues()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	err = eachQueue(list, func(q *ConsumeQueue) error {
		reason, err := q.load(r.report.Clean)
		if err == nil && reason == "" {
			reason = q.loadBatchOffsets()
		}
		if err != nil || reason == "" {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		r.problem(Warning, q.files.queueDir(q), -1, "consume queue is built again from the log: %s", reason)
		r.rebuild[q] = true
		return nil
	})
	for _, q := range list {
		r.known = max(r.known, q.lastEnd)
	}
	return err
}

// load lists the queue's files and finds its end. closed tells that they were closed properly. reason tells why it cannot be used.
func (q *ConsumeQueue) load(closed bool) (reason string, err error) {
	files := q.files
	dir := files.queueDir(q)
	entries, err := files.fs.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var bases []int64
	for i, e := range entries {
		if e.IsDir() {
			continue
		}
		base, ok := parseOffsetName(e.Name())
		if !ok || base%files.size != 0 {
			return "", fmt.Errorf("%w: %s: no name of a file of a consume queue with %s = %d", ErrLayout, filepath.Join(dir, e.Name()), files.setting(), files.size)
		}
		info, err := e.Info()
		if err != nil {
			return "", err
		}
		if info.Size() == 0 && i == len(entries)-1 {
			if err := files.fs.Remove(filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
			reason = fmt.Sprintf("file %s was empty", e.Name())
			continue
		}
		if info.Size() != files.size {
			reason = fmt.Sprintf("file %s has %d bytes, %s is %d", e.Name(), info.Size(), files.setting(), files.size)
		}
		bases = append(bases, base)
	}
	slices.Sort(bases)
	for i := 1; i < len(bases); i++ {
		if bases[i] != bases[i-1]+files.size {
			reason = fmt.Sprintf("file %s is missing", offsetName(bases[i-1]+files.size))
		}
	}
	if reason != "" || len(bases) == 0 {
		return reason, nil
	}
	q.firstBase, q.stale = bases[0], true
	if !closed {
		if bases, err = q.untilHole(bases); err != nil {
			return "", err
		}
	}
	return "", q.findEnd(bases, closed)
}

// uncleanFiles is how many of a queue's files a crash may have left with holes (ConsumeQueue.recover).
const uncleanFiles = 3

// untilHole leaves out the files behind the first one, of the last ones, that is not full.
func (q *ConsumeQueue) untilHole(bases []int64) ([]int64, error) {
	for i := max(len(bases)-uncleanFiles, 0); i < len(bases)-1; i++ {
		n, _, err := q.countEntries(bases[i], false)
		if err != nil {
			return nil, err
		}
		if n < q.files.size/q.files.unit {
			return bases[:i+1], nil
		}
	}
	return bases, nil
}

// findEnd finds the first entry that was never written, and takes what the last one before it says. Files behind it are removed.
func (q *ConsumeQueue) findEnd(bases []int64, closed bool) error {
	files := q.files
	for i := len(bases) - 1; i >= 0; i-- {
		n, last, err := q.countEntries(bases[i], closed)
		if err != nil {
			return err
		}
		if n == 0 && i > 0 {
			if err := errors.Join(files.forget(q, bases[i]), files.fs.Remove(files.path(q, bases[i]))); err != nil {
				return err
			}
			continue
		}
		end := bases[i]/files.unit + n
		q.lastBase = bases[i]
		q.min.Store(min(q.firstBase/files.unit, end))
		q.max.Store(end)
		q.tailFrom, q.written, q.synced = end, end, end
		if n > 0 && !last.filler() {
			q.lastEnd = last.end()
		}
		return nil
	}
	return nil
}

// countEntries finds how many entries a file holds before the first that was not written: by halving when the files were closed, when they
// were written one behind the other; else a crash may have left holes.
func (q *ConsumeQueue) countEntries(base int64, closed bool) (n int64, last Entry, err error) {
	files := q.files
	f, err := files.get(q, base, false)
	if err != nil {
		return 0, Entry{}, err
	}
	defer func() { err = errors.Join(err, files.put(f)) }()
	unit := files.unit
	read := func(i int64, b []byte) error {
		if n, err := f.ReadAt(b, i*unit); n < len(b) {
			return fmt.Errorf("read %s at %d: %w", files.path(q, base), i*unit, noEOF(err))
		}
		return nil
	}
	low, high := int64(0), files.size/unit
	buf := files.page()
	defer files.pages.Put(buf)
	if !closed {
		for low < high {
			b := buf[:min(pageSize/unit, high-low)*unit]
			if err := read(low, b); err != nil {
				return 0, Entry{}, err
			}
			for ; len(b) > 0; b = b[unit:] {
				e := decodeEntry(b, base/unit+low)
				if !e.written() {
					return low, last, nil
				}
				low, last = low+1, e
			}
		}
		return low, last, nil
	}
	for low < high {
		mid := low + (high-low)/2
		b := buf[:unit]
		if err := read(mid, b); err != nil {
			return 0, Entry{}, err
		}
		if e := decodeEntry(b, base/unit+mid); e.written() {
			low, last = mid+1, e
		} else {
			high = mid
		}
	}
	return low, last, nil
}

// lastEntry is the entry of all queues whose record lies last.
func (r *recovery) lastEntry() (e Entry, ok bool) {
	var last *ConsumeQueue
	for _, q := range r.s.queues.all() {
		if !r.rebuild[q] && q.lastEnd > 0 && (last == nil || q.lastEnd > last.lastEnd) {
			last = q
		}
	}
	if last == nil {
		return Entry{}, false
	}
	return last.Entry(last.MaxOffset() - 1)
}

// cutQueues drops entries of records at or behind an offset: they are built again from the log.
func (r *recovery) cutQueues(physical int64) error {
	return eachQueue(r.s.queues.all(), func(q *ConsumeQueue) error {
		if r.rebuild[q] || q.lastEnd > 0 && q.lastEnd <= physical {
			return nil
		}
		return q.cut(physical)
	})
}

// cut drops entries of records at or behind an offset, in memory alone.
func (q *ConsumeQueue) cut(physical int64) error {
	low, high := q.min.Load(), q.max.Load()
	read := func(i int64) (Entry, error) {
		var b [unitMost]byte
		n, _, err := q.read(i, b[:q.files.unit], false)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: consume queue %s has no entry %d", ErrCorrupt, q, i)
		}
		return decodeEntry(b[:], i), err
	}
	for low < high {
		mid := low + (high-low)/2
		e, err := read(mid)
		if err != nil {
			return err
		}
		if e.PhysicalOffset < physical || e.filler() {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if q.batch != nil {
		if err := q.cutBatchOffsets(low); err != nil {
			return err
		}
	}
	q.lastEnd, q.stale = 0, true
	if low > q.min.Load() {
		e, err := read(low - 1)
		if err != nil {
			return err
		}
		if !e.filler() {
			q.lastEnd = e.end()
		}
	}
	q.max.Store(low)
	q.min.Store(min(q.min.Load(), low))
	q.tail, q.tailFrom, q.written, q.synced = nil, low, low, min(q.synced, low)
	return nil
}

// settleQueues writes the entries that were built again, removes what lies behind the queues' ends, and queues nobody knows, and raises
// minimums to the log's beginning.
func (r *recovery) settleQueues() error {
	s := r.s
	if err := s.queues.write(0); err != nil {
		return err
	}
	first := s.files.first()
	unmoved := r.state != nil && r.state.logFirst == first
	list := s.queues.all()
	err := eachQueue(list, func(q *ConsumeQueue) error {
		if q.stranger && q.max.Load() == 0 {
			return nil
		}
		if q.stale || q.stranger {
			if err := q.sweep(); err != nil {
				return err
			}
			q.stale, q.stranger = false, false
		} else if unmoved {
			return nil
		}
		return q.raiseMin(first)
	})
	if err != nil {
		return err
	}
	return s.queues.removeQueues(slices.DeleteFunc(list, func(q *ConsumeQueue) bool { return !q.stranger }))
}

// sweep leaves nothing of the queue behind its end: it removes files that are not its own and overwrites later entries with zeros.
func (q *ConsumeQueue) sweep() error {
	files := q.files
	end := q.max.Load()
	own := files.base(max(end-1, 0)) // the last file
	if q.firstBase < 0 || q.firstBase > own {
		q.firstBase = own
	}
	if err := q.removeOthers(q.firstBase, own); err != nil {
		return err
	}
	f, err := files.get(q, own, false)
	if errors.Is(err, fs.ErrNotExist) {
		// A queue without entries may be without files.
		q.firstBase, q.lastBase = -1, -1
		return nil
	}
	if err != nil {
		return err
	}
	q.lastBase = own
	buf := files.page()
	defer files.pages.Put(buf)
	for {
		var from, to int64
		if from, to, err = nextNonZero(f.File, end*files.unit-own, files.size, buf[:]); err != nil || to == 0 {
			break
		}
		if err = writeZeros(f, from, to); err != nil {
			break
		}
		q.synced = min(q.synced, max(end-1, 0))
		q.modified = 0
	}
	return errors.Join(err, files.put(f))
}

// removeOthers removes the queue's files before first and behind last.
func (q *ConsumeQueue) removeOthers(first, last int64) error {
	files := q.files
	dir := files.queueDir(q)
	entries, err := files.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		base, ok := parseOffsetName(e.Name())
		if !ok || base >= first && base <= last || e.IsDir() {
			continue
		}
		if err := errors.Join(files.forget(q, base), files.fs.Remove(filepath.Join(dir, e.Name()))); err != nil {
			return err
		}
		q.table.noteRemoved(dir)
	}
	return nil
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// prepare says what loading, which happens when the index is first used and before the first checkpoint that vouches for it, will find:
// whether the files were closed properly and how far they had come then; up to where the log is what they know. Keys of records behind that go,
// and are read from the log again.
func (x *index) prepare(clean bool, known indexPosition, trusted int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known.offset > trusted {
		known = indexPosition{}
	}
	x.clean, x.known, x.trusted = clean, known, trusted
	x.position.Store(known.offset)
}

// loadLocked opens the files, once, and finds out how far they cover the log. What does not fit goes: an index can always be built again.
func (x *index) loadLocked() error {
	switch {
	case x.stopped:
		return ErrClosed
	case x.loaded:
		return nil
	}
	for _, f := range x.files {
		// Left by an attempt that failed.
		if err := f.f.Close(); err != nil {
			return err
		}
	}
	x.files = nil
	if err := x.openLocked(); err != nil {
		return err
	}
	x.loaded = true
	position, first := x.position.Load(), x.log.first()
	if !x.enabled() {
		// What is there stays there: it can be read, and be continued when the setting changes.
		x.position.Store(max(position, first))
		return nil
	}
	last := x.lastLocked()
	if last == nil || last.header.next <= 1 && len(x.files) == 1 {
		// Either no record has a key, or the files have gone.
		position = first
	} else {
		covered, skip, err := x.coveredLocked()
		if err != nil {
			return err
		}
		if !x.clean || x.known != last.position(x.known.offset) || position < covered {
			position, x.skip = covered, skip
		}
	}
	if position < first {
		position, x.skip = first, 0
	}
	x.position.Store(position)
	return nil
}

// coveredLocked finds where indexing goes on: at the record of the last key, with the number of its keys that are there already.
func (x *index) coveredLocked() (position int64, skip int, err error) {
	i := len(x.files) - 1
	for i > 0 && x.files[i].header.next <= 1 {
		i--
	}
	position = x.files[i].header.endPhysical
	for ; i >= 0; i-- {
		f := x.files[i]
		for n := f.header.next - 1; n >= 1; n-- {
			e, err := f.entry(n)
			if err != nil {
				return 0, 0, err
			}
			if e.physical != position {
				return position, skip, nil
			}
			skip++
		}
	}
	return position, skip, nil
}

// openLocked opens the files by age, as long as one continues the other. The rest is deleted.
func (x *index) openLocked() error {
	entries, err := x.fs.ReadDir(x.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || !parseIndexName(e.Name()) })
	var reason error
	removed := false
	for i, e := range entries {
		path := filepath.Join(x.dir, e.Name())
		if reason == nil {
			reason = x.openNextLocked(path, i == len(entries)-1)
		}
		if reason != nil {
			x.logger.WithError(reason).WithField("file", path).Warn("index file is built again from the log")
			if err := x.fs.Remove(path); err != nil {
				return err
			}
			removed = true
		}
	}
	err = x.removeLateLocked()
	if removed && err == nil {
		err = x.fs.SyncDir(x.dir) // a crash must not bring them back when the log has grown over the places they know
	}
	return err
}

// removeLateLocked removes the files if keys at the beginning of the log are in none.
func (x *index) removeLateLocked() error {
	if !x.enabled() || len(x.files) == 0 {
		return nil
	}
	if err := x.startsLate(); errors.Is(err, errRead) {
		return err
	} else if err != nil {
		x.logger.WithError(err).Warn("the first index file is missing, the index is built again from the log")
		for _, f := range x.files {
			if err := f.remove(x.fs); err != nil {
				return err
			}
		}
		x.files = nil
		return x.fs.SyncDir(x.dir)
	}
	return nil
}

// openNextLocked opens one more file. The error says why it cannot be used.
func (x *index) openNextLocked(path string, last bool) error {
	f, err := openIndexFile(x.fs, path, x.shape, osUpdate)
	if err != nil {
		return err
	}
	before := x.lastLocked()
	if last && !x.clean || f.header.endPhysical >= x.trusted {
		var header *indexHeader
		if before != nil {
			header = &before.header
		}
		err = f.mend(x.trusted, header, x.storeTime)
	}
	if err == nil {
		err = x.fitsLog(f)
	}
	if err == nil && before != nil {
		err = x.continues(before, f)
	}
	if err != nil {
		return errors.Join(err, f.f.Close())
	}
	f.synced = f.synced || x.clean
	x.files = append(x.files, f)
	return nil
}

// fitsLog compares the times in a file's header with the records they are of.
func (x *index) fitsLog(f *indexFile) error {
	h := f.header
	if h.next <= 1 {
		return nil
	}
	for _, c := range [...]struct{ physical, ms int64 }{{h.beginPhysical, h.beginMs}, {h.endPhysical, h.endMs}} {
		ms, ok := x.storeTime(c.physical)
		if c.physical >= x.log.first() && ok && ms != c.ms && x.plausible(ms) {
			return fmt.Errorf("%w: it says the record at %d was stored at %d, that says %d", ErrCorrupt, c.physical, c.ms, ms)
		}
	}
	return nil
}

// continues checks that no key is missing between two files.
func (x *index) continues(before, f *indexFile) error {
	if !before.full() {
		return fmt.Errorf("%w: the file before is not full", ErrCorrupt)
	}
	if f.header.next <= 1 || !x.enabled() {
		return nil
	}
	return x.noKeysBetween(before.header.endPhysical, f.header.beginPhysical)
}

// startsLate tells whether keys at the beginning of the log have no index, because a file is missing.
func (x *index) startsLate() error {
	first := x.files[0].header
	if first.next <= 1 || first.beginPhysical <= x.log.first() {
		return nil
	}
	return x.noKeysBetween(x.log.first()-1, first.beginPhysical)
}

// noKeysBetween checks that records behind the one at after and before the one at until have no keys.
func (x *index) noKeysBetween(after, until int64) error {
	s := &scanner{files: x.log, pos: max(after, x.log.first()), end: until, known: until}
	for s.pos < until {
		found, err := s.next()
		if err != nil {
			return errors.Join(err, s.close())
		}
		if found.kind == scanEnd {
			break
		}
		if found.kind != scanRecord || found.from <= after {
			continue
		}
		if len(appendIndexKeys(nil, &found.r)) > 0 {
			return errors.Join(fmt.Errorf("%w: the record at %d is not indexed", ErrCorrupt, found.from), s.close())
		}
	}
	return s.close()
}

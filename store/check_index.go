package store

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/rocketd/rocketd/message"
)

// checkIndex walks over the keys of all index files in the order they were added.
type checkIndex struct {
	files   []*indexFile
	at      int   // file of the next key
	n       int32 // its number in that file
	keys    []indexKey
	last    []indexKey // keys of the record before: a start after a crash may have added them again
	missing int64      // keys of records that the index lacks at its end
	early   int64      // keys of records before the first file
	broken  bool
}

func (c *checker) loadIndex() (*checkIndex, error) {
	x := &checkIndex{n: 1}
	if !c.o.Config.MessageIndexEnable {
		return x, nil
	}
	dir := indexDir(c.dir)
	entries, err := c.o.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	shape := indexShape{slots: c.o.Config.MaxHashSlotNum, entries: c.o.Config.MaxIndexNum}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !parseIndexName(e.Name()) {
			c.report.problem(Warning, path, -1, "no index file")
			continue
		}
		f, err := openIndexFile(c.o.FS, path, shape, osRead)
		if errors.Is(err, ErrCorrupt) {
			c.report.problem(Damage, path, -1, "%v", err)
			x.broken = true
			continue
		}
		if err != nil {
			return nil, errors.Join(err, x.close())
		}
		x.files = append(x.files, f)
		if err := f.verify(c); err != nil {
			return nil, errors.Join(err, x.close())
		}
		c.report.Keys += int64(f.header.next - 1)
	}
	c.report.IndexFiles = len(x.files)
	return x, x.skip(c.report.LogFirst)
}

func (x *checkIndex) close() error {
	var err error
	for _, f := range x.files {
		err = errors.Join(err, f.f.Close())
	}
	return err
}

// verify compares slots and chains of a file.
func (x *indexFile) verify(c *checker) error {
	newest := make([]int32, x.shape.slots)
	used := int32(0)
	buf := make([]byte, 8192*indexEntrySize)
	for n := int32(1); n < x.header.next; {
		count := min(8192, x.header.next-n)
		b := buf[:int(count)*indexEntrySize]
		if _, err := x.f.ReadAt(b, x.shape.entryAt(n)); err != nil {
			return err
		}
		for i := range count {
			e := decodeIndexEntry(b[int(i)*indexEntrySize:])
			slot := &newest[e.hash%uint32(x.shape.slots)]
			if e.previous != *slot {
				c.report.problem(c.behind, x.path, x.shape.entryAt(n), "key %d is chained to %d, the key before it in its slot is %d", n, e.previous, *slot)
				return nil
			}
			if *slot == 0 {
				used++
			}
			*slot = n
			n++
		}
	}
	if used != x.header.slotsUsed {
		c.report.problem(Warning, x.path, 32, "%d slots are in use, the header says %d", used, x.header.slotsUsed)
	}
	return x.verifySlots(c, newest)
}

// verifySlots compares the slot table with the newest entry of each slot.
func (x *indexFile) verifySlots(c *checker, newest []int32) error {
	b := make([]byte, slotsPerPage*indexSlotSize)
	for first := 0; first < len(newest); first += slotsPerPage {
		part := newest[first:min(first+slotsPerPage, len(newest))]
		b = b[:len(part)*indexSlotSize]
		if _, err := x.f.ReadAt(b, x.shape.slotAt(int32(first))); err != nil {
			return err
		}
		for i, want := range part {
			got := int32(binary.BigEndian.Uint32(b[i*indexSlotSize:]))
			if got < 0 || got >= x.header.next {
				got = 0
			}
			if got != want {
				c.report.problem(c.behind, x.path, x.shape.slotAt(int32(first+i)), "slot %d leads to key %d, its newest is %d", first+i, got, want)
				return nil
			}
		}
	}
	return nil
}

// skip goes to the first key of a record at or above first.
func (x *checkIndex) skip(first int64) error {
	for {
		e, ok, err := x.peek()
		if err != nil || !ok || e.physical >= first {
			return err
		}
		x.n++
	}
}

// peek is the next key.
func (x *checkIndex) peek() (e indexEntry, ok bool, err error) {
	for x.at < len(x.files) && x.n >= x.files[x.at].header.next {
		x.at++
		x.n = 1
	}
	if x.at >= len(x.files) {
		return indexEntry{}, false, nil
	}
	e, err = x.files[x.at].entry(x.n)
	return e, true, err
}

// record compares a record's keys with the next ones of the index.
func (x *checkIndex) record(c *checker, r *message.Record) {
	if x.broken || !c.o.Config.MessageIndexEnable {
		return
	}
	x.keys = appendIndexKeys(x.keys[:0], r)
	defer func(all []indexKey) { x.last = append(x.last[:0], all...) }(slices.Clone(x.keys))
	for len(x.keys) > 0 {
		e, ok, err := x.peek()
		switch {
		case err != nil:
			c.report.problem(c.behind, x.files[x.at].path, x.files[x.at].shape.entryAt(x.n), "%v", err)
			x.broken = true
			return
		case (!ok || e.physical > r.PhysicalOffset) && !slices.ContainsFunc(x.keys, func(k indexKey) bool { return !k.tag }):
			return // an index of an older version
		case !ok:
			x.missing += int64(len(x.keys))
			return
		case e.physical > r.PhysicalOffset:
			x.early += int64(len(x.keys))
			if x.at > 0 || x.n > 1 {
				c.report.problem(c.behind, x.files[x.at].path, x.files[x.at].shape.entryAt(x.n), "%d keys of the record at %d are not in the index", len(x.keys), r.PhysicalOffset)
			}
			return
		}
		same := func(k indexKey) bool { return k.hash == e.hash && k.physical == e.physical }
		i := slices.IndexFunc(x.keys, same)
		if i < 0 && !slices.ContainsFunc(x.last, same) {
			c.report.problem(Warning, x.files[x.at].path, x.files[x.at].shape.entryAt(x.n), "key %d leads to the record at %d, which does not have it", x.n, e.physical)
		} else if i >= 0 {
			x.keys = slices.Delete(x.keys, i, i+1)
		}
		x.n++
	}
}

// finish tells what the index lacks or has too much.
func (x *checkIndex) finish(c *checker) {
	dir := indexDir(c.dir)
	if x.missing > 0 {
		c.report.problem(Warning, dir, -1, "the last %d keys of the log are not in the index yet", x.missing)
	}
	if x.early > 0 && len(x.files) > 0 {
		c.report.problem(c.behind, dir, -1, "%d keys at the beginning of the log are not in the index", x.early)
	}
	e, ok, err := x.peek()
	if !x.broken && err == nil && ok && e.physical >= c.report.LogEnd {
		c.report.problem(c.behind, x.files[x.at].path, x.files[x.at].shape.entryAt(x.n), "key %d leads to %d, the log ends at %d", x.n, e.physical, c.report.LogEnd)
	}
	sortProblems(c.report.Problems)
}

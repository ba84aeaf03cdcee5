package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
)

// Layout of an index file.
const (
	indexHeaderSize = 40
	indexSlotSize   = 4
	indexEntrySize  = 20
	// slotsPerPage is how many slots are kept and written together.
	slotsPerPage = 1024
	// indexNameLayout is yyyyMMddHHmmss; the milliseconds follow without a dot.
	indexNameLayout = "20060102150405"
	indexNameDigits = 17
)

// indexKey is one key of one record.
type indexKey struct {
	hash     uint32
	physical int64
	storeMs  int64
	tag      bool // one that versions before 5.5 do not index
}

// indexHeader is the head of an index file.
type indexHeader struct {
	beginMs, endMs             int64
	beginPhysical, endPhysical int64
	slotsUsed                  int32
	next                       int32 // number of the next entry, at least 1
}

func (h *indexHeader) append(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(h.beginMs))
	dst = be.AppendUint64(dst, uint64(h.endMs))
	dst = be.AppendUint64(dst, uint64(h.beginPhysical))
	dst = be.AppendUint64(dst, uint64(h.endPhysical))
	dst = be.AppendUint32(dst, uint32(h.slotsUsed))
	return be.AppendUint32(dst, uint32(h.next))
}

func decodeIndexHeader(b []byte) indexHeader {
	_ = b[indexHeaderSize-1]
	be := binary.BigEndian
	return indexHeader{
		beginMs:       int64(be.Uint64(b)),
		endMs:         int64(be.Uint64(b[8:])),
		beginPhysical: int64(be.Uint64(b[16:])),
		endPhysical:   int64(be.Uint64(b[24:])),
		slotsUsed:     int32(be.Uint32(b[32:])),
		next:          max(int32(be.Uint32(b[36:])), 1),
	}
}

// indexEntry is one entry of an index file.
type indexEntry struct {
	hash     uint32
	physical int64
	seconds  int32 // since the file's first store time
	previous int32
}

func appendIndexEntry(dst []byte, e indexEntry) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, e.hash)
	dst = be.AppendUint64(dst, uint64(e.physical))
	dst = be.AppendUint32(dst, uint32(e.seconds))
	return be.AppendUint32(dst, uint32(e.previous))
}

func decodeIndexEntry(b []byte) indexEntry {
	_ = b[indexEntrySize-1]
	be := binary.BigEndian
	return indexEntry{be.Uint32(b), int64(be.Uint64(b[4:])), int32(be.Uint32(b[12:])), int32(be.Uint32(b[16:]))}
}

// indexShape is the configured size of index files.
type indexShape struct {
	slots   int32 // maxHashSlotNum
	entries int32 // maxIndexNum, entry 0 included
}

func (s indexShape) fileSize() int64 {
	return indexHeaderSize + int64(s.slots)*indexSlotSize + int64(s.entries)*indexEntrySize
}

func (s indexShape) entryAt(n int32) int64 {
	return indexHeaderSize + int64(s.slots)*indexSlotSize + int64(n)*indexEntrySize
}

func (s indexShape) slotAt(slot int32) int64 { return indexHeaderSize + int64(slot)*indexSlotSize }

// indexFile is one index file. What was added is in memory until flush. It is guarded by its index's lock.
type indexFile struct {
	path  string
	shape indexShape
	f     vfs.File

	header  indexHeader
	written int32  // entries below are in the file
	fresh   []byte // the entries from written on, encoded
	// pages holds the parts of the slot table that were touched, as they must become.
	pages  []*slotPage
	dirty  []int32 // pages to write
	synced bool    // the file holds everything durably
}

type slotPage struct {
	slots [slotsPerPage]int32
	dirty bool
}

// indexName is the name of a file made at ms: local time, as the reference names them.
func indexName(ms int64) string {
	t := time.UnixMilli(ms)
	return fmt.Sprintf("%s%03d", t.Format(indexNameLayout), t.Nanosecond()/int(time.Millisecond))
}

// parseIndexName tells whether a name is one of an index file.
func parseIndexName(name string) bool {
	if len(name) != indexNameDigits {
		return false
	}
	return !slices.ContainsFunc([]byte(name), func(c byte) bool { return c < '0' || c > '9' })
}

// createIndexFile makes an index file that goes on where the one with header before ended; nil: the first one.
func createIndexFile(fsys vfs.FS, path string, shape indexShape, before *indexHeader) (*indexFile, error) {
	f, err := createSized(fsys, path, shape.fileSize())
	if err != nil {
		return nil, err
	}
	x := newIndexFile(path, shape, f)
	x.header, x.written = headerAfter(before), 1
	return x, nil
}

// headerAfter is the header of a file without keys that goes on where the one with header before ended; nil: of the first one.
func headerAfter(before *indexHeader) indexHeader {
	if before == nil {
		return indexHeader{next: 1}
	}
	return indexHeader{next: 1, beginMs: before.endMs, endMs: before.endMs, beginPhysical: before.endPhysical, endPhysical: before.endPhysical}
}

func newIndexFile(path string, shape indexShape, f vfs.File) *indexFile {
	return &indexFile{
		path:  path,
		shape: shape,
		f:     f,
		pages: make([]*slotPage, (int(shape.slots)+slotsPerPage-1)/slotsPerPage),
	}
}

// openIndexFile opens an index file and reads its header. It refuses a file of another length or with an impossible header.
func openIndexFile(fsys vfs.FS, path string, shape indexShape, flag int) (*indexFile, error) {
	f, err := fsys.OpenFile(path, flag, filePerm)
	if err != nil {
		return nil, err
	}
	x := newIndexFile(path, shape, f)
	if err := x.load(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

func (x *indexFile) load() error {
	size, err := x.f.Size()
	if err != nil {
		return err
	}
	if size != x.shape.fileSize() {
		return fmt.Errorf("%w: %s has %d bytes, with maxHashSlotNum = %d and maxIndexNum = %d it is %d", ErrCorrupt, x.path, size, x.shape.slots, x.shape.entries, x.shape.fileSize())
	}
	var b [indexHeaderSize]byte
	if _, err := x.f.ReadAt(b[:], 0); err != nil {
		return fmt.Errorf("read %s at 0: %w", x.path, err)
	}
	h := decodeIndexHeader(b[:])
	if h.next > x.shape.entries || h.slotsUsed < 0 || h.slotsUsed > h.next-1 || h.beginPhysical < 0 || h.beginPhysical > h.endPhysical || h.next > 1 && h.endMs <= 0 {
		return fmt.Errorf("%w: %s has an impossible header %+v", ErrCorrupt, x.path, h)
	}
	x.header, x.written = h, h.next
	return nil
}

func (x *indexFile) full() bool { return x.header.next >= x.shape.entries }

// page returns a part of the slot table, read from the file the first time.
func (x *indexFile) page(n int32) (*slotPage, error) {
	if p := x.pages[n]; p != nil {
		return p, nil
	}
	count := min(int64(slotsPerPage), int64(x.shape.slots)-int64(n)*slotsPerPage)
	var raw [slotsPerPage * indexSlotSize]byte
	b := raw[:count*indexSlotSize]
	at := x.shape.slotAt(n * slotsPerPage)
	if _, err := x.f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
	}
	p := &slotPage{}
	for i := range int(count) {
		p.slots[i] = int32(binary.BigEndian.Uint32(b[i*indexSlotSize:]))
	}
	x.pages[n] = p
	return p, nil
}

// put adds a key (IndexFile.putKey). The file must not be full.
func (x *indexFile) put(k indexKey) error {
	slot := int32(k.hash % uint32(x.shape.slots))
	p, err := x.page(slot / slotsPerPage)
	if err != nil {
		return err
	}
	h := &x.header
	previous := p.slots[slot%slotsPerPage]
	if previous < 0 || previous >= h.next {
		previous = 0
	}
	seconds := (k.storeMs - h.beginMs) / 1000
	if h.beginMs <= 0 {
		seconds = 0
	}
	x.fresh = appendIndexEntry(x.fresh, indexEntry{k.hash, k.physical, int32(min(max(seconds, 0), 1<<31-1)), previous})
	p.slots[slot%slotsPerPage] = h.next
	if !p.dirty {
		p.dirty = true
		x.dirty = append(x.dirty, slot/slotsPerPage)
	}
	if h.next == 1 {
		h.beginPhysical, h.beginMs = k.physical, k.storeMs
	}
	if previous == 0 {
		h.slotsUsed++
	}
	h.next++
	h.endPhysical, h.endMs = k.physical, k.storeMs
	x.synced = false
	return nil
}

// flush writes what was added: entries, then slots, then the header, so that after a crash the header promises nothing that is not there.
func (x *indexFile) flush() error {
	if len(x.fresh) == 0 && len(x.dirty) == 0 {
		return nil
	}
	x.synced = false
	at := x.shape.entryAt(x.written)
	if _, err := x.f.WriteAt(x.fresh, at); err != nil {
		return fmt.Errorf("write %s at %d: %w", x.path, at, err)
	}
	slices.Sort(x.dirty)
	b := make([]byte, 0, slotsPerPage*indexSlotSize)
	for _, n := range x.dirty {
		p := x.pages[n]
		count := min(int64(slotsPerPage), int64(x.shape.slots)-int64(n)*slotsPerPage)
		b = b[:0]
		for _, v := range p.slots[:count] {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		at := x.shape.slotAt(n * slotsPerPage)
		if _, err := x.f.WriteAt(b, at); err != nil {
			return fmt.Errorf("write %s at %d: %w", x.path, at, err)
		}
		p.dirty = false
	}
	if err := x.writeHeader(); err != nil {
		return err
	}
	x.dirty = x.dirty[:0]
	x.written = x.header.next
	if cap(x.fresh) > 1<<20 {
		x.fresh = nil
	}
	x.fresh = x.fresh[:0]
	return nil
}

func (x *indexFile) writeHeader() error {
	if _, err := x.f.WriteAt(x.header.append(nil), 0); err != nil {
		return fmt.Errorf("write %s at 0: %w", x.path, err)
	}
	return nil
}

// sync writes what was added and makes it durable.
func (x *indexFile) sync() error {
	if err := x.flush(); err != nil {
		return err
	}
	if x.synced {
		return nil
	}
	if err := x.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", x.path, err)
	}
	x.synced = true
	return nil
}

// position is that of an index whose last file this is.
func (x *indexFile) position(offset int64) indexPosition {
	name, err := strconv.ParseInt(filepath.Base(x.path), 10, 64)
	if err != nil {
		return indexPosition{}
	}
	return indexPosition{offset: offset, file: name, next: int64(x.header.next)}
}

// dropPages frees the slot table's memory. Everything must have been flushed.
func (x *indexFile) dropPages() { clear(x.pages) }

// entry reads entry n, 1 <= n < header.next.
func (x *indexFile) entry(n int32) (indexEntry, error) {
	if n >= x.written {
		return decodeIndexEntry(x.fresh[int(n-x.written)*indexEntrySize:]), nil
	}
	var b [indexEntrySize]byte
	at := x.shape.entryAt(n)
	if _, err := x.f.ReadAt(b[:], at); err != nil {
		return indexEntry{}, fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
	}
	return decodeIndexEntry(b[:]), nil
}

// slot is the newest entry of a slot, 0 when there is none.
func (x *indexFile) slot(hash uint32) (int32, error) {
	slot := int32(hash % uint32(x.shape.slots))
	var n int32
	if p := x.pages[slot/slotsPerPage]; p != nil {
		n = p.slots[slot%slotsPerPage]
	} else {
		var b [indexSlotSize]byte
		at := x.shape.slotAt(slot)
		if _, err := x.f.ReadAt(b[:], at); err != nil {
			return 0, fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
		}
		n = int32(binary.BigEndian.Uint32(b[:]))
	}
	if n < 0 || n >= x.header.next {
		n = 0
	}
	return n, nil
}

// mend makes the slot table anew from the entries, which it cuts where they stop making sense. A crash may have left slots that point to
// entries the header does not count, or have lost some of both. Entries of records at or above limit go. What is behind the last entry is
// overwritten: another crash must not bring it back. A file of which nothing is left goes on where the one with header before ended.
func (x *indexFile) mend(limit int64, before *indexHeader, storeTime func(int64) (int64, bool)) error {
	const chunk = 8192
	pages := make([]*slotPage, len(x.pages))
	var used int32
	last := int64(0)
	lastSeconds := int32(0)
	buf := make([]byte, chunk*indexEntrySize)
	n := int32(1)
scan:
	for n < x.header.next {
		count := min(chunk, x.header.next-n)
		b := buf[:int(count)*indexEntrySize]
		at := x.shape.entryAt(n)
		if _, err := x.f.ReadAt(b, at); err != nil {
			return fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
		}
		for i := range count {
			e := decodeIndexEntry(b[int(i)*indexEntrySize:])
			slot := int32(e.hash % uint32(x.shape.slots))
			p := pages[slot/slotsPerPage]
			if p == nil {
				p = &slotPage{dirty: true}
				pages[slot/slotsPerPage] = p
			}
			// The chain is what the entries were linked to when they were added.
			if e == (indexEntry{}) || e.previous != p.slots[slot%slotsPerPage] || e.physical < last || e.physical > x.header.endPhysical || e.physical >= limit {
				break scan
			}
			if e.previous == 0 {
				used++
			}
			p.slots[slot%slotsPerPage] = n
			last, lastSeconds = e.physical, e.seconds
			n++
		}
	}
	switch {
	case n == 1:
		x.header = headerAfter(before)
	case n < x.header.next || last != x.header.endPhysical:
		x.header.next = n
		x.header.endPhysical = max(last, x.header.beginPhysical)
		x.header.endMs = x.header.beginMs + int64(lastSeconds)*1000
		if ms, ok := storeTime(x.header.endPhysical); ok {
			x.header.endMs = ms
		}
	}
	x.header.slotsUsed = used
	x.written = x.header.next
	x.fresh = x.fresh[:0]
	// Slots without an entry must be empty too: every page is written.
	x.dirty = x.dirty[:0]
	for i := range pages {
		if pages[i] == nil {
			continue
		}
		x.dirty = append(x.dirty, int32(i))
	}
	if err := errors.Join(x.clearSlots(pages), x.clearEntries(n, buf)); err != nil {
		return err
	}
	x.pages = pages
	x.synced = false
	// Of a file without entries flush has nothing to write.
	return errors.Join(x.writeHeader(), x.sync())
}

// clearEntries overwrites what is left of entries from number n on, up to the first len(buf) bytes where nothing is.
func (x *indexFile) clearEntries(n int32, buf []byte) error {
	for at := x.shape.entryAt(n); at < x.shape.fileSize(); {
		b := buf[:min(int64(len(buf)), x.shape.fileSize()-at)]
		if _, err := x.f.ReadAt(b, at); err != nil {
			return fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
		}
		if allZero(b) {
			return nil
		}
		if err := writeZeros(x.f, at, at+int64(len(b))); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// clearSlots empties the pages of the file's slot table for which pages has none, if they are not empty.
func (x *indexFile) clearSlots(pages []*slotPage) error {
	var raw [slotsPerPage * indexSlotSize]byte
	for n := range pages {
		if pages[n] != nil {
			continue
		}
		count := min(int64(slotsPerPage), int64(x.shape.slots)-int64(n)*slotsPerPage)
		b := raw[:count*indexSlotSize]
		at := x.shape.slotAt(int32(n) * slotsPerPage)
		if _, err := x.f.ReadAt(b, at); err != nil {
			return fmt.Errorf("read %s at %d: %w", x.path, at, noEOF(err))
		}
		if allZero(b) {
			continue
		}
		clear(b)
		if _, err := x.f.WriteAt(b, at); err != nil {
			return fmt.Errorf("write %s at %d: %w", x.path, at, err)
		}
	}
	return nil
}

func (x *indexFile) remove(fsys vfs.FS) error { return errors.Join(x.f.Close(), fsys.Remove(x.path)) }

// indexDir is where the index files are.
func indexDir(root string) string { return filepath.Join(root, "index") }

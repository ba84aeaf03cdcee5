package timer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
)

// errWheel says why the wheel file cannot be believed. The wheel is then built anew from the timer log.
var errWheel = errors.New("timer wheel is unusable")

const (
	sumSize   = 8  // two checksums for each page: the file holds either content
	pagesOnce = 64 // pages copied while the lock is held, and read at once
)

// wheelFile is the wheel on disk together with the checksums of its pages, which tell garbage, an old copy and a file that the reference
// has written since from what was written here. It belongs to one goroutine at a time.
type wheelFile struct {
	fsys     vfs.FS
	path     string
	sumsPath string
	f, sums  vfs.File
	pages    int
	onDisk   []uint32 // checksum of each page as it is in the file
	fresh    bool     // made since the directory was synced
	lists    []int    // scratch
	written  []int    // pages written since the last sync
	buf      []byte   // scratch
}

func newWheelFile(fsys vfs.FS, path string, pages int) *wheelFile {
	return &wheelFile{fsys: fsys, path: path, sumsPath: path + ".sums", pages: pages, onDisk: make([]uint32, pages)}
}

// load reads the used slots with keys from minKey on into w, whose pages are empty. It fails with errWheel when the file is missing or is not
// what was written, and leaves w empty then.
func (f *wheelFile) load(w *wheel, minKey int64) error {
	if err := f.openExisting(); err != nil {
		return err
	}
	sums := make([]byte, f.pages*sumSize)
	if n, err := f.sums.ReadAt(sums, 0); n < len(sums) {
		return fmt.Errorf("%w: %s: %w", errWheel, f.sumsPath, noEOF(err))
	}
	buf := make([]byte, pagesOnce*pageSize)
	for first := 0; first < f.pages; first += pagesOnce {
		n := min(pagesOnce, f.pages-first)
		if got, err := f.f.ReadAt(buf[:n*pageSize], int64(first)*pageSize); got < n*pageSize {
			return fmt.Errorf("%w: %s: %w", errWheel, f.path, noEOF(err))
		}
		for i := range n {
			if !f.loadPage(w, first+i, buf[i*pageSize:][:pageSize], sums[(first+i)*sumSize:], minKey) {
				clear(w.pages)
				return fmt.Errorf("%w: %s: page %d does not have its checksum", errWheel, f.path, first+i)
			}
		}
	}
	return nil
}

func (f *wheelFile) openExisting() error {
	for _, file := range []struct {
		path string
		size int64
		f    *vfs.File
	}{{f.path, int64(f.pages) * pageSize, &f.f}, {f.sumsPath, int64(f.pages) * sumSize, &f.sums}} {
		opened, err := f.fsys.OpenFile(file.path, openUpdate, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", errWheel, err)
		}
		*file.f = opened
		size, err := opened.Size()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", errWheel, file.path, err)
		}
		if size != file.size {
			return fmt.Errorf("%w: %s has %d bytes, not %d", errWheel, file.path, size, file.size)
		}
	}
	return nil
}

func (f *wheelFile) loadPage(w *wheel, i int, data, sums []byte, minKey int64) bool {
	sum := pageSum(data)
	a, b := binary.BigEndian.Uint32(sums), binary.BigEndian.Uint32(sums[4:])
	if sum != a && sum != b {
		return false
	}
	f.onDisk[i] = sum
	if sum == 0 {
		return true
	}
	var p *page
	for at := 0; at < pageSize; at += slotSize {
		s := decodeSlot(data[at:])
		if !s.used() || s.key < minKey {
			continue
		}
		if p == nil {
			p = &page{}
			w.pages[i] = p
		}
		encodeSlot(p.data[at:], s)
		p.used++
	}
	return true
}

// reset empties the file for a wheel that is built anew.
func (f *wheelFile) reset() error {
	clear(f.onDisk)
	f.fresh = true
	for _, file := range []struct {
		path string
		size int64
		f    *vfs.File
	}{{f.sumsPath, int64(f.pages) * sumSize, &f.sums}, {f.path, int64(f.pages) * pageSize, &f.f}} {
		if *file.f != nil {
			_ = (*file.f).Close() // its content is given up
		}
		opened, err := f.fsys.OpenFile(file.path, openNew, 0o644)
		if err == nil {
			err = opened.Truncate(file.size)
		}
		if err != nil {
			return fmt.Errorf("create %s: %w", file.path, err)
		}
		*file.f = opened
	}
	return nil
}

// flush writes the pages that differ from the file. Pages that got dirty meanwhile wait for the next flush. It tells whether anything was
// written, which sync makes durable.
func (f *wheelFile) flush(w *wheel) (wrote bool, err error) {
	if f.buf == nil {
		f.buf = make([]byte, pagesOnce*pageSize)
	}
	for next := 0; next < f.pages; {
		next = f.copyDirty(w, next)
		if len(f.lists) == 0 {
			break
		}
		if err := f.writePages(); err != nil {
			f.markDirty(w)
			return wrote, err
		}
		wrote = true
	}
	f.free(w)
	return wrote, nil
}

// copyDirty copies up to pagesOnce dirty pages from page on and returns where to go on.
func (f *wheelFile) copyDirty(w *wheel, from int) (next int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.lists = f.lists[:0]
	for next = from; next < f.pages && len(f.lists) < pagesOnce; next++ {
		if p := w.pages[next]; p != nil && p.dirty {
			copy(f.buf[len(f.lists)*pageSize:], p.data[:])
			p.dirty = false
			f.lists = append(f.lists, next)
		}
	}
	return next
}

func (f *wheelFile) markDirty(w *wheel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range f.lists {
		if w.pages[i] != nil {
			w.pages[i].dirty = true
		}
	}
}

// free gives back pages that are blank.
func (f *wheelFile) free(w *wheel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range w.pages {
		if p != nil && p.used == 0 && !p.dirty {
			w.pages[i] = nil
		}
	}
}

// writePages writes the copied pages, their checksums first: whichever of the two contents the file has after a kill is accepted.
func (f *wheelFile) writePages() error {
	var sums [sumSize]byte
	for n, i := range f.lists {
		binary.BigEndian.PutUint32(sums[:], f.onDisk[i])
		binary.BigEndian.PutUint32(sums[4:], pageSum(f.buf[n*pageSize:][:pageSize]))
		if _, err := f.sums.WriteAt(sums[:], int64(i)*sumSize); err != nil {
			return fmt.Errorf("write %s: %w", f.sumsPath, err)
		}
	}
	for n, i := range f.lists {
		data := f.buf[n*pageSize:][:pageSize]
		if _, err := f.f.WriteAt(data, int64(i)*pageSize); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
		f.onDisk[i] = pageSum(data)
		f.written = append(f.written, i)
	}
	return nil
}

func (f *wheelFile) sync() error {
	err := errors.Join(f.sums.Sync(), f.f.Sync())
	if err == nil {
		err = f.settle()
	}
	if err == nil && f.fresh {
		err = f.fsys.SyncDir(filepath.Dir(f.path))
		f.fresh = err != nil
	}
	if err != nil {
		return fmt.Errorf("sync timer wheel: %w", err)
	}
	return nil
}

// settle takes back that the pages written may have their old content.
func (f *wheelFile) settle() error {
	var sums [sumSize]byte
	for _, i := range f.written {
		binary.BigEndian.PutUint32(sums[:], f.onDisk[i])
		binary.BigEndian.PutUint32(sums[4:], f.onDisk[i])
		if _, err := f.sums.WriteAt(sums[:], int64(i)*sumSize); err != nil {
			return err
		}
	}
	f.written = f.written[:0]
	return nil
}

func (f *wheelFile) close() error {
	var all error
	for _, file := range []*vfs.File{&f.f, &f.sums} {
		if *file != nil {
			all = errors.Join(all, (*file).Close())
			*file = nil
		}
	}
	return all
}

// pageSum is 0 for a page of zeros, as in a file that was never written, and never 0 else.
func pageSum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	if sum == zeroPageSum && isZero(data) {
		return 0
	}
	return max(sum, 1)
}

// zeroPageSum is the checksum of a page of zeros.
var zeroPageSum = crc32.Checksum(make([]byte, pageSize), castagnoli) //nolint:gochecknoglobals // a constant that must be computed

// isZero tells whether b holds nothing but zeros: its first byte is one, and each byte equals the one before.
func isZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}

func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fs.ErrInvalid
	}
	return err
}

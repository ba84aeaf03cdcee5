package vfs

import (
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	memPageSize  = 4096
	memChunkSize = 256 // pages
)

type memPage [memPageSize]byte

// memSlot is the place of one page. A page that is durable is never written again but replaced, so clones share it.
type memSlot struct {
	live    *memPage // nil is all zero
	durable *memPage // what it was at the last sync; equals live unless dirty
	dirty   bool
}

// memFile is a file, open or not.
type memFile struct {
	locked      atomic.Bool
	mu          sync.RWMutex
	size        int64                    // guarded by mu
	durableSize int64                    // guarded by mu
	modified    time.Time                // guarded by mu
	chunks      []*[memChunkSize]memSlot // guarded by mu
	dirty       []int64                  // guarded by mu; numbers of the dirty pages
}

func (f *memFile) info(name string) fs.FileInfo {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return memInfo{name: name, size: f.size, mode: 0o644, modified: f.modified}
}

// slotLocked returns the place of page n; nil if there is none and create is false.
func (f *memFile) slotLocked(n int64, create bool) *memSlot {
	c := int(n / memChunkSize)
	if c >= len(f.chunks) {
		if !create {
			return nil
		}
		f.chunks = append(f.chunks, make([]*[memChunkSize]memSlot, c+1-len(f.chunks))...)
	}
	if f.chunks[c] == nil {
		if !create {
			return nil
		}
		f.chunks[c] = new([memChunkSize]memSlot)
	}
	return &f.chunks[c][n%memChunkSize]
}

// dirtyLocked returns the place of page n ready to be written.
func (f *memFile) dirtyLocked(n int64) *memSlot {
	s := f.slotLocked(n, true)
	if !s.dirty {
		s.dirty = true
		f.dirty = append(f.dirty, n)
		s.live = copyPage(s.live)
	}
	if s.live == nil {
		s.live = new(memPage)
	}
	return s
}

func copyPage(p *memPage) *memPage {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func (f *memFile) readAt(b []byte, off int64) (int, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if off >= f.size {
		return 0, io.EOF
	}
	var err error
	if left := f.size - off; int64(len(b)) > left {
		b, err = b[:left], io.EOF
	}
	for done := 0; done < len(b); {
		at := off + int64(done)
		part := b[done:min(len(b), done+memPageSize-int(at%memPageSize))]
		if s := f.slotLocked(at/memPageSize, false); s != nil && s.live != nil {
			copy(part, s.live[at%memPageSize:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b), err
}

func (f *memFile) writeAt(b []byte, off int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for done := 0; done < len(b); {
		at := off + int64(done)
		done += copy(f.dirtyLocked(at / memPageSize).live[at%memPageSize:], b[done:])
	}
	f.size = max(f.size, off+int64(len(b)))
	f.modified = now
}

func (f *memFile) truncate(size int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutLocked(size)
	f.size, f.modified = size, now
}

// cutLocked makes all from size on zero.
func (f *memFile) cutLocked(size int64) {
	first := size / memPageSize
	for c := int(first / memChunkSize); c < len(f.chunks); c++ {
		if f.chunks[c] == nil {
			continue
		}
		for i := range f.chunks[c] {
			n := int64(c)*memChunkSize + int64(i)
			if n < first || f.chunks[c][i].live == nil {
				continue
			}
			s := f.dirtyLocked(n)
			if n == first && size%memPageSize != 0 {
				clear(s.live[size%memPageSize:])
				continue
			}
			s.live = nil
		}
	}
}

func (f *memFile) sync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.dirty {
		s := f.slotLocked(n, true)
		s.durable, s.dirty = s.live, false
	}
	f.dirty = f.dirty[:0]
	f.durableSize = f.size
}

// clone copies what of f survives, all of it durable.
func (f *memFile) clone(s survival) *memFile {
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := &memFile{size: f.durableSize, modified: f.modified, chunks: make([]*[memChunkSize]memSlot, len(f.chunks))}
	if f.size != f.durableSize && s.page() {
		out.size = f.size
	}
	for c, chunk := range f.chunks {
		if chunk == nil {
			continue
		}
		out.chunks[c] = new([memChunkSize]memSlot)
		for i := range chunk {
			p := chunk[i].durable
			if chunk[i].dirty && s.page() {
				p = copyPage(chunk[i].live)
			}
			out.chunks[c][i].live = p
			out.chunks[c][i].durable = p
		}
	}
	out.cutLocked(out.size)
	out.sync()
	return out
}

// memHandle is an open memFile.
type memHandle struct {
	name     string
	node     *memFile
	now      func() time.Time
	writable bool
	closed   atomic.Bool
}

func (h *memHandle) Name() string { return h.name }

func (h *memHandle) check(op string, write bool) error {
	if h.closed.Load() {
		return &fs.PathError{Op: op, Path: h.name, Err: fs.ErrClosed}
	}
	if write && !h.writable {
		return &fs.PathError{Op: op, Path: h.name, Err: syscall.EBADF}
	}
	return nil
}

func (h *memHandle) ReadAt(b []byte, off int64) (int, error) {
	if err := h.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: h.name, Err: syscall.EINVAL}
	}
	return h.node.readAt(b, off)
}

func (h *memHandle) WriteAt(b []byte, off int64) (int, error) {
	if err := h.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, &fs.PathError{Op: "write", Path: h.name, Err: syscall.EINVAL}
	}
	h.node.writeAt(b, off, h.now())
	return len(b), nil
}

func (h *memHandle) Size() (int64, error) {
	if err := h.check("stat", false); err != nil {
		return 0, err
	}
	h.node.mu.RLock()
	defer h.node.mu.RUnlock()
	return h.node.size, nil
}

func (h *memHandle) Truncate(size int64) error {
	if err := h.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: h.name, Err: syscall.EINVAL}
	}
	h.node.truncate(size, h.now())
	return nil
}

func (h *memHandle) Sync() error {
	if err := h.check("sync", false); err != nil {
		return err
	}
	h.node.sync()
	return nil
}

func (h *memHandle) nextData(off int64) (int64, error) {
	if err := h.check("seek", false); err != nil {
		return off, err
	}
	f := h.node
	f.mu.RLock()
	defer f.mu.RUnlock()
	for n := off / memPageSize; n*memPageSize < f.size; n++ {
		if s := f.slotLocked(n, false); s != nil && s.live != nil {
			if at := max(off, n*memPageSize); at < f.size {
				return at, nil
			}
		}
	}
	return off, io.EOF
}

func (h *memHandle) Map(int) (Mapping, bool, error) { return nil, false, h.check("map", false) }

func (h *memHandle) Close() error {
	if h.closed.Swap(true) {
		return &fs.PathError{Op: "close", Path: h.name, Err: fs.ErrClosed}
	}
	return nil
}

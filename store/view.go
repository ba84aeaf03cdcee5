package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rocketd/rocketd/internal/vfs"
)

// view is a counted way to read one file: a mapping where the file system can map, the open file where not. It is closed
// when the last holder releases it; its creator is the first holder.
type view struct {
	path string
	data []byte // the whole file; nil when it cannot be mapped
	m    vfs.Mapping
	f    vfs.File // kept open only when data is nil
	refs atomic.Int32
}

// newView opens path for reading. size is the length the file must have.
func newView(fsys vfs.FS, path string, size int64) (*view, error) {
	f, err := fsys.OpenFile(path, osRead, 0)
	if err != nil {
		return nil, err
	}
	v := &view{path: path}
	v.refs.Store(1)
	m, ok, err := f.Map(int(size))
	if err != nil {
		ok = false // a machine that is out of mappings can still read
	}
	if !ok {
		v.f = f
		return v, nil
	}
	v.m, v.data = m, m.Bytes()
	if err := f.Close(); err != nil {
		v.release()
		return nil, fmt.Errorf("close %s: %w", path, err)
	}
	return v, nil
}

// acquire adds a holder; false when the view is closed already.
func (v *view) acquire() bool {
	for {
		n := v.refs.Load()
		if n == 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (v *view) release() {
	if v.refs.Add(-1) > 0 {
		return
	}
	// Nothing can be done about an error of unmapping or closing a file that was only read.
	if v.m != nil {
		_ = v.m.Unmap()
		v.data = nil
	}
	if v.f != nil {
		_ = v.f.Close()
	}
}

// holds tells where in the mapped file an address lies.
func (v *view) holds(addr uintptr) (at int64, ok bool) {
	if len(v.data) == 0 {
		return 0, false
	}
	at = int64(addr - uintptr(unsafe.Pointer(unsafe.SliceData(v.data))))
	return at, at >= 0 && at < int64(len(v.data))
}

// unreadable is the error of a place in the file that is mapped and cannot be read.
func (v *view) unreadable(at int64) error {
	return fmt.Errorf("read %s at %d: %w", v.path, at, vfs.ErrPage)
}

// lease is bytes of the log together with what must be given back after use: a holder of a view, or a buffer they were read into.
type lease struct {
	v   *view
	buf *[]byte
}

func (l lease) release() {
	if l.v != nil {
		l.v.release()
	}
	if l.buf != nil {
		putBuffer(l.buf)
	}
}

// buffers holds read buffers for file systems that cannot map, by power of two.
type bufferPools [bufferClasses]sync.Pool

const (
	smallestBuffer = 12 // log2 bytes
	bufferClasses  = 12 // the largest pooled one is 8 MiB
)

var buffers bufferPools //nolint:gochecknoglobals // a pool has no state that anybody can see

func getBuffer(n int) *[]byte {
	for class := range bufferClasses {
		size := 1 << (smallestBuffer + class)
		if n > size {
			continue
		}
		if b, ok := buffers[class].Get().(*[]byte); ok {
			*b = (*b)[:n]
			return b
		}
		b := make([]byte, n, size)
		return &b
	}
	b := make([]byte, n)
	return &b
}

func putBuffer(b *[]byte) {
	for class := range bufferClasses {
		if cap(*b) == 1<<(smallestBuffer+class) {
			buffers[class].Put(b)
			return
		}
	}
}

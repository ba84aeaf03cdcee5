package relay

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

const (
	// blockSize is what is read at once while records are read one behind the other, nearby is how far apart they may be then.
	blockSize = 64 << 10
	nearby    = 4 << 10
	// smallestBlock is the size of the smallest class of blocks, each twice the one before; larger ones than the last are not kept.
	smallestBlock = 512
	blockClasses  = 10
	// keptBytes bounds what is kept of each class.
	keptBytes = 512 << 10
	// openFiles is how many files of the log are held open.
	openFiles = 4
	// hotBytes before its end the log was written of late, so that it lies in the page cache as a rule, and is copied out of a mapping, which
	// saves a call for each record; what lies before is read by calls. restBytes bounds what is copied from a mapping before it is given up, so
	// that it does not keep the log resident.
	hotBytes  = 1 << 30
	restBytes = 256 << 20
)

// logFiler opens files of the commit log; *store.Store is one.
type logFiler interface {
	OpenLogFile(physicalOffset int64) (f vfs.File, base, end int64, err error)
	MinPhysicalOffset() int64
	MaxPhysicalOffset() int64
}

// reader reads records of the commit log with files of its own, since a relay reads each record once: through the store's mappings all of the
// log would stay resident. It belongs to one goroutine, the release of its blocks too.
type reader struct {
	log   logFiler
	files []openFile // last used first
	block *Block     // the last one read; held by the reader too
	next  int64      // physical offset behind the last record read
	free  [blockClasses][]*Block
}

type openFile struct {
	f         vfs.File
	base, end int64
	mapped    vfs.Mapping // all of the file; nil: it is not mapped
	copied    int64       // bytes that were copied from mapped
	unmapped  bool        // it is not to be mapped
}

// Block is bytes of the log. It is reused when nobody holds it.
type Block struct {
	r     *reader
	base  int64 // physical offset of data[0]
	data  []byte
	class int // blockClasses: too large to be kept
	refs  int
}

// release gives back one hold.
func (b *Block) release() {
	if b.refs--; b.refs > 0 || b.class == blockClasses {
		return
	}
	if free := &b.r.free[b.class]; len(*free)*cap(b.data) < keptBytes {
		*free = append(*free, b)
	}
}

// record reads the record of size bytes at a physical offset.
func (r *reader) record(offset int64, size int32) (Record, error) {
	if size < message.MinRecordSize {
		return Record{}, fmt.Errorf("%w: no record has %d bytes", store.ErrNotFound, size)
	}
	b := r.block
	if b == nil || offset < b.base || offset+int64(size) > b.base+int64(len(b.data)) {
		var err error
		if b, err = r.bytes(offset, size); err != nil {
			return Record{}, err
		}
	}
	data := b.data[offset-b.base:][:size:size]
	if n, err := message.PeekSize(data); err != nil || n != int(size) {
		return Record{}, fmt.Errorf("%w: no record of %d bytes begins at offset %d", store.ErrNotFound, size, offset)
	}
	if at, ok := message.PeekPhysicalOffset(data); !ok || at != offset {
		return Record{}, fmt.Errorf("%w: no record begins at offset %d", store.ErrNotFound, offset)
	}
	r.next = offset + int64(size)
	b.refs++
	return Record{data: data, block: b}, nil
}

// bytes returns a block with size bytes from offset on.
func (r *reader) bytes(offset int64, size int32) (*Block, error) {
	file, err := r.file(offset)
	if err != nil {
		return nil, err
	}
	logEnd := r.log.MaxPhysicalOffset()
	if offset < r.log.MinPhysicalOffset() || offset+int64(size) > min(file.end, logEnd) {
		return nil, fmt.Errorf("%w: offset %d with %d bytes, the log holds %d to %d",
			store.ErrNotFound, offset, size, r.log.MinPhysicalOffset(), logEnd)
	}
	if offset >= logEnd-hotBytes && file.mapAll() {
		b := r.takeBlock(int(size))
		b.base = offset
		if file.copyTo(b.data, offset-file.base) {
			r.keep(b)
			return b, nil
		}
		b.release()
		file.unmap()
		file.unmapped = true // a call tells why it cannot be read
	}
	return r.read(file, min(file.end, logEnd), offset, size)
}

// mapAll maps the file, unless it is mapped already. It is false where that cannot be.
func (f *openFile) mapAll() bool {
	if f.mapped != nil || f.unmapped {
		return f.mapped != nil
	}
	m, ok, err := f.f.Map(int(f.end - f.base))
	if err != nil || !ok { // reading by calls works too
		f.unmapped = true
		return false
	}
	f.mapped, f.copied = m, 0
	return true
}

// copyTo fills b with what is mapped at a place. It is false when that is not there any more: somebody has cut the file short, or the disk does
// not give it.
func (f *openFile) copyTo(b []byte, at int64) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			if _, memory := fault.(interface{ Addr() uintptr }); !memory {
				panic(fault)
			}
			ok = false
		}
	}()
	copy(b, f.mapped.Bytes()[at:])
	f.copied += int64(len(b))
	return true
}

// unmap gives up the mapping.
func (f *openFile) unmap() {
	if f.mapped != nil {
		_ = f.mapped.Unmap() // was only read
		f.mapped = nil
	}
}

// close closes the file, which was only read.
func (f *openFile) close() {
	f.unmap()
	_ = f.f.Close()
}

// read fills a block from offset on: just the record, or more when the last record read was close before.
func (r *reader) read(file *openFile, end, offset int64, size int32) (*Block, error) {
	n := int64(size)
	if offset >= r.next && offset <= r.next+nearby {
		n = min(max(n, blockSize), end-offset)
	}
	b := r.takeBlock(int(n))
	b.base = offset
	if got, err := file.f.ReadAt(b.data, offset-file.base); got < len(b.data) {
		b.release()
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read commit log at %d: %w", offset, err)
	}
	r.keep(b)
	return b, nil
}

// keep makes b the last block read.
func (r *reader) keep(b *Block) {
	if r.block != nil {
		r.block.release()
	}
	r.block = b
}

// takeBlock returns a block of n bytes with one hold.
func (r *reader) takeBlock(n int) *Block {
	class, size := 0, smallestBlock
	for class < blockClasses && size < n {
		class, size = class+1, 2*size
	}
	if class == blockClasses {
		return &Block{r: r, data: make([]byte, n), class: class, refs: 1}
	}
	free := &r.free[class]
	last := len(*free) - 1
	if last < 0 {
		return &Block{r: r, data: make([]byte, n, size), class: class, refs: 1}
	}
	b := (*free)[last]
	*free = (*free)[:last]
	b.data, b.refs = b.data[:n], 1
	return b
}

// file returns the open file that holds an offset; it is valid until the next call.
func (r *reader) file(offset int64) (*openFile, error) {
	for i, f := range r.files {
		if offset >= f.base && offset < f.end {
			copy(r.files[1:i+1], r.files[:i])
			r.files[0] = f
			return &r.files[0], nil
		}
	}
	f, base, end, err := r.log.OpenLogFile(offset)
	if err != nil {
		return nil, err
	}
	if len(r.files) == openFiles {
		r.files[openFiles-1].close()
		r.files = r.files[:openFiles-1]
	}
	r.files = append(r.files, openFile{})
	copy(r.files[1:], r.files)
	r.files[0] = openFile{f: f, base: base, end: end}
	return &r.files[0], nil
}

// rest closes the files that are removed, or all when the relay ends, and gives up mappings of which much was copied and of files that are not
// the newest ones any more.
func (r *reader) rest(all bool) {
	begin, hot := r.log.MinPhysicalOffset(), r.log.MaxPhysicalOffset()-hotBytes
	kept := r.files[:0]
	for _, f := range r.files {
		if all || f.end <= begin {
			f.close()
			continue
		}
		if f.copied > restBytes || f.end <= hot {
			f.unmap()
		}
		kept = append(kept, f)
	}
	clear(r.files[len(kept):])
	r.files = kept
}

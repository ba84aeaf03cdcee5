package relay

import (
	"errors"
	"fmt"
	"io"

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
)

// logFiler opens files of the commit log; *store.Store is one.
type logFiler interface {
	OpenLogFile(physicalOffset int64) (f vfs.File, base, end int64, err error)
	MinPhysicalOffset() int64
	MaxPhysicalOffset() int64
}

// reader reads records of the commit log without mapping it, since a relay reads each record once: mapped, all of the log would stay
// resident. It belongs to one goroutine, but for the release of its blocks, which belongs to the same.
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
		if b, err = r.read(offset, size); err != nil {
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

// read fills a block from offset on: just the record, or more when the last record read was close before.
func (r *reader) read(offset int64, size int32) (*Block, error) {
	file, err := r.file(offset)
	if err != nil {
		return nil, err
	}
	end := min(file.end, r.log.MaxPhysicalOffset())
	if offset < r.log.MinPhysicalOffset() || offset+int64(size) > end {
		return nil, fmt.Errorf("%w: offset %d with %d bytes, the log holds %d to %d",
			store.ErrNotFound, offset, size, r.log.MinPhysicalOffset(), r.log.MaxPhysicalOffset())
	}
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
	if r.block != nil {
		r.block.release()
	}
	r.block = b
	return b, nil
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

// file returns the open file that holds an offset.
func (r *reader) file(offset int64) (openFile, error) {
	for i, f := range r.files {
		if offset >= f.base && offset < f.end {
			copy(r.files[1:i+1], r.files[:i])
			r.files[0] = f
			return f, nil
		}
	}
	f, base, end, err := r.log.OpenLogFile(offset)
	if err != nil {
		return openFile{}, err
	}
	if len(r.files) == openFiles {
		_ = r.files[openFiles-1].f.Close() // was only read
		r.files = r.files[:openFiles-1]
	}
	r.files = append(r.files, openFile{})
	copy(r.files[1:], r.files)
	r.files[0] = openFile{f, base, end}
	return r.files[0], nil
}

// rest closes the files that are removed, or all when the relay ends.
func (r *reader) rest(all bool) {
	begin := r.log.MinPhysicalOffset()
	kept := r.files[:0]
	for _, f := range r.files {
		if all || f.end <= begin {
			_ = f.f.Close() // was only read
			continue
		}
		kept = append(kept, f)
	}
	clear(r.files[len(kept):])
	r.files = kept
}

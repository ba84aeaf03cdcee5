package store

import (
	"fmt"

	"github.com/rocketd/rocketd/message"
)

// Slice is a piece of the log, valid until Release.
type Slice struct {
	b     []byte
	off   int64
	lease lease
}

// Bytes is the record. It must not be changed, and not be used after Release.
func (s *Slice) Bytes() []byte { return s.b }

// PhysicalOffset is where the record begins.
func (s *Slice) PhysicalOffset() int64 { return s.off }

// Release gives the bytes back. It is called once.
func (s *Slice) Release() {
	s.lease.release()
	s.b, s.lease = nil, lease{}
}

// Record returns the record at a physical offset. ErrNotFound: the offset is outside the log or no record begins there. ErrCorrupt: a record
// begins there and is damaged. Release it after use.
func (s *Store) Record(physicalOffset int64) (*Slice, error) {
	return s.recordBelow(physicalOffset, s.log.end.Load())
}

func (s *Store) recordBelow(offset, end int64) (*Slice, error) {
	file := s.files.find(offset)
	if file == nil || offset+message.MinRecordSize > end {
		return nil, fmt.Errorf("%w: offset %d, the log holds %d to %d", ErrNotFound, offset, s.files.first(), end)
	}
	left := min(file.end(), end) - offset
	b, l, err := file.lease(offset, message.BlankSize)
	if err != nil {
		return nil, err
	}
	size, err := message.PeekSize(b)
	l.release()
	if err != nil || int64(size) > left {
		return nil, fmt.Errorf("%w: no record begins at offset %d", ErrNotFound, offset)
	}
	if b, l, err = file.lease(offset, size); err != nil {
		return nil, err
	}
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, false); err != nil || r.PhysicalOffset != offset {
		l.release()
		if at, ok := message.PeekPhysicalOffset(b); !ok || at != offset {
			return nil, fmt.Errorf("%w: no record begins at offset %d", ErrNotFound, offset)
		}
		return nil, fmt.Errorf("%w: %s at %d: %w", ErrCorrupt, file.path, offset-file.base, err)
	}
	return &Slice{b: b, off: offset, lease: l}, nil
}

// lease returns n bytes of the log from an offset in this file.
func (f *logFile) lease(offset int64, n int) ([]byte, lease, error) {
	v, err := f.view()
	if err != nil {
		return nil, lease{}, err
	}
	pos := offset - f.base
	if v.data != nil {
		return v.data[pos : pos+int64(n) : pos+int64(n)], lease{v: v}, nil
	}
	defer v.release()
	buf := getBuffer(n)
	if got, err := v.f.ReadAt(*buf, pos); got < n {
		putBuffer(buf)
		return nil, lease{}, fmt.Errorf("read %s at %d: %w", f.path, pos, noEOF(err))
	}
	return *buf, lease{buf: buf}, nil
}

// storeTime reads the store time of the record at an offset, ms.
func (s *Store) storeTime(offset int64) (ms int64, ok bool) {
	file := s.files.find(offset)
	if file == nil || offset+message.MinRecordSize > min(s.log.end.Load(), file.end()) {
		return 0, false
	}
	b, l, err := file.lease(offset, message.PeekHeadSize)
	if err != nil {
		return 0, false
	}
	defer l.release()
	if at, ok := message.PeekPhysicalOffset(b); !ok || at != offset {
		return 0, false
	}
	if _, err := message.PeekSize(b); err != nil {
		return 0, false
	}
	return message.PeekStoreTimestamp(b)
}

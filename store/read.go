package store

import (
	"fmt"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// Slice is a copy of a piece of the log, valid until Release.
type Slice struct {
	b     []byte
	off   int64
	lease lease
}

// Bytes is the record. It must not be changed, and not be used after Release.
func (s *Slice) Bytes() []byte { return s.b }

// PhysicalOffset is where the record begins.
func (s *Slice) PhysicalOffset() int64 { return s.off }

// Release gives the bytes back. It is called once, or not at all when the bytes are to stay.
func (s *Slice) Release() {
	s.lease.release()
	s.b, s.lease = nil, lease{}
}

// Record returns the record at a physical offset. ErrNotFound: the offset is outside the log or no record begins there. ErrCorrupt: a record
// begins there and is damaged. Another error, see Unread: it cannot be read now. Release it after use.
func (s *Store) Record(physicalOffset int64) (*Slice, error) {
	slice, err := s.record(physicalOffset)
	if Unread(err) {
		s.warn.report(logUnreadable, err)
	}
	return slice, err
}

func (s *Store) record(offset int64) (*Slice, error) {
	end := s.log.end.Load()
	file := s.files.find(offset)
	if file == nil || offset+message.MinRecordSize > end {
		return nil, fmt.Errorf("%w: offset %d, the log holds %d to %d", ErrNotFound, offset, s.files.first(), end)
	}
	left := min(file.end(), end) - offset
	head := getBuffer(message.BlankSize)
	defer putBuffer(head)
	if err := file.copyTo(*head, offset); err != nil {
		return nil, err
	}
	size, err := message.PeekSize(*head)
	if err != nil || int64(size) > left {
		return nil, fmt.Errorf("%w: no record begins at offset %d", ErrNotFound, offset)
	}
	l := lease{buf: getBuffer(size)}
	b := *l.buf
	if err := file.copyTo(b, offset); err != nil {
		l.release()
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

// copyTo fills b with the bytes of the log from an offset in this file on. The error names file and place.
func (f *logFile) copyTo(b []byte, offset int64) error {
	v, err := f.view()
	if err != nil {
		return err
	}
	defer v.release()
	pos := offset - f.base
	if v.data != nil {
		if err := vfs.CopyMapped(b, v.data, pos); err != nil {
			return fmt.Errorf("read %s at %d: %w", f.path, pos, err)
		}
		return nil
	}
	if got, err := v.f.ReadAt(b, pos); got < len(b) {
		return fmt.Errorf("read %s at %d: %w", f.path, pos, noEOF(err))
	}
	return nil
}

// storeTime reads the store time of the record at an offset, ms.
func (s *Store) storeTime(offset int64) (ms int64, ok bool) {
	file := s.files.find(offset)
	if file == nil || offset+message.MinRecordSize > min(s.log.end.Load(), file.end()) {
		return 0, false
	}
	head := getBuffer(message.PeekHeadSize)
	defer putBuffer(head)
	b := *head
	if err := file.copyTo(b, offset); err != nil {
		return 0, false
	}
	if at, ok := message.PeekPhysicalOffset(b); !ok || at != offset {
		return 0, false
	}
	if _, err := message.PeekSize(b); err != nil {
		return 0, false
	}
	return message.PeekStoreTimestamp(b)
}

package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// Sizes of a scan.
const (
	// scanBuffer is how much a scanner reads at a time.
	scanBuffer = 1 << 20
	// lookAhead is how far behind damage a scanner looks for the next record when nothing says that there is one.
	lookAhead = 32 << 20
	// headSize is what tells a record's start: total size, magic, …, physical offset.
	headSize = 36
)

// scanKind is what a scanner found.
type scanKind uint8

const (
	// scanRecord: a valid record.
	scanRecord scanKind = iota
	// scanGap: bytes that are no record, with a record or a file behind them.
	scanGap
	// scanEnd: nothing more. The bytes at to, if there are any, are no record.
	scanEnd
)

// scanned is one finding. record and r alias the scanner's buffer until the next call.
type scanned struct {
	kind   scanKind
	from   int64
	to     int64
	record []byte
	r      message.Record
	reason error // of a gap, and of an end that is not made of zeros
}

// scanner walks over the records of a log in their order and over the damage between them. It reads the files, not their mappings:
// bytes that were never written and disks that fail are then errors, not signals.
type scanner struct {
	files  *logFiles
	pos    int64 // of the next finding
	end    int64 // nothing is read from here on
	known  int64 // records are known to exist up to here
	verify bool  // check the bodies' checksums
	lastMs int64 // store time of the last record: behind damage older records are leftovers
	maxMs  int64 // a store time beyond this is damaged itself; 0: all are taken

	file *logFile
	f    vfs.File
	buf  []byte
	at   int64 // offset of buf[0]
}

func (s *scanner) close() error {
	s.file, s.buf = nil, s.buf[:0]
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}

// bytes returns n bytes from offset, which lie in one file below end.
func (s *scanner) bytes(file *logFile, offset int64, n int) ([]byte, error) {
	if s.file == file && offset >= s.at && offset+int64(n) <= s.at+int64(len(s.buf)) {
		return s.buf[offset-s.at:][:n], nil
	}
	if s.file != file {
		if err := s.close(); err != nil {
			return nil, err
		}
		f, err := file.fs.OpenFile(file.path, osRead, 0)
		if err != nil {
			return nil, err
		}
		s.file, s.f = file, f
	}
	want := int(min(max(int64(n), scanBuffer), min(file.end(), s.end)-offset))
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.at = s.buf[:want], offset
	got, err := s.f.ReadAt(s.buf, offset-file.base)
	s.buf = s.buf[:got]
	if got < n {
		return nil, fmt.Errorf("read %s at %d: %w", file.path, offset-file.base, noEOF(err))
	}
	return s.buf[:n], nil
}

// next returns the next finding. An error is one of reading, after which the scan cannot go on.
func (s *scanner) next() (scanned, error) {
	for {
		file := s.files.find(s.pos)
		if s.pos >= s.end || file == nil {
			return s.overHole()
		}
		left := min(file.end(), s.end) - s.pos
		if left < message.BlankSize {
			if s.end < file.end() {
				return scanned{kind: scanEnd, from: s.pos, to: s.pos}, nil
			}
			s.pos = file.end()
			continue
		}
		found, err := s.recordAt(file, s.pos, left, s.verify)
		switch {
		case err == nil:
			s.pos = found.to
			if s.maxMs == 0 || found.r.StoreTimestamp <= s.maxMs {
				s.lastMs = max(s.lastMs, found.r.StoreTimestamp)
			}
			return found, nil
		case errors.Is(err, errRead):
			return scanned{}, err
		case errors.Is(err, message.ErrBlank) && found.to == file.end():
			s.pos = file.end()
		default:
			return s.overDamage(file, err)
		}
	}
}

// errRead marks errors of the file system.
var errRead = errors.New("cannot read")

// recordAt reads the record at an offset. With ErrBlank, to is where the blank record claims to end.
func (s *scanner) recordAt(file *logFile, offset, left int64, verify bool) (scanned, error) {
	b, err := s.bytes(file, offset, message.BlankSize)
	if err != nil {
		return scanned{}, fmt.Errorf("%w: %w", errRead, err)
	}
	size, err := message.PeekSize(b)
	found := scanned{kind: scanRecord, from: offset, to: offset + int64(size)}
	if err != nil {
		return found, err
	}
	if int64(size) > left {
		return found, fmt.Errorf("%w: total size %d, %d bytes left in the file", message.ErrShort, size, left)
	}
	if b, err = s.bytes(file, offset, size); err != nil {
		return scanned{}, fmt.Errorf("%w: %w", errRead, err)
	}
	if _, err := message.DecodeRecord(b, &found.r, verify); err != nil {
		return found, err
	}
	if found.r.PhysicalOffset != offset {
		return found, fmt.Errorf("%w: it says it lies at %d", errMisplaced, found.r.PhysicalOffset)
	}
	found.record = b
	return found, nil
}

// errMisplaced: a record does not hold its own offset.
var errMisplaced = errors.New("record belongs elsewhere")

// overHole goes on at the next file behind a missing one, or ends.
func (s *scanner) overHole() (scanned, error) {
	for _, f := range s.files.all() {
		if f.base > s.pos && f.base < s.end {
			gap := scanned{kind: scanGap, from: s.pos, to: f.base, reason: fmt.Errorf("%w: file %s is missing", ErrLayout, s.files.pathOf(s.pos-s.pos%s.files.size))}
			s.pos = f.base
			return gap, nil
		}
	}
	return scanned{kind: scanEnd, from: s.pos, to: s.pos}, nil
}

// overDamage looks for the next record behind bytes that are none.
func (s *scanner) overDamage(file *logFile, reason error) (scanned, error) {
	from := s.pos
	limit := min(file.end(), s.end)
	following := s.followingFile(file)
	if following == nil && s.known <= from {
		limit = min(limit, from+lookAhead)
	}
	at, ok, err := s.search(file, from+1, limit)
	if err != nil {
		return scanned{}, err
	}
	if !ok && following != nil {
		at, ok = following.base, true
	}
	if !ok {
		if errors.Is(reason, message.ErrNoRecord) {
			reason = nil
		}
		return scanned{kind: scanEnd, from: from, to: from, reason: reason}, nil
	}
	s.pos = at
	return scanned{kind: scanGap, from: from, to: at, reason: reason}, nil
}

// followingFile is the file behind one if it begins with a record that is not older than the last one.
func (s *scanner) followingFile(file *logFile) *logFile {
	next := s.files.find(file.end())
	if next == nil || next.base >= s.end {
		return nil
	}
	found, err := s.recordAt(next, next.base, min(next.end(), s.end)-next.base, true)
	if err != nil || found.r.StoreTimestamp < s.lastMs {
		return nil
	}
	return next
}

// recordMagic is what the magic codes of records have in common.
var recordMagic = []byte{0xDA, 0xA3, 0x20} //nolint:gochecknoglobals // a constant

// search finds the first record in [from, limit) of a file that holds its own offset and is not older than the last one.
func (s *scanner) search(file *logFile, from, limit int64) (at int64, ok bool, err error) {
	for from+message.MinRecordSize <= limit {
		n := int(min(scanBuffer, limit-from))
		b, err := s.bytes(file, from, n)
		if err != nil {
			return 0, false, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(b[i:], recordMagic)
			if j < 0 {
				break
			}
			i += j
			start := from + int64(i) - 4
			if i < 4 || i-4+headSize > n {
				continue
			}
			if offset, _ := message.PeekPhysicalOffset(b[i-4:]); offset != start {
				continue
			}
			found, err := s.recordAt(file, start, limitOf(file, s.end)-start, true)
			if errors.Is(err, errRead) {
				return 0, false, err
			}
			if err == nil && found.r.StoreTimestamp >= s.lastMs {
				return start, true, nil
			}
			if b, err = s.bytes(file, from, n); err != nil {
				return 0, false, err
			}
		}
		if int64(n) == limit-from {
			break
		}
		from += int64(n - headSize)
	}
	return 0, false, nil
}

func limitOf(file *logFile, end int64) int64 { return min(file.end(), end) }

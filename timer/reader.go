package timer

import "fmt"

// Block sizes of a unitReader, in units.
const (
	smallBlock = 78   // about a page
	largeBlock = 1260 // about 64 KiB
)

// unitReader reads units through a buffer. It belongs to one goroutine. Its buffer does not see what is written after it was filled:
// reset it before reading what may have changed.
type unitReader struct {
	log  *timerLog
	buf  []byte
	base int64 // position of buf[0]
	n    int   // valid bytes of buf
}

func newUnitReader(log *timerLog) *unitReader { return &unitReader{log: log, base: -1} }

func (r *unitReader) reset() { r.base, r.n = -1, 0 }

// unit reads the unit at pos. ok is false when there is none there.
func (r *unitReader) unit(pos int64) (u unit, ok bool, err error) {
	if !r.log.aligned(pos) {
		return u, false, nil
	}
	b, err := r.bytes(pos)
	if err != nil || len(b) < unitSize {
		return u, false, err
	}
	u, ok = parseUnit(b[:unitSize], pos)
	return u, ok, nil
}

// bytes returns at least a unit's bytes at pos, if the file holds as many. It fills the buffer with what lies around pos: much
// when the last read was nearby, a page else.
func (r *unitReader) bytes(pos int64) ([]byte, error) {
	if b := r.have(pos); b != nil {
		return b, nil
	}
	if r.buf == nil {
		r.buf = make([]byte, largeBlock*unitSize)
	}
	size := int64(smallBlock * unitSize)
	near := int64(2 * largeBlock * unitSize)
	backward := pos < r.base
	if r.n > 0 && pos > r.base-near && pos < r.base+near {
		size = int64(len(r.buf))
	}
	start := pos
	if backward || r.n == 0 {
		start = max(pos-pos%r.log.fileSize, pos+unitSize-size)
	}
	n, err := r.log.readAt(r.buf[:size], start)
	if err != nil {
		r.reset()
		return nil, fmt.Errorf("read unit at %d: %w", pos, err)
	}
	r.base, r.n = start, n
	return r.have(pos), nil
}

func (r *unitReader) have(pos int64) []byte {
	if r.base < 0 || pos < r.base || pos+unitSize > r.base+int64(r.n) {
		return nil
	}
	return r.buf[pos-r.base : r.n]
}

package remoting

import (
	"encoding/binary"
	"math/bits"
)

// frameCutter cuts a byte stream into frames. Frames that lie whole in the input are cut in place; the beginning of an
// unfinished one is kept in a buffer that grows with the bytes that came, never with the length announced, so that a
// sender that trickles costs a small multiple of what it sent, and a large frame is copied less than twice, whatever its
// pieces are.
//
// It knows no sockets: a TLS endpoint can feed it as well as an event loop.
type frameCutter struct {
	pool *bufferPool
	max  int // bytes of one frame, length field included
	// part is the beginning of an unfinished frame, nil when there is none.
	part []byte
	// spent is the buffer of the frame that part became. The frame lives in it until recycle.
	spent []byte
}

// next cuts one frame, its length field included, off the front of in. A nil frame means that in was taken whole and
// more is needed. The frame lives until recycle, and as long as in does. The error wraps ErrFrame; nothing can be cut
// after it.
func (f *frameCutter) next(in []byte) (frame, rest []byte, err error) {
	if f.part == nil {
		if len(in) < lengthSize {
			if len(in) > 0 {
				f.part = append(f.pool.get(lengthSize), in...)
			}
			return nil, nil, nil
		}
		total, err := f.total(in)
		if err != nil {
			return nil, nil, err
		}
		if len(in) >= total {
			return in[:total:total], in[total:], nil
		}
		f.part = append(f.pool.get(f.room(len(in), total)), in...)
		return nil, nil, nil
	}
	if missing := lengthSize - len(f.part); missing > 0 {
		missing = min(missing, len(in))
		f.part = append(f.part, in[:missing]...)
		if in = in[missing:]; len(f.part) < lengthSize {
			return nil, nil, nil
		}
	}
	total, err := f.total(f.part)
	if err != nil {
		return nil, nil, err
	}
	take := min(total-len(f.part), len(in))
	f.grow(take, total)
	f.part = append(f.part, in[:take]...)
	if len(f.part) < total {
		return nil, nil, nil
	}
	frame, f.spent, f.part = f.part, f.part, nil
	return frame, in[take:], nil
}

// total is the size of the frame that begins with b, its length field included.
func (f *frameCutter) total(b []byte) (int, error) {
	n := int64(binary.BigEndian.Uint32(b))
	if n < frameMinLength {
		return 0, frameErrorf("length %d, a frame has at least %d bytes behind its length", n, frameMinLength)
	}
	if n+lengthSize > int64(f.max) {
		return 0, frameErrorf("frame of %d bytes, limit MaxFrame %d", n+lengthSize, f.max)
	}
	return int(n) + lengthSize, nil
}

// room is the buffer to hold have bytes of a frame of total: a small multiple of what the sender has sent.
func (f *frameCutter) room(have, total int) int {
	const (
		least = 64
		large = 16 << 10 // from here on copies cost more than room
	)
	if have >= large {
		return min(total, 4*have)
	}
	return min(total, max(least, 2*have))
}

func (f *frameCutter) grow(more, total int) {
	need := len(f.part) + more
	if need <= cap(f.part) {
		return
	}
	bigger := append(f.pool.get(f.room(need, total)), f.part...)
	f.pool.put(f.part)
	f.part = bigger
}

// held is the memory of the unfinished frame in bytes.
func (f *frameCutter) held() int { return cap(f.part) }

// recycle ends the life of the frames cut so far.
func (f *frameCutter) recycle() {
	if f.spent != nil {
		f.pool.put(f.spent)
		f.spent = nil
	}
}

// drop forgets everything.
func (f *frameCutter) drop() {
	f.recycle()
	if f.part != nil {
		f.pool.put(f.part)
		f.part = nil
	}
}

// bufferPool keeps buffers for reuse, by size. It belongs to one goroutine.
type bufferPool struct {
	classes [25][][]byte // index is the binary logarithm of the capacity, rounded down
	bytes   int
}

const (
	poolBytes     = 16 << 20 // kept at most
	poolKeepBytes = 64 << 10 // buffers up to this size survive trim
	poolMinimum   = 64
)

// get is an empty buffer of at least n bytes.
func (p *bufferPool) get(n int) []byte {
	n = max(n, poolMinimum)
	class := bits.Len(uint(n)) - 1
	for c := class; c <= class+1 && c < len(p.classes); c++ {
		if k := len(p.classes[c]); k > 0 && cap(p.classes[c][k-1]) >= n {
			b := p.classes[c][k-1]
			p.classes[c][k-1] = nil
			p.classes[c] = p.classes[c][:k-1]
			p.bytes -= cap(b)
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

// put takes a buffer back, or leaves it to the garbage collector when enough are kept.
func (p *bufferPool) put(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if class < 0 || class >= len(p.classes) || p.bytes+cap(b) > poolBytes {
		return
	}
	p.bytes += cap(b)
	p.classes[class] = append(p.classes[class], b)
}

// trim drops the large buffers.
func (p *bufferPool) trim() {
	for c := bits.Len(poolKeepBytes); c < len(p.classes); c++ {
		for _, b := range p.classes[c] {
			p.bytes -= cap(b)
		}
		p.classes[c] = nil
	}
}

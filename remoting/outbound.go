package remoting

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// outBuf gathers frames that go to one connection together: headers and small bodies joined in buf, larger bodies as
// references between them.
type outBuf struct {
	buf  []byte
	refs []outRef
	size int // all bytes, those of refs included
}

// outRef is a body that is sent from where it lies.
type outRef struct {
	at      int // it goes out in front of buf[at:]
	b       []byte
	release func() // on the last part of a command that has one
	stable  bool   // the bytes outlive the turn
}

const (
	joinBody    = 4 << 10   // bodies up to this size are copied behind their header
	keepOutBuf  = 256 << 10 // buffers up to this capacity are kept for reuse
	keepOutRefs = 256
)

// add encodes cmd. stable says that bytes of a body without a Release may be referenced beyond the turn. A command that
// cannot be sent (over max, or its header panics) is released, and nothing of it is added.
func (o *outBuf) add(cmd *Command, stable bool, max int) (size int, err error) {
	defer func() {
		if p := recover(); p != nil {
			release(cmd)
			size, err = 0, fmt.Errorf("encoding %T panicked: %v", cmd.Header, p)
			if _, fault := p.(interface{ Addr() uintptr }); fault && cmd.Release != nil {
				err = errors.New("a page of the stored body cannot be read")
			}
		}
	}()
	at := len(o.buf)
	body := bodySize(cmd)
	buf := appendFrameHead(o.buf, cmd)
	size = len(buf) - at + body
	if header := len(buf) - at - prefixSize; size > max || header > maxHeader {
		release(cmd)
		return 0, fmt.Errorf("%d bytes, over the limit of a frame, MaxFrame %d", size, max)
	}
	if body <= joinBody {
		o.buf = appendBody(buf, cmd)
		o.size += size
		release(cmd)
		return size, nil
	}
	o.buf = buf
	o.size += size
	stable = stable || cmd.Release != nil
	o.ref(cmd.Body, stable)
	for _, p := range cmd.BodyParts {
		o.ref(p, stable)
	}
	o.refs[len(o.refs)-1].release = cmd.Release
	return size, nil
}

// appendBody copies the body behind the header. What is given back afterwards may lie in a mapped file: a page of it that cannot be read is a
// panic then, and does not end the process.
func appendBody(buf []byte, cmd *Command) []byte {
	if cmd.Release != nil {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	buf = append(buf, cmd.Body...)
	for _, p := range cmd.BodyParts {
		buf = append(buf, p...)
	}
	return buf
}

func (o *outBuf) ref(b []byte, stable bool) {
	if len(b) > 0 {
		o.refs = append(o.refs, outRef{at: len(o.buf), b: b, stable: stable})
	}
}

func release(cmd *Command) {
	if cmd.Release != nil {
		cmd.Release()
	}
}

// join appends the frames of other, which is empty afterwards.
func (o *outBuf) join(other *outBuf) {
	base := len(o.buf)
	o.buf = append(o.buf, other.buf...)
	for _, r := range other.refs {
		r.at += base
		o.refs = append(o.refs, r)
	}
	o.size += other.size
	other.reset()
}

// vector appends what is to be sent to iov.
func (o *outBuf) vector(iov [][]byte) [][]byte {
	from := 0
	for i := range o.refs {
		r := &o.refs[i]
		if r.at > from {
			iov = append(iov, o.buf[from:r.at])
			from = r.at
		}
		iov = append(iov, r.b)
	}
	if len(o.buf) > from {
		iov = append(iov, o.buf[from:])
	}
	return iov
}

// done releases all bodies and empties o.
func (o *outBuf) done() {
	for i := range o.refs {
		if o.refs[i].release != nil {
			o.refs[i].release()
		}
	}
	o.reset()
}

func (o *outBuf) reset() {
	clear(o.refs)
	o.buf, o.refs, o.size = o.buf[:0], o.refs[:0], 0
	if cap(o.buf) > keepOutBuf {
		o.buf = nil
	}
	if cap(o.refs) > keepOutRefs {
		o.refs = nil
	}
}

// outQueue holds what a socket would not take, in order. Bodies with a Release and bodies of answers given off the loop
// are held by reference, everything else is copied.
type outQueue struct {
	segs []outSeg
	head int // first segment not yet sent
	size int // bytes
	heap int // bytes that are not their owner's memory, see ServerOptions.OutboundBudget
}

type outSeg struct {
	b       []byte
	release func()
	owned   bool // b is the queue's own and may be appended to
	heap    bool
}

func (q *outQueue) empty() bool { return q.size == 0 }

// take moves what is left of o after sent bytes into the queue. o is empty afterwards.
func (q *outQueue) take(o *outBuf, sent int) {
	from := 0
	for i := range o.refs {
		r := &o.refs[i]
		sent = q.copy(o.buf[from:r.at], sent)
		from = r.at
		switch left := len(r.b) - sent; {
		case left <= 0:
			sent -= len(r.b)
			if r.release != nil {
				r.release()
			}
		case r.stable:
			// A body of several parts is released with its last one; until then its first ones are held too.
			q.segs = append(q.segs, outSeg{b: r.b[sent:], release: r.release, heap: r.release == nil && !o.releasedLater(i)})
			q.grow(left, q.segs[len(q.segs)-1].heap)
			sent = 0
		default:
			sent = q.copy(r.b, sent)
		}
	}
	q.copy(o.buf[from:], sent)
	o.reset()
}

// releasedLater tells whether part i belongs to a command whose last part carries a Release.
func (o *outBuf) releasedLater(i int) bool {
	for j := i; j < len(o.refs) && o.refs[j].at == o.refs[i].at; j++ {
		if o.refs[j].release != nil {
			return true
		}
	}
	return false
}

// copy queues b without its first skip bytes and returns how many bytes are still to be skipped behind it.
func (q *outQueue) copy(b []byte, skip int) int {
	if skip >= len(b) {
		return skip - len(b)
	}
	b = b[skip:]
	if n := len(q.segs); n > q.head && q.segs[n-1].owned {
		q.segs[n-1].b = append(q.segs[n-1].b, b...)
	} else {
		q.segs = append(q.segs, outSeg{b: append(make([]byte, 0, len(b)), b...), owned: true, heap: true})
	}
	q.grow(len(b), true)
	return 0
}

func (q *outQueue) grow(n int, heap bool) {
	q.size += n
	if heap {
		q.heap += n
	}
}

// vector appends up to maxSegs segments to iov.
func (q *outQueue) vector(iov [][]byte, maxSegs int) [][]byte {
	for i := q.head; i < len(q.segs) && len(iov) < maxSegs; i++ {
		iov = append(iov, q.segs[i].b)
	}
	return iov
}

// sent takes n bytes off the front.
func (q *outQueue) sent(n int) {
	q.size -= n
	for n > 0 {
		s := &q.segs[q.head]
		part := min(n, len(s.b))
		if s.heap {
			q.heap -= part
		}
		n -= part
		if s.b = s.b[part:]; len(s.b) > 0 {
			break
		}
		q.pop()
	}
	if q.head == len(q.segs) {
		q.segs, q.head = nil, 0
	} else if q.head > len(q.segs)/2 && q.head > 32 {
		q.segs = append([]outSeg(nil), q.segs[q.head:]...)
		q.head = 0
	}
}

func (q *outQueue) pop() {
	s := q.segs[q.head]
	q.segs[q.head] = outSeg{}
	q.head++
	if s.release != nil {
		s.release()
	}
}

// drop forgets everything unsent.
func (q *outQueue) drop() {
	for q.head < len(q.segs) {
		q.pop()
	}
	*q = outQueue{}
}

package broker

import (
	"container/heap"
	"hash/maphash"
	"math"
)

// pendingHalf is one half message that is not decided yet: its newest copy in the half topic. It holds what the check
// service needs to know without reading the log.
type pendingHalf struct {
	key      uint64 // hash of the unique key: all copies of one half message have the same
	offset   int64  // queue offset of the newest copy
	physical int64
	since    int64 // when the first copy was stored, ms
	due      int64 // when to act next, ms
	checks   int32 // how often its producer has been asked
	group    int32 // producer group, of the names table
	topic    int32 // real topic, of the names table
	at       int32 // place in the heap
	// recovered: found at a start. It may have been committed without a trace in the op topic.
	recovered bool

	before, behind *pendingHalf // in order of offset
}

// nameTable gives names small numbers. Names are kept for good: producer groups and topics are few.
type nameTable struct {
	numbers map[string]int32
	names   []string
}

// maxPendingNames bounds a nameTable; a name beyond it has number -1.
const maxPendingNames = 1 << 17

func (t *nameTable) number(name string) int32 {
	if n, ok := t.numbers[name]; ok {
		return n
	}
	if len(t.names) >= maxPendingNames {
		return -1
	}
	if t.numbers == nil {
		t.numbers = map[string]int32{}
	}
	name = cloned(name)
	n := int32(len(t.names))
	t.numbers[name] = n
	t.names = append(t.names, name)
	return n
}

func (t *nameTable) name(n int32) string {
	if n < 0 || int(n) >= len(t.names) {
		return ""
	}
	return t.names[n]
}

// pendingHalves holds the undecided half messages: by key, in order of offset, and by when they are due. Adding, moving,
// removing and finding the next one cost the same however many there are; each takes about 150 bytes, less than its record
// on the disk. It is guarded by its owner's lock.
type pendingHalves struct {
	seed  maphash.Seed
	table map[uint64]*pendingHalf
	first *pendingHalf
	last  *pendingHalf
	due   halfHeap
	names nameTable
}

func newPendingHalves() *pendingHalves {
	return &pendingHalves{seed: maphash.MakeSeed(), table: map[uint64]*pendingHalf{}}
}

func (p *pendingHalves) hash(uniqueKey string) uint64 { return maphash.String(p.seed, uniqueKey) }

func (p *pendingHalves) get(key uint64) *pendingHalf { return p.table[key] }

func (p *pendingHalves) count() int { return len(p.table) }

// lowest is the smallest offset that is pending, math.MaxInt64 when nothing is.
func (p *pendingHalves) lowest() int64 {
	if p.first == nil {
		return math.MaxInt64
	}
	return p.first.offset
}

// next is the half message that is due first, nil when nothing is pending.
func (p *pendingHalves) next() *pendingHalf {
	if len(p.due) == 0 {
		return nil
	}
	return p.due[0]
}

// add takes h up, which is not there yet.
func (p *pendingHalves) add(h *pendingHalf) {
	p.table[h.key] = h
	p.link(h)
	heap.Push(&p.due, h)
}

// remove takes h out, which is there.
func (p *pendingHalves) remove(h *pendingHalf) {
	delete(p.table, h.key)
	p.unlink(h)
	heap.Remove(&p.due, int(h.at))
}

// move gives h another offset.
func (p *pendingHalves) move(h *pendingHalf, offset, physical int64) {
	p.unlink(h)
	h.offset, h.physical = offset, physical
	p.link(h)
}

// postpone makes h due at another time.
func (p *pendingHalves) postpone(h *pendingHalf, due int64) {
	h.due = due
	heap.Fix(&p.due, int(h.at))
}

// link puts h into the order of offsets. Offsets come in ascending order, so its place is at the end or near it.
func (p *pendingHalves) link(h *pendingHalf) {
	before := p.last
	for before != nil && before.offset > h.offset {
		before = before.before
	}
	h.before = before
	if before == nil {
		h.behind, p.first = p.first, h
	} else {
		h.behind, before.behind = before.behind, h
	}
	if h.behind == nil {
		p.last = h
	} else {
		h.behind.before = h
	}
}

func (p *pendingHalves) unlink(h *pendingHalf) {
	if h.before == nil {
		p.first = h.behind
	} else {
		h.before.behind = h.behind
	}
	if h.behind == nil {
		p.last = h.before
	} else {
		h.behind.before = h.before
	}
	h.before, h.behind = nil, nil
}

// halfHeap orders half messages by when they are due, and by offset among equals.
type halfHeap []*pendingHalf

func (d halfHeap) Len() int { return len(d) }

func (d halfHeap) Less(i, j int) bool {
	return d[i].due < d[j].due || d[i].due == d[j].due && d[i].offset < d[j].offset
}

func (d halfHeap) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].at, d[j].at = int32(i), int32(j)
}

// Push is for container/heap.
func (d *halfHeap) Push(x any) {
	h, ok := x.(*pendingHalf)
	if !ok {
		panic("broker: halfHeap holds half messages only")
	}
	h.at = int32(len(*d))
	*d = append(*d, h)
}

// Pop is for container/heap.
func (d *halfHeap) Pop() any {
	old := *d
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	return h
}

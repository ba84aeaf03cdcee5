package timer

import "slices"

// calendar holds timers in the order of delivery. Those of one millisecond are a list, and the milliseconds that have one wait in a heap: a timer
// costs a look-up, however many there are, since only a few thousand different milliseconds are open at once. The zero value is ready. It
// belongs to one goroutine.
type calendar struct {
	n     int
	late  int // of them those that were due when they were enqueued
	nodes []node
	free  int32 // 1 + the first of the free nodes, 0: none
	lists map[int64]*msList
	heap  []*msList // min-heap by out
	spare []*msList
}

// node is a timer in a list, 64 bytes.
type node struct {
	entry
	used bool
	next int32 // 1 + the next node, 0: none
}

// msList is the timers of one millisecond.
type msList struct {
	out         int64
	first, last int32 // 1 + the node, never 0 while in the heap
	unsorted    bool
}

// len is the number of timers.
func (c *calendar) len() int { return c.n }

// first is the place of the first timer; not to be asked for when there is none.
func (c *calendar) first() mark {
	l := c.heap[0]
	if l.unsorted {
		c.sort(l)
	}
	return c.nodes[l.first-1].mark
}

// push takes in a timer.
func (c *calendar) push(e entry) {
	i := c.take()
	c.nodes[i-1].entry, c.nodes[i-1].used = e, true
	c.n++
	if e.late {
		c.late++
	}
	l := c.lists[e.out]
	if l == nil {
		l = c.begin(e.out)
		l.first, l.last = i, i
		return
	}
	if e.pos < c.nodes[l.first-1].pos { // a slot's chain is read from its end, and what is enqueued comes behind
		c.nodes[i-1].next = l.first
		l.first = i
		return
	}
	l.unsorted = l.unsorted || e.pos < c.nodes[l.last-1].pos
	c.nodes[l.last-1].next = i
	l.last = i
}

// pop takes out the first timer, of at least one.
func (c *calendar) pop() entry {
	l := c.heap[0]
	if l.unsorted {
		c.sort(l)
	}
	i := l.first
	e := c.nodes[i-1].entry
	l.first = c.nodes[i-1].next
	c.nodes[i-1].next, c.nodes[i-1].used = c.free, false
	c.free = i
	c.n--
	if e.late {
		c.late--
	}
	if l.first == 0 {
		c.end()
	}
	return e
}

// each calls fn for all timers, in no order.
func (c *calendar) each(fn func(e *entry)) {
	for i := range c.nodes {
		if c.nodes[i].used {
			fn(&c.nodes[i].entry)
		}
	}
}

// clear takes out all, and gives back memory that was for more than keep timers.
func (c *calendar) clear(keep int) {
	if cap(c.nodes) > keep {
		*c = calendar{}
	}
	if len(c.nodes) == 0 {
		return
	}
	c.spare = append(c.spare, c.heap...)
	clear(c.lists)
	c.n, c.late, c.free, c.nodes, c.heap = 0, 0, 0, c.nodes[:0], c.heap[:0]
}

// take returns 1 + a free node without a next one.
func (c *calendar) take() int32 {
	if i := c.free; i != 0 {
		c.free, c.nodes[i-1].next = c.nodes[i-1].next, 0
		return i
	}
	c.nodes = append(c.nodes, node{})
	return int32(len(c.nodes))
}

// begin adds a list to the heap.
func (c *calendar) begin(out int64) *msList {
	l := &msList{}
	if n := len(c.spare); n > 0 {
		l, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	*l = msList{out: out}
	if c.lists == nil {
		c.lists = make(map[int64]*msList)
	}
	c.lists[out] = l
	c.heap = append(c.heap, l)
	h, i := c.heap, len(c.heap)-1
	for i > 0 && h[i].out < h[(i-1)/2].out {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
	return l
}

// end takes the first list, which is empty, out of the heap.
func (c *calendar) end() {
	h := c.heap
	delete(c.lists, h[0].out)
	if len(c.spare) < keepLists {
		c.spare = append(c.spare, h[0])
	}
	n := len(h) - 1
	h[0], h[n] = h[n], nil
	c.heap = h[:n]
	siftDown(c.heap, 0, func(a, b **msList) bool { return (*a).out < (*b).out })
}

// keepLists is how many lists are kept while they are empty.
const keepLists = 1 << 13

// sort puts a list in order.
func (c *calendar) sort(l *msList) {
	var order []int32
	for i := l.first; i != 0; i = c.nodes[i-1].next {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compare(c.nodes[a-1].pos, c.nodes[b-1].pos) })
	for n, i := range order[1:] {
		c.nodes[order[n]-1].next = i
	}
	l.first, l.last, l.unsorted = order[0], order[len(order)-1], false
	c.nodes[l.last-1].next = 0
}

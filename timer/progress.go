package timer

// mark is a place in the order in which timers are delivered: by out, then by position in the timer log.
type mark struct{ out, pos int64 }

func (m mark) before(o mark) bool { return m.out < o.out || m.out == o.out && m.pos < o.pos }

func earlier(a, b mark) mark {
	if b.before(a) {
		return b
	}
	return a
}

// maxBarriers bounds how many steps back of the clock are remembered at once.
const maxBarriers = 8

// barrier is left behind when the clock steps back: of the units before pos those before mark were delivered already.
type barrier struct {
	pos   int64
	mark  mark
	queue int64 // queue offset: the messages before had units before pos
}

// full tells that all units of mark's millisecond were delivered.
func (b *barrier) full() bool { return b.mark.pos >= b.pos }

// progress tells which units are done. All before mark are, and those behind a barrier.
type progress struct {
	mark     mark
	barriers []barrier // pos rises, mark falls
}

// done tells whether the unit with that out at that position was delivered.
func (p *progress) done(out, pos int64) bool {
	m := mark{out, pos}
	if m.before(p.mark) {
		return true
	}
	for _, b := range p.barriers {
		if pos < b.pos && m.before(b.mark) {
			return true
		}
	}
	return false
}

// messageDone tells whether a message whose unit is gone was delivered before a step back of the clock.
func (p *progress) messageDone(out, queueOffset int64) bool {
	for i := range p.barriers {
		b := &p.barriers[i]
		if queueOffset < b.queue && (out < b.mark.out || out == b.mark.out && b.full()) {
			return true
		}
	}
	return false
}

// forget takes back what is said about messages from a queue offset on: they came too late for their place, and get new units.
func (p *progress) forget(queueOffset int64) {
	for i := range p.barriers {
		p.barriers[i].queue = min(p.barriers[i].queue, queueOffset)
	}
}

// slotDone tells whether a unit at pos, in a slot that ends before end, was delivered together with the rest of its slot.
func (p *progress) slotDone(end, pos int64) bool {
	if end <= p.mark.out {
		return true
	}
	for _, b := range p.barriers {
		if pos < b.pos && end <= b.mark.out {
			return true
		}
	}
	return false
}

// advance moves mark on, never back.
func (p *progress) advance(to mark) {
	if to.before(p.mark) {
		return
	}
	p.mark = to
	for n := len(p.barriers); n > 0 && !to.before(p.barriers[n-1].mark); n-- {
		p.barriers = p.barriers[:n-1]
	}
}

// stepBack moves mark back to the time now, because the clock did. New units begin at end, for messages from the queue offset on.
func (p *progress) stepBack(now, end, queueOffset int64) {
	b := barrier{pos: end, mark: p.mark, queue: queueOffset}
	if n := len(p.barriers); n == maxBarriers {
		p.barriers = p.barriers[:n-1]
	}
	p.barriers = append(p.barriers, b)
	p.mark = mark{now - 1, end}
}

// cut takes back what is said about units from end on, because they are gone and others will take their place.
func (p *progress) cut(end int64) {
	p.mark.pos = min(p.mark.pos, end)
	for i := range p.barriers {
		b := &p.barriers[i]
		full := b.full()
		b.pos = min(b.pos, end)
		if !full {
			b.mark.pos = min(b.mark.pos, b.pos-1)
		}
	}
}

// horizon is the mark up to which delivered and waiting units may be mixed in a slot.
func (p *progress) horizon() mark {
	if len(p.barriers) > 0 {
		return p.barriers[0].mark
	}
	return p.mark
}

func (p *progress) clone() progress {
	return progress{mark: p.mark, barriers: append([]barrier(nil), p.barriers...)}
}

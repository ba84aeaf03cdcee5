package timer

// lateBatch is messages that were enqueued when their place in the order was gone by, so that nothing but their units tells whether they are
// delivered.
type lateBatch struct {
	last mark  // of the last unit
	from int64 // queue offset of the first message
}

// maxLates bounds the batches that are told apart.
const maxLates = 64

// noteLate remembers the late ones of a batch that was enqueued.
func (t *Timer) noteLate(requests []request) {
	var b lateBatch
	found := false
	for i := range requests {
		r := &requests[i]
		if r.u.out < r.due {
			continue
		}
		if !found {
			b.from, found = r.queueOffset, true
		}
		b.last = mark{r.u.out, r.pos}
	}
	if !found {
		return
	}
	if n := len(t.lates); n == maxLates {
		t.lates[n-1].last = b.last
		return
	}
	t.lates = append(t.lates, b)
}

// lateFrom is the first queue offset of a message that came too late and is not safely delivered.
func (t *Timer) lateFrom() int64 {
	n := 0
	for n < len(t.lates) && t.lates[n].last.before(t.safe.mark) {
		n++
	}
	if n > 0 {
		t.lates = t.lates[:copy(t.lates, t.lates[n:])]
	}
	if len(t.lates) > 0 {
		return t.lates[0].from
	}
	return t.queueOffset
}

package store

// OffsetByTime finds the offset for a store time, ms: with Lower the first message at or after it, MaxOffset when there is none; with Upper
// the last one at or before it, MinOffset when there is none (ConsumeQueue.getOffsetInQueueByTime, exact over file borders).
func (q *ConsumeQueue) OffsetByTime(ms int64, b Boundary) int64 {
	if q.batch != nil {
		return q.batchOffsetByTime(ms, b)
	}
	first, end := q.min.Load(), q.max.Load()
	// The first offset whose store time is beyond the searched ones.
	low, high := first, end
	for low < high {
		mid := low + (high-low)/2
		t, at := q.storeTimeFrom(mid, high)
		beyond := at < high && (t > ms || b == Lower && t == ms)
		switch {
		case at == high:
			high = mid
		case beyond:
			high = mid
		default:
			low = at + 1
		}
	}
	if b == Upper {
		return max(low-1, first)
	}
	return low
}

// StoreTime is the store time, ms, of a message, -1 when it is not there.
func (q *ConsumeQueue) StoreTime(offset int64) int64 {
	e, ok := q.Entry(offset)
	if !ok {
		return -1
	}
	t, ok := q.table.storeTime(e.PhysicalOffset)
	if !ok {
		return -1
	}
	return t
}

// storeTimeFrom finds the store time of the first readable message in [from, end) and its offset; at is end when there is none.
func (q *ConsumeQueue) storeTimeFrom(from, end int64) (ms, at int64) {
	for at = from; at < end; at++ {
		if t := q.StoreTime(at); t >= 0 {
			return t, at
		}
	}
	return 0, end
}

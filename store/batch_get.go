package store

import (
	"errors"
	"io/fs"
)

// collectBatch fills out from an offset of a batch queue that exists. A record is given out with all its messages, also when the offset is that of
// one in its middle: clients take it apart (DefaultMessageStore.getMessage over BatchConsumeQueue.iterateFrom).
func (s *Store) collectBatch(r *GetRequest, q *ConsumeQueue, out *GetResult) {
	set := s.settings.Load()
	logEnd := s.log.end.Load()
	mostExamined := max(int64(set.conf.MaxFilterMessageSize), int64(r.MaxCount)*batchUnitSize) / batchUnitSize
	out.Status = NoMatchedMessage
	out.NextOffset = r.Offset
	lastPhysical := int64(0)
	first, cold, err := q.find(r.Offset, r.HotOnly)
	if err != nil {
		s.warn.report("consume queue cannot be read", err)
		out.unreadable(err)
		return
	}
	if out.units == nil {
		out.units = &unitCursor{}
	}
	c := out.units
	c.start(q, first, r.HotOnly)
	for out.NextOffset < out.MaxOffset {
		var u batchUnit
		more := false
		if !cold {
			u, more, cold, err = c.advance()
		}
		if err != nil {
			s.batchUnreadable(out, q, c.next, err)
			break
		}
		if cold && out.Count == 0 {
			out.Status = Cold
		}
		if !more {
			break
		}
		full := out.Count > 0 && out.Count+int(u.messages) > int(r.MaxCount)
		if full || u.QueueOffset-r.Offset >= mostExamined || u.QueueOffset >= out.MaxOffset || s.full(r, set, out, u.Entry, logEnd) {
			out.NextOffset = max(u.QueueOffset, out.NextOffset)
			break
		}
		count := out.Count
		cold, err = s.take(r, set, out, u.Entry, logEnd)
		if out.Count > count {
			out.Count = count + int(u.messages)
		}
		if s.ends(out, cold, err) {
			break
		}
		lastPhysical = u.PhysicalOffset
		out.NextOffset = u.next()
	}
	out.SuggestSlave = logEnd-lastPhysical > set.hotBytes
}

// batchUnreadable ends a Get whose entry n cannot be read. As in other queues only what is gone for good is passed over.
func (s *Store) batchUnreadable(out *GetResult, q *ConsumeQueue, n int64, err error) {
	s.warn.report("consume queue cannot be read", err)
	if !errors.Is(err, fs.ErrNotExist) {
		out.unreadable(err)
		return
	}
	if out.Count > 0 {
		return
	}
	behind := (q.files.base(n) + q.files.size) / q.files.unit
	offset, err := q.batchOffset(behind)
	if err != nil {
		out.unreadable(err)
		return
	}
	out.Status, out.NextOffset = OffsetFoundNull, offset
}

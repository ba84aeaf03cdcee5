package store

import "fmt"

// unitAt reads entry n of a batch queue.
func (q *checkQueue) unitAt(n int64) (batchUnit, error) {
	b, err := q.raw(n)
	if err != nil {
		return batchUnit{}, err
	}
	return decodeBatchUnit(b), nil
}

// batchEntry compares a record with the entry that it must have in a batch queue: entries follow each other as their records do.
func (c *checker) batchEntry(q *checkQueue, found *scanned) error {
	m := &found.r
	if m.QueueOffset == 0 {
		// The topic was deleted and made again, or begins.
		q.found, q.foundNum, q.matched, q.worst = nil, 0, 0, ""
	}
	if q.broken {
		return nil
	}
	want := batchUnit{Entry{QueueOffset: m.QueueOffset, PhysicalOffset: found.from, Size: m.Size, TagsCode: c.set.recordTagsCode(m)}, innerMessages(m), m.StoreTimestamp}
	for ; q.at < q.count; q.at++ {
		u, err := q.unitAt(q.at)
		if err != nil {
			return err
		}
		path, at := q.position(q.at)
		switch {
		case u.PhysicalOffset > found.from:
			c.withoutUnit(q, &want)
			return nil
		case u.PhysicalOffset == found.from && u == want:
			q.at++
			q.matched++
			q.next = u.next()
			return nil
		case u.PhysicalOffset == found.from:
			q.suspect(Damage, path, at, "entry %d of batch queue %s/%d is %s, its record %s", q.at, q.key.topic, q.key.id, u.text(), want.text())
			q.at++
			return nil
		case u.PhysicalOffset >= c.report.LogFirst:
			q.suspect(Damage, path, at, "entry %d of batch queue %s/%d has no record", q.at, q.key.topic, q.key.id)
		}
	}
	c.withoutUnit(q, &want)
	return nil
}

// withoutUnit notes that a record has no entry.
func (c *checker) withoutUnit(q *checkQueue, want *batchUnit) {
	file := c.files.find(want.PhysicalOffset)
	if q.at < q.count {
		q.suspect(Damage, file.path, want.PhysicalOffset-file.base, "the record of messages %d to %d of batch queue %s/%d has no entry", want.QueueOffset, want.next()-1, q.key.topic, q.key.id)
		return
	}
	path, at := q.position(q.at)
	q.suspect(c.behind, path, at, "the entry of batch queue %s/%d for the record at %d is missing", q.key.topic, q.key.id, want.PhysicalOffset)
}

// finishBatch looks at the entries that no record has come for.
func (c *checker) finishBatch(q *checkQueue) error {
	for ; q.at < q.count; q.at++ {
		u, err := q.unitAt(q.at)
		if err != nil {
			return err
		}
		path, at := q.position(q.at)
		if u.PhysicalOffset >= c.report.LogEnd {
			c.report.problem(c.behind, path, at, "entries %d to %d of batch queue %s/%d point behind the log's end at %d", q.at, q.count-1, q.key.topic, q.key.id, c.report.LogEnd)
			return nil
		}
		if u.PhysicalOffset >= c.report.LogFirst {
			c.report.problem(Damage, path, at, "entry %d of batch queue %s/%d has no record", q.at, q.key.topic, q.key.id)
		}
	}
	return nil
}

func (u *batchUnit) text() string {
	return fmt.Sprintf("messages %d+%d at %d+%d, tags code %d, stored at %d", u.QueueOffset, u.messages, u.PhysicalOffset, u.Size, u.TagsCode, u.storeMs)
}

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/rocketd/rocketd/message"
)

// DumpQuery chooses the messages that Dump shows. The zero values of Topic, Key and of the times choose all; so do negative numbers.
type DumpQuery struct {
	Topic   string
	QueueID int32
	// QueueOffset is the first offset shown.
	QueueOffset int64
	// PhysicalOffset is where to begin in the log.
	PhysicalOffset int64
	// Key is one of KEYS or UNIQ_KEY.
	Key string
	// Begin and End bound the store time, ms.
	Begin, End int64
	// Limit bounds the number of messages.
	Limit int
}

// AllMessages is the query that chooses everything.
func AllMessages() DumpQuery {
	return DumpQuery{QueueID: -1, QueueOffset: -1, PhysicalOffset: -1, Limit: -1}
}

// Dumped is one message that Dump shows. Record and Raw die when the callback returns.
type Dumped struct {
	Record *message.Record
	Raw    []byte
	File   string
	Offset int64 // in the file
	// Sealed: the record stands in the place of damage and is no message.
	Sealed bool
}

// Dump calls fn for the messages of a store that match, in log order, until fn returns an error, which is returned. It changes nothing, needs no
// lock, no queues and no index: damage is left out, and told to problem unless that is nil.
func Dump(o CheckOptions, q DumpQuery, fn func(Dumped) error, problem func(Problem)) error {
	c, err := newChecker(o)
	if err != nil {
		return err
	}
	lengths, err := c.files.load(c.files.dirs)
	if err != nil {
		return err
	}
	files := c.files.all()
	if len(files) == 0 {
		return nil
	}
	last := len(files) - 1
	from, err := c.dumpFrom(q)
	if err != nil {
		return err
	}
	c.scan = &scanner{files: c.files, pos: from, end: files[last].base + lengths[last], verify: true}
	err = c.dump(q, fn, problem)
	return errors.Join(err, c.scan.close())
}

// dumpFrom is where reading begins: at the wanted offset of the log, or at the record of the wanted offset of a queue, if that can be found.
func (c *checker) dumpFrom(q DumpQuery) (int64, error) {
	first := c.files.first()
	if q.PhysicalOffset >= 0 {
		if c.files.find(q.PhysicalOffset) == nil {
			return 0, fmt.Errorf("%w: offset %d, the log begins at %d", ErrNotFound, q.PhysicalOffset, first)
		}
		return q.PhysicalOffset, nil
	}
	if q.Topic == "" || q.QueueID < 0 || q.QueueOffset <= 0 || !legalDirectory(q.Topic) {
		return first, nil
	}
	key := queueKey{q.Topic, q.QueueID}
	c.queues = make(map[queueKey]*checkQueue)
	dir := filepath.Join(c.dir, queueDir, q.Topic, strconv.Itoa(int(q.QueueID)))
	if err := c.loadQueue(dir, key, SimpleQueue); err != nil {
		return first, nil //nolint:nilerr // without the queue the log is read from its beginning
	}
	queue := c.queues[key]
	if queue.broken || q.QueueOffset >= queue.count || len(queue.bases) == 0 || q.QueueOffset*entrySize < queue.bases[0] {
		return first, nil
	}
	e, err := queue.entry(q.QueueOffset)
	if err != nil || e.filler() || c.files.find(e.PhysicalOffset) == nil {
		return first, err
	}
	return e.PhysicalOffset, nil
}

func (c *checker) dump(q DumpQuery, fn func(Dumped) error, problem func(Problem)) error {
	shown := 0
	for {
		if q.Limit >= 0 && shown >= q.Limit {
			return nil
		}
		found, err := c.scan.next()
		if err != nil {
			return err
		}
		switch found.kind {
		case scanEnd:
			return nil
		case scanGap:
			if problem == nil {
				continue
			}
			p := Problem{Severity: Damage, File: c.files.pathOf(found.from - found.from%c.files.size), Offset: found.from % c.files.size}
			p.Text = fmt.Sprintf("%d bytes are no record: %v", found.to-found.from, found.reason)
			problem(p)
		case scanRecord:
			if !q.matches(&found.r) {
				continue
			}
			file := c.files.find(found.from)
			shown++
			err := fn(Dumped{Record: &found.r, Raw: found.record, File: file.path, Offset: found.from - file.base, Sealed: sealed(&found.r)})
			if err != nil {
				return err
			}
		}
	}
}

// sealed tells whether a record stands in the place of damage.
func sealed(r *message.Record) bool {
	return r.TransactionType() == message.TransactionRollback && len(r.Topic) <= len(lostTopic) && lostTopic[:len(r.Topic)] == r.Topic
}

func (q *DumpQuery) matches(r *message.Record) bool {
	switch {
	case q.Topic != "" && r.Topic != q.Topic,
		q.QueueID >= 0 && r.QueueID != q.QueueID,
		q.QueueOffset >= 0 && r.QueueOffset+int64(innerMessages(r)) <= q.QueueOffset,
		q.Begin > 0 && r.StoreTimestamp < q.Begin,
		q.End > 0 && r.StoreTimestamp > q.End,
		q.Key != "" && !hasKey(r, q.Key):
		return false
	}
	return true
}

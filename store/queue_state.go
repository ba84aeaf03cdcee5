package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// queueStateName is the file that says what the consume queues held at the last checkpoint, so that a start need not look into each of them
// and notices when one has gone. It is ours; the reference ignores it, and what the reference did to the store meanwhile shows in
// the checkpoint, of which the file holds a copy.
//
//	offset  size  name
//	0       8     "rktdqtb1"
//	8       1     1: the store was closed, 0: written while it was open
//	9       48    copy of the checkpoint
//	57      8     offset of the log's beginning
//	65      8     offset behind the last record whose entries are in the queues
//	73      8     offset of that record, -1: none
//	81      8     its store time, ms
//	89      8     offset up to which keys are indexed
//	97      8     name of the last index file as a number, 0: there is none
//	105     8     number of its next entry
//	113     …     queues: topic (length, bytes), id (+ 2^32 for a batch queue), min, max, first file + 1, last file + 1, end of the last record, when the last
//	              file was modified (ns, 0: not known); all numbers as varints
//	end-4   4     CRC-32 (IEEE) of all before
const queueStateName = "queuetable"

const (
	queueStateMagic = "rktdqtb1"
	queueStateHead  = 113
	queueStateLongs = 7
	batchQueueID    = 1 << 32
	// usualSummary is how many bytes a queue takes there at least, with a topic of some letters and a file.
	usualSummary = 24
)

// queueState is the content of that file.
type queueState struct {
	closed       bool
	checkpoint   checkpoint
	logFirst     int64
	logEnd       int64
	lastRecord   int64
	lastRecordMs int64
	index        indexPosition
	queues       []queueSummary
}

// queueSummary is what the file says about one queue.
type queueSummary struct {
	topic               string
	id                  int32
	batch               bool // min and max number its entries then, not messages
	min, max            int64
	firstBase, lastBase int64 // -1: no file
	// lastEnd is where the record of entry max-1 ends; 0 when that is not known.
	lastEnd int64
	// modified is when the last file was changed last, ns since the epoch, for a store that was closed.
	modified int64
}

func (s *queueState) append(dst []byte) []byte {
	start := len(dst)
	dst = slices.Grow(dst, queueStateHead+4+2*usualSummary*len(s.queues))
	be := binary.BigEndian
	dst = append(dst, queueStateMagic...)
	closed := byte(0)
	if s.closed {
		closed = 1
	}
	dst = append(dst, closed)
	dst = s.checkpoint.append(dst)
	for _, v := range [...]int64{s.logFirst, s.logEnd, s.lastRecord, s.lastRecordMs, s.index.offset, s.index.file, s.index.next} {
		dst = be.AppendUint64(dst, uint64(v))
	}
	for i := range s.queues {
		q := &s.queues[i]
		dst = binary.AppendUvarint(dst, uint64(len(q.topic)))
		dst = append(dst, q.topic...)
		id := int64(q.id)
		if q.batch {
			id += batchQueueID
		}
		for _, v := range [...]int64{id, q.min, q.max, q.firstBase + 1, q.lastBase + 1, q.lastEnd, q.modified} {
			dst = binary.AppendUvarint(dst, uint64(v))
		}
	}
	return be.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}

// errQueueState says that the file is damaged or of another version: it is then ignored.
var errQueueState = errors.New("unusable queue table")

func decodeQueueState(b []byte) (*queueState, error) {
	be := binary.BigEndian
	if len(b) < queueStateHead+4 || string(b[:len(queueStateMagic)]) != queueStateMagic {
		return nil, fmt.Errorf("%w: %d bytes that do not begin as they must", errQueueState, len(b))
	}
	b, sum := b[:len(b)-4], be.Uint32(b[len(b)-4:])
	if got := crc32.ChecksumIEEE(b); got != sum {
		return nil, fmt.Errorf("%w: checksum 0x%08X, it says 0x%08X", errQueueState, got, sum)
	}
	at := func(i int) int64 { return int64(be.Uint64(b[queueStateHead-8*queueStateLongs+8*i:])) }
	s := &queueState{
		closed:       b[8] == 1,
		checkpoint:   decodeCheckpoint(b[9:]),
		logFirst:     at(0),
		logEnd:       at(1),
		lastRecord:   at(2),
		lastRecordMs: at(3),
		index:        indexPosition{at(4), at(5), at(6)},
	}
	rest := b[queueStateHead:]
	s.queues = make([]queueSummary, 0, len(rest)/usualSummary)
	for len(rest) > 0 {
		var q queueSummary
		var ok bool
		if q, rest, ok = cutQueueSummary(rest); !ok {
			return nil, fmt.Errorf("%w: queue %d is cut off", errQueueState, len(s.queues))
		}
		s.queues = append(s.queues, q)
	}
	return s, nil
}

func cutQueueSummary(b []byte) (q queueSummary, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return q, nil, false
	}
	q.topic, b = string(b[used:used+int(n)]), b[used+int(n):]
	var values [7]int64
	for i := range values {
		v, used := binary.Uvarint(b)
		if used <= 0 || v > math.MaxInt64 {
			return q, nil, false
		}
		values[i], b = int64(v), b[used:]
	}
	if q.batch = values[0] >= batchQueueID; q.batch {
		values[0] -= batchQueueID
	}
	if values[0] > math.MaxInt32 {
		return q, nil, false
	}
	q.id = int32(values[0])
	q.min, q.max = values[1], values[2]
	q.firstBase, q.lastBase, q.lastEnd = values[3]-1, values[4]-1, values[5]
	q.modified = values[6]
	return q, b, legalDirectory(q.topic) && q.min <= q.max
}

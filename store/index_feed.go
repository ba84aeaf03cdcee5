package store

import (
	"sync"

	"github.com/rocketd/rocketd/message"
)

// Bounds of what waits for the indexer in memory. Beyond them it reads the log.
const (
	maxFedRecords = 32 << 10
	maxFedText    = 4 << 20
	// keptFedText is how much memory an idle feed keeps.
	keptFedText = 64 << 10
	// muchFedRecords and muchFedText are when the indexer is to come before its time.
	muchFedRecords = maxFedRecords / 2
	muchFedText    = maxFedText / 2
)

// indexFeed hands the texts of new records' keys from dispatch to the indexer, which then need not read from the log what has just been
// written. What it cannot hold, and what was there before, the indexer reads. Safe for concurrent use.
type indexFeed struct {
	mu      sync.Mutex
	filling fed            // guarded by mu
	told    bool           // push has said that much waits; guarded by mu
	record  message.Record // scratch; guarded by mu
}

// fed are records that lie one behind the other in the log, from its offset from up to to.
type fed struct {
	from, to int64
	records  []fedRecord
	text     []byte // properties

	// What of it the indexer has taken.
	next   int // record
	textAt int
}

type fedRecord struct {
	physical, storeMs int64
	end               int64
	properties        int32 // bytes of text
	topic             keyHash
	rollback          bool
}

func (f *fed) empty() bool { return f.next == len(f.records) }

// reset empties f so that it goes on at an offset.
func (f *fed) reset(at int64) {
	*f = fed{from: at, to: at, records: f.records[:0], text: f.text[:0]}
}

// push takes the records of a batch, if there is room for all of them: what is full goes on with the first batch after it was swapped. much tells,
// once until then, that the indexer had better come.
func (f *indexFeed) push(b *batch) (much bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := &f.filling
	if in.to != b.start {
		if len(in.records) > 0 {
			return false // full: the indexer reads this batch
		}
		in.reset(b.start)
	}
	records, text := len(in.records), len(in.text)
	for i := range b.records {
		if len(in.records) == maxFedRecords || len(in.text) > maxFedText || !f.pushOne(b, &b.records[i]) {
			in.records, in.text = in.records[:records], in.text[:text]
			return false
		}
	}
	in.to = b.end
	if f.told || len(in.records) < muchFedRecords && len(in.text) < muchFedText {
		return false
	}
	f.told = true
	return true
}

// pushOne takes a record; ok is false when it cannot be read.
func (f *indexFeed) pushOne(b *batch, staged *staged) (ok bool) {
	in := &f.filling
	r := fedRecord{physical: staged.physical, storeMs: staged.storeMs, end: staged.physical + int64(staged.size), properties: staged.properties}
	record := b.record(staged)
	if staged.q != nil {
		r.topic = staged.q.keys
	} else {
		if _, err := message.DecodeRecord(record, &f.record, false); err != nil {
			return false
		}
		r.topic, r.rollback = newKeyHash(f.record.Topic), f.record.TransactionType() == message.TransactionRollback
		f.record = message.Record{} // its strings die with the batch
	}
	in.text = append(in.text, record[len(record)-int(staged.properties):]...) // a record ends with them
	in.records = append(in.records, r)
	return true
}

// swap gives the indexer what has come and takes back what it has done with.
func (f *indexFeed) swap(done *fed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = false
	done.reset(f.filling.to)
	*done, f.filling = f.filling, *done
}

// trim gives back memory that an idle feed does not need.
func (f *indexFeed) trim(done *fed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range []*fed{&f.filling, done} {
		if len(b.records) == 0 && cap(b.text) > keptFedText {
			b.records, b.text = nil, nil
		}
	}
}

// stepFedLocked indexes fed records; done is false when what comes next must be read from the log, up to readTo.
func (x *index) stepFedLocked() (more, done bool, readTo int64, err error) {
	end, at := x.visible(), x.position.Load()
	if x.fed.empty() {
		x.feed.swap(&x.fed)
	}
	if x.fed.empty() {
		return false, false, end, nil
	}
	if f := &x.fed; f.next == 0 && at < f.from {
		return false, false, min(end, f.from), nil
	}
	if x.scanner != nil {
		if err := x.resetScannerLocked(); err != nil { // its file may be deleted meanwhile
			return false, true, 0, err
		}
	}
	for range indexStepRecords {
		if x.fed.empty() {
			at = max(x.position.Load(), min(end, x.fed.to))
			x.position.Store(at)
			return at < end, true, 0, nil
		}
		f := &x.fed
		r := &f.records[f.next]
		if r.end > end {
			return false, true, 0, nil
		}
		if r.end > at {
			x.keys = x.keys[:0]
			if !r.rollback {
				x.keys = appendKeys(x.keys, r.topic, message.Properties(f.text[f.textAt:][:r.properties]), r.physical, r.storeMs)
			}
			if err := x.addKeysLocked(); err != nil {
				return false, true, 0, err
			}
			x.position.Store(r.end)
		}
		f.textAt += int(r.properties)
		f.next++
	}
	return true, true, 0, nil
}

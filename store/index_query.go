package store

import (
	"errors"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// Bounds of a query.
const (
	// queryHops bounds the entries of one chain that are looked at.
	queryHops = 2_000_000
	// queryLag bounds the records that a query waits for to be indexed.
	queryLag = 64 * indexStepRecords
)

// Query finds up to limit records of topic with that key among KEYS or as UNIQ_KEY, stored in [begin, end] ms, the newest ones, in
// log order. The found records' topic and key are compared, so equal hashes do no harm. limit is bounded by maxMsgsNumBatch. Release the
// slices.
func (s *Store) Query(topic, key string, limit int, begin, end int64) ([]*Slice, error) {
	return s.query(newKeyHash(topic).key(key), limit, begin, end, func(r *message.Record) bool {
		return r.Topic == topic && hasKey(r, key)
	})
}

// QueryTag is Query for the value of TAGS (index type T).
func (s *Store) QueryTag(topic, tags string, limit int, begin, end int64) ([]*Slice, error) {
	return s.query(newKeyHash(topic).tag(tags), limit, begin, end, func(r *message.Record) bool {
		value, _ := r.Properties.Get(message.KeyTags)
		return r.Topic == topic && value == tags
	})
}

func hasKey(r *message.Record, key string) bool {
	found := false
	r.Properties.Range(func(name, value string) bool {
		switch name {
		case message.KeyUniqueKey:
			found = found || value == key
		case message.KeyKeys:
			for rest := value; rest != "" && !found; {
				var one string
				one, rest, _ = strings.Cut(rest, message.KeySeparator)
				found = one == key
			}
		}
		return true
	})
	return found
}

func (s *Store) query(hash uint32, limit int, begin, end int64, match func(*message.Record) bool) ([]*Slice, error) {
	limit = min(limit, int(s.settings.Load().conf.MaxMsgsNumBatch))
	var found []*Slice
	err := s.index.lookup(hash, begin, end, func(physical int64) bool {
		if len(found) >= limit {
			return false
		}
		slice, err := s.Record(physical)
		if err != nil {
			return true // expired, or damaged: the index is not to blame
		}
		var r message.Record
		if _, err := message.DecodeRecord(slice.Bytes(), &r, false); err != nil || r.StoreTimestamp < begin || r.StoreTimestamp > end || !match(&r) ||
			slices.ContainsFunc(found, func(other *Slice) bool { return other.off == physical }) {
			slice.Release()
			return true
		}
		found = append(found, slice)
		return true
	})
	if err != nil {
		for _, slice := range found {
			slice.Release()
		}
		return nil, err
	}
	slices.SortFunc(found, func(a, b *Slice) int {
		if a.off < b.off {
			return -1
		}
		return 1
	})
	return found, nil
}

// lookup calls fn with the offsets of records that may have the key, stored in about [begin, end] ms, the newest first, until it
// returns false.
func (x *index) lookup(hash uint32, begin, end int64, fn func(physical int64) bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.loadLocked(); err != nil {
		return err
	}
	for range queryLag / indexStepRecords {
		if !x.behind() {
			break
		}
		more, err := x.stepLocked()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	for _, f := range slices.Backward(x.files) {
		if f.header.next <= 1 || f.header.beginMs > end || f.header.endMs < begin {
			continue
		}
		more, err := f.lookup(hash, begin, end, fn)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// lookup walks the chain of a hash; more is false when fn wanted no more.
func (x *indexFile) lookup(hash uint32, begin, end int64, fn func(physical int64) bool) (more bool, err error) {
	n, err := x.slot(hash)
	if err != nil {
		return false, err
	}
	for hops := 0; n > 0 && hops < queryHops; hops++ {
		e, err := x.entry(n)
		if err != nil {
			return false, err
		}
		// The entry's time is rounded down to seconds since the file began; that of a file's first entry counts from the file before.
		stored := x.header.beginMs + int64(e.seconds)*1000
		if n > 1 && (e.seconds < 0 || stored+999 < begin) {
			return true, nil
		}
		if e.hash == hash && (n == 1 || stored <= end) && !fn(e.physical) {
			return false, nil
		}
		if e.previous >= n {
			return false, errors.Join(ErrCorrupt, errors.New(x.path+": an entry points forward"))
		}
		n = e.previous
	}
	return true, nil
}

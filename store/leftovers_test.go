package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
)

// leftovers tells what the files of the consume queues hold beyond what the open store knows: directories of no queue, files outside of a
// queue's first and last one, bytes behind its last written entry. Each of them would become an entry of some later start.
func leftovers(s *Store) error {
	dir := s.queues.files.dir
	topics, err := s.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, topic := range topics {
		ids, err := s.fs.ReadDir(filepath.Join(dir, topic.Name()))
		if err != nil {
			return err
		}
		for _, d := range ids {
			id, err := strconv.ParseInt(d.Name(), 10, 32)
			if err != nil {
				return fmt.Errorf("%s/%s is no queue", topic.Name(), d.Name())
			}
			q := s.Queue(topic.Name(), int32(id))
			if q == nil {
				return fmt.Errorf("%s/%d has a directory and is no queue", topic.Name(), id)
			}
			if err := queueLeftovers(s, q); err != nil {
				return err
			}
		}
	}
	return nil
}

func queueLeftovers(s *Store, q *ConsumeQueue) error {
	files := s.queues.files
	list, err := s.fs.ReadDir(files.queueDir(q))
	if err != nil {
		return err
	}
	q.mu.Lock()
	first, last, written := q.firstBase, q.lastBase, q.written
	q.mu.Unlock()
	for _, e := range list {
		base, ok := parseOffsetName(e.Name())
		if !ok || first < 0 || base < first || base > last {
			return fmt.Errorf("%s has file %s, its files are %d to %d, its offsets %d to %d", q, e.Name(), first, last, q.MinOffset(), q.MaxOffset())
		}
		b, err := readFile(s.fs, files.path(q, base))
		if err != nil {
			return err
		}
		if at := max(written*entrySize-base, 0); at < int64(len(b)) && !allZero(b[at:]) {
			return fmt.Errorf("%s: file %s has bytes behind entry %d, which is the last", q, e.Name(), written-1)
		}
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/store"
)

func merge(lists [][]time.Duration) []time.Duration {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

// readMessages is how many messages of 1 KB the pulls read.
const readMessages = 200_000

// reads measures dispatch and pulls of 32 messages of 1 KB.
func (o *options) reads(dir string) (t *table, err error) {
	t = newTable("Dispatch and pulls", "what", "messages/s", "per pull of 32")
	dir = filepath.Join(dir, "store")
	s, err := openStore(dir, nil)
	if err != nil {
		return t, err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, s.Close())
		}
	}()
	m := newMessage("BenchTopic", 0, 1<<10)
	begun := time.Now()
	for i := range readMessages {
		p, err := s.Stage(m)
		if err != nil {
			return t, err
		}
		if i%32 == 31 {
			if err := s.Commit(p.Ticket); err != nil {
				return t, err
			}
		}
	}
	took := time.Since(begun)
	t.add("stage, write and dispatch, 32 a commit", fmt.Sprintf("%.0f", readMessages/took.Seconds()), "")
	o.pull(t, s, "hot: entries and records in memory", readMessages-4096, 4096-32)
	o.pull(t, s, "entries in files, records in the page cache", 0, readMessages/2)
	if err := s.Close(); err != nil {
		return t, err
	}
	closed = true
	measure.DropCache(dir)
	if s, err = openStore(dir, nil); err != nil {
		return t, err
	}
	closed = false
	return t, o.pullOnce(t, s, "cold: neither in the page cache, each range once")
}

func (o *options) pull(t *table, s *store.Store, what string, from, span int64) {
	var out store.GetResult
	n, begun := int64(0), time.Now()
	for time.Since(begun) < o.each {
		req := store.GetRequest{Topic: "BenchTopic", Offset: from + n*32%span, MaxCount: 32}
		s.Get(&req, &out)
		touch(&out)
		out.Release()
		n++
	}
	took := time.Since(begun)
	t.add(what, fmt.Sprintf("%.0f", float64(n*32)/took.Seconds()), fmt.Sprintf("%.2f µs", float64(took.Microseconds())/float64(n)))
}

func (o *options) pullOnce(t *table, s *store.Store, what string) error {
	var out store.GetResult
	var times []time.Duration
	begun := time.Now()
	for at := int64(0); at < readMessages; at += 32 {
		one := time.Now()
		req := store.GetRequest{Topic: "BenchTopic", Offset: at, MaxCount: 32}
		s.Get(&req, &out)
		if out.Status != store.Found || out.Count != 32 {
			return fmt.Errorf("pull at %d: %s, %d messages", at, out.Status, out.Count)
		}
		touch(&out)
		out.Release()
		times = append(times, time.Since(one))
	}
	took := time.Since(begun)
	slices.Sort(times)
	t.add(what, fmt.Sprintf("%.0f", readMessages/took.Seconds()), fmt.Sprintf("p50 %.0f µs, p99 %.0f µs", float64(measure.Quantile(times, 0.5).Microseconds()), float64(measure.Quantile(times, 0.99).Microseconds())))
	return nil
}

// touch reads a byte of every page, as a socket would.
func touch(out *store.GetResult) (sum byte) {
	for _, part := range out.Parts {
		for i := 0; i < len(part); i += 4096 {
			sum += part[i]
		}
	}
	return sum
}

package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// model is trivially correct: what was acknowledged, by queue and offset.
type model struct {
	rt  *rapid.T
	st  *storeTest
	mem *vfs.Mem
	s   *Store

	queues  map[queueKey]map[int64]modelMessage
	next    map[queueKey]int64
	sent    int
	flushed int64 // everything below survives a crash of the machine
	deleted bool  // a topic was
	crashed bool  // the machine did
}

type modelMessage struct {
	body string
	end  int64 // of its record in the log
}

// TestModel does random things to a store and compares it with the model after each: messages, offsets, order, keys and the check, over
// stops, kills, crashes of the machine and rebuilds.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{rt: rt, mem: vfs.NewMem(), queues: map[queueKey]map[int64]modelMessage{}, next: map[queueKey]int64{}}
		m.st = &storeTest{T: t, dir: "/store", conf: smallConf()}
		// It stands still, so that nothing happens in the background and a run is the same each time.
		m.st.clock = clock.NewManual(time.UnixMilli(1_796_000_000_000))
		m.st.kind = innerKind
		m.st.conf.FlushDiskType = rapid.SampledFrom([]string{"SYNC_FLUSH", "ASYNC_FLUSH"}).Draw(rt, "flushDiskType")
		m.open()
		defer func() { _ = m.s.Close() }() // it is the last one, or the test has failed
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			m.step(rapid.SampledFrom([]string{"put", "put", "put", "batch", "inner", "flush", "stop", "kill", "crash", "rebuild", "delete"}).Draw(rt, "op"))
			m.compare()
		}
		m.stop()
		m.check(true)
		m.open()
		m.compare()
	})
}

func (m *model) step(op string) {
	switch op {
	case "put":
		for range rapid.IntRange(1, 40).Draw(m.rt, "n") {
			m.put(1)
		}
	case "batch":
		m.put(rapid.IntRange(2, 10).Draw(m.rt, "n"))
	case "inner":
		for range rapid.IntRange(1, 20).Draw(m.rt, "n") {
			m.putInner(rapid.IntRange(1, 10).Draw(m.rt, "messages"))
		}
	case "flush":
		if err := m.s.Flush(); err != nil {
			m.rt.Fatal(err)
		}
		m.flushed = m.s.MaxPhysicalOffset()
	case "stop":
		m.stop()
		m.check(true)
		m.open()
	case "kill":
		m.leave(m.mem.Clone())
		m.check(false)
		m.open()
	case "crash":
		m.crashed = true
		m.flushed = max(m.flushed, m.s.FlushedOffset())
		m.leave(m.mem.CrashClone(rapid.Uint64().Draw(m.rt, "seed")))
		m.open()
		m.forget()
	case "rebuild":
		if m.deleted {
			return // it brings back what was deleted, as far as the log has it
		}
		m.stop()
		if _, err := Rebuild(m.st.options()); err != nil {
			m.rt.Fatal(err)
		}
		m.check(true)
		m.open()
	case "delete":
		m.remove()
	}
}

func (m *model) open() {
	m.st.fs = m.mem
	s, err := Open(m.st.options())
	if err != nil {
		m.rt.Fatal(err)
	}
	s.queues.treeFrom = rapid.SampledFrom([]int{1, treeSyncQueues}).Draw(m.rt, "queues for a tree")
	s.Start()
	m.s = s
	if err := leftovers(s); err != nil {
		m.rt.Fatalf("left behind: %v; found %v", err, s.Recovery().Problems)
	}
}

func (m *model) stop() {
	if err := m.s.Close(); err != nil {
		m.rt.Fatal(err)
	}
	m.flushed = m.s.MaxPhysicalOffset()
}

// leave ends the store and goes on with what is left of its files.
func (m *model) leave(left *vfs.Mem) {
	if err := m.s.Close(); err != nil {
		m.rt.Fatal(err)
	}
	m.mem = left
}

func (m *model) put(n int) {
	key := queueKey{rapid.SampledFrom([]string{"A", "B", innerTopic}).Draw(m.rt, "topic"), rapid.Int32Range(0, 2).Draw(m.rt, "queue")}
	ms := make([]message.Message, n)
	for i := range ms {
		body := fmt.Sprint(m.sent, strings.Repeat(".", rapid.IntRange(0, 3000).Draw(m.rt, "size")))
		ms[i] = *newMessage(key.topic, key.id, body, message.KeyUniqueKey, fmt.Sprint("u", m.sent), message.KeyKeys, "all")
		m.sent++
	}
	var placed []Placed
	var err error
	if n == 1 {
		placed = make([]Placed, 1)
		placed[0], err = m.s.Put(&ms[0])
	} else if placed, err = m.s.StageBatch(ms); err == nil {
		last := placed[n-1].Ticket
		if err = m.s.Commit(last); err == nil {
			done := make(chan error, 1)
			m.s.OnFlushed(last, func(err error) { done <- err })
			err = <-done
		}
	}
	if err != nil {
		m.rt.Fatal(err)
	}
	if m.queues[key] == nil {
		m.queues[key] = map[int64]modelMessage{}
	}
	for i, p := range placed {
		if p.QueueOffset != m.next[key] {
			m.rt.Fatalf("%v: message got offset %d, %d follows", key, p.QueueOffset, m.next[key])
		}
		m.next[key]++
		m.queues[key][p.QueueOffset] = modelMessage{string(ms[i].Body), p.PhysicalOffset + int64(p.Size)}
	}
	if m.st.conf.FlushDiskType == "SYNC_FLUSH" {
		m.flushed = placed[n-1].PhysicalOffset + int64(placed[n-1].Size)
	}
}

// remove deletes a topic.
func (m *model) remove() {
	topic := rapid.SampledFrom([]string{"A", "B", innerTopic}).Draw(m.rt, "topic")
	if err := m.s.DeleteTopic(topic); err != nil {
		m.rt.Fatal(err)
	}
	m.deleted = true
	// What a kill brings back depends on the last checkpoint.
	if err := m.s.Flush(); err != nil {
		m.rt.Fatal(err)
	}
	m.flushed = m.s.MaxPhysicalOffset()
	for key := range m.queues {
		if key.topic == topic {
			delete(m.queues, key)
			delete(m.next, key)
		}
	}
}

// forget takes out of the model what was not flushed and is not there after a crash. What was flushed must be there.
func (m *model) forget() {
	for key, list := range m.queues {
		there := m.read(key)
		for offset, want := range list {
			if _, ok := there[offset]; !ok && want.end > m.flushed {
				delete(list, offset)
			}
		}
		q := m.s.Queue(key.topic, key.id)
		if q == nil {
			m.next[key] = 0
			continue
		}
		m.next[key] = q.MaxOffset()
	}
	m.flushed = m.s.MaxPhysicalOffset()
}

// read reads a queue by Get.
func (m *model) read(key queueKey) map[int64]string {
	got := map[int64]string{}
	var out GetResult
	q := m.s.Queue(key.topic, key.id)
	if q == nil {
		return got
	}
	for at := q.MinOffset(); ; at = out.NextOffset {
		m.s.Get(&GetRequest{Topic: key.topic, QueueID: key.id, Offset: at, MaxCount: 32}, &out)
		if out.Status != Found {
			out.Release()
			return got
		}
		for _, part := range out.Parts {
			for len(part) > 0 {
				var r message.Record
				n, err := message.DecodeRecord(part, &r, true)
				if err != nil {
					m.rt.Fatalf("%v at %d: %v", key, at, err)
				}
				for i, body := range innerBodies(&r) {
					got[r.QueueOffset+int64(i)] = body
				}
				part = part[n:]
			}
		}
		out.Release()
	}
}

// compare compares every queue and some keys.
func (m *model) compare() {
	for key, list := range m.queues {
		got := m.read(key)
		want := make(map[int64]string, len(list))
		for offset, message := range list {
			want[offset] = message.body
		}
		for offset, body := range want {
			if other, ok := got[offset]; ok && other != body {
				m.rt.Fatalf("%v holds %.20q at %d, want %.20q", key, other, offset, body)
			}
		}
		if !maps.Equal(got, want) {
			m.rt.Fatalf("%v has %d messages at %v, want %d at %v", key, len(got), slices.Sorted(maps.Keys(got)), len(want), slices.Sorted(maps.Keys(want)))
		}
	}
}

// check runs the consistency check. Of a store that was closed nothing may be missing.
func (m *model) check(closed bool) {
	if m.deleted && m.crashed {
		return // it cannot tell a topic made again that lost its first messages from one that was never deleted
	}
	m.st.fs = m.mem
	report, err := Check(CheckOptions{Dir: m.st.dir, FS: m.mem, Config: m.st.conf})
	if err != nil {
		m.rt.Fatal(err)
	}
	if report.Damaged() || report.Closed != closed {
		m.rt.Fatalf("check: closed %t, %v", report.Closed, report.Problems)
	}
	for _, p := range report.Problems {
		if closed && strings.HasPrefix(p.File, indexDir(m.st.dir)) {
			m.rt.Fatalf("index: %v", p)
		}
	}
}

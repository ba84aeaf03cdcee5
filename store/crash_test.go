package store

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// crashRun is a scripted run of a store on a file system that fails or crashes, with what was acknowledged.
type crashRun struct {
	*storeTest
	// staged holds the bodies that were ever given an offset, acked those that were acknowledged, by queue and offset.
	staged, acked map[string]map[int64]string
	n             int
}

func newCrashRun(t *testing.T, mem *vfs.Mem, fault *vfs.Fault, flush string) *crashRun {
	t.Helper()
	st := &storeTest{T: t, fs: fault, dir: "/data/store", conf: smallConf()}
	st.clock = clock.NewManual(time.UnixMilli(1700000000000))
	st.conf.FlushDiskType = flush
	st.conf.MappedFileSizeCommitLog = 4096
	st.conf.MappedFileSizeConsumeQueue = 20 * 8
	st.conf.MaxHashSlotNum = 5
	st.conf.MaxIndexNum = 20
	_ = mem
	st.kind = innerKind
	return &crashRun{storeTest: st, staged: map[string]map[int64]string{}, acked: map[string]map[int64]string{}}
}

func (c *crashRun) note(table map[string]map[int64]string, topic string, offset int64, body string) {
	if table[topic] == nil {
		table[topic] = map[int64]string{}
	}
	table[topic][offset] = body
}

func (c *crashRun) send(s *Store, topic string, size int) {
	c.n++
	body := fmt.Sprintf("%s-%d-%s", topic, c.n, strings.Repeat("x", size))
	m := newMessage(topic, 0, body, message.KeyUniqueKey, fmt.Sprint("u", c.n), message.KeyTags, "A")
	p, err := s.Stage(m)
	if err != nil {
		return
	}
	c.note(c.staged, topic, p.QueueOffset, body)
	if c.n%2 == 0 { // as a connection in lock-step does
		flushed, err := s.CommitAndFlush(p.Ticket)
		if err != nil {
			return
		}
		if flushed {
			c.note(c.acked, topic, p.QueueOffset, body)
			return
		}
	} else if s.Commit(p.Ticket) != nil {
		return
	}
	done := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { done <- err })
	if <-done == nil {
		c.note(c.acked, topic, p.QueueOffset, body)
	}
}

func (c *crashRun) sendBatch(s *Store, topic string, count int) {
	var ms []message.Message
	for range count {
		c.n++
		ms = append(ms, *newMessage(topic, 0, fmt.Sprintf("%s-%d", topic, c.n), message.KeyKeys, "k1 k2"))
	}
	placed, err := s.StageBatch(ms)
	if err != nil {
		return
	}
	for i, p := range placed {
		c.note(c.staged, topic, p.QueueOffset, string(ms[i].Body))
	}
	last := placed[len(placed)-1].Ticket
	if s.Commit(last) != nil {
		return
	}
	done := make(chan error, 1)
	s.OnFlushed(last, func(err error) { done <- err })
	if <-done == nil {
		for i, p := range placed {
			c.note(c.acked, topic, p.QueueOffset, string(ms[i].Body))
		}
	}
}

// sendInner sends a batch that is one record.
func (c *crashRun) sendInner(s *Store, count int) {
	bodies := make([]string, count)
	for i := range bodies {
		c.n++
		bodies[i] = fmt.Sprint("inner-", c.n)
	}
	p, err := s.Stage(newInner(0, bodies...))
	if err != nil {
		return
	}
	for i, body := range bodies {
		c.note(c.staged, innerTopic, p.QueueOffset+int64(i), body)
	}
	if s.Commit(p.Ticket) != nil {
		return
	}
	done := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { done <- err })
	if <-done == nil {
		for i, body := range bodies {
			c.note(c.acked, innerTopic, p.QueueOffset+int64(i), body)
		}
	}
}

// script is what every run does.
func (c *crashRun) script() {
	s, err := Open(c.options())
	if err != nil {
		return
	}
	s.Start()
	for i := range 12 {
		c.send(s, []string{"A", "B"}[i%2], 100+i*40)
	}
	if err := s.Flush(); err == nil {
		for range 6 {
			c.send(s, "A", 700)
		}
	}
	c.sendBatch(s, "B", 5)
	c.sendInner(s, 4)
	c.send(s, "C", 10)
	if err := s.Close(); err == nil {
		if s, err = Open(c.options()); err != nil {
			return
		}
		s.Start()
	}
	for i := range 8 {
		c.send(s, []string{"A", "C"}[i%2], 200)
	}
	c.sendBatch(s, "B", 3)
	c.sendInner(s, 2)
	c.sendInner(s, 3)
	_ = s.Close() // crashes are what this is about
}

// verify opens what is left and compares it with what was acknowledged and staged. strict: everything acknowledged must be there.
func (c *crashRun) verify(left *vfs.Mem, strict bool, what string) {
	c.Helper()
	st := &storeTest{T: c.T, fs: left, dir: c.dir, clock: c.clock, conf: c.conf, kind: c.kind}
	s, err := Open(st.options())
	if err != nil {
		c.Fatalf("%s: open: %v", what, err)
	}
	s.Start()
	for topic, offsets := range c.staged {
		q := s.Queue(topic, 0)
		end := int64(0)
		if q != nil {
			end = q.MaxOffset()
		}
		for offset, body := range c.acked[topic] {
			if !strict {
				break
			}
			if got, ok := c.bodyAt(s, topic, offset); !ok || got != body {
				c.Fatalf("%s: acknowledged message %d of %s is %.40q, want %.40q (queue ends at %d)\n%v", what, offset, topic, got, body, end, s.Recovery())
			}
		}
		for offset := range end {
			if got, ok := c.bodyAt(s, topic, offset); ok && got != offsets[offset] {
				c.Fatalf("%s: message %d of %s is %.40q, want %.40q", what, offset, topic, got, offsets[offset])
			}
		}
	}
	// Life goes on.
	for i := range 3 {
		for _, topic := range []string{"A", "B", "C"} {
			p := st.put(s, newMessage(topic, 0, fmt.Sprint("after", i), message.KeyUniqueKey, fmt.Sprint("after", topic, i)))
			if got, ok := c.bodyAt(s, topic, p.QueueOffset); !ok || got != fmt.Sprint("after", i) {
				c.Fatalf("%s: new message of %s is %.40q", what, topic, got)
			}
		}
	}
	if p := st.put(s, newInner(0, "after", "after")); p.QueueOffset != s.Queue(innerTopic, 0).MaxOffset()-2 {
		c.Fatalf("%s: new batch at %d, the queue ends at %d", what, p.QueueOffset, s.Queue(innerTopic, 0).MaxOffset())
	}
	for _, topic := range []string{"A", "B", "C"} {
		found, err := s.Query(topic, fmt.Sprint("after", topic, 2), 10, 0, 1<<62)
		if err != nil || len(found) != 1 {
			c.Fatalf("%s: new key of %s: %d found, %v", what, topic, len(found), err)
		}
		found[0].Release()
	}
	if err := s.Close(); err != nil {
		c.Fatalf("%s: close: %v", what, err)
	}
	report, err := Check(CheckOptions{Dir: c.dir, FS: left, Config: c.conf})
	if err != nil {
		c.Fatalf("%s: check: %v", what, err)
	}
	if report.Damaged() {
		c.Fatalf("%s: check: %v\nrecovery: %+v", what, report.Problems, s.Recovery())
	}
}

func (c *crashRun) bodyAt(s *Store, topic string, offset int64) (string, bool) {
	q := s.Queue(topic, 0)
	if q == nil {
		return "", false
	}
	e, ok := q.Entry(offset)
	if !ok {
		return "", false
	}
	slice, err := s.Record(e.PhysicalOffset)
	if err != nil {
		return "", false
	}
	defer slice.Release()
	var r message.Record
	if _, err := message.DecodeRecord(slice.Bytes(), &r, true); err != nil {
		return "", false
	}
	if i := offset - r.QueueOffset; r.SysFlag&message.SysInnerBatch != 0 {
		return innerBodies(&r)[i], true
	}
	return string(r.Body), true
}

// TestCrashAtEveryOperation crashes at each operation of a run, keeps what was synced and a random part of the rest (a crash of the
// machine) or all of it (a kill of the process), and opens the store again.
func TestCrashAtEveryOperation(t *testing.T) {
	t.Parallel()
	step := int64(1)
	if testing.Short() {
		step = 11
	}
	for _, flush := range []string{"SYNC_FLUSH", "ASYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			t.Parallel()
			for k := int64(1); ; k += step {
				mem := vfs.NewMem()
				fault := vfs.NewFault(mem)
				fault.SetRule(vfs.CrashAt(k))
				c := newCrashRun(t, mem, fault, flush)
				c.script()
				if !fault.Crashed() {
					t.Logf("%d operations", k-1)
					return
				}
				c.verify(mem.Clone(), true, fmt.Sprintf("kill at operation %d", k))
				for seed := range uint64(2) {
					c.verify(mem.CrashClone(seed+uint64(k)), flush == "SYNC_FLUSH", fmt.Sprintf("crash at operation %d, seed %d", k, seed+uint64(k)))
				}
			}
		})
	}
}

// TestFailAtEveryOperation lets each operation of a run fail once, with and without half of a write done.
func TestFailAtEveryOperation(t *testing.T) {
	t.Parallel()
	step := int64(1)
	if testing.Short() {
		step = 11
	}
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			t.Parallel()
			for k := int64(1); ; k += step {
				mem := vfs.NewMem()
				fault := vfs.NewFault(mem)
				fault.SetRule(func(call vfs.Call) vfs.Action {
					if call.N == k && call.Op.Changes() {
						return vfs.Action{Err: cause, Keep: call.Size / 2}
					}
					return vfs.Action{}
				})
				c := newCrashRun(t, mem, fault, "SYNC_FLUSH")
				c.script()
				if fault.Count() < k {
					return
				}
				c.verify(mem.Clone(), true, fmt.Sprintf("%v at operation %d", cause, k))
				c.verify(mem.CrashClone(uint64(k)), true, fmt.Sprintf("%v at operation %d, then a crash", cause, k))
			}
		})
	}
}

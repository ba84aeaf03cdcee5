package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// faulty returns a store on a file system that does as the rule says from now on.
func (t *storeTest) faulty() (*Store, *vfs.Fault) {
	t.Helper()
	fault := vfs.NewFault(t.fs)
	t.fs = fault
	return t.open(), fault
}

// TestFailedWriteIsTakenBack lets a commit of several callers fail: all of them are told, their offsets are free again, and nothing of it
// is found later.
func TestFailedWriteIsTakenBack(t *testing.T) {
	for _, keep := range []int{0, 1, 100, 300, 1 << 20} {
		t.Run(fmt.Sprintf("%d bytes written", keep), func(t *testing.T) {
			st := newStoreTest(t)
			mem := st.fs
			s, fault := st.faulty()
			st.put(s, newMessage("T", 0, "good"))
			var tickets []Ticket
			for i := range 3 {
				p, err := s.Stage(newMessage("T", int32(i%2), fmt.Sprint("lost", i)))
				if err != nil {
					t.Fatal(err)
				}
				tickets = append(tickets, p.Ticket)
			}
			fault.SetRule(func(c vfs.Call) vfs.Action {
				if c.Op == vfs.OpWrite && strings.Contains(c.Path, "commitlog") {
					return vfs.Action{Err: syscall.EIO, Keep: keep}
				}
				return vfs.Action{}
			})
			for i, ticket := range tickets {
				if err := s.Commit(ticket); !errors.Is(err, ErrWriteFailed) {
					t.Errorf("commit %d: %v, want ErrWriteFailed", i, err)
				}
				s.OnFlushed(ticket, func(err error) {
					if !errors.Is(err, ErrWriteFailed) {
						t.Errorf("flush %d: %v, want ErrWriteFailed", i, err)
					}
				})
			}
			if _, err := s.Put(newMessage("T", 0, "also lost")); !errors.Is(err, ErrWriteFailed) {
				t.Errorf("put: %v, want ErrWriteFailed", err)
			}
			fault.SetRule(nil)
			if p := st.put(s, newMessage("T", 0, "x")); p.QueueOffset != 1 {
				t.Errorf("offset %d after the failure, want 1", p.QueueOffset)
			}
			if p := st.put(s, newMessage("T", 1, "y")); p.QueueOffset != 0 {
				t.Errorf("offset %d after the failure, want 0", p.QueueOffset)
			}
			st.wantBodies(s, "T", 0, "good", "x")
			st.fs = mem
			st.kill(s)
			s = st.open()
			st.wantBodies(s, "T", 0, "good", "x")
			st.wantBodies(s, "T", 1, "y")
			if report := st.checked(s); report.Warnings > 0 {
				t.Errorf("check: %v", report.Problems)
			}
		})
	}
}

// TestOldTicketsAfterFailure: a ticket of what was written before the failure is good for ever.
func TestOldTicketsAfterFailure(t *testing.T) {
	st := newStoreTest(t)
	s, fault := st.faulty()
	good := st.put(s, newMessage("T", 0, "good"))
	fault.SetRule(vfs.FailOn(vfs.OpWrite, "commitlog", syscall.EIO))
	bad, err := s.Stage(newMessage("T", 0, "bad"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(bad.Ticket); err == nil {
		t.Fatal("the write did not fail")
	}
	for range keptFailures / 2 {
		if _, err := s.Put(newMessage("T", 0, "bad")); err == nil {
			t.Fatal("the write did not fail")
		}
	}
	if err := s.Commit(good.Ticket); err != nil {
		t.Errorf("good ticket: %v", err)
	}
	if err := s.Commit(bad.Ticket); err == nil {
		t.Error("bad ticket: no error")
	}
}

// TestDiskFull: writing is refused with path, free bytes and setting; reading, and what was accepted, go on; writing goes on by itself.
func TestDiskFull(t *testing.T) { inBubble(t, testDiskFull) }

func testDiskFull(t *storeTest) {
	mem := vfs.NewMem()
	mem.SetUsage(1<<30, 1<<29)
	fault := vfs.NewFault(mem)
	t.fs = fault
	o := t.options()
	o.DiskMinFree = 64 << 20
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Close()
	t.put(s, newMessage("T", 0, "one"))

	// Less than asked for is free: a twentieth of the disk, which is less than diskMinFreeBytes.
	mem.SetUsage(1<<30, 10<<20)
	pass(2 * time.Second)
	_, err = s.Put(newMessage("T", 0, "two"))
	for _, part := range []string{"/store/commitlog", "10485760", "diskMinFreeBytes", fmt.Sprint(1 << 30 / 20)} {
		if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), part) {
			t.Fatalf("put: %v, want ErrDiskFull with %q", err, part)
		}
	}
	t.wantBodies(s, "T", 0, "one")
	mem.SetUsage(1<<30, 1<<29)
	pass(2 * time.Second)
	t.put(s, newMessage("T", 0, "two"))

	// A write fails for lack of room although the system shows some: a quota.
	fault.SetRule(vfs.FailOn(vfs.OpWrite, "commitlog", syscall.EDQUOT))
	if _, err = s.Put(newMessage("T", 0, "three")); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("put over quota: %v, want ErrDiskFull", err)
	}
	if !strings.Contains(err.Error(), "536870912 of 1073741824 bytes free, diskMinFreeBytes asks for 53687091") {
		t.Fatalf("put over quota: %v does not tell what is free and asked for", err)
	}
	fault.SetRule(nil)
	pass(10 * time.Second)
	t.put(s, newMessage("T", 0, "three"))
	t.wantBodies(s, "T", 0, "one", "two", "three")
}

// TestDiskRatios: without a wanted number of free bytes the reference's ratios count.
func TestDiskRatios(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		mem := vfs.NewMem()
		mem.SetUsage(1000<<20, 99<<20)
		t.fs = mem
		s := t.open()
		_, err := s.Put(newMessage("T", 0, "x"))
		if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "diskSpaceWarningLevelRatio is 0.90") || !strings.Contains(err.Error(), "used to 0.90") {
			t.Errorf("put: %v, want ErrDiskFull with the ratio", err)
		}
		mem.SetUsage(1000<<20, 101<<20)
		pass(2 * time.Second)
		t.put(s, newMessage("T", 0, "x"))
		if u := s.DiskUsage(); u.Free != 101<<20 || u.Total != 1000<<20 || u.Ratio < 0.89 || u.Ratio > 0.9 {
			t.Errorf("usage %+v", u)
		}
	})
}

// TestFailedFlush: what was to be flushed is not acknowledged, nothing is written any more, reading goes on, and the next start looks
// closely.
func TestFailedFlush(t *testing.T) {
	st := newStoreTest(t)
	mem := st.fs
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s, fault := st.faulty()
	st.put(s, newMessage("T", 0, "one"))
	fault.SetRule(vfs.FailOn(vfs.OpSync, "commitlog", syscall.EIO))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := s.Put(newMessage("T", 0, "not promised")); !errors.Is(err, ErrFlushFailed) {
				t.Errorf("put: %v, want ErrFlushFailed", err)
			}
		})
	}
	wg.Wait()
	fault.SetRule(nil)
	if _, err := s.Put(newMessage("T", 0, "refused")); !errors.Is(err, ErrFlushFailed) || !strings.Contains(err.Error(), "commitlog") {
		t.Errorf("put afterwards: %v, want ErrFlushFailed with the file", err)
	}
	st.wantBodies(s, "T", 0, "one")
	if err := s.Close(); !errors.Is(err, ErrFlushFailed) {
		t.Errorf("close: %v, want ErrFlushFailed", err)
	}
	st.fs = mem
	s = st.open()
	if s.Recovery().Clean {
		t.Error("the store counts as closed")
	}
	if got := st.bodies(s, "T", 0, 0); len(got) == 0 || got[0] != "one" {
		t.Errorf("messages %v", got)
	}
}

// TestFlushTimeout: a flush that takes too long is answered, and the message is there all the same when it ends.
func TestFlushTimeout(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		t.conf.FlushDiskType = "SYNC_FLUSH"
		s, fault := t.faulty()
		t.put(s, newMessage("T", 0, "one"))
		release := make(chan struct{})
		fault.SetRule(func(c vfs.Call) vfs.Action {
			if c.Op == vfs.OpSync && strings.Contains(c.Path, "commitlog") {
				return vfs.Action{Before: func() { <-release }}
			}
			return vfs.Action{}
		})
		start := time.Now()
		_, err := s.Put(newMessage("T", 0, "slow"))
		if waited := time.Since(start); !errors.Is(err, ErrFlushTimeout) || !strings.Contains(err.Error(), "5000") || waited < 5*time.Second || waited > 7*time.Second {
			t.Errorf("put: %v after %v, want ErrFlushTimeout with the setting after 5 s", err, waited)
		}
		if n := s.Queue("T", 0).MaxOffset(); n != 1 {
			t.Errorf("max offset %d before the flush, want 1", n)
		}
		fault.SetRule(nil)
		close(release)
		synctest.Wait()
		if n := s.Queue("T", 0).MaxOffset(); n != 2 {
			t.Errorf("max offset %d after the flush, want 2", n)
		}
	})
}

// TestAsyncFlushInterval: what is written is on disk after flushIntervalCommitLog, or flushCommitLogThoroughInterval when it is little.
func TestAsyncFlushInterval(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		s := t.open()
		pass(time.Second)
		t.put(s, newMessage("T", 0, strings.Repeat("x", 20_000)))
		pass(600 * time.Millisecond)
		if s.FlushedOffset() != s.MaxPhysicalOffset() {
			t.Errorf("%d of %d bytes flushed after flushIntervalCommitLog", s.FlushedOffset(), s.MaxPhysicalOffset())
		}
		t.put(s, newMessage("T", 0, "little"))
		pass(2 * time.Second)
		if s.FlushedOffset() == s.MaxPhysicalOffset() {
			t.Error("a page that is not full was flushed at once")
		}
		pass(10 * time.Second)
		if s.FlushedOffset() != s.MaxPhysicalOffset() {
			t.Error("not flushed after flushCommitLogThoroughInterval")
		}
	})
}

// TestWaitFalse: with SYNC_FLUSH a message that need not wait is answered before the flush, and visible after it.
func TestWaitFalse(t *testing.T) {
	st := newStoreTest(t)
	st.conf.FlushDiskType = "SYNC_FLUSH"
	fault := vfs.NewFault(st.fs)
	st.fs = fault
	s, err := Open(st.options())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := make(chan Arrival, 2)
	s.OnArrival(func(a Arrival) { seen <- a })
	s.Start()
	st.put(s, newMessage("T", 0, "first"))
	<-seen
	release := make(chan struct{})
	fault.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op == vfs.OpSync && strings.Contains(c.Path, "commitlog") {
			return vfs.Action{Before: func() { <-release }}
		}
		return vfs.Action{}
	})
	m := newMessage("T", 0, "quick")
	m.WaitStored = false
	p := st.put(s, m)
	close(release)
	a := <-seen
	if a.PhysicalOffset != p.PhysicalOffset || s.FlushedOffset() < p.PhysicalOffset+int64(p.Size) {
		t.Errorf("arrival %+v with %d flushed", a, s.FlushedOffset())
	}
}

// TestQueueFilesCannotBeWritten: entries wait in memory, messages go on being readable, and the files get them later.
func TestQueueFilesCannotBeWritten(t *testing.T) {
	st := newStoreTest(t)
	mem := st.fs
	s, fault := st.faulty()
	fault.SetRule(vfs.FailOn(vfs.OpCreate, "consumequeue", syscall.EACCES))
	var want []string
	for i := range 100 {
		st.put(s, newMessage("T", 0, fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	if err := s.Flush(); !errors.Is(err, syscall.EACCES) {
		t.Errorf("flush: %v, want the error", err)
	}
	st.wantBodies(s, "T", 0, want...)
	fault.SetRule(nil)
	if err := s.Flush(); err != nil {
		t.Errorf("flush: %v", err)
	}
	st.close(s)
	st.fs = mem
	s = st.open()
	if len(s.Recovery().Problems) > 0 {
		t.Error(s.Recovery().Problems)
	}
	st.wantBodies(s, "T", 0, want...)
}

func TestIllegalMessages(t *testing.T) {
	st := newStoreTest(t)
	st.conf.MaxMessageSize = 10_000
	s := st.open()
	for _, c := range []struct {
		name string
		m    *message.Message
		part string
	}{
		{"body too large", newMessage("T", 0, strings.Repeat("x", 10_001)), "maxMessageSize is 10000"},
		{"properties too large", newMessage("T", 0, "x", "p", strings.Repeat("x", 32_766)), "32767"},
		{"topic too long", newMessage(strings.Repeat("t", 128), 0, "x"), "127"},
		{"negative queue", newMessage("T", -1, "x"), "-1"},
		{"no topic", newMessage("", 0, "x"), "directory"},
		{"topic leads elsewhere", newMessage("../T", 0, "x"), "../T"},
		{"no body", &message.Message{Topic: "T"}, "no body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Put(c.m)
			if !errors.Is(err, ErrMessageIllegal) || !strings.Contains(err.Error(), c.part) {
				t.Errorf("%v, want ErrMessageIllegal with %q", err, c.part)
			}
			if _, err := s.StageBatch([]message.Message{*newMessage("T", 0, "fine"), *c.m}); !errors.Is(err, ErrMessageIllegal) {
				t.Errorf("in a batch: %v, want ErrMessageIllegal", err)
			}
		})
	}
	if got := s.MaxPhysicalOffset(); got != 0 {
		t.Errorf("%d bytes were written", got)
	}
	st.conf.MappedFileSizeCommitLog = 64 << 10
	if _, err := s.StageBatch([]message.Message{*newMessage("T", 0, "x"), *newMessage("U", 0, "x")}); !errors.Is(err, ErrMessageIllegal) {
		t.Errorf("batch for two topics: %v", err)
	}
	big := make([]message.Message, 10)
	for i := range big {
		big[i] = *newMessage("T", 0, strings.Repeat("x", 9000))
	}
	if _, err := s.StageBatch(big); !errors.Is(err, ErrMessageIllegal) || !strings.Contains(err.Error(), "mappedFileSizeCommitLog") {
		t.Errorf("batch that fits into no file: %v", err)
	}
	if p := st.put(s, newMessage("T", 0, strings.Repeat("x", 10_000))); p.QueueOffset != 0 {
		t.Errorf("first message at offset %d", p.QueueOffset)
	}
}

// TestCommitAndFlush: who flushes by himself finds his message on disk and visible, without the flusher; with a slow disk, and while another
// flushes, that is left to the flusher.
func TestCommitAndFlush(t *testing.T) {
	st := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1700000000000))
	st.clock = manual
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s, fault := st.faulty()
	slow := time.Duration(0)
	fault.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op == vfs.OpSync && strings.Contains(c.Path, "commitlog") {
			manual.Advance(slow)
		}
		return vfs.Action{}
	})
	commit := func() (Placed, bool) {
		p, err := s.Stage(newMessage("T", 0, "x"))
		if err != nil {
			t.Fatal(err)
		}
		flushed, err := s.CommitAndFlush(p.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		return p, flushed
	}
	p, flushed := commit()
	if !flushed || s.FlushedOffset() < p.PhysicalOffset+int64(p.Size) || s.Queue("T", 0).MaxOffset() != 1 {
		t.Fatalf("flushed %t to %d, the queue ends at %d", flushed, s.FlushedOffset(), s.Queue("T", 0).MaxOffset())
	}
	slow = 10 * time.Millisecond
	if _, flushed = commit(); !flushed {
		t.Error("the disk was quick until then")
	}
	p, flushed = commit()
	if flushed {
		t.Error("the disk was slow")
	}
	done := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { done <- err })
	if err := <-done; err != nil || s.Queue("T", 0).MaxOffset() != 3 {
		t.Errorf("%v, the queue ends at %d", err, s.Queue("T", 0).MaxOffset())
	}
	slow = 0
	for range 100 {
		if p, flushed = commit(); !flushed {
			s.OnFlushed(p.Ticket, func(err error) { done <- err })
			<-done
		}
	}
	if !flushed {
		t.Error("the disk is quick again")
	}
}

// TestReadOnlyWhileOpen makes the file system of an open store read-only, as a kernel does that has found it damaged, and writable again.
func TestReadOnlyWhileOpen(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpCreate} {
		t.Run(op.String(), func(t *testing.T) {
			st := newStoreTest(t)
			s, fault := st.faulty()
			st.put(s, newMessage("T", 0, "before"))
			fault.SetRule(vfs.FailOn(op, "", syscall.EROFS))
			var err error
			sent := 1
			for ; err == nil && s.MaxPhysicalOffset() < 4*st.files(); sent++ {
				_, err = s.Put(newMessage("T", 0, strings.Repeat("x", 3000)))
			}
			sent-- // the last one was refused
			if !errors.Is(err, ErrWriteFailed) || !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), filepath.Join(st.dir, "commitlog")) {
				t.Errorf("put: %v, want ErrWriteFailed with the path and EROFS", err)
			}
			if got := st.bodies(s, "T", 0, 0); len(got) != sent || got[0] != "before" {
				t.Errorf("%d messages can be read, want %d", len(got), sent)
			}
			fault.SetRule(nil)
			if p := st.put(s, newMessage("T", 0, "after")); p.QueueOffset != int64(sent) {
				t.Errorf("the next message got offset %d, want %d", p.QueueOffset, sent)
			}
			st.close(s)
		})
	}
}

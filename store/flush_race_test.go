package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
)

// TestFlushedBeforeItIsHandedOver flushes a batch between its writing and its handing over to the flusher, which is busy then and not
// woken: it must see by itself that the batch is still to be dispatched, or the sender waits until syncFlushTimeout.
func TestFlushedBeforeItIsHandedOver(t *testing.T) {
	st := newQuietTest(t)
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s := st.idle()
	s.log.measureEvery.Store(0)
	var flushed error
	s.log.measure = func() { flushed = s.flusher.flush() } // it is called between the two
	s.log.wakeFlusher = func() {}
	p, err := s.Stage(newMessage("T", 0, "body"))
	if err = errors.Join(err, s.Commit(p.Ticket), flushed); err != nil {
		t.Fatal(err)
	}
	if s.FlushedOffset() != s.MaxPhysicalOffset() || s.DispatchedOffset() != 0 {
		t.Fatalf("flushed up to %d, dispatched up to %d, want %d and 0", s.FlushedOffset(), s.DispatchedOffset(), s.MaxPhysicalOffset())
	}
	done := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { done <- err })
	s.Start()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("no answer")
	}
}

// TestWhoFlushesLeavesTheRestToTheFlusher lets a caller of CommitAndFlush find his message in a batch that another has written and not handed
// over yet: he cannot dispatch it, and the flusher has to know.
func TestWhoFlushesLeavesTheRestToTheFlusher(t *testing.T) {
	st := newQuietTest(t)
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s := st.idle()
	s.log.measureEvery.Store(0)
	p, err := s.Stage(newMessage("T", 0, "body"))
	if err != nil {
		t.Fatal(err)
	}
	wakes, wakesInside, flushed := 0, 0, true
	s.log.wakeFlusher = func() { wakes++ }
	s.log.measure = func() {
		flushed, err = s.CommitAndFlush(p.Ticket)
		wakesInside = wakes
	}
	if err = errors.Join(s.Commit(p.Ticket), err); err != nil || flushed || wakesInside != 1 {
		t.Errorf("%v, flushed %t, the flusher was woken %d times, want false and 1", err, flushed, wakesInside)
	}
}

// TestHangingFlush: while the fsync of one who flushes himself hangs, others commit, read, and are told when syncFlushTimeout is over.
func TestHangingFlush(t *testing.T) {
	st := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1700000000000))
	st.clock = manual
	st.conf.FlushDiskType = "SYNC_FLUSH"
	s, fault := st.faulty()
	first := st.put(s, newMessage("T", 0, "before"))
	hangs, goOn := make(chan struct{}, 8), make(chan struct{})
	fault.SetRule(func(c vfs.Call) vfs.Action {
		if c.Op == vfs.OpSync && strings.Contains(c.Path, "commitlog") {
			hangs <- struct{}{}
			<-goOn
		}
		return vfs.Action{}
	})
	stage := func() Placed {
		p, err := s.Stage(newMessage("T", 0, "x"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	type outcome struct {
		flushed bool
		err     error
	}
	himself := make(chan outcome, 1)
	if err := s.flusher.flush(); err != nil { // waits until who answered the first message has left
		t.Fatal(err)
	}
	p := stage()
	go func() {
		flushed, err := s.CommitAndFlush(p.Ticket)
		himself <- outcome{flushed, err}
	}()
	<-hangs
	p = stage()
	if flushed, err := s.CommitAndFlush(p.Ticket); flushed || err != nil {
		t.Errorf("another one: flushed %t, %v", flushed, err)
	}
	late := make(chan error, 1)
	s.OnFlushed(p.Ticket, func(err error) { late <- err })
	manual.Advance(time.Duration(st.conf.SyncFlushTimeout) * time.Millisecond)
	s.flusher.expire()
	if err := <-late; !errors.Is(err, ErrFlushTimeout) {
		t.Errorf("%v, want ErrFlushTimeout", err)
	}
	if got := st.bodies(s, "T", 0, first.QueueOffset); len(got) != 1 {
		t.Errorf("%d messages can be read, want the one that is flushed", len(got))
	}
	close(goOn)
	if o := <-himself; !o.flushed || o.err != nil {
		t.Errorf("who waited for the disk: %+v", o)
	}
	s.OnFlushed(p.Ticket, func(err error) { late <- err })
	if err := <-late; err != nil || s.Queue("T", 0).MaxOffset() != 3 {
		t.Errorf("%v, the queue ends at %d, want 3", err, s.Queue("T", 0).MaxOffset())
	}
}

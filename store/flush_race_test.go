package store

import (
	"errors"
	"testing"
	"time"
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

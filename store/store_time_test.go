package store

import (
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
)

// TestWhatWaitsForTheWriteHasItsOwnStoreTime: else a delay level, which counts from it, would end early, and a timer look early.
func TestWhatWaitsForTheWriteHasItsOwnStoreTime(t *testing.T) {
	x := newStoreTest(t)
	manual := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	x.clock = manual
	s := x.open()
	var last Placed
	for i := range 40 {
		p, err := s.Stage(&message.Message{Topic: "T", Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(1_700_000_000_000 + i); p.StoreTimestamp != want {
			t.Errorf("message %d has the store time %d, want %d", i, p.StoreTimestamp, want)
		}
		manual.Advance(time.Millisecond)
		last = p
	}
	if err := s.Commit(last.Ticket); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

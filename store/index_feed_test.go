package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
)

// TestIndexKeepsUpWhateverTheFeedHolds: keys are found although the indexer was kept from its work for longer than the feed holds
// records, which then are partly read from the log and partly fed.
func TestIndexKeepsUpWhateverTheFeedHolds(t *testing.T) {
	for name, row := range map[string]struct{ before, kept, after int }{
		"all are fed":         {before: 10, kept: 100, after: 10},
		"more than fits":      {before: 10, kept: maxFedRecords + 5000, after: 10},
		"twice what fits":     {before: 0, kept: 2*maxFedRecords + 10, after: 2000},
		"read, then fed anew": {before: 700, kept: maxFedRecords + 1, after: 600},
	} {
		t.Run(name, func(t *testing.T) {
			x := newStoreTest(t)
			x.conf.MappedFileSizeCommitLog = 1 << 20
			x.conf.MaxHashSlotNum, x.conf.MaxIndexNum = 9973, 1_000_000
			s := x.open()
			n := 0
			put := func(count int) {
				var ticket Ticket
				for range count {
					p, err := s.Stage(newMessage("T", 0, "body", message.KeyUniqueKey, fmt.Sprintf("key%d", n)))
					if err != nil {
						t.Fatal(err)
					}
					ticket = p.Ticket
					if n++; n%100 == 0 {
						if err := s.Commit(ticket); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := s.Commit(ticket); err != nil {
					t.Fatal(err)
				}
			}
			put(max(1, row.before))
			s.index.mu.Lock()
			put(row.kept)
			s.index.mu.Unlock()
			put(row.after)
			awaitIndexed(t, s)
			for _, i := range []int{0, row.before, row.before + 1, n / 3, n / 2, row.before + row.kept - 1, row.before + row.kept, n - 1} {
				found, err := s.Query("T", fmt.Sprintf("key%d", i), 10, 0, 1<<62)
				if err != nil || len(found) != 1 {
					t.Errorf("key%d of %d: found %d times, %v", i, n, len(found), err)
				}
				for _, f := range found {
					f.Release()
				}
			}
			if got, want := s.index.lastLocked().header.next-1, int32(n); got != want {
				t.Errorf("the index has %d entries, want %d", got, want)
			}
			x.close(s)
		})
	}
}

func awaitIndexed(t *testing.T, s *Store) {
	t.Helper()
	for range 3000 {
		if s.IndexedOffset() >= s.log.dispatched.Load() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("indexed to %d of %d", s.IndexedOffset(), s.log.dispatched.Load())
}

package store

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestIndexAheadOfLog crashes a store whose key index knows records that the log has lost, at its end, in its middle, or all of them. Whether
// the store is closed at once then, or killed after it has grown over the places of the lost records: every key leads to its record, no key to
// another one.
func TestIndexAheadOfLog(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"tail", "middle", "all"} {
		for _, entries := range []int32{20, 1000} {
			for _, grown := range []int{0, 5, 40} {
				for _, killed := range []bool{false, true} {
					for _, disabled := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s,entries=%d,grown=%d,killed=%t,disabled=%t", lost, entries, grown, killed, disabled), func(t *testing.T) {
							t.Parallel()
							st := newStoreTest(t)
							st.conf.MaxIndexNum = entries
							st.conf.FlushDiskType = "ASYNC_FLUSH"
							st.aheadOfLog(lost, grown, killed, disabled)
						})
					}
				}
			}
		}
	}
}

// keyed puts n messages of one length, each with a key.
func (t *storeTest) keyed(s *Store, life string, n int) (placed []Placed) {
	for i := range n {
		m := newMessage("T", 0, strings.Repeat("x", 100), message.KeyUniqueKey, fmt.Sprintf("%s%04d", life, i), message.KeyTags, "A")
		placed = append(placed, t.put(s, m))
	}
	return placed
}

func (t *storeTest) aheadOfLog(lost string, grown int, killed, disabled bool) {
	t.Helper()
	s := t.open()
	kept := 10
	t.keyed(s, "old", kept)
	if lost == "all" {
		kept = 0
	} else if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	placed := t.keyed(s, "lost", 40)
	if err := s.index.catchUpAll(); err != nil {
		t.Fatal(err)
	}
	if err := s.index.flush(); err != nil {
		t.Fatal(err)
	}
	t.kill(s)
	t.lose(lost, placed)

	// The indexer does not run: only what opening and closing do themselves counts.
	t.conf.MessageIndexEnable = !disabled
	if s = t.idle(); s.Recovery().Clean {
		t.Fatal("the crash was not seen")
	}
	t.keyed(s, "new", grown)
	if killed {
		if err := s.index.flush(); err != nil {
			t.Fatal(err)
		}
		t.kill(s)
		s = t.idle()
	}
	t.close(s)
	t.conf.MessageIndexEnable = true
	s = t.open()
	for life, n := range map[string]int{"old": kept, "new": grown} {
		for i := range n {
			t.wantFound(s, fmt.Sprintf("%s%04d", life, i), 1)
		}
	}
	found := 0
	if lost == "middle" {
		found = 1
	}
	t.wantFound(s, "lost0030", found)
	t.wantFound(s, "lost0012", 0)
	t.close(s)
	report, err := Check(CheckOptions{Dir: t.dir, FS: t.fs, Config: t.conf})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if strings.Contains(p.File, "index") {
			t.Error(p)
		}
	}
}

// idle opens a store that does nothing by itself.
func (t *storeTest) idle() *Store {
	t.Helper()
	s, err := Open(t.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // closed before where it matters
	return s
}

// lose zeroes the log from the tenth of the records on, those from the tenth to the fifteenth, or takes it away.
func (t *storeTest) lose(what string, placed []Placed) {
	t.Helper()
	if what == "all" {
		mem, ok := t.fs.(*vfs.Mem)
		if !ok {
			t.Fatal("only a store in memory can lose its log")
		}
		if err := mem.RemoveAll(t.dir + "/commitlog"); err != nil {
			t.Fatal(err)
		}
		return
	}
	to := int64(math.MaxInt64)
	if what == "middle" {
		to = placed[15].PhysicalOffset
	}
	t.edit(t.logName(0), func(b []byte) []byte {
		clear(b[placed[10].PhysicalOffset:min(to, int64(len(b)))])
		return b
	})
}

func (t *storeTest) wantFound(s *Store, key string, n int) {
	t.Helper()
	found, err := s.Query("T", key, 10, 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != n {
		t.Errorf("key %s leads to %d records, want %d", key, len(found), n)
	}
	for _, slice := range found {
		slice.Release()
	}
}

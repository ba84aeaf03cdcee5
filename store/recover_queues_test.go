package store

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

// TestStartReadsNoEmptyFiles counts what starts after a kill read of queues whose files are nearly empty: some pages of each. Where nothing was
// written is asked for and not read, however long the files are.
func TestStartReadsNoEmptyFiles(t *testing.T) {
	const queues, fileBytes = 300, entrySize * 20 << 10
	for _, c := range []struct {
		name   string
		before func(st *storeTest, s *Store)
	}{
		{"entries behind the checkpoint", func(*storeTest, *Store) {}},
		{"without a checkpoint", func(st *storeTest, _ *Store) {
			st.remove(queueStateName)
			st.remove(checkpointName)
		}},
		{"entries behind the log's end", func(st *storeTest, s *Store) {
			at := s.MaxPhysicalOffset() - 1
			st.edit("commitlog/"+offsetName(at-at%st.files()), func(b []byte) []byte {
				clear(b[at%st.files()-20_000:])
				return b
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newQuietTest(t)
			st.conf.MappedFileSizeConsumeQueue = fileBytes
			st.conf.MappedFileSizeCommitLog = 1 << 20
			s := st.open()
			for i := range int32(2 * queues) {
				if i == queues {
					st.flush(s)
				}
				st.put(s, newMessage("T", i%queues, "x"))
			}
			if err := s.queues.write(0); err != nil {
				t.Fatal(err)
			}
			st.kill(s)
			c.before(st, s)
			fault := vfs.NewFault(st.fs)
			st.fs = fault
			var read atomic.Int64
			fault.SetRule(func(c vfs.Call) vfs.Action {
				if c.Op == vfs.OpRead && strings.Contains(c.Path, "consumequeue") {
					read.Add(int64(c.Size))
				}
				return vfs.Action{}
			})
			s = st.open()
			if got := read.Load() / queues; got > 4*pageSize {
				t.Errorf("%d bytes of each queue were read, want %d at most: its file has %d", got, 4*pageSize, fileBytes)
			}
			if err := leftovers(s); err != nil {
				t.Error(err)
			}
		})
	}
}

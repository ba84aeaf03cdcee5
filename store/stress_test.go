package store

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestEverythingAtOnce lets writers, readers, queries, flushes, deletions and cleaning run against each other.
func TestEverythingAtOnce(t *testing.T) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			st := newStoreTest(t)
			st.fs = vfs.OS{}
			st.dir = t.TempDir()
			st.conf.FlushDiskType = flush
			st.conf.MappedFileSizeConsumeQueue = 20 * 100
			st.conf.FlushIntervalConsumeQueue = 1
			st.conf.FlushIntervalCommitLog = 1
			s := st.open()
			const writers, each = 4, 1500
			var done atomic.Bool
			var work, background sync.WaitGroup
			for w := range writers {
				work.Go(func() {
					topic := fmt.Sprint("T", w)
					for i := range each {
						m := newMessage(topic, int32(i%2), fmt.Sprintf("%d %s", i, strings.Repeat("x", i%300)), message.KeyKeys, fmt.Sprint("k", i))
						m.WaitStored = i%10 == 0
						if _, err := s.Put(m); err != nil {
							t.Error(err)
							return
						}
					}
				})
				background.Go(func() {
					var out GetResult
					next := [2]int64{}
					for !done.Load() {
						for id := range next {
							s.Get(&GetRequest{Topic: fmt.Sprint("T", w), QueueID: int32(id), Offset: next[id], MaxCount: 32}, &out)
							for _, part := range out.Parts {
								for len(part) > 0 {
									var r message.Record
									n, err := message.DecodeRecord(part, &r, true)
									if err != nil || r.QueueOffset != next[id] {
										t.Errorf("message %d of T%d/%d is %d, %v", next[id], w, id, r.QueueOffset, err)
										return
									}
									next[id]++
									part = part[n:]
								}
							}
							out.Release()
						}
					}
				})
			}
			background.Go(func() {
				for !done.Load() {
					p, err := s.Stage(newMessage("LockStep", 0, "x"))
					if err != nil {
						t.Error(err)
						return
					}
					flushed, err := s.CommitAndFlush(p.Ticket)
					if err != nil || flushed && s.Queue("LockStep", 0).MaxOffset() <= p.QueueOffset {
						t.Errorf("message %d: flushed %t, %v", p.QueueOffset, flushed, err)
					}
					if !flushed {
						waited := make(chan error, 1)
						s.OnFlushed(p.Ticket, func(err error) { waited <- err })
						if err := <-waited; err != nil {
							t.Error(err)
						}
					}
				}
			})
			background.Go(func() {
				for i := 0; !done.Load(); i++ {
					topic := fmt.Sprint("Short", i%3)
					if _, err := s.Put(newMessage(topic, 0, "x")); err != nil {
						t.Error(err)
					}
					if i%7 == 0 {
						if err := s.DeleteTopic(topic); err != nil {
							t.Error(err)
						}
					}
				}
			})
			background.Go(func() {
				for !done.Load() {
					if err := s.Flush(); err != nil {
						t.Error(err)
					}
					found, err := s.Query("T1", "k7", 10, 0, 1<<62)
					if err != nil {
						t.Error(err)
					}
					for _, f := range found {
						f.Release()
					}
					s.CleanExpired()
					s.DiskUsage()
				}
			})
			work.Wait()
			done.Store(true)
			background.Wait()
			for w := range writers {
				for id := range int32(2) {
					if got := st.bodies(s, fmt.Sprint("T", w), id, 0); len(got) != each/2 {
						t.Errorf("T%d/%d holds %d messages, want %d", w, id, len(got), each/2)
					}
				}
			}
			st.checked(s)
		})
	}
}

//go:build unix

package store

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// reportCPU adds the processor time per operation of the whole process: on a busy machine the only figure that says something.
func reportCPU(b *testing.B) {
	b.Helper()
	used := func() int64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return r.Utime.Nano() + r.Stime.Nano()
	}
	before := used()
	b.ResetTimer()
	b.Cleanup(func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") })
}

func benchStore(b *testing.B, change func(*conf.Store)) *Store {
	b.Helper()
	c := conf.Default().Store
	if change != nil {
		change(&c)
	}
	s, err := Open(Options{Dir: b.TempDir(), FS: vfs.OS{}, Clock: clock.System{}, Log: quiet(), Config: &c})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchMessage(topic string, queueID int32, size int) *message.Message {
	m := newMessage(topic, queueID, string(make([]byte, size)), message.KeyUniqueKey, "7F000001A1B218B4AAC26C8D0A5A0001", message.KeyWait, "true", message.KeyTags, "TagA")
	m.Suffix = message.Properties(nil).Append(message.KeyMsgRegion, "DefaultRegion").Append(message.KeyTraceOn, "true").Append(message.KeyCluster, "DefaultCluster")
	return m
}

// BenchmarkAppend stages and commits messages: as many per commit as a turn of a connection brings, by several event loops.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 4, 16} {
		for _, size := range []int{128, 1 << 10, 16 << 10} {
			for _, perCommit := range []int{1, 16} {
				b.Run(fmt.Sprintf("writers=%d/body=%d/commit=%d", writers, size, perCommit), func(b *testing.B) {
					s := benchStore(b, func(c *conf.Store) { c.MessageIndexEnable = false })
					b.SetParallelism(writers)
					b.SetBytes(int64(size))
					b.ReportAllocs()
					var id atomic.Int32
					reportCPU(b)
					b.RunParallel(func(pb *testing.PB) {
						m := benchMessage("BenchTopic", id.Add(1)%8, size)
						n := 0
						var last Placed
						for pb.Next() {
							p, err := s.Stage(m)
							if err != nil {
								b.Error(err)
								return
							}
							last = p
							if n++; n == perCommit {
								n = 0
								if err := s.Commit(last.Ticket); err != nil {
									b.Error(err)
									return
								}
							}
						}
						if err := s.Commit(last.Ticket); err != nil && n > 0 {
							b.Error(err)
						}
					})
				})
			}
		}
	}
}

// BenchmarkAppendIndexed is the same with the key index following.
func BenchmarkAppendIndexed(b *testing.B) {
	s := benchStore(b, nil)
	m := benchMessage("BenchTopic", 0, 1<<10)
	b.SetBytes(1 << 10)
	b.ReportAllocs()
	reportCPU(b)
	var last Placed
	for i := range b.N {
		p, err := s.Stage(m)
		if err != nil {
			b.Fatal(err)
		}
		last = p
		if i%16 == 15 {
			if err := s.Commit(last.Ticket); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Commit(last.Ticket); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppendBatch stages batches of 32 messages.
func BenchmarkAppendBatch(b *testing.B) {
	for _, size := range []int{128, 1 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			s := benchStore(b, func(c *conf.Store) { c.MessageIndexEnable = false })
			ms := make([]message.Message, 32)
			for i := range ms {
				ms[i] = *benchMessage("BenchTopic", 0, size)
			}
			b.SetBytes(int64(size) * 32)
			b.ReportAllocs()
			reportCPU(b)
			for range b.N {
				placed, err := s.StageBatch(ms)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Commit(placed[len(placed)-1].Ticket); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPutSync waits for the flush of each message; several writers share an fsync.
func BenchmarkPutSync(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := benchStore(b, func(c *conf.Store) { c.FlushDiskType = "SYNC_FLUSH" })
			b.SetParallelism(writers)
			b.SetBytes(1 << 10)
			reportCPU(b)
			b.RunParallel(func(pb *testing.PB) {
				m := benchMessage("BenchTopic", 0, 1<<10)
				for pb.Next() {
					if _, err := s.Put(m); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkGetHot pulls 32 messages of 1 KiB that were just written.
func BenchmarkGetHot(b *testing.B) {
	s := benchStore(b, func(c *conf.Store) { c.MessageIndexEnable = false })
	m := benchMessage("BenchTopic", 0, 1<<10)
	const stored = 4096
	for range stored {
		if _, err := s.Put(m); err != nil {
			b.Fatal(err)
		}
	}
	var out GetResult
	req := GetRequest{Topic: "BenchTopic", MaxCount: 32, HotOnly: true}
	s.Get(&req, &out)
	out.Release()
	b.ReportAllocs()
	reportCPU(b)
	for i := range b.N {
		req.Offset = int64(i*32) % (stored - 32)
		s.Get(&req, &out)
		if out.Status != Found || out.Count != 32 {
			b.Fatalf("offset %d: %s, %d messages", req.Offset, out.Status, out.Count)
		}
		out.Release()
	}
}

// BenchmarkGetFile pulls 32 messages whose entries are no longer in memory.
func BenchmarkGetFile(b *testing.B) {
	s := benchStore(b, func(c *conf.Store) { c.MessageIndexEnable = false })
	m := benchMessage("BenchTopic", 0, 1<<10)
	const stored = 50_000
	for range stored {
		if _, err := s.Put(m); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	var out GetResult
	req := GetRequest{Topic: "BenchTopic", MaxCount: 32}
	b.ReportAllocs()
	reportCPU(b)
	for i := range b.N {
		req.Offset = int64(i*32) % (stored / 2)
		s.Get(&req, &out)
		if out.Status != Found || out.Count != 32 {
			b.Fatalf("offset %d: %s, %d messages", req.Offset, out.Status, out.Count)
		}
		out.Release()
	}
}

// BenchmarkDispatch makes consume-queue entries alone.
func BenchmarkDispatch(b *testing.B) {
	s := benchStore(b, nil)
	q := s.queues.obtain("BenchTopic", 0)
	b.ReportAllocs()
	reportCPU(b)
	for i := range b.N {
		q.append(Entry{QueueOffset: int64(i), PhysicalOffset: int64(i) * 100, Size: 100})
	}
}

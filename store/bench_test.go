//go:build unix

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// BenchmarkPieces is what the checksums for healing cost of each commit: of a record of 1 KiB, and of sixteen.
func BenchmarkPieces(b *testing.B) {
	for _, records := range []int{1, 16} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			buf := make([]byte, records*1300)
			var p pieces
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			at := int64(0)
			for b.Loop() {
				p.add(at, buf, 1<<30)
				if at += int64(len(buf)); at&(1<<24-1) < int64(len(buf)) {
					p.drop(at)
				}
			}
		})
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

// drop ends a store as a kill would.
func drop(b *testing.B, s *Store) {
	b.Helper()
	s.closeOnce.Do(func() {
		s.log.closed.Store(true)
		close(s.stop)
		s.running.Wait()
		if err := s.giveUp(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkOpen opens a store of 1 GB of 1 KiB messages in 100 queues: after a clean stop, after a kill right after the last checkpoint and
// after a kill when the whole log has to be read again. What is still in memory has to be on disk again in each case; ROCKETD_BENCH_GB
// changes the size.
func BenchmarkOpen(b *testing.B) {
	gigabytes := 1
	if text, ok := os.LookupEnv("ROCKETD_BENCH_GB"); ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		gigabytes = n
	}
	dir := b.TempDir()
	options := Options{Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: quiet()}
	s, err := Open(options)
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	m := benchMessage("BenchTopic", 0, 1<<10)
	for i := 0; s.MaxPhysicalOffset() < int64(gigabytes)<<30; i++ {
		m.QueueID = int32(i % 100)
		p, err := s.Stage(m)
		if err != nil {
			b.Fatal(err)
		}
		if i%16 == 15 {
			if err := s.Commit(p.Ticket); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.index.catchUpAll(); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B, prepare func()) {
		b.Helper()
		for range b.N {
			b.StopTimer()
			prepare()
			b.StartTimer()
			s, err := Open(options)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			s.Start()
			if got := s.MaxPhysicalOffset(); got < int64(gigabytes)<<30 {
				b.Fatalf("log ends at %d", got)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	kill := func() {
		s, err := Open(options)
		if err != nil {
			b.Fatal(err)
		}
		s.Start()
		drop(b, s)
	}
	b.Run("clean", func(b *testing.B) {
		reportCPU(b)
		open(b, func() {})
	})
	b.Run("killed", func(b *testing.B) {
		reportCPU(b)
		open(b, kill)
	})
	b.Run("killed without checkpoint", func(b *testing.B) {
		reportCPU(b)
		open(b, func() {
			kill()
			for _, name := range []string{checkpointName, queueStateName} {
				if err := options.FS.Remove(filepath.Join(dir, name)); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkPlainWrite writes what BenchmarkAppend writes for 16 messages of 1 KiB, and nothing else: the limit.
func BenchmarkPlainWrite(b *testing.B) {
	f, err := vfs.OS{}.OpenFile(filepath.Join(b.TempDir(), "f"), osUpdate|osCreate, filePerm)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 16*message.RecordSize(benchMessage("BenchTopic", 0, 1<<10)))
	b.SetBytes(int64(len(buf)))
	reportCPU(b)
	for i := range b.N {
		if _, err := f.WriteAt(buf, int64(i)*int64(len(buf))%(1<<30)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlainSync writes 1 KiB and waits for the disk: the limit of BenchmarkPutSync with one writer.
func BenchmarkPlainSync(b *testing.B) {
	f, err := vfs.OS{}.OpenFile(filepath.Join(b.TempDir(), "f"), osUpdate|osCreate, filePerm)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 1<<10)
	for i := range b.N {
		if _, err := f.WriteAt(buf, int64(i)*int64(len(buf))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheck checks a store of 200,000 messages of 1 KiB.
func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	m := benchMessage("BenchTopic", 0, 1<<10)
	for range 200_000 {
		if _, err := s.Put(m); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(s.MaxPhysicalOffset())
	reportCPU(b)
	for range b.N {
		report, err := Check(CheckOptions{Dir: dir, FS: vfs.OS{}})
		if err != nil || len(report.Problems) > 0 {
			b.Fatal(err, report.Problems)
		}
	}
}

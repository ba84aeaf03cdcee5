package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// recordOverhead is about what a record of the benchmark holds besides its body.
const recordOverhead = 240

// batchOf is how many messages a batch row sends at a time.
const batchOf = 32

func openStore(dir string, change func(*conf.Store)) (*store.Store, error) {
	c := conf.Default().Store
	if change != nil {
		change(&c)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	s, err := store.Open(store.Options{Dir: dir, FS: vfs.OS{}, Clock: clock.System{}, Log: logrus.NewEntry(log), Config: &c})
	if err != nil {
		return nil, err
	}
	s.Start()
	return s, nil
}

func newMessage(topic string, queue int32, size int) *message.Message {
	m := &message.Message{Topic: topic, QueueID: queue, Body: make([]byte, size), WaitStored: true}
	m.Properties = message.Properties(nil).Append(message.KeyUniqueKey, "7F000001A1B218B4AAC26C8D0A5A0001").Append(message.KeyWait, "true").Append(message.KeyTags, "TagA")
	m.Suffix = message.Properties(nil).Append(message.KeyMsgRegion, "DefaultRegion").Append(message.KeyTraceOn, "true").Append(message.KeyCluster, "DefaultCluster")
	return m
}

// appends measures appending with the key index following, as a broker's store does.
func (o *options) appends(dir string) (*table, error) {
	t := newTable("Append", "flush", "writers", "body", "one by one", "CPU each", "batches of 32", "CPU each", "CPU of a plain write of as many bytes")
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		for _, size := range []int{128, 1 << 10, 16 << 10, 1 << 20} {
			used := cpuTime()
			bytes, _, err := plainWrite(dir, size+recordOverhead, o.each)
			if err != nil {
				return t, err
			}
			limit := (cpuTime() - used) / time.Duration(max(bytes/int64(size+recordOverhead), 1))
			for _, writers := range []int{1, 4, 16} {
				row := []string{flush, strconv.Itoa(writers), strconv.Itoa(size)}
				for _, perBatch := range []int{1, batchOf} {
					if size*perBatch > 8<<20 {
						row = append(row, "", "") // no batch is so large
						continue
					}
					f, err := o.append(filepath.Join(dir, "store"), flush, writers, size, perBatch)
					if err != nil {
						return t, err
					}
					rate := f.bytes / f.took.Seconds()
					row = append(row, fmt.Sprintf("%.0f/s, %.0f MB/s, p99 %s", float64(f.messages)/f.took.Seconds(), rate/1e6, ms(f.p99)), us(f.cpu/time.Duration(max(f.messages, 1))))
				}
				t.add(append(row, us(limit))...)
			}
		}
	}
	return t, nil
}

type appended struct {
	messages int64
	bytes    float64
	took     time.Duration
	p99      time.Duration
	cpu      time.Duration
}

// append lets writers append for a while, each waiting for its message as a client in lock-step does.
func (o *options) append(dir, flush string, writers, size, perBatch int) (f appended, err error) {
	s, err := openStore(dir, func(c *conf.Store) { c.FlushDiskType = flush })
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Close(), vfs.OS{}.RemoveAll(dir)) }()
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, writers)
	times := make([][]time.Duration, writers)
	begun, used := time.Now(), cpuTime()
	for w := range writers {
		wg.Go(func() {
			ms := make([]message.Message, perBatch)
			for i := range ms {
				ms[i] = *newMessage("BenchTopic", int32(w%8), size)
			}
			for !stop.Load() {
				one := time.Now()
				if err := put(s, ms); err != nil {
					errs[w] = err
					return
				}
				times[w] = append(times[w], time.Since(one))
			}
		})
	}
	time.Sleep(o.each)
	stop.Store(true)
	wg.Wait()
	f.took, f.cpu = time.Since(begun), cpuTime()-used
	all := merge(times)
	f.messages = int64(len(all) * perBatch)
	f.bytes = float64(s.MaxPhysicalOffset())
	f.p99 = measure.Quantile(all, 0.99)
	return f, errors.Join(errs...)
}

// put stores messages and waits as long as the way of flushing says.
func put(s *store.Store, ms []message.Message) error {
	if len(ms) == 1 {
		_, err := s.Put(&ms[0])
		return err
	}
	placed, err := s.StageBatch(ms)
	if err != nil {
		return err
	}
	last := placed[len(placed)-1].Ticket
	if err := s.Commit(last); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.OnFlushed(last, func(err error) { done <- err })
	return <-done
}

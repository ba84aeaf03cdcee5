package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// limits measures what the machine can do without a store.
func (o *options) limits(dir string) (*table, error) {
	t := newTable("Limits of the machine", "what", "figure")
	for _, size := range []int{128 + recordOverhead, 1<<10 + recordOverhead, 16<<10 + recordOverhead, 1<<20 + recordOverhead} {
		rate, took, err := plainWrite(dir, size, o.each)
		if err != nil {
			return nil, err
		}
		t.add(fmt.Sprintf("sequential write, %d bytes a call", size), mbs(rate, took))
	}
	t.add("memory copy, 64 MB", fmt.Sprintf("%.0f MB/s", measure.MemoryCopy(o.each)/1e6))
	times, err := plainSync(dir, o.each)
	if err != nil {
		return nil, err
	}
	t.add("write 1 KB and fdatasync", fmt.Sprintf("p50 %s, p99 %s", ms(measure.Quantile(times, 0.5)), ms(measure.Quantile(times, 0.99))))
	return t, nil
}

// plainWrite writes pieces one behind the other into a sparse file of 1 GB, as the log does.
func plainWrite(dir string, size int, each time.Duration) (bytes int64, took time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	if err := f.Truncate(1 << 30); err != nil {
		return 0, 0, err
	}
	b := make([]byte, size)
	begun := time.Now()
	for time.Since(begun) < each && bytes+int64(size) < 1<<30 {
		if _, err := f.WriteAt(b, bytes); err != nil {
			return 0, 0, err
		}
		bytes += int64(size)
	}
	return bytes, time.Since(begun), nil
}

// plainSync writes 1 KB and waits for the disk, again and again.
func plainSync(dir string, each time.Duration) ([]time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(64 << 20); err != nil {
		return nil, err
	}
	var times []time.Duration
	b := make([]byte, 1<<10)
	for begun := time.Now(); time.Since(begun) < each; {
		one := time.Now()
		if _, err := f.WriteAt(b, int64(len(times))<<10); err != nil {
			return nil, err
		}
		if err := measure.SyncData(f); err != nil {
			return nil, err
		}
		times = append(times, time.Since(one))
	}
	slices.Sort(times)
	return times, nil
}

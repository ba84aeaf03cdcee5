package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// limits is what the machine itself does, in the same run.
type limits struct {
	copyGB      float64 // GB/s of memory copy, one core
	appendMB    float64 // MB/s of writes of 64 KB into the page cache
	writeMB     float64 // MB/s written and on the disk
	fsyncP50    float64 // ms of an append of 1 KB and fdatasync
	fsyncP99    float64
	fsyncPerSec float64
	fsyncCPU    float64 // s per million
}

// measureLimits writes about 512 MB below dir.
func measureLimits(dir string, scale float64) (l limits, err error) {
	l.copyGB = measure.MemoryCopy(time.Second/4) / 1e9

	f, err := os.Create(filepath.Join(dir, "limits"))
	if err != nil {
		return l, err
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	chunk := payload(64 << 10)
	chunks := max(256, int(8192*scale))
	start := time.Now()
	for range chunks {
		if _, err := f.Write(chunk); err != nil {
			return l, err
		}
	}
	bytes := float64(chunks * len(chunk))
	l.appendMB = bytes / time.Since(start).Seconds() / 1e6
	if err := f.Sync(); err != nil {
		return l, err
	}
	l.writeMB = bytes / time.Since(start).Seconds() / 1e6

	// Appending to a file of full length, as the broker does: no length changes.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return l, err
	}
	var took []time.Duration
	cpu := measure.CPUSeconds(os.Getpid())
	for begin := time.Now(); time.Since(begin) < time.Second; {
		start := time.Now()
		if _, err := f.Write(chunk[:1024]); err != nil {
			return l, err
		}
		if err := measure.SyncData(f); err != nil {
			return l, err
		}
		took = append(took, time.Since(start))
	}
	l.fsyncCPU = (measure.CPUSeconds(os.Getpid()) - cpu) / float64(len(took)) * 1e6
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(measure.Quantile(took, q).Nanoseconds()) / 1e6 }
	l.fsyncP50, l.fsyncP99, l.fsyncPerSec = ms(0.5), ms(0.99), float64(len(took))
	return l, nil
}

func (l limits) print(w io.Writer) {
	t := measure.Table{Head: []string{"limit of the machine, same run", ""}}
	t.Add("memory copy, one core", number(l.copyGB)+" GB/s")
	t.Add("append to the page cache, 64 KB writes", number(l.appendMB)+" MB/s")
	t.Add("sequential write until it is on the disk", number(l.writeMB)+" MB/s")
	t.Add("write of 1 KB and fdatasync, p50 / p99", number(l.fsyncP50)+" / "+number(l.fsyncP99)+" ms")
	t.Add("the same, one after the other", number(l.fsyncPerSec)+"/s")
	t.Add("the same: CPU", number(l.fsyncCPU)+" s per million")
	fmt.Fprintln(w)
	t.Print(w)
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
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
	src, dst := make([]byte, 64<<20), make([]byte, 64<<20)
	copy(dst, src)
	start, n := time.Now(), 0
	for time.Since(start) < time.Second/4 {
		copy(dst, src)
		n++
	}
	l.copyGB = float64(n*len(src)) / time.Since(start).Seconds() / 1e9

	f, err := os.Create(filepath.Join(dir, "limits"))
	if err != nil {
		return l, err
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	chunk := payload(64 << 10)
	chunks := max(256, int(8192*scale))
	start = time.Now()
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
	cpu := cpuSeconds(os.Getpid())
	for begin := time.Now(); time.Since(begin) < time.Second; {
		start := time.Now()
		if _, err := f.Write(chunk[:1024]); err != nil {
			return l, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return l, err
		}
		took = append(took, time.Since(start))
	}
	l.fsyncCPU = (cpuSeconds(os.Getpid()) - cpu) / float64(len(took)) * 1e6
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Nanoseconds()) / 1e6 }
	l.fsyncP50, l.fsyncP99, l.fsyncPerSec = ms(0.5), ms(0.99), float64(len(took))
	return l, nil
}

func (l limits) print(w io.Writer) {
	fmt.Fprintf(w, "\n| limit of the machine, same run | |\n| --- | --- |\n")
	fmt.Fprintf(w, "| memory copy, one core | %s GB/s |\n", number(l.copyGB))
	fmt.Fprintf(w, "| append to the page cache, 64 KB writes | %s MB/s |\n", number(l.appendMB))
	fmt.Fprintf(w, "| sequential write until it is on the disk | %s MB/s |\n", number(l.writeMB))
	fmt.Fprintf(w, "| write of 1 KB and fdatasync, p50 / p99 | %s / %s ms |\n", number(l.fsyncP50), number(l.fsyncP99))
	fmt.Fprintf(w, "| the same, one after the other | %s/s |\n", number(l.fsyncPerSec))
	fmt.Fprintf(w, "| the same: CPU | %s s per million |\n", number(l.fsyncCPU))
}

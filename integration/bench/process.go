package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuSeconds is user plus system time of a process so far, by its CPU clock (clock_getcpuclockid).
func cpuSeconds(pid int) float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// anonymousMB is the process's memory that is not page cache.
func anonymousMB(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// diskBytes is the room that the files below dir take on the disk.
func diskBytes(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file may go while we look
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}

// dropCache makes the system forget the pages of the files below dir.
func dropCache(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file may go while we look
		}
		if f, err := os.Open(path); err == nil {
			_ = f.Sync()
			_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
			_ = f.Close()
		}
		return nil
	})
}

// freeBytes is the room that is left where dir lies.
func freeBytes(dir string) (free int64, usedShare float64) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, 0
	}
	return int64(st.Bavail) * st.Bsize, 1 - float64(st.Bavail)/float64(st.Blocks)
}

// raiseFileLimit permits as many open files as the system lets us, for many connections, and returns their number.
func raiseFileLimit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	for _, want := range []uint64{1 << 20, l.Max} {
		raised := unix.Rlimit{Cur: want, Max: max(want, l.Max)}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
			return int(want)
		}
	}
	return int(l.Cur)
}

// mostConnections is 50,000, or what the limit of open files leaves to client and broker.
func mostConnections() int { return min(50_000, (raiseFileLimit()-1500)/1000*1000) }

// cpuShare is the share of one core that a process uses while nothing is asked of it.
func cpuShare(pid int, during time.Duration) float64 {
	before, start := cpuSeconds(pid), time.Now()
	time.Sleep(during)
	return (cpuSeconds(pid) - before) / time.Since(start).Seconds()
}

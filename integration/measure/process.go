package measure

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// AnonymousMB is the process's memory that is not page cache, 0 where /proc is not there.
func AnonymousMB(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			if kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64); err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}

// CPUShare is the share of one core that a process uses while nothing is asked of it.
func CPUShare(pid int, during time.Duration) float64 {
	before, start := CPUSeconds(pid), time.Now()
	time.Sleep(during)
	return (CPUSeconds(pid) - before) / time.Since(start).Seconds()
}

// DiskBytes is the room that the files below dir take on the disk.
func DiskBytes(dir string) int64 {
	var sum int64
	eachFile(dir, func(path string, d fs.DirEntry) {
		if info, err := d.Info(); err == nil {
			sum += allocated(info)
		}
	})
	return sum
}

// DropCache makes the system forget what it has in memory of the files below dir, where it can.
func DropCache(dir string) { eachFile(dir, func(path string, _ fs.DirEntry) { forget(path) }) }

// eachFile calls fn for the files below dir that can be seen: some may go meanwhile.
func eachFile(dir string, fn func(path string, d fs.DirEntry)) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fn(path, d)
		}
		return nil
	})
}

// MemoryCopy copies memory on one core for a time and returns bytes per second.
func MemoryCopy(during time.Duration) float64 {
	src, dst := make([]byte, 64<<20), make([]byte, 64<<20)
	copy(dst, src) // both are really there
	start, n := time.Now(), 0
	for time.Since(start) < during {
		n += copy(dst, src)
	}
	return float64(n) / time.Since(start).Seconds()
}

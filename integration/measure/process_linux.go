package measure

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CPUSeconds is user plus system time of a process so far, by its CPU clock (clock_getcpuclockid); 0 when there is no such process.
func CPUSeconds(pid int) float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// SyncData is fdatasync.
func SyncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// TouchMemory uses so many bytes of memory and gives them back to the system at once, so that what needs memory next gets pages that have been in
// use: on a virtual machine the first use of a page after the host took it back is paid by the one who uses it.
func TouchMemory(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	return errors.Join(unix.Madvise(b, unix.MADV_POPULATE_WRITE), unix.Munmap(b))
}

// FreeMemory is how many bytes of memory are free, but for page cache.
func FreeMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Freeram) * int64(info.Unit)
}

func forget(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	_ = unix.Fdatasync(int(f.Fd())) // pages that are not written are kept, no more
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// FreeBytes is the room that is left where dir lies, and the share that is used.
func FreeBytes(dir string) (free int64, usedShare float64) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, 0
	}
	return int64(st.Bavail) * st.Bsize, 1 - float64(st.Bavail)/float64(st.Blocks)
}

// RaiseFileLimit permits as many open files as the system lets us, for many connections, and returns their number.
func RaiseFileLimit() int {
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

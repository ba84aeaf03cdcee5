package vfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockByte0 takes an open-file-description lock: it conflicts with the POSIX locks of Java and, unlike those, with another open
// file of the same process, and it is not lost when some other descriptor of the file is closed.
func lockByte0(f *os.File) (unlock func(), err error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: 0, Len: 1}
	for {
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return func() {}, nil // closing the file gives it back
}

func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// nextData moves the descriptor's position, which nobody uses.
func (f osFile) nextData(off int64) (int64, error) {
	for {
		at, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
		switch {
		case err == nil:
			return at, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENXIO):
			return off, io.EOF
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS):
			return anyData(f, off) // some file systems, of user space among them
		default:
			return off, &os.PathError{Op: "seek", Path: f.Name(), Err: err}
		}
	}
}

func usage(dir string) (total, free uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, os.NewSyscallError("statfs", err)
	}
	block := uint64(st.Bsize)
	return (st.Blocks - st.Bfree + st.Bavail) * block, st.Bavail * block, nil
}

// ReadCached implements CachedReader. File systems that cannot tell refuse the flag.
func (f osFile) ReadCached(p []byte, off int64) bool {
	n, err := unix.Preadv2(int(f.Fd()), [][]byte{p}, off, unix.RWF_NOWAIT)
	return err == nil && n == len(p)
}

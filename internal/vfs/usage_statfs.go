//go:build darwin || freebsd || dragonfly

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func usage(dir string) (total, free uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, os.NewSyscallError("statfs", err)
	}
	block := uint64(st.Bsize)
	free = uint64(st.Bavail) * block
	return (uint64(st.Blocks)-uint64(st.Bfree))*block + free, free, nil
}

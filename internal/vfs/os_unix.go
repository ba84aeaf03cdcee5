//go:build unix

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type mapping struct{ b []byte }

func (m *mapping) Bytes() []byte { return m.b }

func (m *mapping) Unmap() error {
	b := m.b
	m.b = nil
	if b == nil {
		return nil
	}
	return unix.Munmap(b)
}

func mapFile(f *os.File, length int) (Mapping, bool, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, length, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, false, os.NewSyscallError("mmap", err)
	}
	return &mapping{b}, true, nil
}

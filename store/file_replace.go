package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
)

// replaceFile makes path hold b, and never anything but what it held before or b, whatever happens meanwhile.
func replaceFile(fsys vfs.FS, path string, b []byte) error {
	temporary := path + ".tmp"
	f, err := fsys.OpenFile(temporary, osUpdate|osCreate|osTrunc, filePerm)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", temporary, err)
	}
	if err := fsys.Rename(temporary, path); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// readFile reads a whole file.
func readFile(fsys vfs.FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, osRead, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

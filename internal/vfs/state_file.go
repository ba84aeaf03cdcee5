package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// BackupSuffix is what the reference names the previous version of a state file with.
const BackupSuffix = ".bak"

const tempSuffix = ".tmp"

// WriteFileAtomic replaces the file name by data so that a crash leaves the old or the new content, there or in its backup: it writes
// and syncs a temporary file, makes the current one the backup, gives the new one the name, and syncs the directory. The
// directory is made if it is missing. Two writers of one name must not run at once.
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temp := name + tempSuffix
	if err := writeFileSync(fsys, temp, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fsys.Rename(name, name+BackupSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fsys.Rename(temp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func writeFileSync(fsys FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// ReadFileOrBackup gives accept the content of the file name, and if that is missing, empty or refused, that of its backup, as
// the reference's ConfigManager loads. fromBackup tells that the backup was taken. When neither exists the error is
// fs.ErrNotExist; when none was accepted it holds accept's errors. maxSize bounds what is read.
func ReadFileOrBackup(fsys FS, name string, maxSize int64, accept func(data []byte) error) (fromBackup bool, err error) {
	mainErr := readAccepted(fsys, name, maxSize, accept)
	if mainErr == nil {
		return false, nil
	}
	backupErr := readAccepted(fsys, name+BackupSuffix, maxSize, accept)
	switch {
	case backupErr == nil:
		return true, nil
	case errors.Is(backupErr, fs.ErrNotExist):
		return false, mainErr
	case errors.Is(mainErr, fs.ErrNotExist):
		return false, backupErr
	}
	return false, errors.Join(mainErr, backupErr)
}

func readAccepted(fsys FS, name string, maxSize int64, accept func([]byte) error) error {
	data, err := ReadFile(fsys, name, maxSize)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return fmt.Errorf("read %s: the file is empty", name)
	}
	if err := accept(data); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// ReadFile reads a file of at most maxSize bytes.
func ReadFile(fsys FS, name string, maxSize int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := readAll(f, maxSize)
	return data, errors.Join(err, f.Close())
}

func readAll(f File, maxSize int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, fmt.Errorf("read %s: %d bytes, the limit is %d", f.Name(), size, maxSize)
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

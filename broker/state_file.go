package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/vfs"
)

// maxStateFileBytes bounds what is read of one state file.
const maxStateFileBytes = 1 << 30

// errBroken says that a state file and its backup are there and that neither can be read.
var errBroken = errors.New("state file is broken")

// stateFiles makes the state files of the store's config directory.
type stateFiles struct {
	fs  vfs.FS
	dir string
	log *logrus.Entry
}

func (s *stateFiles) file(name string, encode func() []byte) *stateFile {
	return &stateFile{fs: s.fs, path: filepath.Join(s.dir, name), log: s.log, encode: encode}
}

// stateFile is one JSON file, replaced as a whole: the new content is written beside it and renamed over it, the old one
// stays as NAME.bak (the reference's ConfigManager and MixAll#string2File). After a crash at any point one of NAME,
// NAME.tmp and NAME.bak is complete.
type stateFile struct {
	fs     vfs.FS
	path   string
	log    *logrus.Entry
	encode func() []byte // called without locks of the table held

	asked atomic.Uint64 // saves asked for

	mu      sync.Mutex // one writer at a time
	written uint64     // saves that the last write covers; guarded by mu
	err     error      // of the last write; guarded by mu
	hasDir  bool       // the directory is known to exist; guarded by mu
	dirty   bool       // the file was last replaced without sync; guarded by mu
}

// save makes the table durable: when it returns, what the table was at the call, or later, is on disk. Calls that come
// while a write runs share the next one.
func (f *stateFile) save() error {
	ticket := f.asked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written >= ticket {
		return f.err
	}
	covers := f.asked.Load()
	f.err = f.replaceLocked(f.encode(), true)
	f.written = covers
	return f.err
}

// write replaces the file by data. Without sync it survives the end of the process, and not surely that of the machine.
func (f *stateFile) write(data []byte, sync bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replaceLocked(data, sync)
}

func (f *stateFile) replaceLocked(data []byte, sync bool) error {
	dir := filepath.Dir(f.path)
	if !f.hasDir {
		if err := f.makeDir(dir); err != nil {
			return fmt.Errorf("create directory of state file %s: %w", f.path, err)
		}
		f.hasDir = true
	}
	temporary := f.path + ".tmp"
	if err := f.writeAll(temporary, data, sync); err != nil {
		return fmt.Errorf("write state file %s: %w", temporary, err)
	}
	if !f.dirty {
		// The backup is only ever a version that has been synced: one that has not been is simply replaced.
		if err := f.fs.Rename(f.path, f.path+vfs.BackupSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep backup of state file %s: %w", f.path, err)
		}
	}
	if err := f.fs.Rename(temporary, f.path); err != nil {
		return fmt.Errorf("replace state file %s: %w", f.path, err)
	}
	if f.dirty = !sync; f.dirty {
		return nil
	}
	if err := f.fs.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory of state file %s: %w", f.path, err)
	}
	return nil
}

// makeDir makes the directory and, as it may be new like the root directory around it, makes both durable.
func (f *stateFile) makeDir(dir string) error {
	if err := f.fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := filepath.Dir(dir)
	return errors.Join(f.fs.SyncDir(root), f.fs.SyncDir(filepath.Dir(root)))
}

func (f *stateFile) writeAll(name string, data []byte, sync bool) (err error) {
	file, err := f.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = file.WriteAt(data, 0); err != nil {
		return err
	}
	if sync {
		return file.Sync()
	}
	return nil
}

// load gives the newest readable version of the file to decode, which refuses what it cannot read and then has changed
// nothing. found is false when there is no version at all. errBroken when there is one and none can be read.
func (f *stateFile) load(decode func([]byte) error) (found bool, err error) {
	var problems []error
	for _, name := range []string{f.path, f.path + ".tmp", f.path + vfs.BackupSuffix} {
		data, err := vfs.ReadFile(f.fs, name, maxStateFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && len(bytes.Trim(data, "\x00 \t\r\n")) == 0 {
			err = errors.New("it holds nothing") // what a crash of the machine leaves of a file that was not synced
		}
		if err == nil {
			err = decode(data)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if len(problems) > 0 {
			f.log.WithFields(logrus.Fields{"file": name, "because": errors.Join(problems...).Error()}).Warn("state file is broken, an older version is used")
		}
		return true, nil
	}
	if len(problems) > 0 {
		return false, fmt.Errorf("%w: %w", errBroken, errors.Join(problems...))
	}
	return false, nil
}

// setAside renames a broken file so that the next save does not overwrite it.
func (f *stateFile) setAside() {
	for _, name := range []string{f.path, f.path + vfs.BackupSuffix} {
		if err := f.fs.Rename(name, name+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.log.WithError(err).WithField("file", name).Warn("broken state file cannot be set aside")
		}
	}
}

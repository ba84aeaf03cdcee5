package store

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Rebuild makes consume queues and key index of a closed store again from its log, whatever they hold, and returns what it found. Topics
// that were deleted come back as far as the log has them. Queues that have no record in the log keep their offsets. The store is
// locked meanwhile.
func Rebuild(o Options) (*RecoveryReport, error) {
	o.rebuild = true
	s, err := Open(o)
	if err != nil {
		return nil, err
	}
	err = s.index.catchUpAll()
	if err = errors.Join(err, s.Close()); err != nil {
		return s.report, fmt.Errorf("rebuild: %w", err)
	}
	return s.report, nil
}

// catchUpAll indexes everything there is.
func (x *index) catchUpAll() error {
	for x.behind() {
		more, err := x.step()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// forget deletes the index files before they are loaded.
func (x *index) forget() error {
	return errors.Join(x.fs.RemoveAll(x.dir), x.fs.SyncDir(filepath.Dir(x.dir)))
}

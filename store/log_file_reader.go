package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rocketd/rocketd/internal/vfs"
)

// OpenLogFile opens the file of the commit log that holds a physical offset, which lies before MaxPhysicalOffset, for reading records
// without mapping them: for those who read each record once, and would else keep the whole log resident. base is the offset of the file's
// first byte and end that behind its last one; what lies behind MaxPhysicalOffset is not written yet. The caller closes the file, soon after it
// falls before MinPhysicalOffset, because until then a removed file takes room. ErrNotFound: there is no such file.
func (s *Store) OpenLogFile(physicalOffset int64) (f vfs.File, base, end int64, err error) {
	file := s.files.find(physicalOffset)
	if file == nil {
		return nil, 0, 0, fmt.Errorf("%w: offset %d, the log begins at %d", ErrNotFound, physicalOffset, s.files.first())
	}
	f, err = file.fs.OpenFile(file.path, osRead, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("open %s: %w", file.path, err)
	}
	return f, file.base, file.end(), nil
}

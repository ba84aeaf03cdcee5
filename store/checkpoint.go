package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
)

const (
	checkpointName = "checkpoint"
	// checkpointFileSize is what the reference maps.
	checkpointFileSize = 4096
	checkpointSize     = 6 * 8
)

// checkpoint is what the reference keeps about the progress of flushing (StoreCheckpoint). Times are store times in ms.
type checkpoint struct {
	logMs         int64 // of the last flushed record
	queueMs       int64 // of the record of the last flushed consume-queue entry
	indexMs       int64 // of the record of the last flushed key
	masterFlushed int64 // what the master had flushed
	confirmed     int64 // offset of the last record that may be read
	queueRecord   int64 // offset of the record of the last flushed consume-queue entry; 0: not known
}

func (c *checkpoint) append(dst []byte) []byte {
	for _, v := range [...]int64{c.logMs, c.queueMs, c.indexMs, c.masterFlushed, c.confirmed, c.queueRecord} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func decodeCheckpoint(b []byte) checkpoint {
	_ = b[checkpointSize-1]
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	return checkpoint{at(0), at(1), at(2), at(3), at(4), at(5)}
}

// readCheckpoint reads the checkpoint file. A missing or short one is all zeros, which means: nothing is known. ok tells that there was one.
func readCheckpoint(fsys vfs.FS, root string) (c checkpoint, ok bool, err error) {
	path := filepath.Join(root, checkpointName)
	f, err := fsys.OpenFile(path, osRead, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	var b [checkpointSize]byte
	n, err := f.ReadAt(b[:], 0)
	if err := f.Close(); err != nil {
		return c, false, err
	}
	if n < checkpointSize {
		if err == nil || errors.Is(err, io.EOF) {
			return c, false, nil
		}
		return c, false, fmt.Errorf("read %s: %w", path, err)
	}
	c = decodeCheckpoint(b[:])
	for _, v := range [...]int64{c.logMs, c.queueMs, c.indexMs, c.queueRecord} {
		if v < 0 {
			return checkpoint{}, false, nil
		}
	}
	return c, true, nil
}

// writeCheckpoint makes c durable.
func writeCheckpoint(fsys vfs.FS, root string, c *checkpoint) error {
	path := filepath.Join(root, checkpointName)
	f, err := fsys.OpenFile(path, osUpdate|osCreate, filePerm)
	if err != nil {
		return err
	}
	size, err := f.Size()
	fresh := err == nil && size != checkpointFileSize
	if fresh {
		err = f.Truncate(checkpointFileSize)
	}
	if err == nil {
		_, err = f.WriteAt(c.append(nil), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && fresh {
		err = fsys.SyncDir(root)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// startMs is the store time from which on the log is to be read again (StoreCheckpoint.getMinTimestamp).
func (c *checkpoint) startMs() int64 { return max(min(c.logMs, c.queueMs)-3000, 0) }

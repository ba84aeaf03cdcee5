package vfs

import (
	"io"
	"io/fs"
)

// FS is what the store needs of a file system. Safe for concurrent use. Paths use the host's separator.
type FS interface {
	// OpenFile opens a file as os.OpenFile does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	MkdirAll(dir string, perm fs.FileMode) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	RemoveAll(path string) error
	Rename(oldName, newName string) error
	ReadDir(dir string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes creations, removals and renames in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock on byte 0 of the file, as the reference does with its lock file; closing the result gives it back.
	// It fails with ErrLocked when another process holds it.
	Lock(name string) (io.Closer, error)
	// Usage tells bytes used and free together, and free bytes, of the file system that holds dir, as unprivileged users see them:
	// what is kept back for others counts as neither (df, java.io.File#getUsableSpace).
	Usage(dir string) (total, free uint64, err error)
}

// File is one open file. ReadAt and WriteAt are safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the data and the metadata needed to read it durable (fdatasync where there is one).
	Sync() error
	// Map maps the first length bytes for reading. The mapping shows later writes. ok is false where the
	// file system cannot map: use ReadAt.
	Map(length int) (m Mapping, ok bool, err error)
}

// holes is implemented by files that know where nothing was written.
type holes interface {
	// nextData is the first offset at or behind off that may hold something other than zeros; io.EOF when there is none.
	nextData(off int64) (int64, error)
}

// NextData is the first offset at or behind off that may hold something other than zeros, io.EOF when there is none. Where holes cannot
// be told from data that is off itself, while it is inside of the file.
func NextData(f File, off int64) (int64, error) {
	if h, ok := f.(holes); ok {
		return h.nextData(off)
	}
	return anyData(f, off)
}

// anyData is NextData for a file that cannot tell.
func anyData(f File, off int64) (int64, error) {
	size, err := f.Size()
	if err == nil && off >= size {
		err = io.EOF
	}
	return off, err
}

// CachedReader is a File that can read without the disk.
type CachedReader interface {
	// ReadCached fills p from off on with what is in memory. ok is false when all of it is not, or the system cannot tell.
	ReadCached(p []byte, off int64) (ok bool)
}

// Mapping is a read-only view of a file.
type Mapping interface {
	// Bytes must not be used after Unmap.
	Bytes() []byte
	Unmap() error
}

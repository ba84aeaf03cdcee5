package store

import (
	"errors"
	"io/fs"
)

// Errors of the store, wrapped with path, offset, limit and setting.
var (
	// ErrMessageIllegal: the message breaks a limit of the configuration or of the format.
	ErrMessageIllegal = errors.New("message is illegal")
	// ErrDiskFull: no room, or less than the configured share is free. Writing goes on by itself when there is room again.
	ErrDiskFull = errors.New("disk is full")
	// ErrWriteFailed: the write failed for another reason than a full disk; what was staged is taken back. The next write tries again.
	ErrWriteFailed = errors.New("write to the commit log failed")
	// ErrFlushFailed: an fsync failed, so nothing after it can be promised. Writing is refused until everything that was not flushed could be
	// read back as it was written, written again and flushed; when it cannot, until the store is opened anew.
	ErrFlushFailed = errors.New("flush to disk failed")
	// ErrFlushTimeout: the flush took longer than syncFlushTimeout. The message is stored and may still get flushed.
	ErrFlushTimeout = errors.New("flush to disk timed out")
	// ErrClosed: the store is closed or closing.
	ErrClosed = errors.New("store is closed")
	// ErrBusy: more bytes are staged than the bound allows.
	ErrBusy = errors.New("too many bytes are waiting to be written")
	// ErrNotFound: there is no record at that offset.
	ErrNotFound = errors.New("no such record")
	// ErrCorrupt: bytes on disk are not what they must be.
	ErrCorrupt = errors.New("store is corrupt")
	// ErrLayout: a file or directory has a name or length that the configuration does not allow.
	ErrLayout = errors.New("store has another layout than configured")
	// ErrTooManyQueues: maxLmqConsumeQueueNum light queues exist already.
	ErrTooManyQueues = errors.New("too many queues")
)

// Unread tells an error of Record that may be gone the next time: the disk, or the system, does not give what is there. It is false for nil.
func Unread(err error) bool {
	return err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist)
}

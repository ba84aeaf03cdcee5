// Package store keeps messages on disk in the reference's bytes: the commit log, the consume queues, the key index, checkpoint and
// abort file. It knows records, queues and offsets, no wire format and no consumer.
//
// # Files
//
// All integers are big-endian; the record itself is described in package message. Below the root directory:
//
//	commitlog/<20 digits>                    records; files of mappedFileSizeCommitLog bytes named by their first offset
//	consumequeue/<topic>/<queue>/<20 digits> entries of 20 bytes; files of mappedFileSizeConsumeQueue bytes
//	index/<yyyyMMddHHmmssSSS>                keys; 40 + 4*maxHashSlotNum + 20*maxIndexNum bytes
//	checkpoint                               4096 bytes
//	abort                                    exists while the store is open or was not closed
//	lock                                     byte 0 is locked while the store is open
//	queuetable                               ours: what the consume queues held at the last checkpoint
//	lost/                                    ours: bytes that recovery cut off or replaced, one file per piece
//
// Consume-queue entry:
//
//	offset  size  name
//	0       4+4   physical offset of the record
//	8       4     size of the record; 0x7FFFFFFF with offset 0: filler before the first entry
//	12      8     tags code; in SCHEDULE_TOPIC_XXXX the time of delivery, ms
//
// Index file header, slots (newest entry of each hash) and entries:
//
//	offset               size  name
//	0                    8     store time of the first key, ms
//	8                    8     store time of the last key, ms
//	16                   8     physical offset of the first key's record
//	24                   8     physical offset of the last key's record
//	32                   4     slots in use
//	36                   4     number of the next entry; entry 0 does not exist
//	40 + 4*slot          4     newest entry of the slot, 0: none
//	40 + 4*slots + 20*n  4     hash of "topic#key"
//	 +4                  8     physical offset
//	 +12                 4     seconds since the file's first store time
//	 +16                 4     previous entry of the slot
//
// Checkpoint: 8-byte fields at 0 (store time of the last flushed record), 8 (… of the last flushed consume-queue entry), 16 (… of the
// last flushed key), 24 (the master's flushed offset), 32 (confirmed offset), 40 (physical offset of the last flushed entry's record).
//
// # The way of a message
//
// Stage gives a message its offsets and encodes it into the tail buffer. Commit writes all that is staged with one WriteAt and, with
// ASYNC_FLUSH, dispatches it: consume-queue entry in memory, then the arrival callbacks. With SYNC_FLUSH the flusher dispatches after the
// fsync that covers the record. Consume-queue entries go to their files in batches; the index follows the log by itself. What is not in
// those files after a crash is built again from the log.
//
// # Goroutines
//
//	flusher     fsync of the log, SYNC_FLUSH dispatch, consume queues, checkpoint
//	indexer     reads the log behind dispatch and builds the key index
//	janitor     disk state, retention, closing idle files
//
// All are started by Start and ended by Close.
//
// # Locks
//
// In this order, when more than one is held: commitLog.commitMu, commitLog.mu, queueTable.mu, ConsumeQueue.mu, fileCache.mu. Callbacks of
// OnArrival run with commitMu held: they must not call Commit, Put or Close.
package store

// Package store keeps messages on disk in the reference's bytes: the commit log, the consume queues, the key index, checkpoint and
// abort file. It knows records, queues and offsets, no wire format and no consumer.
//
// # Files
//
// All integers are big-endian; the record itself is described in package message. Below the root directory:
//
//	commitlog/<20 digits>                    records; files of mappedFileSizeCommitLog bytes named by their first offset
//	consumequeue/<topic>/<queue>/<20 digits> entries of 20 bytes; files of mappedFileSizeConsumeQueue bytes
//	batchconsumequeue/…                      entries of 46 bytes (batch_queue.go); files of mapperFileSizeBatchConsumeQueue bytes
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
//	flusher     fsync of the log, SYNC_FLUSH dispatch, answers to those who wait for it
//	writer      consume-queue entries into their files, checkpoint
//	indexer     reads the log behind dispatch and builds the key index
//	janitor     disk state, retention, the log's next file, idle files, answers to those who waited too long, making the log whole
//	            after a failed flush (heal.go)
//
// All are started by Start and ended by Close.
//
// # Starting
//
// A store that was closed, and that nobody else has written to since, is taken over from the queue table without reading the log. Otherwise
// the log is read from the last checkpoint on: entries are made again, bytes that are no record are cut off at the end or, between records,
// replaced by records nobody sees (type rollback, topic rmq_sys_lost), and a copy of them is kept in lost/. A consume queue or index
// that is missing or does not fit is built again from the whole log, the index after the start.
//
// # Locks
//
// In this order, when more than one is held: Store.checkpointMu, flusher.flushMu, flusher.syncMu, commitLog.commitMu, commitLog.mu,
// queueTable.writeMu, queueTable.mu, ConsumeQueue.mu, queueFiles.mu; index.mu before those of files; pieces.mu is held alone. Callbacks of OnArrival run with
// commitMu or flushMu held: they must not call Commit, Put, Flush, DeleteTopic or Close.
package store

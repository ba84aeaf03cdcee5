// Package timer delivers messages at any time in the future, to the millisecond.
//
// A message with TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS is stored in queue 0 of rmq_sys_wheel_timer (Transform). From there it
// gets a unit in the timer log, linked into the slot of the timer wheel in which it is due; when it is due its record is read again and put
// under its real topic and queue. Files and formats are the reference's (TimerMessageStore), which opens our directory as we open its.
// Delay levels are package schedule's.
//
// # Files
//
// All integers are big-endian.
//
//	timerlog/<20 digits>    units of 52 bytes; files of mappedFileSizeTimerLog bytes
//	timerwheel              1,209,600 slots of 32 bytes
//	timerwheel.sums         ours: two checksums for each page of 4096 bytes of the wheel, either of which it may have
//	config/timercheck       4096 bytes, 56 of them the reference's
//	config/timermetrics     JSON: pending timers of each topic
//
// Unit:
//
//	offset  size  name
//	0       4     size, 52
//	4       8     prev: position of the unit before it in its slot, -1 for none
//	12      4     magic: 1 timer, 2 rolls, 4 cancel
//	16      8     written, ms
//	24      4     out - written, ms
//	28      8     physical offset of the record in the system topic
//	36      4     size of that record
//	40      4     Java hash of the real topic
//	44      8     zero; ours: mark (4) and CRC-32C of the bytes before it (4)
//
// Marks: 524B4401 live, 524B4402 dead (delivered out of a slot of which more waits, or moved), 524B4403 seal (see hand-over, and Recovery),
// 524B4404 live and out of the order of the system topic (see Recovery). To the reference a dead unit and a seal are cancels of nobody.
//
// Slot:
//
//	offset  size  name
//	0       8     key: out / timerPrecisionMs of its units
//	8       8     first: position of its oldest unit
//	16      8     last: position of its newest unit
//	24      4     num: timers less cancels
//	28      4     unused
//
// Checkpoint, after the reference's fields (lastReadTimeMs, lastTimerLogFlushPos, lastTimerQueueOffset, masterTimerQueueOffset, stateVersion,
// timestamp, counter, 8 bytes each) two blocks of ours at 1024 and 2048, of which each write replaces the older one:
//
//	offset  size  name
//	0       8     magic "RKDTMR02"
//	8       56    the reference's fields, as written with it
//	64      8     number of the write
//	72      8     flags: 1 the room was closed, 2 there may be two units of one message, 4 and units out of order
//	80      16    mark: out, position
//	96      8     end of the timer log
//	104     8     position before which all units are done
//	112     8     queue offset before which no message that came too late is left
//	120     16    precision, number of slots
//	136     8     number of barriers, at most 8
//	144     32*8  barriers: position, mark, queue offset
//	400     4     CRC-32C of the bytes before it
//
// # Exact time on a coarse wheel
//
// A timer wanted at d has out = d - 1 in TIMER_OUT_MS and in its unit. The reference rounds d down to a slot such that d lies behind the
// slot's begin and at or before its end; d - 1 rounded down is the same slot. So each side reads what the other wrote, and a cancel meets its
// target whoever wrote which. Where the reference wrote a rounded time the exact one is found again in the properties the client
// sent. A timer is due when the clock shows more than out. Slots are opened a few seconds before they begin: their units are read into a
// calendar by exact millisecond, at most maxOpen of them at once. So memory does not grow with the number of timers.
//
// # Order and progress
//
// Timers are delivered in order of (out, position in the log). A mark in that order tells what is done; it is written to timercheck with
// each batch. lastReadTimeMs holds its out: for the reference, which reads it as a slot, the current slot is not done. When the clock goes
// back the mark does too, and leaves a barrier: units before the barrier's position that are before its mark are done, and so
// are the messages before its queue offset whose units got lost. With SYNC_FLUSH the
// mark counts what is on disk.
//
// # A cancel
//
// A timer message with TIMER_DEL_UNIQKEY cancels the timer with that UNIQ_KEY, bare or as topic+key, in the same slot. Those that roll
// meet in their last slot: both are there before it begins. Cancels are enqueued before anything that is due in the same round is delivered.
//
// # Recovery
//
// After a kill the log is read from where the wheel file is known to hold everything; units that the wheel lacks are linked. A wheel that
// is missing or fails its checksums is built from the whole log. Where the log is torn it is cut, and the messages of the system topic whose
// units are gone are enqueued again. A unit that fails its checksum later is replaced by a seal that goes on with its chain, and the messages
// between its neighbours' are enqueued again, at the end of the log and so out of order: their units say so. Whatever takes the place of something else on disk is synced before that goes.
//
// # Hand-over
//
// At a clean stop the delivered units of the current slot are declared dead, since the reference would deliver the whole slot again, and if
// the log does not end with a unit of the message that was enqueued last, where the reference looks for the queue offset, a seal is added.
//
// # Retention
//
// Timers that wait for longer than two thirds of fileReservedTime are put into the system topic again and their unit declared dead, so that
// their record is not removed before they are due; so are, as in the reference, those that wait for longer than the roll window. Log files of
// which nothing waits are removed.
//
// # Goroutines
//
//	worker   enqueue, open slots, deliver, sweep: see round. Owns all state but what is said below
//	flusher  every timerFlushIntervalMs: wheel pages to the file, fsync, checkpoint, removal of old log files
//
// # Locks
//
// wheel.mu guards the pages, and the end of the log while it grows; cpMu the checkpoint; timerLog.mu the list of files; metrics.mu the counts.
// No two are held together but timerLog.mu inside wheel.mu.
package timer

// Package schedule delivers messages with a delay level.
//
// A message with the property DELAY = n > 0 is stored in queue n-1 of SCHEDULE_TOPIC_XXXX (Transform), where the store writes the time of
// delivery into the tags code of its consume-queue entry (Levels.DeliverTime). For each level the queue is read in order: when the first
// entry is due its record is read again and put under its real topic and queue. How far each queue is delivered stands in
// config/delayOffset.json, in the reference's shape (ScheduleMessageService).
//
// It is no timer for arbitrary times: that is package timer.
//
// # Time
//
// A message is due at the store time of its record plus the delay of its level, by the wall clock, and is never put back before. One thing
// overrules that: when an entry is due later than a whole delay from now, the wall clock was set back or the level made shorter while it
// waited. Then it and all that wait behind it go out, in their order, one delay after that was noticed. Nobody's delay gets shorter by a
// step of the clock, and no message waits for an hour because the clock went back by one.
//
// # Goroutines
//
//	worker  drains what is due, sleeps until the next first entry is due, is woken by arrivals in empty queues
//	saver   writes delayOffset.json.bak through to the disk every flushDelayOffsetInterval
//
// Both are started by Start and ended by Close. A lane's state belongs to the worker and is changed with Schedule.mu held; others read it
// under that lock.
//
// # What a stop does
//
// After Close nothing is delivered twice or lost. The offsets are written, without waiting for the disk, at most saveInterval after a
// delivery, so that after a kill of the process what it delivered in its last saveInterval comes again. With SYNC_FLUSH an offset is
// written only when what it covers is on disk.
package schedule

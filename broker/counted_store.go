package broker

import (
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
)

// countedStore counts what the delay levels and timers deliver as the reference does: as messages of their topics, and those of the delay
// levels as taken from the system topic too (ScheduleMessageService#onSuccess, TimerMessageStore#doPut).
type countedStore struct {
	relay.Store
	stats  *stats
	levels bool // of the delay levels
}

// Put implements relay.Store.
func (s *countedStore) Put(batch []message.Message) (stored int, end int64, err error) {
	stored, end, err = s.Store.Put(batch)
	s.count(batch[:stored])
	return stored, end, err
}

// count counts what was stored, runs of one topic and about one size at once.
func (s *countedStore) count(batch []message.Message) {
	run := sentRun{kind: kindDelay}
	for i := range batch {
		m := &batch[i]
		size := int64(message.RecordSize(m))
		bucket := bucketOf(&sizeBounds, size)
		if run.messages > 0 && (run.topic != m.Topic || run.bucket != bucket) {
			s.countRun(&run)
			run = sentRun{kind: kindDelay}
		}
		run.topic, run.bucket = m.Topic, bucket
		run.requests++
		run.messages++
		run.bytes += size
		run.averages += size
	}
	if run.messages > 0 {
		s.countRun(&run)
	}
}

func (s *countedStore) countRun(r *sentRun) {
	s.stats.putInternals(r.topic, r.messages, r.bytes)
	if !s.levels {
		return
	}
	s.stats.traffic.topic(r.topic).sent(r)
	out := s.stats.traffic.group(outKey{topic: message.TopicSchedule, group: message.GroupSchedule})
	out.messages.Add(r.messages)
	out.bytes.Add(r.bytes)
}

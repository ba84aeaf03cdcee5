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
	for i := range batch[:stored] {
		m := &batch[i]
		size := message.RecordSize(m)
		s.stats.putInternal(m.Topic, size)
		if s.levels {
			s.stats.traffic.topic(m.Topic).sent(&sentRun{kind: kindDelay, bucket: bucketOf(&sizeBounds, int64(size)), requests: 1, messages: 1, bytes: int64(size), averages: int64(size)})
			out := s.stats.traffic.group(outKey{topic: message.TopicSchedule, group: message.GroupSchedule})
			out.messages.Add(1)
			out.bytes.Add(int64(size))
		}
	}
	return stored, end, err
}

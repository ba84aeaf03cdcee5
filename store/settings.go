package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
)

// settings is what of the configuration may change while the store is open, ready for use. It is replaced, never changed.
type settings struct {
	conf *conf.Store

	maxMessageSize int
	propertyCRC    bool
	light          bool
	maxLightQueues int
	diskMinFree    int64
	// hotBytes: a record so near to the log's end counts as being in memory.
	hotBytes int64
	// due computes the time of delivery of a delay level.
	due func(level int32, storeMs int64) int64
}

func (o *Options) settings(c *conf.Store) *settings {
	set := &settings{
		conf:           c,
		maxMessageSize: int(c.MaxMessageSize),
		propertyCRC:    c.EnabledAppendPropCRC,
		light:          c.EnableLMQ && c.EnableMultiDispatch,
		maxLightQueues: int(c.MaxLMQConsumeQueueNum),
		diskMinFree:    o.DiskMinFree,
		hotBytes:       totalMemory() / 100 * int64(c.AccessMessageInMemoryMaxRatio),
		due:            o.DeliverTime,
	}
	if set.due == nil {
		set.due = delayLevels(c.MessageDelayLevel)
	}
	return set
}

// dueAt is the time of delivery of a message with that DELAY property; ok is false when it has no level.
func (set *settings) dueAt(level string, storeMs int64) (ms int64, ok bool) {
	n, err := strconv.ParseInt(level, 10, 32)
	if err != nil || n <= 0 {
		return 0, false
	}
	return set.due(int32(n), storeMs), true
}

// recordTagsCode is the tags code of a stored record's entry (CommitLog.checkMessageAndReturnSize).
func (set *settings) recordTagsCode(r *message.Record) int64 {
	if r.Topic == message.TopicSchedule {
		if text, ok := r.Properties.Get(message.KeyDelayLevel); ok {
			if due, ok := set.dueAt(text, r.StoreTimestamp); ok {
				return due
			}
		}
	}
	return r.TagsCode()
}

// delayLevels reads messageDelayLevel; a level that is too large counts as the largest (DefaultMessageStore.computeDeliverTimestamp).
func delayLevels(text string) func(level int32, storeMs int64) int64 {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	var levels []int64
	for _, word := range strings.Fields(text) {
		unit := units[word[len(word)-1]]
		n, err := strconv.ParseInt(word[:len(word)-1], 10, 64)
		if err != nil || unit == 0 {
			break
		}
		levels = append(levels, n*unit.Milliseconds())
	}
	return func(level int32, storeMs int64) int64 {
		if len(levels) == 0 {
			return storeMs + 1000
		}
		return storeMs + levels[min(int(level), len(levels))-1]
	}
}

// checkSizes refuses sizes of files that no store can have.
func checkSizes(c *conf.Store) error {
	switch {
	case c.MappedFileSizeCommitLog < 1024:
		return fmt.Errorf("%w: mappedFileSizeCommitLog = %d, the smallest is 1024", ErrLayout, c.MappedFileSizeCommitLog)
	case c.MappedFileSizeConsumeQueue < entrySize:
		return fmt.Errorf("%w: mappedFileSizeConsumeQueue = %d, the smallest is %d", ErrLayout, c.MappedFileSizeConsumeQueue, entrySize)
	case c.MapperFileSizeBatchConsumeQueue < batchUnitSize || c.MapperFileSizeBatchConsumeQueue%batchUnitSize != 0:
		return fmt.Errorf("%w: mapperFileSizeBatchConsumeQueue = %d must be a multiple of %d", ErrLayout, c.MapperFileSizeBatchConsumeQueue, batchUnitSize)
	case c.MaxHashSlotNum < 1 || c.MaxIndexNum < 2:
		return fmt.Errorf("%w: maxHashSlotNum = %d and maxIndexNum = %d, the smallest are 1 and 2", ErrLayout, c.MaxHashSlotNum, c.MaxIndexNum)
	}
	return nil
}

// queueFileSize is mappedFileSizeConsumeQueue rounded up to whole entries (MessageStoreConfig.getMappedFileSizeConsumeQueue).
func queueFileSize(c *conf.Store) int64 {
	n := int64(c.MappedFileSizeConsumeQueue)
	return (n + entrySize - 1) / entrySize * entrySize
}

package store

import (
	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
)

// Options are what Open needs. Dir, FS, Clock and Log must be set.
type Options struct {
	// Dir is the root directory (storePathRootDir), created when missing.
	Dir   string
	FS    vfs.FS
	Clock clock.Clock
	Log   *logrus.Entry
	// Config holds the reference's keys; nil: their defaults. The store never changes it; see Store.Configure.
	Config *conf.Store
	// DiskMinFree in bytes: writing is refused while less is free, but never more than a twentieth of the file system is asked for. With
	// as much free the reference's ratios do not count. 0: only the ratios count.
	DiskMinFree int64
	// DeliverTime computes the tags code of messages in SCHEDULE_TOPIC_XXXX: when level, which may be too large, is due. nil: the levels of
	// Config.MessageDelayLevel.
	DeliverTime func(level int32, storeTimestamp int64) int64
	// QueueKind tells of which kind the queues of a topic are when they are made. It is called with locks held and must not call the store.
	// nil: AnyQueue for all.
	QueueKind func(topic string) QueueKind

	rebuild bool // see Rebuild
}

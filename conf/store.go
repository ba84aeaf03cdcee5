package conf

// Store holds the keys of the reference's class MessageStoreConfig.
type Store struct {
	// StorePathRootDir: directory of the store. Default: dataDir.
	StorePathRootDir string
	// StorePathCommitLog: directory of the commit log. Default: commitlog below storePathRootDir.
	StorePathCommitLog        string
	StorePathDLedgerCommitLog string
	StorePathEpochFile        string
	StorePathBrokerIdentity   string
	// ReadOnlyCommitLogStorePaths: further directories with old commit log files, separated by commas. Default: empty.
	ReadOnlyCommitLogStorePaths string
	// MappedFileSizeCommitLog: size of a commit log file, in bytes. Default: 1073741824.
	MappedFileSizeCommitLog    int32
	CompactionMappedFileSize   int32
	CompactionCQMappedFileSize int32
	CompactionScheduleInternal int32
	MaxOffsetMapSize           int32
	CompactionThreadNum        int32
	EnableCompaction           bool
	// MappedFileSizeTimerLog: size of a timer log file, in bytes. Default: 104857600.
	MappedFileSizeTimerLog int32
	// TimerPrecisionMs: length of a wheel slot, in ms; one of 100, 200, 500, 1000. Default: 1000.
	TimerPrecisionMs int32
	// TimerRollWindowSlot: slots until a timer is rolled over. Default: 172800.
	TimerRollWindowSlot int32
	// TimerFlushIntervalMs: how often the timer files are flushed, in ms. Default: 1000.
	TimerFlushIntervalMs     int32
	TimerGetMessageThreadNum int32
	TimerPutMessageThreadNum int32
	TimerEnableDisruptor     bool
	TimerEnableCheckMetrics  bool
	TimerInterceptDelayLevel bool
	// TimerMaxDelaySec: longest delay that a timer may have, in s. Default: 259200.
	TimerMaxDelaySec        int32
	TimerWheelSnapshotFlush bool
	// TimerWheelEnable: serve timed messages. Default: true.
	TimerWheelEnable             bool
	DisappearTimeAfterStart      int32
	TimerStopEnqueue             bool
	TimerCheckMetricsWhen        string
	TimerSkipUnknownError        bool
	TimerWarmEnable              bool
	TimerStopDequeue             bool
	TimerEnableRetryUntilSuccess bool
	// TimerCongestNumEachSlot: timers that one slot may hold before sends are refused. Default: 2147483647.
	TimerCongestNumEachSlot            int32
	TimerMetricSmallThreshold          int32
	TimerProgressLogIntervalMs         int32
	TimerWheelSnapshotIntervalMs       int32
	CommitLogRecoverMaxNum             int32
	TimerRocksDBEnable                 bool
	TimerRocksDBStopScan               bool
	TimerRocksDBPrecisionMs            int64
	TimerRocksDBRollMaxTps             float64
	TimerRocksDBTimeExpiredMaxTps      float64
	TimerRocksDBRollIntervalHours      int32
	TimerRocksDBRollRangeHours         int32
	TimerRecallToTimeWheelEnable       bool
	TimerRecallToTimelineEnable        bool
	TimerReputServiceCorePoolSize      int32
	TimerReputServiceMaxPoolSize       int32
	TimerReputServiceQueueCapacity     int32
	TransRocksDBEnable                 bool
	TransWriteOriginTransHalfEnable    bool
	IndexRocksDBEnable                 bool
	MaxRocksDBIndexQueryDays           int32
	IndexFileWriteEnable               bool
	IndexFileReadEnable                bool
	StoreType                          string
	IteratorWhenUseRocksdbConsumeQueue bool
	// MappedFileSizeConsumeQueue: size of a consume queue file, in bytes; rounded up to whole entries of 20. Default:
	// 6000000.
	MappedFileSizeConsumeQueue    int32
	EnableConsumeQueueExt         bool
	MappedFileSizeConsumeQueueExt int32
	// MapperFileSizeBatchConsumeQueue: size of a file of a batch queue (topics with queue.type=BatchCQ), in bytes; a multiple of 46. Default:
	// 13800000.
	MapperFileSizeBatchConsumeQueue int32
	BitMapLengthConsumeQueueExt     int32
	// FlushIntervalCommitLog: how often the commit log is flushed with ASYNC_FLUSH, in ms. Default: 500.
	FlushIntervalCommitLog    int32
	CommitIntervalCommitLog   int32
	MaxRecoveryCommitlogFiles int32
	// DiskSpaceWarningLevelRatio: disk use at which writing is refused, in percent. Default: 90.
	DiskSpaceWarningLevelRatio int32
	// DiskSpaceCleanForciblyRatio: disk use at which old files are deleted at once, in percent. Default: 85.
	DiskSpaceCleanForciblyRatio    int32
	UseReentrantLockWhenPutMessage bool
	FlushCommitLogTimed            bool
	// FlushIntervalConsumeQueue: how often consume queues are flushed, in ms. Default: 1000.
	FlushIntervalConsumeQueue int32
	// CleanResourceInterval: how often retention looks, in ms. Default: 10000.
	CleanResourceInterval int32
	// DeleteCommitLogFilesInterval: pause between two deletions of commit log files, in ms. Default: 100.
	DeleteCommitLogFilesInterval     int32
	DeleteConsumeQueueFilesInterval  int32
	DestroyMapedFileIntervalForcibly int32
	RedeleteHangedFileInterval       int32
	// DeleteWhen: hours at which expired files are deleted, two digits each, separated by semicolons. Default: 04.
	DeleteWhen string
	// DiskMaxUsedSpaceRatio: disk use at which old files are deleted before their time, in percent. Default: 75.
	DiskMaxUsedSpaceRatio int32
	// FileReservedTime: how long files are kept, in hours. Default: 72.
	FileReservedTime int32
	// DeleteFileBatchMax: files deleted in one go. Default: 10.
	DeleteFileBatchMax    int32
	PutMsgIndexHightWater int32
	// MaxMessageSize: largest body, in bytes. Default: 4194304.
	MaxMessageSize int32
	// MaxFilterMessageSize: bytes of consume queue that one filtered pull looks at. Default: 16000.
	MaxFilterMessageSize int32
	// CheckCRCOnRecover: check bodies during recovery. Default: true.
	CheckCRCOnRecover             bool
	CheckCommitLogOffsetOnRecover bool
	// FlushCommitLogLeastPages: pages of 4096 bytes that make a flush worthwhile. Default: 4.
	FlushCommitLogLeastPages         int32
	CommitCommitLogLeastPages        int32
	FlushLeastPagesWhenWarmMapedFile int32
	// FlushConsumeQueueLeastPages: pages of 4096 bytes that make a flush worthwhile. Default: 2.
	FlushConsumeQueueLeastPages int32
	// FlushCommitLogThoroughInterval: how often fewer pages are flushed all the same, in ms. Default: 10000.
	FlushCommitLogThoroughInterval  int32
	CommitCommitLogThoroughInterval int32
	// FlushConsumeQueueThoroughInterval: how often fewer pages are flushed all the same, in ms. Default: 60000.
	FlushConsumeQueueThoroughInterval int32
	// MaxTransferBytesOnMessageInMemory: bytes that one pull returns of recent messages. Default: 262144.
	MaxTransferBytesOnMessageInMemory int32
	// MaxTransferCountOnMessageInMemory: messages that one pull returns of recent ones. Default: 32.
	MaxTransferCountOnMessageInMemory int32
	// MaxTransferBytesOnMessageInDisk: bytes that one pull returns of old messages. Default: 65536.
	MaxTransferBytesOnMessageInDisk int32
	// MaxTransferCountOnMessageInDisk: messages that one pull returns of old ones. Default: 8.
	MaxTransferCountOnMessageInDisk int32
	// AccessMessageInMemoryMaxRatio: share of the machine's memory that holds recent messages, in percent. Default: 40.
	AccessMessageInMemoryMaxRatio int32
	// MessageIndexEnable: keep the key index. Default: true.
	MessageIndexEnable bool
	// MaxHashSlotNum: hash slots of an index file. Default: 5000000.
	MaxHashSlotNum int32
	// MaxIndexNum: entries of an index file. Default: 20000000.
	MaxIndexNum int32
	// MaxMsgsNumBatch: messages that one query returns. Default: 64.
	MaxMsgsNumBatch  int32
	MessageIndexSafe bool
	// HAListenPort: port for replication; 0 is listenPort + 1. Default: 0.
	HAListenPort            int32
	HASendHeartbeatInterval int32
	HAHousekeepingInterval  int32
	HATransferBatchSize     int32
	HAMasterAddress         string
	HAMaxGapNotInSync       int32
	// BrokerRole: ASYNC_MASTER, SYNC_MASTER or SLAVE. Default: ASYNC_MASTER.
	BrokerRole string
	// FlushDiskType: ASYNC_FLUSH: answer when written to the page cache; SYNC_FLUSH: answer when on disk. Default:
	// ASYNC_FLUSH.
	FlushDiskType string
	// SyncFlushTimeout: longest wait for a flush with SYNC_FLUSH, in ms. Default: 5000.
	SyncFlushTimeout  int32
	PutMessageTimeout int32
	SlaveTimeout      int32
	// MessageDelayLevel: delays of the levels 1, 2, 3 and on: numbers with s, m, h or d, separated by blanks. Default: 1s
	// 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h.
	MessageDelayLevel string
	// FlushDelayOffsetInterval: how often the delay levels' offsets are saved, in ms. Default: 10000.
	FlushDelayOffsetInterval int64
	// CleanFileForciblyEnable: delete files before their time when the disk is nearly full. Default: true.
	CleanFileForciblyEnable bool
	WarmMapedFileEnable     bool
	// OffsetCheckInSlave: a slave tells consumers that their offset is out of its range. Default: false.
	OffsetCheckInSlave          bool
	DebugLockEnable             bool
	DuplicationEnable           bool
	DiskFallRecorded            bool
	OSPageCacheBusyTimeOutMills int64
	// DefaultQueryMaxNum: messages that a query by key returns when it names no number. Default: 32.
	DefaultQueryMaxNum            int32
	TransientStorePoolEnable      bool
	TransientStorePoolSize        int32
	FastFailIfNoBufferInStorePool bool
	WriteWithoutMmap              bool
	EnableDLegerCommitLog         bool
	DLegerGroup                   string
	DLegerPeers                   string
	DLegerSelfID                  string
	PreferredLeaderID             string
	EnableBatchPush               bool
	EnableScheduleMessageStats    bool
	// EnableLMQ: serve light message queues. Default: false.
	EnableLMQ bool
	// EnableMultiDispatch: dispatch one message to several queues. Default: false.
	EnableMultiDispatch bool
	// MaxLMQConsumeQueueNum: light message queues that may exist. Default: 20000.
	MaxLMQConsumeQueueNum                    int32
	EnableLMQQuota                           bool
	EnableScheduleAsyncDeliver               bool
	ScheduleAsyncDeliverMaxPendingLimit      int32
	ScheduleAsyncDeliverMaxResendNum2Blocked int32
	MaxBatchDeleteFilesNum                   int32
	DispatchCQThreads                        int32
	DispatchCQCacheNum                       int32
	EnableAsyncReput                         bool
	RecheckReputOffsetFromCQ                 bool
	MaxTopicLength                           int32
	AutoMessageVersionOnTopicLen             bool
	EnableRunningFlagsInFlush                bool
	// EnabledAppendPropCRC: append a checksum over the properties. Default: false.
	EnabledAppendPropCRC                            bool
	ForceVerifyPropCRC                              bool
	TravelCQFileNumWhenGetMessage                   int32
	CorrectLogicMinOffsetSleepInterval              int32
	CorrectLogicMinOffsetForceInterval              int32
	MappedFileSwapEnable                            bool
	CommitLogForceSwapMapInterval                   int64
	CommitLogSwapMapInterval                        int64
	CommitLogSwapMapReserveFileNum                  int32
	LogicQueueForceSwapMapInterval                  int64
	LogicQueueSwapMapInterval                       int64
	CleanSwapedMapInterval                          int64
	LogicQueueSwapMapReserveFileNum                 int32
	SearchBcqByCacheEnable                          bool
	DispatchFromSenderThread                        bool
	WakeCommitWhenPutMessage                        bool
	WakeFlushWhenPutMessage                         bool
	EnableCleanExpiredOffset                        bool
	MaxAsyncPutMessageRequests                      int32
	PullBatchMaxMessageCount                        int32
	TotalReplicas                                   int32
	InSyncReplicas                                  int32
	MinInSyncReplicas                               int32
	AllAckInSyncStateSet                            bool
	EnableAutoInSyncReplicas                        bool
	HAFlowControlEnable                             bool
	MaxHATransferByteInSecond                       int64
	HAMaxTimeSlaveNotCatchup                        int64
	SyncMasterFlushOffsetWhenStartup                bool
	MaxChecksumRange                                int64
	ReplicasPerDiskPartition                        int32
	LogicalDiskSpaceCleanForciblyThreshold          float64
	MaxSlaveResendLength                            int64
	SyncFromLastFile                                bool
	AsyncLearner                                    bool
	MaxConsumeQueueScan                             int32
	SampleCountThreshold                            int32
	ColdDataFlowControlEnable                       bool
	ColdDataScanEnable                              bool
	DataReadAheadEnable                             bool
	TimerColdDataCheckIntervalMs                    int32
	SampleSteps                                     int32
	AccessMessageInMemoryHotRatio                   int32
	EnableBuildConsumeQueueConcurrently             bool
	BatchDispatchRequestThreadPoolNums              int32
	CleanRocksDBDirtyCQIntervalMin                  int64
	StatRocksDBCQIntervalSec                        int64
	MemTableFlushIntervalMs                         int64
	RealTimePersistRocksDBConfig                    bool
	EnableRocksDBLog                                bool
	TopicQueueLockNum                               int32
	ReadUnCommitted                                 bool
	PutConsumeQueueDataByFileChannel                bool
	RocksdbCQDoubleWriteEnable                      bool
	CombineCQLoadingCQTypes                         string
	CombineCQPreferCQType                           string
	CombineAssignOffsetCQType                       string
	CombineCQEnableCheckSelf                        bool
	CombineCQMaxExtraSearchCommitLogFiles           int32
	CombineCQUseRocksdbForLMQ                       bool
	BottomMostCompressionTypeForConsumeQueueStore   string
	RocksdbCompressionType                          string
	RocksdbFlushWalFrequency                        int32
	RocksdbWalFileRollingThreshold                  int64
	EnableAcceleratedRecovery                       bool
	SharedByteBufferNum                             int32
	UseSeparateStorePathForRocksdbCQ                bool
	SpinLockCollisionRetreatOptimalDegree           int32
	UseABSLock                                      bool
	EnableLogConsumeQueueRepeatedlyBuildWhenRecover bool
	// AppendTopicForTimerDeleteKey: TIMER_DEL_UNIQKEY holds topic and key joined by +. Default: false.
	AppendTopicForTimerDeleteKey bool
}

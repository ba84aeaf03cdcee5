package conf

// Store holds the keys of the reference's class MessageStoreConfig.
type Store struct {
	StorePathRootDir                                string
	StorePathCommitLog                              string
	StorePathDLedgerCommitLog                       string
	StorePathEpochFile                              string
	StorePathBrokerIdentity                         string
	ReadOnlyCommitLogStorePaths                     string
	MappedFileSizeCommitLog                         int32
	CompactionMappedFileSize                        int32
	CompactionCQMappedFileSize                      int32
	CompactionScheduleInternal                      int32
	MaxOffsetMapSize                                int32
	CompactionThreadNum                             int32
	EnableCompaction                                bool
	MappedFileSizeTimerLog                          int32
	TimerPrecisionMs                                int32
	TimerRollWindowSlot                             int32
	TimerFlushIntervalMs                            int32
	TimerGetMessageThreadNum                        int32
	TimerPutMessageThreadNum                        int32
	TimerEnableDisruptor                            bool
	TimerEnableCheckMetrics                         bool
	TimerInterceptDelayLevel                        bool
	TimerMaxDelaySec                                int32
	TimerWheelSnapshotFlush                         bool
	TimerWheelEnable                                bool
	DisappearTimeAfterStart                         int32
	TimerStopEnqueue                                bool
	TimerCheckMetricsWhen                           string
	TimerSkipUnknownError                           bool
	TimerWarmEnable                                 bool
	TimerStopDequeue                                bool
	TimerEnableRetryUntilSuccess                    bool
	TimerCongestNumEachSlot                         int32
	TimerMetricSmallThreshold                       int32
	TimerProgressLogIntervalMs                      int32
	TimerWheelSnapshotIntervalMs                    int32
	CommitLogRecoverMaxNum                          int32
	TimerRocksDBEnable                              bool
	TimerRocksDBStopScan                            bool
	TimerRocksDBPrecisionMs                         int64
	TimerRocksDBRollMaxTps                          float64
	TimerRocksDBTimeExpiredMaxTps                   float64
	TimerRocksDBRollIntervalHours                   int32
	TimerRocksDBRollRangeHours                      int32
	TimerRecallToTimeWheelEnable                    bool
	TimerRecallToTimelineEnable                     bool
	TimerReputServiceCorePoolSize                   int32
	TimerReputServiceMaxPoolSize                    int32
	TimerReputServiceQueueCapacity                  int32
	TransRocksDBEnable                              bool
	TransWriteOriginTransHalfEnable                 bool
	IndexRocksDBEnable                              bool
	MaxRocksDBIndexQueryDays                        int32
	IndexFileWriteEnable                            bool
	IndexFileReadEnable                             bool
	StoreType                                       string
	IteratorWhenUseRocksdbConsumeQueue              bool
	MappedFileSizeConsumeQueue                      int32
	EnableConsumeQueueExt                           bool
	MappedFileSizeConsumeQueueExt                   int32
	MapperFileSizeBatchConsumeQueue                 int32
	BitMapLengthConsumeQueueExt                     int32
	FlushIntervalCommitLog                          int32
	CommitIntervalCommitLog                         int32
	MaxRecoveryCommitlogFiles                       int32
	DiskSpaceWarningLevelRatio                      int32
	DiskSpaceCleanForciblyRatio                     int32
	UseReentrantLockWhenPutMessage                  bool
	FlushCommitLogTimed                             bool
	FlushIntervalConsumeQueue                       int32
	CleanResourceInterval                           int32
	DeleteCommitLogFilesInterval                    int32
	DeleteConsumeQueueFilesInterval                 int32
	DestroyMapedFileIntervalForcibly                int32
	RedeleteHangedFileInterval                      int32
	DeleteWhen                                      string
	DiskMaxUsedSpaceRatio                           int32
	FileReservedTime                                int32
	DeleteFileBatchMax                              int32
	PutMsgIndexHightWater                           int32
	MaxMessageSize                                  int32
	MaxFilterMessageSize                            int32
	CheckCRCOnRecover                               bool
	CheckCommitLogOffsetOnRecover                   bool
	FlushCommitLogLeastPages                        int32
	CommitCommitLogLeastPages                       int32
	FlushLeastPagesWhenWarmMapedFile                int32
	FlushConsumeQueueLeastPages                     int32
	FlushCommitLogThoroughInterval                  int32
	CommitCommitLogThoroughInterval                 int32
	FlushConsumeQueueThoroughInterval               int32
	MaxTransferBytesOnMessageInMemory               int32
	MaxTransferCountOnMessageInMemory               int32
	MaxTransferBytesOnMessageInDisk                 int32
	MaxTransferCountOnMessageInDisk                 int32
	AccessMessageInMemoryMaxRatio                   int32
	MessageIndexEnable                              bool
	MaxHashSlotNum                                  int32
	MaxIndexNum                                     int32
	MaxMsgsNumBatch                                 int32
	MessageIndexSafe                                bool
	HAListenPort                                    int32
	HASendHeartbeatInterval                         int32
	HAHousekeepingInterval                          int32
	HATransferBatchSize                             int32
	HAMasterAddress                                 string
	HAMaxGapNotInSync                               int32
	BrokerRole                                      string
	FlushDiskType                                   string
	SyncFlushTimeout                                int32
	PutMessageTimeout                               int32
	SlaveTimeout                                    int32
	MessageDelayLevel                               string
	FlushDelayOffsetInterval                        int64
	CleanFileForciblyEnable                         bool
	WarmMapedFileEnable                             bool
	OffsetCheckInSlave                              bool
	DebugLockEnable                                 bool
	DuplicationEnable                               bool
	DiskFallRecorded                                bool
	OSPageCacheBusyTimeOutMills                     int64
	DefaultQueryMaxNum                              int32
	TransientStorePoolEnable                        bool
	TransientStorePoolSize                          int32
	FastFailIfNoBufferInStorePool                   bool
	WriteWithoutMmap                                bool
	EnableDLegerCommitLog                           bool
	DLegerGroup                                     string
	DLegerPeers                                     string
	DLegerSelfID                                    string
	PreferredLeaderID                               string
	EnableBatchPush                                 bool
	EnableScheduleMessageStats                      bool
	EnableLMQ                                       bool
	EnableMultiDispatch                             bool
	MaxLMQConsumeQueueNum                           int32
	EnableLMQQuota                                  bool
	EnableScheduleAsyncDeliver                      bool
	ScheduleAsyncDeliverMaxPendingLimit             int32
	ScheduleAsyncDeliverMaxResendNum2Blocked        int32
	MaxBatchDeleteFilesNum                          int32
	DispatchCQThreads                               int32
	DispatchCQCacheNum                              int32
	EnableAsyncReput                                bool
	RecheckReputOffsetFromCQ                        bool
	MaxTopicLength                                  int32
	AutoMessageVersionOnTopicLen                    bool
	EnableRunningFlagsInFlush                       bool
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
	AppendTopicForTimerDeleteKey                    bool
}

func (c *Store) keys(k *keySet) {
	k.str("storePathRootDir", &c.StorePathRootDir, "")
	k.str("storePathCommitLog", &c.StorePathCommitLog, "")
	k.str("storePathDLedgerCommitLog", &c.StorePathDLedgerCommitLog, "")
	k.str("storePathEpochFile", &c.StorePathEpochFile, "")
	k.str("storePathBrokerIdentity", &c.StorePathBrokerIdentity, "")
	k.str("readOnlyCommitLogStorePaths", &c.ReadOnlyCommitLogStorePaths, "")
	k.i32("mappedFileSizeCommitLog", &c.MappedFileSizeCommitLog, 1073741824)
	k.i32("compactionMappedFileSize", &c.CompactionMappedFileSize, 104857600)
	k.i32("compactionCqMappedFileSize", &c.CompactionCQMappedFileSize, 10485760)
	k.i32("compactionScheduleInternal", &c.CompactionScheduleInternal, 900000)
	k.i32("maxOffsetMapSize", &c.MaxOffsetMapSize, 104857600)
	k.i32("compactionThreadNum", &c.CompactionThreadNum, 6)
	k.boolean("enableCompaction", &c.EnableCompaction, true)
	k.i32("mappedFileSizeTimerLog", &c.MappedFileSizeTimerLog, 104857600)
	k.i32("timerPrecisionMs", &c.TimerPrecisionMs, 1000)
	k.i32("timerRollWindowSlot", &c.TimerRollWindowSlot, 172800)
	k.i32("timerFlushIntervalMs", &c.TimerFlushIntervalMs, 1000)
	k.i32("timerGetMessageThreadNum", &c.TimerGetMessageThreadNum, 3)
	k.i32("timerPutMessageThreadNum", &c.TimerPutMessageThreadNum, 3)
	k.boolean("timerEnableDisruptor", &c.TimerEnableDisruptor, false)
	k.boolean("timerEnableCheckMetrics", &c.TimerEnableCheckMetrics, true)
	k.boolean("timerInterceptDelayLevel", &c.TimerInterceptDelayLevel, false)
	k.i32("timerMaxDelaySec", &c.TimerMaxDelaySec, 259200)
	k.boolean("timerWheelSnapshotFlush", &c.TimerWheelSnapshotFlush, false)
	k.boolean("timerWheelEnable", &c.TimerWheelEnable, true)
	k.i32("disappearTimeAfterStart", &c.DisappearTimeAfterStart, -1)
	k.boolean("timerStopEnqueue", &c.TimerStopEnqueue, false)
	k.str("timerCheckMetricsWhen", &c.TimerCheckMetricsWhen, "05")
	k.boolean("timerSkipUnknownError", &c.TimerSkipUnknownError, false)
	k.boolean("timerWarmEnable", &c.TimerWarmEnable, false)
	k.boolean("timerStopDequeue", &c.TimerStopDequeue, false)
	k.boolean("timerEnableRetryUntilSuccess", &c.TimerEnableRetryUntilSuccess, false)
	k.i32("timerCongestNumEachSlot", &c.TimerCongestNumEachSlot, 2147483647)
	k.i32("timerMetricSmallThreshold", &c.TimerMetricSmallThreshold, 1000000)
	k.i32("timerProgressLogIntervalMs", &c.TimerProgressLogIntervalMs, 10000)
	k.i32("timerWheelSnapshotIntervalMs", &c.TimerWheelSnapshotIntervalMs, 10000)
	k.i32("commitLogRecoverMaxNum", &c.CommitLogRecoverMaxNum, 10)
	k.boolean("timerRocksDBEnable", &c.TimerRocksDBEnable, false)
	k.boolean("timerRocksDBStopScan", &c.TimerRocksDBStopScan, false)
	k.i64("timerRocksDBPrecisionMs", &c.TimerRocksDBPrecisionMs, 1000)
	k.f64("timerRocksDBRollMaxTps", &c.TimerRocksDBRollMaxTps, 8000.0)
	k.f64("timerRocksDBTimeExpiredMaxTps", &c.TimerRocksDBTimeExpiredMaxTps, 200000.0)
	k.i32("timerRocksDBRollIntervalHours", &c.TimerRocksDBRollIntervalHours, 1)
	k.i32("timerRocksDBRollRangeHours", &c.TimerRocksDBRollRangeHours, 2)
	k.boolean("timerRecallToTimeWheelEnable", &c.TimerRecallToTimeWheelEnable, true)
	k.boolean("timerRecallToTimelineEnable", &c.TimerRecallToTimelineEnable, true)
	k.i32("timerReputServiceCorePoolSize", &c.TimerReputServiceCorePoolSize, 6)
	k.i32("timerReputServiceMaxPoolSize", &c.TimerReputServiceMaxPoolSize, 6)
	k.i32("timerReputServiceQueueCapacity", &c.TimerReputServiceQueueCapacity, 10000)
	k.boolean("transRocksDBEnable", &c.TransRocksDBEnable, false)
	k.boolean("transWriteOriginTransHalfEnable", &c.TransWriteOriginTransHalfEnable, true)
	k.boolean("indexRocksDBEnable", &c.IndexRocksDBEnable, false)
	k.i32("maxRocksDBIndexQueryDays", &c.MaxRocksDBIndexQueryDays, 7)
	k.boolean("indexFileWriteEnable", &c.IndexFileWriteEnable, true)
	k.boolean("indexFileReadEnable", &c.IndexFileReadEnable, true)
	k.str("storeType", &c.StoreType, "DEFAULT")
	k.boolean("iteratorWhenUseRocksdbConsumeQueue", &c.IteratorWhenUseRocksdbConsumeQueue, true)
	k.i32("mappedFileSizeConsumeQueue", &c.MappedFileSizeConsumeQueue, 6000000)
	k.boolean("enableConsumeQueueExt", &c.EnableConsumeQueueExt, false)
	k.i32("mappedFileSizeConsumeQueueExt", &c.MappedFileSizeConsumeQueueExt, 50331648)
	k.i32("mapperFileSizeBatchConsumeQueue", &c.MapperFileSizeBatchConsumeQueue, 13800000)
	k.i32("bitMapLengthConsumeQueueExt", &c.BitMapLengthConsumeQueueExt, 64)
	k.i32("flushIntervalCommitLog", &c.FlushIntervalCommitLog, 500)
	k.i32("commitIntervalCommitLog", &c.CommitIntervalCommitLog, 200)
	k.i32("maxRecoveryCommitlogFiles", &c.MaxRecoveryCommitlogFiles, 30)
	k.i32("diskSpaceWarningLevelRatio", &c.DiskSpaceWarningLevelRatio, 90)
	k.i32("diskSpaceCleanForciblyRatio", &c.DiskSpaceCleanForciblyRatio, 85)
	k.boolean("useReentrantLockWhenPutMessage", &c.UseReentrantLockWhenPutMessage, true)
	k.boolean("flushCommitLogTimed", &c.FlushCommitLogTimed, true)
	k.i32("flushIntervalConsumeQueue", &c.FlushIntervalConsumeQueue, 1000)
	k.i32("cleanResourceInterval", &c.CleanResourceInterval, 10000)
	k.i32("deleteCommitLogFilesInterval", &c.DeleteCommitLogFilesInterval, 100)
	k.i32("deleteConsumeQueueFilesInterval", &c.DeleteConsumeQueueFilesInterval, 100)
	k.i32("destroyMapedFileIntervalForcibly", &c.DestroyMapedFileIntervalForcibly, 120000)
	k.i32("redeleteHangedFileInterval", &c.RedeleteHangedFileInterval, 120000)
	k.str("deleteWhen", &c.DeleteWhen, "04")
	k.i32("diskMaxUsedSpaceRatio", &c.DiskMaxUsedSpaceRatio, 75)
	k.i32("fileReservedTime", &c.FileReservedTime, 72)
	k.i32("deleteFileBatchMax", &c.DeleteFileBatchMax, 10)
	k.i32("putMsgIndexHightWater", &c.PutMsgIndexHightWater, 600000)
	k.i32("maxMessageSize", &c.MaxMessageSize, 4194304)
	k.i32("maxFilterMessageSize", &c.MaxFilterMessageSize, 16000)
	k.boolean("checkCRCOnRecover", &c.CheckCRCOnRecover, true)
	k.boolean("checkCommitLogOffsetOnRecover", &c.CheckCommitLogOffsetOnRecover, false)
	k.i32("flushCommitLogLeastPages", &c.FlushCommitLogLeastPages, 4)
	k.i32("commitCommitLogLeastPages", &c.CommitCommitLogLeastPages, 4)
	k.i32("flushLeastPagesWhenWarmMapedFile", &c.FlushLeastPagesWhenWarmMapedFile, 4096)
	k.i32("flushConsumeQueueLeastPages", &c.FlushConsumeQueueLeastPages, 2)
	k.i32("flushCommitLogThoroughInterval", &c.FlushCommitLogThoroughInterval, 10000)
	k.i32("commitCommitLogThoroughInterval", &c.CommitCommitLogThoroughInterval, 200)
	k.i32("flushConsumeQueueThoroughInterval", &c.FlushConsumeQueueThoroughInterval, 60000)
	k.i32("maxTransferBytesOnMessageInMemory", &c.MaxTransferBytesOnMessageInMemory, 262144)
	k.i32("maxTransferCountOnMessageInMemory", &c.MaxTransferCountOnMessageInMemory, 32)
	k.i32("maxTransferBytesOnMessageInDisk", &c.MaxTransferBytesOnMessageInDisk, 65536)
	k.i32("maxTransferCountOnMessageInDisk", &c.MaxTransferCountOnMessageInDisk, 8)
	k.i32("accessMessageInMemoryMaxRatio", &c.AccessMessageInMemoryMaxRatio, 40)
	k.boolean("messageIndexEnable", &c.MessageIndexEnable, true)
	k.i32("maxHashSlotNum", &c.MaxHashSlotNum, 5000000)
	k.i32("maxIndexNum", &c.MaxIndexNum, 20000000)
	k.i32("maxMsgsNumBatch", &c.MaxMsgsNumBatch, 64)
	k.boolean("messageIndexSafe", &c.MessageIndexSafe, false)
	k.i32("haListenPort", &c.HAListenPort, 10912)
	k.i32("haSendHeartbeatInterval", &c.HASendHeartbeatInterval, 5000)
	k.i32("haHousekeepingInterval", &c.HAHousekeepingInterval, 20000)
	k.i32("haTransferBatchSize", &c.HATransferBatchSize, 32768)
	k.str("haMasterAddress", &c.HAMasterAddress, "")
	k.i32("haMaxGapNotInSync", &c.HAMaxGapNotInSync, 268435456)
	k.str("brokerRole", &c.BrokerRole, "ASYNC_MASTER")
	k.str("flushDiskType", &c.FlushDiskType, "ASYNC_FLUSH")
	k.i32("syncFlushTimeout", &c.SyncFlushTimeout, 5000)
	k.i32("putMessageTimeout", &c.PutMessageTimeout, 8000)
	k.i32("slaveTimeout", &c.SlaveTimeout, 3000)
	k.str("messageDelayLevel", &c.MessageDelayLevel, "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")
	k.i64("flushDelayOffsetInterval", &c.FlushDelayOffsetInterval, 10000)
	k.boolean("cleanFileForciblyEnable", &c.CleanFileForciblyEnable, true)
	k.boolean("warmMapedFileEnable", &c.WarmMapedFileEnable, false)
	k.boolean("offsetCheckInSlave", &c.OffsetCheckInSlave, false)
	k.boolean("debugLockEnable", &c.DebugLockEnable, false)
	k.boolean("duplicationEnable", &c.DuplicationEnable, false)
	k.boolean("diskFallRecorded", &c.DiskFallRecorded, true)
	k.i64("osPageCacheBusyTimeOutMills", &c.OSPageCacheBusyTimeOutMills, 1000)
	k.i32("defaultQueryMaxNum", &c.DefaultQueryMaxNum, 32)
	k.boolean("transientStorePoolEnable", &c.TransientStorePoolEnable, false)
	k.i32("transientStorePoolSize", &c.TransientStorePoolSize, 5)
	k.boolean("fastFailIfNoBufferInStorePool", &c.FastFailIfNoBufferInStorePool, false)
	k.boolean("writeWithoutMmap", &c.WriteWithoutMmap, false)
	k.boolean("enableDLegerCommitLog", &c.EnableDLegerCommitLog, false)
	k.str("dLegerGroup", &c.DLegerGroup, "")
	k.str("dLegerPeers", &c.DLegerPeers, "")
	k.str("dLegerSelfId", &c.DLegerSelfID, "")
	k.str("preferredLeaderId", &c.PreferredLeaderID, "")
	k.boolean("enableBatchPush", &c.EnableBatchPush, false)
	k.boolean("enableScheduleMessageStats", &c.EnableScheduleMessageStats, true)
	k.boolean("enableLmq", &c.EnableLMQ, false)
	k.boolean("enableMultiDispatch", &c.EnableMultiDispatch, false)
	k.i32("maxLmqConsumeQueueNum", &c.MaxLMQConsumeQueueNum, 20000)
	k.boolean("enableLmqQuota", &c.EnableLMQQuota, false)
	k.boolean("enableScheduleAsyncDeliver", &c.EnableScheduleAsyncDeliver, false)
	k.i32("scheduleAsyncDeliverMaxPendingLimit", &c.ScheduleAsyncDeliverMaxPendingLimit, 2000)
	k.i32("scheduleAsyncDeliverMaxResendNum2Blocked", &c.ScheduleAsyncDeliverMaxResendNum2Blocked, 3)
	k.i32("maxBatchDeleteFilesNum", &c.MaxBatchDeleteFilesNum, 50)
	k.i32("dispatchCqThreads", &c.DispatchCQThreads, 10)
	k.i32("dispatchCqCacheNum", &c.DispatchCQCacheNum, 4096)
	k.boolean("enableAsyncReput", &c.EnableAsyncReput, true)
	k.boolean("recheckReputOffsetFromCq", &c.RecheckReputOffsetFromCQ, false)
	k.i32("maxTopicLength", &c.MaxTopicLength, 127)
	k.boolean("autoMessageVersionOnTopicLen", &c.AutoMessageVersionOnTopicLen, true)
	k.boolean("enableRunningFlagsInFlush", &c.EnableRunningFlagsInFlush, false)
	k.boolean("enabledAppendPropCRC", &c.EnabledAppendPropCRC, false)
	k.boolean("forceVerifyPropCRC", &c.ForceVerifyPropCRC, false)
	k.i32("travelCqFileNumWhenGetMessage", &c.TravelCQFileNumWhenGetMessage, 1)
	k.i32("correctLogicMinOffsetSleepInterval", &c.CorrectLogicMinOffsetSleepInterval, 1)
	k.i32("correctLogicMinOffsetForceInterval", &c.CorrectLogicMinOffsetForceInterval, 300000)
	k.boolean("mappedFileSwapEnable", &c.MappedFileSwapEnable, true)
	k.i64("commitLogForceSwapMapInterval", &c.CommitLogForceSwapMapInterval, 43200000)
	k.i64("commitLogSwapMapInterval", &c.CommitLogSwapMapInterval, 3600000)
	k.i32("commitLogSwapMapReserveFileNum", &c.CommitLogSwapMapReserveFileNum, 100)
	k.i64("logicQueueForceSwapMapInterval", &c.LogicQueueForceSwapMapInterval, 43200000)
	k.i64("logicQueueSwapMapInterval", &c.LogicQueueSwapMapInterval, 3600000)
	k.i64("cleanSwapedMapInterval", &c.CleanSwapedMapInterval, 300000)
	k.i32("logicQueueSwapMapReserveFileNum", &c.LogicQueueSwapMapReserveFileNum, 20)
	k.boolean("searchBcqByCacheEnable", &c.SearchBcqByCacheEnable, true)
	k.boolean("dispatchFromSenderThread", &c.DispatchFromSenderThread, false)
	k.boolean("wakeCommitWhenPutMessage", &c.WakeCommitWhenPutMessage, true)
	k.boolean("wakeFlushWhenPutMessage", &c.WakeFlushWhenPutMessage, false)
	k.boolean("enableCleanExpiredOffset", &c.EnableCleanExpiredOffset, false)
	k.i32("maxAsyncPutMessageRequests", &c.MaxAsyncPutMessageRequests, 5000)
	k.i32("pullBatchMaxMessageCount", &c.PullBatchMaxMessageCount, 160)
	k.i32("totalReplicas", &c.TotalReplicas, 1)
	k.i32("inSyncReplicas", &c.InSyncReplicas, 1)
	k.i32("minInSyncReplicas", &c.MinInSyncReplicas, 1)
	k.boolean("allAckInSyncStateSet", &c.AllAckInSyncStateSet, false)
	k.boolean("enableAutoInSyncReplicas", &c.EnableAutoInSyncReplicas, false)
	k.boolean("haFlowControlEnable", &c.HAFlowControlEnable, false)
	k.i64("maxHaTransferByteInSecond", &c.MaxHATransferByteInSecond, 104857600)
	k.i64("haMaxTimeSlaveNotCatchup", &c.HAMaxTimeSlaveNotCatchup, 15000)
	k.boolean("syncMasterFlushOffsetWhenStartup", &c.SyncMasterFlushOffsetWhenStartup, false)
	k.i64("maxChecksumRange", &c.MaxChecksumRange, 1073741824)
	k.i32("replicasPerDiskPartition", &c.ReplicasPerDiskPartition, 1)
	k.f64("logicalDiskSpaceCleanForciblyThreshold", &c.LogicalDiskSpaceCleanForciblyThreshold, 0.8)
	k.i64("maxSlaveResendLength", &c.MaxSlaveResendLength, 268435456)
	k.boolean("syncFromLastFile", &c.SyncFromLastFile, false)
	k.boolean("asyncLearner", &c.AsyncLearner, false)
	k.i32("maxConsumeQueueScan", &c.MaxConsumeQueueScan, 20000)
	k.i32("sampleCountThreshold", &c.SampleCountThreshold, 5000)
	k.boolean("coldDataFlowControlEnable", &c.ColdDataFlowControlEnable, false)
	k.boolean("coldDataScanEnable", &c.ColdDataScanEnable, false)
	k.boolean("dataReadAheadEnable", &c.DataReadAheadEnable, true)
	k.i32("timerColdDataCheckIntervalMs", &c.TimerColdDataCheckIntervalMs, 60000)
	k.i32("sampleSteps", &c.SampleSteps, 32)
	k.i32("accessMessageInMemoryHotRatio", &c.AccessMessageInMemoryHotRatio, 26)
	k.boolean("enableBuildConsumeQueueConcurrently", &c.EnableBuildConsumeQueueConcurrently, false)
	k.i32("batchDispatchRequestThreadPoolNums", &c.BatchDispatchRequestThreadPoolNums, 16)
	k.i64("cleanRocksDBDirtyCQIntervalMin", &c.CleanRocksDBDirtyCQIntervalMin, 60)
	k.i64("statRocksDBCQIntervalSec", &c.StatRocksDBCQIntervalSec, 10)
	k.i64("memTableFlushIntervalMs", &c.MemTableFlushIntervalMs, 3600000)
	k.boolean("realTimePersistRocksDBConfig", &c.RealTimePersistRocksDBConfig, true)
	k.boolean("enableRocksDBLog", &c.EnableRocksDBLog, false)
	k.i32("topicQueueLockNum", &c.TopicQueueLockNum, 32)
	k.boolean("readUnCommitted", &c.ReadUnCommitted, false)
	k.boolean("putConsumeQueueDataByFileChannel", &c.PutConsumeQueueDataByFileChannel, true)
	k.boolean("rocksdbCQDoubleWriteEnable", &c.RocksdbCQDoubleWriteEnable, false)
	k.str("combineCQLoadingCQTypes", &c.CombineCQLoadingCQTypes, "DEFAULT")
	k.str("combineCQPreferCQType", &c.CombineCQPreferCQType, "DEFAULT")
	k.str("combineAssignOffsetCQType", &c.CombineAssignOffsetCQType, "DEFAULT")
	k.boolean("combineCQEnableCheckSelf", &c.CombineCQEnableCheckSelf, false)
	k.i32("combineCQMaxExtraSearchCommitLogFiles", &c.CombineCQMaxExtraSearchCommitLogFiles, 3)
	k.boolean("combineCQUseRocksdbForLmq", &c.CombineCQUseRocksdbForLMQ, false)
	k.str("bottomMostCompressionTypeForConsumeQueueStore", &c.BottomMostCompressionTypeForConsumeQueueStore, "zstd")
	k.str("rocksdbCompressionType", &c.RocksdbCompressionType, "lz4")
	k.i32("rocksdbFlushWalFrequency", &c.RocksdbFlushWalFrequency, 1024)
	k.i64("rocksdbWalFileRollingThreshold", &c.RocksdbWalFileRollingThreshold, 1073741824)
	k.boolean("enableAcceleratedRecovery", &c.EnableAcceleratedRecovery, false)
	k.i32("sharedByteBufferNum", &c.SharedByteBufferNum, 16)
	k.boolean("useSeparateStorePathForRocksdbCQ", &c.UseSeparateStorePathForRocksdbCQ, false)
	k.i32("spinLockCollisionRetreatOptimalDegree", &c.SpinLockCollisionRetreatOptimalDegree, 1000)
	k.boolean("useABSLock", &c.UseABSLock, false)
	k.boolean("enableLogConsumeQueueRepeatedlyBuildWhenRecover", &c.EnableLogConsumeQueueRepeatedlyBuildWhenRecover, false)
	k.boolean("appendTopicForTimerDeleteKey", &c.AppendTopicForTimerDeleteKey, false)
}

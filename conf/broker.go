package conf

// Broker holds the keys of the reference's class BrokerConfig.
type Broker struct {
	BrokerName                                     string
	BrokerClusterName                              string
	BrokerID                                       int64
	BrokerConfigPath                               string
	RocketmqHome                                   string
	NamesrvAddr                                    string
	ListenPort                                     int32
	BrokerIP1                                      string
	BrokerIP2                                      string
	RecoverConcurrently                            bool
	BrokerPermission                               int32
	DefaultTopicQueueNums                          int32
	AutoCreateTopicEnable                          bool
	ClusterTopicEnable                             bool
	BrokerTopicEnable                              bool
	AutoCreateSubscriptionGroup                    bool
	MessageStorePlugIn                             string
	MsgTraceTopicName                              string
	TraceTopicEnable                               bool
	SendMessageThreadPoolNums                      int32
	PutMessageFutureThreadPoolNums                 int32
	PullMessageThreadPoolNums                      int32
	LitePullMessageThreadPoolNums                  int32
	AckMessageThreadPoolNums                       int32
	ProcessReplyMessageThreadPoolNums              int32
	QueryMessageThreadPoolNums                     int32
	AdminBrokerThreadPoolNums                      int32
	ClientManageThreadPoolNums                     int32
	ConsumerManageThreadPoolNums                   int32
	LoadBalanceProcessorThreadPoolNums             int32
	HeartbeatThreadPoolNums                        int32
	RecoverThreadPoolNums                          int32
	EndTransactionThreadPoolNums                   int32
	FlushConsumerOffsetInterval                    int32
	FlushConsumerOffsetHistoryInterval             int32
	RejectTransactionMessage                       bool
	FetchNameSrvAddrByDnsLookup                    bool
	FetchNamesrvAddrByAddressServer                bool
	SendThreadPoolQueueCapacity                    int32
	PutThreadPoolQueueCapacity                     int32
	PullThreadPoolQueueCapacity                    int32
	LitePullThreadPoolQueueCapacity                int32
	AckThreadPoolQueueCapacity                     int32
	ReplyThreadPoolQueueCapacity                   int32
	QueryThreadPoolQueueCapacity                   int32
	ClientManagerThreadPoolQueueCapacity           int32
	ConsumerManagerThreadPoolQueueCapacity         int32
	HeartbeatThreadPoolQueueCapacity               int32
	EndTransactionPoolQueueCapacity                int32
	AdminBrokerThreadPoolQueueCapacity             int32
	LoadBalanceThreadPoolQueueCapacity             int32
	LongPollingEnable                              bool
	ShortPollingTimeMills                          int64
	NotifyConsumerIdsChangedEnable                 bool
	HighSpeedMode                                  bool
	CommercialBaseCount                            int32
	CommercialSizePerMsg                           int32
	AccountStatsEnable                             bool
	AccountStatsPrintZeroValues                    bool
	MaxStatsIdleTimeInMinutes                      int32
	TransferMsgByHeap                              bool
	RegionID                                       string
	RegisterBrokerTimeoutMills                     int32
	SendHeartbeatTimeoutMillis                     int32
	SlaveReadEnable                                bool
	DisableConsumeIfConsumerReadSlowly             bool
	ConsumerFallbehindThreshold                    int64
	BrokerFastFailureEnable                        bool
	WaitTimeMillsInSendQueue                       int64
	WaitTimeMillsInPullQueue                       int64
	WaitTimeMillsInLitePullQueue                   int64
	WaitTimeMillsInHeartbeatQueue                  int64
	WaitTimeMillsInTransactionQueue                int64
	WaitTimeMillsInAckQueue                        int64
	WaitTimeMillsInAdminBrokerQueue                int64
	StartAcceptSendRequestTimeStamp                int64
	TraceOn                                        bool
	EnableCalcFilterBitMap                         bool
	RejectPullConsumerEnable                       bool
	ExpectConsumerNumUseFilter                     int32
	MaxErrorRateOfBloomFilter                      int32
	FilterDataCleanTimeSpan                        int64
	FilterSupportRetry                             bool
	EnablePropertyFilter                           bool
	CompressedRegister                             bool
	ForceRegister                                  bool
	RegisterNameServerPeriod                       int32
	UpdateNameServerAddrPeriod                     int32
	BrokerHeartbeatInterval                        int32
	BrokerNotActiveTimeoutMillis                   int64
	EnableNetWorkFlowControl                       bool
	EnableBroadcastOffsetStore                     bool
	BroadcastOffsetExpireSecond                    int64
	BroadcastOffsetExpireMaxSecond                 int64
	PopPollingSize                                 int32
	PopPollingMapSize                              int32
	PopPollingMapExpireTimeSeconds                 int32
	MaxPopPollingSize                              int64
	ReviveQueueNum                                 int32
	ReviveInterval                                 int64
	ReviveMaxSlow                                  int64
	ReviveScanTime                                 int64
	EnableSkipLongAwaitingAck                      bool
	ReviveAckWaitMs                                int64
	EnablePopLog                                   bool
	EnablePopBufferMerge                           bool
	PopCKStayBufferTime                            int32
	PopCKStayBufferTimeOut                         int32
	PopCKMaxBufferSize                             int32
	PopCKOffsetMaxQueueSize                        int32
	EnablePopBatchAck                              bool
	PopLongPollingForceNotifyInterval              int64
	EnableNotifyBeforePopCalculateLag              bool
	EnableNotifyAfterPopOrderLockRelease           bool
	InitPopOffsetByCheckMsgInMem                   bool
	RetrieveMessageFromPopRetryTopicV1             bool
	EnableRetryTopicV2                             bool
	PopFromRetryProbability                        int32
	PopFromRetryProbabilityForPriority             int32
	PriorityOrderAsc                               bool
	PopConsumerFSServiceInit                       bool
	PopConsumerKVServiceLog                        bool
	PopConsumerKVServiceInit                       bool
	PopConsumerKVServiceEnable                     bool
	PopReviveMaxReturnSizePerRead                  int32
	PopReviveConcurrency                           int32
	PopReviveMaxAttemptTimes                       int32
	PopReviveSkipIfGroupAbsent                     bool
	UseSeparateRetryQueue                          bool
	RealTimeNotifyConsumerChange                   bool
	UseMessageFilterForNotification                bool
	MaxMessageFilterNumForNotification             int32
	LitePullMessageEnable                          bool
	SyncBrokerMemberGroupPeriod                    int32
	LoadBalancePollNameServerInterval              int64
	CleanOfflineBrokerInterval                     int32
	ServerLoadBalancerEnable                       bool
	DefaultMessageRequestMode                      string
	DefaultPopShareQueueNum                        int32
	TransactionTimeOut                             int64
	TransactionCheckMax                            int32
	TransactionCheckInterval                       int64
	TransactionMetricFlushInterval                 int64
	TransactionCheckRocksdbCoreThreads             int32
	TransactionCheckRocksdbMaxThreads              int32
	TransactionCheckRocksdbQueueCapacity           int32
	TransactionOpMsgMaxSize                        int32
	TransactionOpBatchInterval                     int32
	ACLEnable                                      bool
	StoreReplyMessageEnable                        bool
	EnableDetailStat                               bool
	AutoDeleteUnusedStats                          bool
	IsolateLogEnable                               bool
	ForwardTimeout                                 int64
	EnableSlaveActingMaster                        bool
	EnableRemoteEscape                             bool
	SkipPreOnline                                  bool
	AsyncSendEnable                                bool
	UseServerSideResetOffset                       bool
	ConsumerOffsetUpdateVersionStep                int64
	DelayOffsetUpdateVersionStep                   int64
	LockInStrictMode                               bool
	CompatibleWithOldNameSrv                       bool
	EnableControllerMode                           bool
	ControllerAddr                                 string
	FetchControllerAddrByDnsLookup                 bool
	SyncBrokerMetadataPeriod                       int64
	CheckSyncStateSetPeriod                        int64
	SyncControllerMetadataPeriod                   int64
	ControllerHeartBeatTimeoutMills                int64
	ValidateSystemTopicWhenUpdateTopic             bool
	BrokerElectionPriority                         int32
	UseStaticSubscription                          bool
	MetricsExporterType                            string
	MetricsOtelCardinalityLimit                    int32
	MetricsGRPCExporterTarget                      string
	MetricsGRPCExporterHeader                      string
	MetricGRPCExporterTimeOutInMills               int64
	MetricGRPCExporterIntervalInMills              int64
	MetricLoggingExporterIntervalInMills           int64
	MetricsPromExporterPort                        int32
	MetricsPromExporterHost                        string
	MetricsLabel                                   string
	MetricsExportBatchMaxDataPoints                int32
	MetricsInDelta                                 bool
	EnableRemotingMetrics                          bool
	EnableMessageStoreMetrics                      bool
	EnablePopMetrics                               bool
	EnableConnectionMetrics                        bool
	EnableTransactionMetrics                       bool
	EnableStatsMetrics                             bool
	EnableRequestMetrics                           bool
	EnableLagAndDLQMetrics                         bool
	ChannelExpiredTimeout                          int64
	SubscriptionExpiredTimeout                     int64
	EstimateAccumulation                           bool
	ColdCtrStrategyEnable                          bool
	UsePIDColdCtrStrategy                          bool
	CgColdReadThreshold                            int64
	GlobalColdReadThreshold                        int64
	FetchNamesrvAddrInterval                       int64
	PopResponseReturnActualRetryTopic              bool
	EnableSingleTopicRegister                      bool
	EnableMixedMessageType                         bool
	EnableSplitRegistration                        bool
	EnableSplitMetadata                            bool
	SplitMetadataSize                              int32
	PopInflightMessageThreshold                    int64
	EnablePopMessageThreshold                      bool
	EnableFastChannelEventProcess                  bool
	PrintChannelGroups                             bool
	PrintChannelGroupsMinNum                       int32
	SplitRegistrationSize                          int32
	ConfigBlackList                                string
	SkipWhenCKRePutReachMaxTimes                   bool
	AppendAckAsync                                 bool
	AppendCKAsync                                  bool
	ClearRetryTopicWhenDeleteTopic                 bool
	EnableLMQStats                                 bool
	ConfigManagerVersion                           string
	UseSingleRocksDBForAllConfigs                  bool
	AllowRecallWhenBrokerNotWriteable              bool
	RecallMessageEnable                            bool
	EnableRegisterProducer                         bool
	EnableCreateSysGroup                           bool
	EnableLiteEventMode                            bool
	LiteEventCheckInterval                         int64
	LiteTtlCheckInterval                           int64
	MinLiteTTl                                     int64
	LiteSubscriptionCheckInterval                  int64
	LiteSubscriptionCheckTimeoutMills              int64
	PersistConsumerOffsetIncrementally             bool
	MaxLiteSubscriptionCount                       int64
	EnableLitePopLog                               bool
	MaxClientEventCount                            int32
	LiteEventFullDispatchDelayTime                 int64
	LiteEventFullDispatchDelayTimeForWildcardGroup int64
	LiteLagLatencyCollectEnable                    bool
	LiteLagLatencyMetricsEnable                    bool
	LiteLagCountMetricsEnable                      bool
	LiteLagLatencyTopK                             int32
}

func (c *Broker) keys(k *keySet) {
	k.str("brokerName", &c.BrokerName, "")
	k.str("brokerClusterName", &c.BrokerClusterName, "DefaultCluster")
	k.i64("brokerId", &c.BrokerID, 0)
	k.str("brokerConfigPath", &c.BrokerConfigPath, "")
	k.str("rocketmqHome", &c.RocketmqHome, "")
	k.str("namesrvAddr", &c.NamesrvAddr, "")
	k.i32("listenPort", &c.ListenPort, 10911)
	k.str("brokerIP1", &c.BrokerIP1, "")
	k.str("brokerIP2", &c.BrokerIP2, "")
	k.boolean("recoverConcurrently", &c.RecoverConcurrently, false)
	k.i32("brokerPermission", &c.BrokerPermission, 6)
	k.i32("defaultTopicQueueNums", &c.DefaultTopicQueueNums, 8)
	k.boolean("autoCreateTopicEnable", &c.AutoCreateTopicEnable, true)
	k.boolean("clusterTopicEnable", &c.ClusterTopicEnable, true)
	k.boolean("brokerTopicEnable", &c.BrokerTopicEnable, true)
	k.boolean("autoCreateSubscriptionGroup", &c.AutoCreateSubscriptionGroup, true)
	k.str("messageStorePlugIn", &c.MessageStorePlugIn, "")
	k.str("msgTraceTopicName", &c.MsgTraceTopicName, "RMQ_SYS_TRACE_TOPIC")
	k.boolean("traceTopicEnable", &c.TraceTopicEnable, false)
	k.i32("sendMessageThreadPoolNums", &c.SendMessageThreadPoolNums, 4)
	k.i32("putMessageFutureThreadPoolNums", &c.PutMessageFutureThreadPoolNums, 4)
	k.i32("pullMessageThreadPoolNums", &c.PullMessageThreadPoolNums, 20)
	k.i32("litePullMessageThreadPoolNums", &c.LitePullMessageThreadPoolNums, 20)
	k.i32("ackMessageThreadPoolNums", &c.AckMessageThreadPoolNums, 16)
	k.i32("processReplyMessageThreadPoolNums", &c.ProcessReplyMessageThreadPoolNums, 20)
	k.i32("queryMessageThreadPoolNums", &c.QueryMessageThreadPoolNums, 10)
	k.i32("adminBrokerThreadPoolNums", &c.AdminBrokerThreadPoolNums, 16)
	k.i32("clientManageThreadPoolNums", &c.ClientManageThreadPoolNums, 32)
	k.i32("consumerManageThreadPoolNums", &c.ConsumerManageThreadPoolNums, 32)
	k.i32("loadBalanceProcessorThreadPoolNums", &c.LoadBalanceProcessorThreadPoolNums, 32)
	k.i32("heartbeatThreadPoolNums", &c.HeartbeatThreadPoolNums, 2)
	k.i32("recoverThreadPoolNums", &c.RecoverThreadPoolNums, 32)
	k.i32("endTransactionThreadPoolNums", &c.EndTransactionThreadPoolNums, 16)
	k.i32("flushConsumerOffsetInterval", &c.FlushConsumerOffsetInterval, 5000)
	k.i32("flushConsumerOffsetHistoryInterval", &c.FlushConsumerOffsetHistoryInterval, 60000)
	k.boolean("rejectTransactionMessage", &c.RejectTransactionMessage, false)
	k.boolean("fetchNameSrvAddrByDnsLookup", &c.FetchNameSrvAddrByDnsLookup, false)
	k.boolean("fetchNamesrvAddrByAddressServer", &c.FetchNamesrvAddrByAddressServer, false)
	k.i32("sendThreadPoolQueueCapacity", &c.SendThreadPoolQueueCapacity, 10000)
	k.i32("putThreadPoolQueueCapacity", &c.PutThreadPoolQueueCapacity, 10000)
	k.i32("pullThreadPoolQueueCapacity", &c.PullThreadPoolQueueCapacity, 100000)
	k.i32("litePullThreadPoolQueueCapacity", &c.LitePullThreadPoolQueueCapacity, 100000)
	k.i32("ackThreadPoolQueueCapacity", &c.AckThreadPoolQueueCapacity, 100000)
	k.i32("replyThreadPoolQueueCapacity", &c.ReplyThreadPoolQueueCapacity, 10000)
	k.i32("queryThreadPoolQueueCapacity", &c.QueryThreadPoolQueueCapacity, 20000)
	k.i32("clientManagerThreadPoolQueueCapacity", &c.ClientManagerThreadPoolQueueCapacity, 1000000)
	k.i32("consumerManagerThreadPoolQueueCapacity", &c.ConsumerManagerThreadPoolQueueCapacity, 1000000)
	k.i32("heartbeatThreadPoolQueueCapacity", &c.HeartbeatThreadPoolQueueCapacity, 50000)
	k.i32("endTransactionPoolQueueCapacity", &c.EndTransactionPoolQueueCapacity, 100000)
	k.i32("adminBrokerThreadPoolQueueCapacity", &c.AdminBrokerThreadPoolQueueCapacity, 10000)
	k.i32("loadBalanceThreadPoolQueueCapacity", &c.LoadBalanceThreadPoolQueueCapacity, 100000)
	k.boolean("longPollingEnable", &c.LongPollingEnable, true)
	k.i64("shortPollingTimeMills", &c.ShortPollingTimeMills, 1000)
	k.boolean("notifyConsumerIdsChangedEnable", &c.NotifyConsumerIdsChangedEnable, true)
	k.boolean("highSpeedMode", &c.HighSpeedMode, false)
	k.i32("commercialBaseCount", &c.CommercialBaseCount, 1)
	k.i32("commercialSizePerMsg", &c.CommercialSizePerMsg, 4096)
	k.boolean("accountStatsEnable", &c.AccountStatsEnable, true)
	k.boolean("accountStatsPrintZeroValues", &c.AccountStatsPrintZeroValues, true)
	k.i32("maxStatsIdleTimeInMinutes", &c.MaxStatsIdleTimeInMinutes, -1)
	k.boolean("transferMsgByHeap", &c.TransferMsgByHeap, true)
	k.str("regionId", &c.RegionID, "DefaultRegion")
	k.i32("registerBrokerTimeoutMills", &c.RegisterBrokerTimeoutMills, 24000)
	k.i32("sendHeartbeatTimeoutMillis", &c.SendHeartbeatTimeoutMillis, 1000)
	k.boolean("slaveReadEnable", &c.SlaveReadEnable, false)
	k.boolean("disableConsumeIfConsumerReadSlowly", &c.DisableConsumeIfConsumerReadSlowly, false)
	k.i64("consumerFallbehindThreshold", &c.ConsumerFallbehindThreshold, 17179869184)
	k.boolean("brokerFastFailureEnable", &c.BrokerFastFailureEnable, true)
	k.i64("waitTimeMillsInSendQueue", &c.WaitTimeMillsInSendQueue, 200)
	k.i64("waitTimeMillsInPullQueue", &c.WaitTimeMillsInPullQueue, 5000)
	k.i64("waitTimeMillsInLitePullQueue", &c.WaitTimeMillsInLitePullQueue, 5000)
	k.i64("waitTimeMillsInHeartbeatQueue", &c.WaitTimeMillsInHeartbeatQueue, 31000)
	k.i64("waitTimeMillsInTransactionQueue", &c.WaitTimeMillsInTransactionQueue, 3000)
	k.i64("waitTimeMillsInAckQueue", &c.WaitTimeMillsInAckQueue, 3000)
	k.i64("waitTimeMillsInAdminBrokerQueue", &c.WaitTimeMillsInAdminBrokerQueue, 5000)
	k.i64("startAcceptSendRequestTimeStamp", &c.StartAcceptSendRequestTimeStamp, 0)
	k.boolean("traceOn", &c.TraceOn, true)
	k.boolean("enableCalcFilterBitMap", &c.EnableCalcFilterBitMap, false)
	k.boolean("rejectPullConsumerEnable", &c.RejectPullConsumerEnable, false)
	k.i32("expectConsumerNumUseFilter", &c.ExpectConsumerNumUseFilter, 32)
	k.i32("maxErrorRateOfBloomFilter", &c.MaxErrorRateOfBloomFilter, 20)
	k.i64("filterDataCleanTimeSpan", &c.FilterDataCleanTimeSpan, 86400000)
	k.boolean("filterSupportRetry", &c.FilterSupportRetry, false)
	k.boolean("enablePropertyFilter", &c.EnablePropertyFilter, false)
	k.boolean("compressedRegister", &c.CompressedRegister, false)
	k.boolean("forceRegister", &c.ForceRegister, true)
	k.i32("registerNameServerPeriod", &c.RegisterNameServerPeriod, 30000)
	k.i32("updateNameServerAddrPeriod", &c.UpdateNameServerAddrPeriod, 120000)
	k.i32("brokerHeartbeatInterval", &c.BrokerHeartbeatInterval, 1000)
	k.i64("brokerNotActiveTimeoutMillis", &c.BrokerNotActiveTimeoutMillis, 10000)
	k.boolean("enableNetWorkFlowControl", &c.EnableNetWorkFlowControl, false)
	k.boolean("enableBroadcastOffsetStore", &c.EnableBroadcastOffsetStore, true)
	k.i64("broadcastOffsetExpireSecond", &c.BroadcastOffsetExpireSecond, 120)
	k.i64("broadcastOffsetExpireMaxSecond", &c.BroadcastOffsetExpireMaxSecond, 300)
	k.i32("popPollingSize", &c.PopPollingSize, 1024)
	k.i32("popPollingMapSize", &c.PopPollingMapSize, 100000)
	k.i32("popPollingMapExpireTimeSeconds", &c.PopPollingMapExpireTimeSeconds, 600)
	k.i64("maxPopPollingSize", &c.MaxPopPollingSize, 100000)
	k.i32("reviveQueueNum", &c.ReviveQueueNum, 8)
	k.i64("reviveInterval", &c.ReviveInterval, 1000)
	k.i64("reviveMaxSlow", &c.ReviveMaxSlow, 3)
	k.i64("reviveScanTime", &c.ReviveScanTime, 10000)
	k.boolean("enableSkipLongAwaitingAck", &c.EnableSkipLongAwaitingAck, false)
	k.i64("reviveAckWaitMs", &c.ReviveAckWaitMs, 180000)
	k.boolean("enablePopLog", &c.EnablePopLog, false)
	k.boolean("enablePopBufferMerge", &c.EnablePopBufferMerge, false)
	k.i32("popCkStayBufferTime", &c.PopCKStayBufferTime, 10000)
	k.i32("popCkStayBufferTimeOut", &c.PopCKStayBufferTimeOut, 3000)
	k.i32("popCkMaxBufferSize", &c.PopCKMaxBufferSize, 200000)
	k.i32("popCkOffsetMaxQueueSize", &c.PopCKOffsetMaxQueueSize, 20000)
	k.boolean("enablePopBatchAck", &c.EnablePopBatchAck, false)
	k.i64("popLongPollingForceNotifyInterval", &c.PopLongPollingForceNotifyInterval, 800)
	k.boolean("enableNotifyBeforePopCalculateLag", &c.EnableNotifyBeforePopCalculateLag, true)
	k.boolean("enableNotifyAfterPopOrderLockRelease", &c.EnableNotifyAfterPopOrderLockRelease, true)
	k.boolean("initPopOffsetByCheckMsgInMem", &c.InitPopOffsetByCheckMsgInMem, true)
	k.boolean("retrieveMessageFromPopRetryTopicV1", &c.RetrieveMessageFromPopRetryTopicV1, true)
	k.boolean("enableRetryTopicV2", &c.EnableRetryTopicV2, false)
	k.i32("popFromRetryProbability", &c.PopFromRetryProbability, 20)
	k.i32("popFromRetryProbabilityForPriority", &c.PopFromRetryProbabilityForPriority, 0)
	k.boolean("priorityOrderAsc", &c.PriorityOrderAsc, true)
	k.boolean("popConsumerFSServiceInit", &c.PopConsumerFSServiceInit, true)
	k.boolean("popConsumerKVServiceLog", &c.PopConsumerKVServiceLog, false)
	k.boolean("popConsumerKVServiceInit", &c.PopConsumerKVServiceInit, false)
	k.boolean("popConsumerKVServiceEnable", &c.PopConsumerKVServiceEnable, false)
	k.i32("popReviveMaxReturnSizePerRead", &c.PopReviveMaxReturnSizePerRead, 16384)
	k.i32("popReviveConcurrency", &c.PopReviveConcurrency, 32)
	k.i32("popReviveMaxAttemptTimes", &c.PopReviveMaxAttemptTimes, 16)
	k.boolean("popReviveSkipIfGroupAbsent", &c.PopReviveSkipIfGroupAbsent, true)
	k.boolean("useSeparateRetryQueue", &c.UseSeparateRetryQueue, false)
	k.boolean("realTimeNotifyConsumerChange", &c.RealTimeNotifyConsumerChange, true)
	k.boolean("useMessageFilterForNotification", &c.UseMessageFilterForNotification, true)
	k.i32("maxMessageFilterNumForNotification", &c.MaxMessageFilterNumForNotification, 64)
	k.boolean("litePullMessageEnable", &c.LitePullMessageEnable, true)
	k.i32("syncBrokerMemberGroupPeriod", &c.SyncBrokerMemberGroupPeriod, 1000)
	k.i64("loadBalancePollNameServerInterval", &c.LoadBalancePollNameServerInterval, 30000)
	k.i32("cleanOfflineBrokerInterval", &c.CleanOfflineBrokerInterval, 30000)
	k.boolean("serverLoadBalancerEnable", &c.ServerLoadBalancerEnable, true)
	k.str("defaultMessageRequestMode", &c.DefaultMessageRequestMode, "PULL")
	k.i32("defaultPopShareQueueNum", &c.DefaultPopShareQueueNum, -1)
	k.i64("transactionTimeOut", &c.TransactionTimeOut, 6000)
	k.i32("transactionCheckMax", &c.TransactionCheckMax, 15)
	k.i64("transactionCheckInterval", &c.TransactionCheckInterval, 30000)
	k.i64("transactionMetricFlushInterval", &c.TransactionMetricFlushInterval, 10000)
	k.i32("transactionCheckRocksdbCoreThreads", &c.TransactionCheckRocksdbCoreThreads, 2)
	k.i32("transactionCheckRocksdbMaxThreads", &c.TransactionCheckRocksdbMaxThreads, 5)
	k.i32("transactionCheckRocksdbQueueCapacity", &c.TransactionCheckRocksdbQueueCapacity, 2000)
	k.i32("transactionOpMsgMaxSize", &c.TransactionOpMsgMaxSize, 4096)
	k.i32("transactionOpBatchInterval", &c.TransactionOpBatchInterval, 3000)
	k.boolean("aclEnable", &c.ACLEnable, false)
	k.boolean("storeReplyMessageEnable", &c.StoreReplyMessageEnable, true)
	k.boolean("enableDetailStat", &c.EnableDetailStat, true)
	k.boolean("autoDeleteUnusedStats", &c.AutoDeleteUnusedStats, true)
	k.boolean("isolateLogEnable", &c.IsolateLogEnable, false)
	k.i64("forwardTimeout", &c.ForwardTimeout, 3000)
	k.boolean("enableSlaveActingMaster", &c.EnableSlaveActingMaster, false)
	k.boolean("enableRemoteEscape", &c.EnableRemoteEscape, false)
	k.boolean("skipPreOnline", &c.SkipPreOnline, false)
	k.boolean("asyncSendEnable", &c.AsyncSendEnable, true)
	k.boolean("useServerSideResetOffset", &c.UseServerSideResetOffset, true)
	k.i64("consumerOffsetUpdateVersionStep", &c.ConsumerOffsetUpdateVersionStep, 500)
	k.i64("delayOffsetUpdateVersionStep", &c.DelayOffsetUpdateVersionStep, 200)
	k.boolean("lockInStrictMode", &c.LockInStrictMode, false)
	k.boolean("compatibleWithOldNameSrv", &c.CompatibleWithOldNameSrv, true)
	k.boolean("enableControllerMode", &c.EnableControllerMode, false)
	k.str("controllerAddr", &c.ControllerAddr, "")
	k.boolean("fetchControllerAddrByDnsLookup", &c.FetchControllerAddrByDnsLookup, false)
	k.i64("syncBrokerMetadataPeriod", &c.SyncBrokerMetadataPeriod, 5000)
	k.i64("checkSyncStateSetPeriod", &c.CheckSyncStateSetPeriod, 5000)
	k.i64("syncControllerMetadataPeriod", &c.SyncControllerMetadataPeriod, 10000)
	k.i64("controllerHeartBeatTimeoutMills", &c.ControllerHeartBeatTimeoutMills, 10000)
	k.boolean("validateSystemTopicWhenUpdateTopic", &c.ValidateSystemTopicWhenUpdateTopic, true)
	k.i32("brokerElectionPriority", &c.BrokerElectionPriority, 2147483647)
	k.boolean("useStaticSubscription", &c.UseStaticSubscription, false)
	k.str("metricsExporterType", &c.MetricsExporterType, "DISABLE")
	k.i32("metricsOtelCardinalityLimit", &c.MetricsOtelCardinalityLimit, 50000)
	k.str("metricsGrpcExporterTarget", &c.MetricsGRPCExporterTarget, "")
	k.str("metricsGrpcExporterHeader", &c.MetricsGRPCExporterHeader, "")
	k.i64("metricGrpcExporterTimeOutInMills", &c.MetricGRPCExporterTimeOutInMills, 3000)
	k.i64("metricGrpcExporterIntervalInMills", &c.MetricGRPCExporterIntervalInMills, 60000)
	k.i64("metricLoggingExporterIntervalInMills", &c.MetricLoggingExporterIntervalInMills, 10000)
	k.i32("metricsPromExporterPort", &c.MetricsPromExporterPort, 5557)
	k.str("metricsPromExporterHost", &c.MetricsPromExporterHost, "")
	k.str("metricsLabel", &c.MetricsLabel, "")
	k.i32("metricsExportBatchMaxDataPoints", &c.MetricsExportBatchMaxDataPoints, 1000)
	k.boolean("metricsInDelta", &c.MetricsInDelta, false)
	k.boolean("enableRemotingMetrics", &c.EnableRemotingMetrics, true)
	k.boolean("enableMessageStoreMetrics", &c.EnableMessageStoreMetrics, true)
	k.boolean("enablePopMetrics", &c.EnablePopMetrics, true)
	k.boolean("enableConnectionMetrics", &c.EnableConnectionMetrics, true)
	k.boolean("enableTransactionMetrics", &c.EnableTransactionMetrics, true)
	k.boolean("enableStatsMetrics", &c.EnableStatsMetrics, true)
	k.boolean("enableRequestMetrics", &c.EnableRequestMetrics, true)
	k.boolean("enableLagAndDlqMetrics", &c.EnableLagAndDLQMetrics, true)
	k.i64("channelExpiredTimeout", &c.ChannelExpiredTimeout, 120000)
	k.i64("subscriptionExpiredTimeout", &c.SubscriptionExpiredTimeout, 600000)
	k.boolean("estimateAccumulation", &c.EstimateAccumulation, true)
	k.boolean("coldCtrStrategyEnable", &c.ColdCtrStrategyEnable, false)
	k.boolean("usePIDColdCtrStrategy", &c.UsePIDColdCtrStrategy, true)
	k.i64("cgColdReadThreshold", &c.CgColdReadThreshold, 3145728)
	k.i64("globalColdReadThreshold", &c.GlobalColdReadThreshold, 104857600)
	k.i64("fetchNamesrvAddrInterval", &c.FetchNamesrvAddrInterval, 10000)
	k.boolean("popResponseReturnActualRetryTopic", &c.PopResponseReturnActualRetryTopic, false)
	k.boolean("enableSingleTopicRegister", &c.EnableSingleTopicRegister, false)
	k.boolean("enableMixedMessageType", &c.EnableMixedMessageType, false)
	k.boolean("enableSplitRegistration", &c.EnableSplitRegistration, false)
	k.boolean("enableSplitMetadata", &c.EnableSplitMetadata, true)
	k.i32("splitMetadataSize", &c.SplitMetadataSize, 2000)
	k.i64("popInflightMessageThreshold", &c.PopInflightMessageThreshold, 10000)
	k.boolean("enablePopMessageThreshold", &c.EnablePopMessageThreshold, false)
	k.boolean("enableFastChannelEventProcess", &c.EnableFastChannelEventProcess, false)
	k.boolean("printChannelGroups", &c.PrintChannelGroups, false)
	k.i32("printChannelGroupsMinNum", &c.PrintChannelGroupsMinNum, 5)
	k.i32("splitRegistrationSize", &c.SplitRegistrationSize, 800)
	k.str("configBlackList", &c.ConfigBlackList, "configBlackList;brokerConfigPath")
	k.boolean("skipWhenCKRePutReachMaxTimes", &c.SkipWhenCKRePutReachMaxTimes, false)
	k.boolean("appendAckAsync", &c.AppendAckAsync, false)
	k.boolean("appendCkAsync", &c.AppendCKAsync, false)
	k.boolean("clearRetryTopicWhenDeleteTopic", &c.ClearRetryTopicWhenDeleteTopic, true)
	k.boolean("enableLmqStats", &c.EnableLMQStats, false)
	k.str("configManagerVersion", &c.ConfigManagerVersion, "V1")
	k.boolean("useSingleRocksDBForAllConfigs", &c.UseSingleRocksDBForAllConfigs, false)
	k.boolean("allowRecallWhenBrokerNotWriteable", &c.AllowRecallWhenBrokerNotWriteable, true)
	k.boolean("recallMessageEnable", &c.RecallMessageEnable, false)
	k.boolean("enableRegisterProducer", &c.EnableRegisterProducer, true)
	k.boolean("enableCreateSysGroup", &c.EnableCreateSysGroup, true)
	k.boolean("enableLiteEventMode", &c.EnableLiteEventMode, true)
	k.i64("liteEventCheckInterval", &c.LiteEventCheckInterval, 10000)
	k.i64("liteTtlCheckInterval", &c.LiteTtlCheckInterval, 120000)
	k.i64("minLiteTTl", &c.MinLiteTTl, 900000)
	k.i64("liteSubscriptionCheckInterval", &c.LiteSubscriptionCheckInterval, 120000)
	k.i64("liteSubscriptionCheckTimeoutMills", &c.LiteSubscriptionCheckTimeoutMills, 180000)
	k.boolean("persistConsumerOffsetIncrementally", &c.PersistConsumerOffsetIncrementally, false)
	k.i64("maxLiteSubscriptionCount", &c.MaxLiteSubscriptionCount, 100000)
	k.boolean("enableLitePopLog", &c.EnableLitePopLog, false)
	k.i32("maxClientEventCount", &c.MaxClientEventCount, 100)
	k.i64("liteEventFullDispatchDelayTime", &c.LiteEventFullDispatchDelayTime, 10000)
	k.i64("liteEventFullDispatchDelayTimeForWildcardGroup", &c.LiteEventFullDispatchDelayTimeForWildcardGroup, 10000)
	k.boolean("liteLagLatencyCollectEnable", &c.LiteLagLatencyCollectEnable, false)
	k.boolean("liteLagLatencyMetricsEnable", &c.LiteLagLatencyMetricsEnable, false)
	k.boolean("liteLagCountMetricsEnable", &c.LiteLagCountMetricsEnable, false)
	k.i32("liteLagLatencyTopK", &c.LiteLagLatencyTopK, 50)
}

package conf

// Broker holds the keys of the reference's class BrokerConfig.
type Broker struct {
	// BrokerName: name of this broker in routes. Default: the host's name.
	BrokerName string
	// BrokerClusterName: cluster that this broker registers in. Default: DefaultCluster.
	BrokerClusterName string
	// BrokerID: 0 is the master; with brokerRole ASYNC_MASTER or SYNC_MASTER it is always 0. Default: 0.
	BrokerID            int64
	IsBrokerContainer   bool
	IsInBrokerContainer bool
	// BrokerConfigPath: file that run-time updates are saved to. Default: the properties or YAML file of -c, else
	// config/broker.properties in the store.
	BrokerConfigPath string
	RocketmqHome     string
	// NamesrvAddr: external name servers as HOST:PORT;HOST:PORT, also from the variable NAMESRV_ADDR. Default: empty.
	NamesrvAddr string
	// ListenPort: port that the broker listens on; 0 picks one. Default: 10911.
	ListenPort int32
	// BrokerIP1: host name or address that clients are told. Default: see advertise.
	BrokerIP1 string
	// BrokerIP2: address for replication. Default: brokerIP1.
	BrokerIP2           string
	RecoverConcurrently bool
	// BrokerPermission: bits 4 read and 2 write; a cleared bit is masked out of every registered topic. Default: 6.
	BrokerPermission int32
	// DefaultTopicQueueNums: queues of a topic created without a number, and the bound for those made by sending.
	// Default: 8.
	DefaultTopicQueueNums int32
	// AutoCreateTopicEnable: A send to an unknown topic creates it. Default: true.
	AutoCreateTopicEnable bool
	// ClusterTopicEnable: the topic named like the cluster may be inherited from. Default: true.
	ClusterTopicEnable bool
	// BrokerTopicEnable: the topic named like the broker may be inherited from. Default: true.
	BrokerTopicEnable bool
	// AutoCreateSubscriptionGroup: an unknown consumer group is created at its first heartbeat, pull or commit. Default:
	// true.
	AutoCreateSubscriptionGroup bool
	MessageStorePlugIn          string
	// MsgTraceTopicName: topic of the clients' trace messages. Default: RMQ_SYS_TRACE_TOPIC.
	MsgTraceTopicName string
	// TraceTopicEnable: create the trace topic at start. Default: false.
	TraceTopicEnable bool
	// SendMessageThreadPoolNums: workers of the lane for messages given back, at most 4. Default: the number of
	// processors, at most 4.
	SendMessageThreadPoolNums      int32
	PutMessageFutureThreadPoolNums int32
	// PullMessageThreadPoolNums: workers that read old messages for pulls, at most 4. Default: 16 and twice the number of
	// processors.
	PullMessageThreadPoolNums     int32
	LitePullMessageThreadPoolNums int32
	// AckMessageThreadPoolNums: workers of the pop lane, at most 4. Default: 16.
	AckMessageThreadPoolNums int32
	// ProcessReplyMessageThreadPoolNums: workers of the reply lane, at most 4. Default: 16 and twice the number of
	// processors.
	ProcessReplyMessageThreadPoolNums int32
	// QueryMessageThreadPoolNums: workers of the query lane, at most 2. Default: 8 and the number of processors.
	QueryMessageThreadPoolNums int32
	// AdminBrokerThreadPoolNums: workers of the admin lane, at most 2. Default: 16.
	AdminBrokerThreadPoolNums int32
	// ClientManageThreadPoolNums: workers of the client lane, at most 4. Default: 32.
	ClientManageThreadPoolNums int32
	// ConsumerManageThreadPoolNums: workers of the offset lane, at most 2. Default: 32.
	ConsumerManageThreadPoolNums       int32
	LoadBalanceProcessorThreadPoolNums int32
	HeartbeatThreadPoolNums            int32
	RecoverThreadPoolNums              int32
	// EndTransactionThreadPoolNums: workers of the transaction lane, at most 4. Default: 8 and twice the number of
	// processors, or 4 times sendMessageThreadPoolNums when that is more.
	EndTransactionThreadPoolNums int32
	// FlushConsumerOffsetInterval: how often consumer offsets are saved, in ms. Default: 5000.
	FlushConsumerOffsetInterval        int32
	FlushConsumerOffsetHistoryInterval int32
	// RejectTransactionMessage: refuse half messages. Default: false.
	RejectTransactionMessage        bool
	FetchNameSrvAddrByDNSLookup     bool
	FetchNamesrvAddrByAddressServer bool
	// SendThreadPoolQueueCapacity: requests that may wait in the lane for messages given back, at most 10000; more are
	// answered SYSTEM_BUSY. Default: 10000.
	SendThreadPoolQueueCapacity int32
	PutThreadPoolQueueCapacity  int32
	// PullThreadPoolQueueCapacity: pulls that may wait for old messages to be read; more are answered SYSTEM_BUSY.
	// Default: 100000.
	PullThreadPoolQueueCapacity int32
	// LitePullThreadPoolQueueCapacity: shown in the runtime information only; lite pulls share the pull lane. Default:
	// 100000.
	LitePullThreadPoolQueueCapacity int32
	// AckThreadPoolQueueCapacity: requests that may wait in the pop lane; more are answered SYSTEM_BUSY. Default: 100000.
	AckThreadPoolQueueCapacity int32
	// ReplyThreadPoolQueueCapacity: requests that may wait in the reply lane; more are answered SYSTEM_BUSY. Default:
	// 10000.
	ReplyThreadPoolQueueCapacity int32
	// QueryThreadPoolQueueCapacity: requests that may wait in the query lane; more are answered SYSTEM_BUSY. Default:
	// 20000.
	QueryThreadPoolQueueCapacity         int32
	ClientManagerThreadPoolQueueCapacity int32
	// ConsumerManagerThreadPoolQueueCapacity: requests that may wait in the offset lane; more are answered SYSTEM_BUSY.
	// Default: 1000000.
	ConsumerManagerThreadPoolQueueCapacity int32
	// HeartbeatThreadPoolQueueCapacity: requests that may wait in the client lane; more are answered SYSTEM_BUSY.
	// Default: 50000.
	HeartbeatThreadPoolQueueCapacity int32
	// EndTransactionPoolQueueCapacity: requests that may wait in the transaction lane; more are answered SYSTEM_BUSY.
	// Default: 100000.
	EndTransactionPoolQueueCapacity int32
	// AdminBrokerThreadPoolQueueCapacity: requests that may wait in the admin lane; more are answered SYSTEM_BUSY.
	// Default: 10000.
	AdminBrokerThreadPoolQueueCapacity int32
	LoadBalanceThreadPoolQueueCapacity int32
	// LongPollingEnable: A pull that finds nothing waits for as long as the client allows. Default: true.
	LongPollingEnable bool
	// ShortPollingTimeMills: how long such a pull waits when longPollingEnable is off, in ms. Default: 1000.
	ShortPollingTimeMills int64
	// NotifyConsumerIdsChangedEnable: tell the members of a group at once when one comes or goes. Default: true.
	NotifyConsumerIdsChangedEnable bool //nolint:revive // Ids is the reference's word
	HighSpeedMode                  bool
	CommercialBaseCount            int32
	CommercialSizePerMsg           int32
	AccountStatsEnable             bool
	AccountStatsPrintZeroValues    bool
	// MaxStatsIdleTimeInMinutes: statistics of what was not used for so long are dropped, in minutes; -1 keeps them.
	// Default: -1.
	MaxStatsIdleTimeInMinutes int32
	TransferMsgByHeap         bool
	// RegionID: region written into messages for tracing. Default: DefaultRegion.
	RegionID string
	// RegisterBrokerTimeoutMills: longest wait for a name server's answer to a registration, in ms. Default: 24000.
	RegisterBrokerTimeoutMills int32
	// SendHeartbeatTimeoutMillis: longest wait for a name server's answer to a heartbeat, in ms. Default: 1000.
	SendHeartbeatTimeoutMillis int32
	// SlaveReadEnable: send slow readers to a slave. Default: false.
	SlaveReadEnable                    bool
	DisableConsumeIfConsumerReadSlowly bool
	ConsumerFallbehindThreshold        int64
	// BrokerFastFailureEnable: answer SYSTEM_BUSY to requests that waited too long in their lane. Default: true.
	BrokerFastFailureEnable bool
	// WaitTimeMillsInSendQueue: longest wait of a send in its lane, in ms. Default: 200.
	WaitTimeMillsInSendQueue     int64
	WaitTimeMillsInPullQueue     int64
	WaitTimeMillsInLitePullQueue int64
	// WaitTimeMillsInHeartbeatQueue: longest wait of a heartbeat in its lane, in ms. Default: 31000.
	WaitTimeMillsInHeartbeatQueue int64
	// WaitTimeMillsInTransactionQueue: longest wait of an end of transaction in its lane, in ms. Default: 3000.
	WaitTimeMillsInTransactionQueue int64
	// WaitTimeMillsInAckQueue: longest wait of an ack in its lane, in ms. Default: 3000.
	WaitTimeMillsInAckQueue int64
	// WaitTimeMillsInAdminBrokerQueue: longest wait of an admin request in its lane, in ms. Default: 5000.
	WaitTimeMillsInAdminBrokerQueue int64
	// StartAcceptSendRequestTimeStamp: sends are refused before this time, in ms since 1970. Default: 0.
	StartAcceptSendRequestTimeStamp int64
	// TraceOn: tell producers that tracing is on. Default: true.
	TraceOn                bool
	EnableCalcFilterBitMap bool
	// RejectPullConsumerEnable: refuse pulls of consumers that are not in a group's member list. Default: false.
	RejectPullConsumerEnable   bool
	ExpectConsumerNumUseFilter int32
	MaxErrorRateOfBloomFilter  int32
	FilterDataCleanTimeSpan    int64
	// FilterSupportRetry: filter retry topics too. Default: false.
	FilterSupportRetry bool
	// EnablePropertyFilter: allow SQL92 subscriptions. Default: true (the reference: false).
	EnablePropertyFilter bool
	// CompressedRegister: compress registrations. Default: false.
	CompressedRegister bool
	// ForceRegister: register every time, without asking first whether anything changed. Default: true.
	ForceRegister bool
	// RegisterNameServerPeriod: how often the broker registers with its name servers, in ms; kept within 10000 to 60000.
	// Default: 30000.
	RegisterNameServerPeriod   int32
	UpdateNameServerAddrPeriod int32
	// BrokerHeartbeatInterval: how often a name server is told that the broker lives when enableSlaveActingMaster is on,
	// in ms. Default: 1000.
	BrokerHeartbeatInterval int32
	// BrokerNotActiveTimeoutMillis: silence after which a name server drops the broker when enableSlaveActingMaster is
	// on, in ms. Default: 10000.
	BrokerNotActiveTimeoutMillis   int64
	EnableNetWorkFlowControl       bool
	EnableBroadcastOffsetStore     bool
	BroadcastOffsetExpireSecond    int64
	BroadcastOffsetExpireMaxSecond int64
	// PopPollingSize: held pops of one topic, group and queue. Default: 1024.
	PopPollingSize                 int32
	PopPollingMapSize              int32
	PopPollingMapExpireTimeSeconds int32
	// MaxPopPollingSize: held pops of the broker. Default: 100000.
	MaxPopPollingSize int64
	// ReviveQueueNum: queues of the revive topic. Default: 8.
	ReviveQueueNum                       int32
	ReviveInterval                       int64
	ReviveMaxSlow                        int64
	ReviveScanTime                       int64
	EnableSkipLongAwaitingAck            bool
	ReviveAckWaitMs                      int64
	EnablePopLog                         bool
	EnablePopBufferMerge                 bool
	PopCKStayBufferTime                  int32
	PopCKStayBufferTimeOut               int32
	PopCKMaxBufferSize                   int32
	PopCKOffsetMaxQueueSize              int32
	EnablePopBatchAck                    bool
	PopLongPollingForceNotifyInterval    int64
	EnableNotifyBeforePopCalculateLag    bool
	EnableNotifyAfterPopOrderLockRelease bool
	// InitPopOffsetByCheckMsgInMem: a new pop group starts at the first message while the queue begins at 0. Default:
	// true.
	InitPopOffsetByCheckMsgInMem bool
	// RetrieveMessageFromPopRetryTopicV1: read pop retry topics of the old naming too. Default: true.
	RetrieveMessageFromPopRetryTopicV1 bool
	// EnableRetryTopicV2: name pop retry topics with + between group and topic. Default: false.
	EnableRetryTopicV2 bool
	// PopFromRetryProbability: share of pops that look into the retry topic first, in percent. Default: 20.
	PopFromRetryProbability int32
	// PopFromRetryProbabilityForPriority: share of pops with priorities that look into the retry topic first, in percent.
	// Default: 0.
	PopFromRetryProbabilityForPriority int32
	// PriorityOrderAsc: 0 is the lowest priority. Default: true.
	PriorityOrderAsc              bool
	PopConsumerFSServiceInit      bool
	PopConsumerKVServiceLog       bool
	PopConsumerKVServiceInit      bool
	PopConsumerKVServiceEnable    bool
	PopReviveMaxReturnSizePerRead int32
	PopReviveConcurrency          int32
	PopReviveMaxAttemptTimes      int32
	PopReviveSkipIfGroupAbsent    bool
	// UseSeparateRetryQueue: pop retry topics have a queue for each queue of the topic. Default: false.
	UseSeparateRetryQueue        bool
	RealTimeNotifyConsumerChange bool
	// UseMessageFilterForNotification: held notifications wake up for messages that pass their filter only. Default:
	// true.
	UseMessageFilterForNotification bool
	// MaxMessageFilterNumForNotification: messages that are filtered before a held pop is woken. Default: 64.
	MaxMessageFilterNumForNotification int32
	// LitePullMessageEnable: serve LITE_PULL_MESSAGE. Default: true.
	LitePullMessageEnable       bool
	SyncBrokerMemberGroupPeriod int32
	// LoadBalancePollNameServerInterval: how long routes from external name servers are used for QUERY_ASSIGNMENT, ms. Default: 30000.
	LoadBalancePollNameServerInterval int64
	CleanOfflineBrokerInterval        int32
	// ServerLoadBalancerEnable: answer QUERY_ASSIGNMENT with the server's own balance. Default: true.
	ServerLoadBalancerEnable bool
	// DefaultMessageRequestMode: PULL or POP, for groups that did not say. Default: PULL.
	DefaultMessageRequestMode string
	// DefaultPopShareQueueNum: queues that a pop consumer shares; -1 all. Default: -1.
	DefaultPopShareQueueNum int32
	// TransactionTimeOut: age at which a half message is first checked, in ms. Default: 6000.
	TransactionTimeOut int64
	// TransactionCheckMax: checks after which a half message is given up. Default: 15.
	TransactionCheckMax int32
	// TransactionCheckInterval: how often half messages are looked through, in ms. Default: 30000.
	TransactionCheckInterval int64
	// TransactionMetricFlushInterval: how often the counts of half messages are saved, in ms; at least 100. Default:
	// 10000.
	TransactionMetricFlushInterval       int64
	TransactionCheckRocksdbCoreThreads   int32
	TransactionCheckRocksdbMaxThreads    int32
	TransactionCheckRocksdbQueueCapacity int32
	// TransactionOpMsgMaxSize: size of a record of ended transactions, in bytes. Default: 4096.
	TransactionOpMsgMaxSize    int32
	TransactionOpBatchInterval int32
	ACLEnable                  bool
	// StoreReplyMessageEnable: store the replies of request-reply. Default: true.
	StoreReplyMessageEnable bool
	// EnableDetailStat: keep statistics of each queue and group. Default: true.
	EnableDetailStat bool
	// AutoDeleteUnusedStats: drop the statistics of a topic or group with it. Default: true.
	AutoDeleteUnusedStats bool
	IsolateLogEnable      bool
	ForwardTimeout        int64
	// EnableSlaveActingMaster: a slave answers for a master that is gone; the name servers are told so. Default: false.
	EnableSlaveActingMaster bool
	EnableRemoteEscape      bool
	SkipPreOnline           bool
	AsyncSendEnable         bool
	// UseServerSideResetOffset: reset offsets on the broker, without the clients' help. Default: true.
	UseServerSideResetOffset bool
	// ConsumerOffsetUpdateVersionStep: commits after which the version of the offsets counts up. Default: 500.
	ConsumerOffsetUpdateVersionStep int64
	DelayOffsetUpdateVersionStep    int64
	LockInStrictMode                bool
	// CompatibleWithOldNameSrv: probe name servers in the way that old ones know too. Default: true.
	CompatibleWithOldNameSrv        bool
	EnableControllerMode            bool
	ControllerAddr                  string
	FetchControllerAddrByDNSLookup  bool
	SyncBrokerMetadataPeriod        int64
	CheckSyncStateSetPeriod         int64
	SyncControllerMetadataPeriod    int64
	ControllerHeartBeatTimeoutMills int64
	// ValidateSystemTopicWhenUpdateTopic: refuse to change system topics. Default: true.
	ValidateSystemTopicWhenUpdateTopic bool
	BrokerElectionPriority             int32
	UseStaticSubscription              bool
	// MetricsExporterType: PROM serves the metrics also on metricsPromExporterHost and metricsPromExporterPort, as the reference does;
	// OTLP_GRPC and LOG do nothing here. /metrics of httpPort is there whatever this says. Default: DISABLE.
	MetricsExporterType string
	// MetricsOtelCardinalityLimit: label sets of one metric; further ones are left out and counted. Default: 50000.
	MetricsOtelCardinalityLimit          int32
	MetricsGRPCExporterTarget            string
	MetricsGRPCExporterHeader            string
	MetricGRPCExporterTimeOutInMills     int64
	MetricGRPCExporterIntervalInMills    int64
	MetricLoggingExporterIntervalInMills int64
	// MetricsPromExporterPort: see metricsExporterType. Default: 5557.
	MetricsPromExporterPort int32
	// MetricsPromExporterHost: see metricsExporterType. Default: brokerIP1.
	MetricsPromExporterHost string
	// MetricsLabel: labels of all metrics, as NAME:VALUE,NAME:VALUE. Default: empty.
	MetricsLabel                    string
	MetricsExportBatchMaxDataPoints int32
	MetricsInDelta                  bool
	// EnableRemotingMetrics: measure and serve the latencies of requests. Default: true.
	EnableRemotingMetrics bool
	// EnableMessageStoreMetrics: serve the metrics of store, timers and delay levels. Default: true.
	EnableMessageStoreMetrics bool
	// EnablePopMetrics: serve the metrics of pop. Default: true.
	EnablePopMetrics bool
	// EnableConnectionMetrics: serve the metrics of connections. Default: true.
	EnableConnectionMetrics bool
	// EnableTransactionMetrics: serve the metrics of half messages. Default: true.
	EnableTransactionMetrics bool
	// EnableStatsMetrics: serve the metrics of messages and bytes in and out. Default: true.
	EnableStatsMetrics bool
	// EnableRequestMetrics: serve the latency of requests. Default: true.
	EnableRequestMetrics bool
	// EnableLagAndDLQMetrics: serve the lag of groups and their dead letters. Default: true.
	EnableLagAndDLQMetrics bool
	// ChannelExpiredTimeout: A client that is silent for so long leaves its groups, in ms. Default: 120000.
	ChannelExpiredTimeout int64
	// SubscriptionExpiredTimeout: A subscription that is not renewed for so long is dropped, in ms. Default: 600000.
	SubscriptionExpiredTimeout int64
	EstimateAccumulation       bool
	ColdCtrStrategyEnable      bool
	UsePIDColdCtrStrategy      bool
	// CgColdReadThreshold: only told in answers; reads of old data have a lane of their own. Bytes. Default: 3145728.
	CgColdReadThreshold int64
	// GlobalColdReadThreshold: shown in the cold data report only, in bytes. Default: 104857600.
	GlobalColdReadThreshold  int64
	FetchNamesrvAddrInterval int64
	// PopResponseReturnActualRetryTopic: show pop clients the retry topic's name. Default: false.
	PopResponseReturnActualRetryTopic bool
	EnableSingleTopicRegister         bool
	// EnableMixedMessageType: allow topics of type MIXED. Default: false.
	EnableMixedMessageType bool
	// EnableSplitRegistration: register topics in pieces of splitRegistrationSize. Default: false.
	EnableSplitRegistration bool
	// EnableSplitMetadata: answer topic and group lists in pages when the caller can read them. Default: true.
	EnableSplitMetadata bool
	// SplitMetadataSize: topics or groups of one such page. Default: 2000.
	SplitMetadataSize             int32
	PopInflightMessageThreshold   int64
	EnablePopMessageThreshold     bool
	EnableFastChannelEventProcess bool
	PrintChannelGroups            bool
	PrintChannelGroupsMinNum      int32
	// SplitRegistrationSize: topics of one registration when enableSplitRegistration is on. Default: 800.
	SplitRegistrationSize int32
	// ConfigBlackList: keys that run-time updates may not change, separated by semicolons. Default:
	// configBlackList;brokerConfigPath.
	ConfigBlackList string
	// SkipWhenCKRePutReachMaxTimes: give up a pop checkpoint that could not be revived 17 times. Default: false.
	SkipWhenCKRePutReachMaxTimes bool
	AppendAckAsync               bool
	AppendCKAsync                bool
	// ClearRetryTopicWhenDeleteTopic: delete a topic's pop retry topics with it. Default: true.
	ClearRetryTopicWhenDeleteTopic bool
	EnableLMQStats                 bool
	ConfigManagerVersion           string
	UseSingleRocksDBForAllConfigs  bool
	// AllowRecallWhenBrokerNotWriteable: timed messages can be recalled while the broker takes no sends. Default: true.
	AllowRecallWhenBrokerNotWriteable bool
	// RecallMessageEnable: timed messages can be recalled. Default: false.
	RecallMessageEnable bool
	// EnableRegisterProducer: keep a table of producers. Default: true.
	EnableRegisterProducer bool
	// EnableCreateSysGroup: create the tools' groups at start. Default: true.
	EnableCreateSysGroup                           bool
	EnableLiteEventMode                            bool
	LiteEventCheckInterval                         int64
	LiteTTLCheckInterval                           int64
	MinLiteTTL                                     int64
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

package remoting

// Request codes (org.apache.rocketmq.remoting.protocol.RequestCode).
const (
	SendMessage                          int32 = 10
	PullMessage                          int32 = 11
	QueryMessage                         int32 = 12
	QueryBrokerOffset                    int32 = 13
	QueryConsumerOffset                  int32 = 14
	UpdateConsumerOffset                 int32 = 15
	UpdateAndCreateTopic                 int32 = 17
	UpdateAndCreateTopicList             int32 = 18
	GetAllTopicConfig                    int32 = 21
	GetTopicConfigList                   int32 = 22
	GetTopicNameList                     int32 = 23
	UpdateBrokerConfig                   int32 = 25
	GetBrokerConfig                      int32 = 26
	TriggerDeleteFiles                   int32 = 27
	GetBrokerRuntimeInfo                 int32 = 28
	SearchOffsetByTimestamp              int32 = 29
	GetMaxOffset                         int32 = 30
	GetMinOffset                         int32 = 31
	GetEarliestMsgStoretime              int32 = 32
	ViewMessageByID                      int32 = 33
	HeartBeat                            int32 = 34
	UnregisterClient                     int32 = 35
	ConsumerSendMsgBack                  int32 = 36
	EndTransaction                       int32 = 37
	GetConsumerListByGroup               int32 = 38
	CheckTransactionState                int32 = 39
	NotifyConsumerIDsChanged             int32 = 40
	LockBatchMQ                          int32 = 41
	UnlockBatchMQ                        int32 = 42
	GetAllConsumerOffset                 int32 = 43
	GetAllDelayOffset                    int32 = 45
	CheckClientConfig                    int32 = 46
	GetClientConfig                      int32 = 47
	GetTimerCheckPoint                   int32 = 60
	GetTimerMetrics                      int32 = 61
	PopMessage                           int32 = 200050
	AckMessage                           int32 = 200051
	BatchAckMessage                      int32 = 200151
	PeekMessage                          int32 = 200052
	ChangeMessageInvisibletime           int32 = 200053
	Notification                         int32 = 200054
	PollingInfo                          int32 = 200055
	PopRollback                          int32 = 200056
	PopLiteMessage                       int32 = 200070
	LiteSubscriptionCtl                  int32 = 200071
	AckLiteMessage                       int32 = 200072
	NotifyUnsubscribeLite                int32 = 200073
	GetBrokerLiteInfo                    int32 = 200074
	GetParentTopicInfo                   int32 = 200075
	GetLiteTopicInfo                     int32 = 200076
	GetLiteClientInfo                    int32 = 200077
	GetLiteGroupInfo                     int32 = 200078
	TriggerLiteDispatch                  int32 = 200079
	PutKVConfig                          int32 = 100
	GetKVConfig                          int32 = 101
	DeleteKVConfig                       int32 = 102
	RegisterBroker                       int32 = 103
	UnregisterBroker                     int32 = 104
	GetRouteinfoByTopic                  int32 = 105
	GetBrokerClusterInfo                 int32 = 106
	UpdateAndCreateSubscriptiongroup     int32 = 200
	GetAllSubscriptiongroupConfig        int32 = 201
	GetTopicStatsInfo                    int32 = 202
	GetConsumerConnectionList            int32 = 203
	GetProducerConnectionList            int32 = 204
	WipeWritePermOfBroker                int32 = 205
	GetAllTopicListFromNameserver        int32 = 206
	DeleteSubscriptiongroup              int32 = 207
	GetConsumeStats                      int32 = 208
	SuspendConsumer                      int32 = 209
	ResumeConsumer                       int32 = 210
	ResetConsumerOffsetInConsumer        int32 = 211
	ResetConsumerOffsetInBroker          int32 = 212
	AdjustConsumerThreadPool             int32 = 213
	WhoConsumeTheMessage                 int32 = 214
	DeleteTopicInBroker                  int32 = 215
	DeleteTopicInNamesrv                 int32 = 216
	RegisterTopicInNamesrv               int32 = 217
	GetKvlistByNamespace                 int32 = 219
	ResetConsumerClientOffset            int32 = 220
	GetConsumerStatusFromClient          int32 = 221
	InvokeBrokerToResetOffset            int32 = 222
	InvokeBrokerToGetConsumerStatus      int32 = 223
	QueryTopicConsumeByWho               int32 = 300
	GetTopicsByCluster                   int32 = 224
	UpdateAndCreateSubscriptiongroupList int32 = 225
	QueryTopicsByConsumer                int32 = 343
	QuerySubscriptionByConsumer          int32 = 345
	RegisterFilterServer                 int32 = 301
	RegisterMessageFilterClass           int32 = 302
	QueryConsumeTimeSpan                 int32 = 303
	GetSystemTopicListFromNS             int32 = 304
	GetSystemTopicListFromBroker         int32 = 305
	CleanExpiredConsumequeue             int32 = 306
	GetConsumerRunningInfo               int32 = 307
	QueryCorrectionOffset                int32 = 308
	ConsumeMessageDirectly               int32 = 309
	SendMessageV2                        int32 = 310
	GetUnitTopicList                     int32 = 311
	GetHasUnitSubTopicList               int32 = 312
	GetHasUnitSubUnunitTopicList         int32 = 313
	CloneGroupOffset                     int32 = 314
	ViewBrokerStatsData                  int32 = 315
	CleanUnusedTopic                     int32 = 316
	GetBrokerConsumeStats                int32 = 317
	UpdateNamesrvConfig                  int32 = 318
	GetNamesrvConfig                     int32 = 319
	SendBatchMessage                     int32 = 320
	QueryConsumeQueue                    int32 = 321
	QueryDataVersion                     int32 = 322
	ResumeCheckHalfMessage               int32 = 323
	SendReplyMessage                     int32 = 324
	SendReplyMessageV2                   int32 = 325
	PushReplyMessageToClient             int32 = 326
	AddWritePermOfBroker                 int32 = 327
	GetAllProducerInfo                   int32 = 328
	DeleteExpiredCommitlog               int32 = 329
	GetTopicConfig                       int32 = 351
	GetSubscriptiongroupConfig           int32 = 352
	UpdateAndGetGroupForbidden           int32 = 353
	CheckRocksdbCQWriteProgress          int32 = 354
	ExportRocksdbConfigToJSON            int32 = 355
	LitePullMessage                      int32 = 361
	RecallMessage                        int32 = 370
	QueryAssignment                      int32 = 400
	SetMessageRequestMode                int32 = 401
	GetAllMessageRequestMode             int32 = 402
	UpdateAndCreateStaticTopic           int32 = 513
	GetBrokerMemberGroup                 int32 = 901
	AddBroker                            int32 = 902
	RemoveBroker                         int32 = 903
	BrokerHeartbeat                      int32 = 904
	NotifyMinBrokerIDChange              int32 = 905
	ExchangeBrokerHAInfo                 int32 = 906
	GetBrokerHAStatus                    int32 = 907
	ResetMasterFlushOffset               int32 = 908
	ControllerAlterSyncStateSet          int32 = 1001
	ControllerElectMaster                int32 = 1002
	ControllerRegisterBroker             int32 = 1003
	ControllerGetReplicaInfo             int32 = 1004
	ControllerGetMetadataInfo            int32 = 1005
	ControllerGetSyncStateData           int32 = 1006
	GetBrokerEpochCache                  int32 = 1007
	NotifyBrokerRoleChanged              int32 = 1008
	UpdateControllerConfig               int32 = 1009
	GetControllerConfig                  int32 = 1010
	CleanBrokerData                      int32 = 1011
	ControllerGetNextBrokerID            int32 = 1012
	ControllerApplyBrokerID              int32 = 1013
	UpdateColdDataFlowCtrConfig          int32 = 2001
	RemoveColdDataFlowCtrConfig          int32 = 2002
	GetColdDataFlowCtrInfo               int32 = 2003
	SetCommitlogReadMode                 int32 = 2004
	AuthCreateUser                       int32 = 3001
	AuthUpdateUser                       int32 = 3002
	AuthDeleteUser                       int32 = 3003
	AuthGetUser                          int32 = 3004
	AuthListUser                         int32 = 3005
	AuthCreateACL                        int32 = 3006
	AuthUpdateACL                        int32 = 3007
	AuthDeleteACL                        int32 = 3008
	AuthGetACL                           int32 = 3009
	AuthListACL                          int32 = 3010
	SwitchTimerEngine                    int32 = 5001
)

// requestCodeNames names a code as the reference spells it, for logs and remarks.
var requestCodeNames = map[int32]string{
	SendMessage:                          "SEND_MESSAGE",
	PullMessage:                          "PULL_MESSAGE",
	QueryMessage:                         "QUERY_MESSAGE",
	QueryBrokerOffset:                    "QUERY_BROKER_OFFSET",
	QueryConsumerOffset:                  "QUERY_CONSUMER_OFFSET",
	UpdateConsumerOffset:                 "UPDATE_CONSUMER_OFFSET",
	UpdateAndCreateTopic:                 "UPDATE_AND_CREATE_TOPIC",
	UpdateAndCreateTopicList:             "UPDATE_AND_CREATE_TOPIC_LIST",
	GetAllTopicConfig:                    "GET_ALL_TOPIC_CONFIG",
	GetTopicConfigList:                   "GET_TOPIC_CONFIG_LIST",
	GetTopicNameList:                     "GET_TOPIC_NAME_LIST",
	UpdateBrokerConfig:                   "UPDATE_BROKER_CONFIG",
	GetBrokerConfig:                      "GET_BROKER_CONFIG",
	TriggerDeleteFiles:                   "TRIGGER_DELETE_FILES",
	GetBrokerRuntimeInfo:                 "GET_BROKER_RUNTIME_INFO",
	SearchOffsetByTimestamp:              "SEARCH_OFFSET_BY_TIMESTAMP",
	GetMaxOffset:                         "GET_MAX_OFFSET",
	GetMinOffset:                         "GET_MIN_OFFSET",
	GetEarliestMsgStoretime:              "GET_EARLIEST_MSG_STORETIME",
	ViewMessageByID:                      "VIEW_MESSAGE_BY_ID",
	HeartBeat:                            "HEART_BEAT",
	UnregisterClient:                     "UNREGISTER_CLIENT",
	ConsumerSendMsgBack:                  "CONSUMER_SEND_MSG_BACK",
	EndTransaction:                       "END_TRANSACTION",
	GetConsumerListByGroup:               "GET_CONSUMER_LIST_BY_GROUP",
	CheckTransactionState:                "CHECK_TRANSACTION_STATE",
	NotifyConsumerIDsChanged:             "NOTIFY_CONSUMER_IDS_CHANGED",
	LockBatchMQ:                          "LOCK_BATCH_MQ",
	UnlockBatchMQ:                        "UNLOCK_BATCH_MQ",
	GetAllConsumerOffset:                 "GET_ALL_CONSUMER_OFFSET",
	GetAllDelayOffset:                    "GET_ALL_DELAY_OFFSET",
	CheckClientConfig:                    "CHECK_CLIENT_CONFIG",
	GetClientConfig:                      "GET_CLIENT_CONFIG",
	GetTimerCheckPoint:                   "GET_TIMER_CHECK_POINT",
	GetTimerMetrics:                      "GET_TIMER_METRICS",
	PopMessage:                           "POP_MESSAGE",
	AckMessage:                           "ACK_MESSAGE",
	BatchAckMessage:                      "BATCH_ACK_MESSAGE",
	PeekMessage:                          "PEEK_MESSAGE",
	ChangeMessageInvisibletime:           "CHANGE_MESSAGE_INVISIBLETIME",
	Notification:                         "NOTIFICATION",
	PollingInfo:                          "POLLING_INFO",
	PopRollback:                          "POP_ROLLBACK",
	PopLiteMessage:                       "POP_LITE_MESSAGE",
	LiteSubscriptionCtl:                  "LITE_SUBSCRIPTION_CTL",
	AckLiteMessage:                       "ACK_LITE_MESSAGE",
	NotifyUnsubscribeLite:                "NOTIFY_UNSUBSCRIBE_LITE",
	GetBrokerLiteInfo:                    "GET_BROKER_LITE_INFO",
	GetParentTopicInfo:                   "GET_PARENT_TOPIC_INFO",
	GetLiteTopicInfo:                     "GET_LITE_TOPIC_INFO",
	GetLiteClientInfo:                    "GET_LITE_CLIENT_INFO",
	GetLiteGroupInfo:                     "GET_LITE_GROUP_INFO",
	TriggerLiteDispatch:                  "TRIGGER_LITE_DISPATCH",
	PutKVConfig:                          "PUT_KV_CONFIG",
	GetKVConfig:                          "GET_KV_CONFIG",
	DeleteKVConfig:                       "DELETE_KV_CONFIG",
	RegisterBroker:                       "REGISTER_BROKER",
	UnregisterBroker:                     "UNREGISTER_BROKER",
	GetRouteinfoByTopic:                  "GET_ROUTEINFO_BY_TOPIC",
	GetBrokerClusterInfo:                 "GET_BROKER_CLUSTER_INFO",
	UpdateAndCreateSubscriptiongroup:     "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
	GetAllSubscriptiongroupConfig:        "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
	GetTopicStatsInfo:                    "GET_TOPIC_STATS_INFO",
	GetConsumerConnectionList:            "GET_CONSUMER_CONNECTION_LIST",
	GetProducerConnectionList:            "GET_PRODUCER_CONNECTION_LIST",
	WipeWritePermOfBroker:                "WIPE_WRITE_PERM_OF_BROKER",
	GetAllTopicListFromNameserver:        "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
	DeleteSubscriptiongroup:              "DELETE_SUBSCRIPTIONGROUP",
	GetConsumeStats:                      "GET_CONSUME_STATS",
	SuspendConsumer:                      "SUSPEND_CONSUMER",
	ResumeConsumer:                       "RESUME_CONSUMER",
	ResetConsumerOffsetInConsumer:        "RESET_CONSUMER_OFFSET_IN_CONSUMER",
	ResetConsumerOffsetInBroker:          "RESET_CONSUMER_OFFSET_IN_BROKER",
	AdjustConsumerThreadPool:             "ADJUST_CONSUMER_THREAD_POOL",
	WhoConsumeTheMessage:                 "WHO_CONSUME_THE_MESSAGE",
	DeleteTopicInBroker:                  "DELETE_TOPIC_IN_BROKER",
	DeleteTopicInNamesrv:                 "DELETE_TOPIC_IN_NAMESRV",
	RegisterTopicInNamesrv:               "REGISTER_TOPIC_IN_NAMESRV",
	GetKvlistByNamespace:                 "GET_KVLIST_BY_NAMESPACE",
	ResetConsumerClientOffset:            "RESET_CONSUMER_CLIENT_OFFSET",
	GetConsumerStatusFromClient:          "GET_CONSUMER_STATUS_FROM_CLIENT",
	InvokeBrokerToResetOffset:            "INVOKE_BROKER_TO_RESET_OFFSET",
	InvokeBrokerToGetConsumerStatus:      "INVOKE_BROKER_TO_GET_CONSUMER_STATUS",
	QueryTopicConsumeByWho:               "QUERY_TOPIC_CONSUME_BY_WHO",
	GetTopicsByCluster:                   "GET_TOPICS_BY_CLUSTER",
	UpdateAndCreateSubscriptiongroupList: "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST",
	QueryTopicsByConsumer:                "QUERY_TOPICS_BY_CONSUMER",
	QuerySubscriptionByConsumer:          "QUERY_SUBSCRIPTION_BY_CONSUMER",
	RegisterFilterServer:                 "REGISTER_FILTER_SERVER",
	RegisterMessageFilterClass:           "REGISTER_MESSAGE_FILTER_CLASS",
	QueryConsumeTimeSpan:                 "QUERY_CONSUME_TIME_SPAN",
	GetSystemTopicListFromNS:             "GET_SYSTEM_TOPIC_LIST_FROM_NS",
	GetSystemTopicListFromBroker:         "GET_SYSTEM_TOPIC_LIST_FROM_BROKER",
	CleanExpiredConsumequeue:             "CLEAN_EXPIRED_CONSUMEQUEUE",
	GetConsumerRunningInfo:               "GET_CONSUMER_RUNNING_INFO",
	QueryCorrectionOffset:                "QUERY_CORRECTION_OFFSET",
	ConsumeMessageDirectly:               "CONSUME_MESSAGE_DIRECTLY",
	SendMessageV2:                        "SEND_MESSAGE_V2",
	GetUnitTopicList:                     "GET_UNIT_TOPIC_LIST",
	GetHasUnitSubTopicList:               "GET_HAS_UNIT_SUB_TOPIC_LIST",
	GetHasUnitSubUnunitTopicList:         "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST",
	CloneGroupOffset:                     "CLONE_GROUP_OFFSET",
	ViewBrokerStatsData:                  "VIEW_BROKER_STATS_DATA",
	CleanUnusedTopic:                     "CLEAN_UNUSED_TOPIC",
	GetBrokerConsumeStats:                "GET_BROKER_CONSUME_STATS",
	UpdateNamesrvConfig:                  "UPDATE_NAMESRV_CONFIG",
	GetNamesrvConfig:                     "GET_NAMESRV_CONFIG",
	SendBatchMessage:                     "SEND_BATCH_MESSAGE",
	QueryConsumeQueue:                    "QUERY_CONSUME_QUEUE",
	QueryDataVersion:                     "QUERY_DATA_VERSION",
	ResumeCheckHalfMessage:               "RESUME_CHECK_HALF_MESSAGE",
	SendReplyMessage:                     "SEND_REPLY_MESSAGE",
	SendReplyMessageV2:                   "SEND_REPLY_MESSAGE_V2",
	PushReplyMessageToClient:             "PUSH_REPLY_MESSAGE_TO_CLIENT",
	AddWritePermOfBroker:                 "ADD_WRITE_PERM_OF_BROKER",
	GetAllProducerInfo:                   "GET_ALL_PRODUCER_INFO",
	DeleteExpiredCommitlog:               "DELETE_EXPIRED_COMMITLOG",
	GetTopicConfig:                       "GET_TOPIC_CONFIG",
	GetSubscriptiongroupConfig:           "GET_SUBSCRIPTIONGROUP_CONFIG",
	UpdateAndGetGroupForbidden:           "UPDATE_AND_GET_GROUP_FORBIDDEN",
	CheckRocksdbCQWriteProgress:          "CHECK_ROCKSDB_CQ_WRITE_PROGRESS",
	ExportRocksdbConfigToJSON:            "EXPORT_ROCKSDB_CONFIG_TO_JSON",
	LitePullMessage:                      "LITE_PULL_MESSAGE",
	RecallMessage:                        "RECALL_MESSAGE",
	QueryAssignment:                      "QUERY_ASSIGNMENT",
	SetMessageRequestMode:                "SET_MESSAGE_REQUEST_MODE",
	GetAllMessageRequestMode:             "GET_ALL_MESSAGE_REQUEST_MODE",
	UpdateAndCreateStaticTopic:           "UPDATE_AND_CREATE_STATIC_TOPIC",
	GetBrokerMemberGroup:                 "GET_BROKER_MEMBER_GROUP",
	AddBroker:                            "ADD_BROKER",
	RemoveBroker:                         "REMOVE_BROKER",
	BrokerHeartbeat:                      "BROKER_HEARTBEAT",
	NotifyMinBrokerIDChange:              "NOTIFY_MIN_BROKER_ID_CHANGE",
	ExchangeBrokerHAInfo:                 "EXCHANGE_BROKER_HA_INFO",
	GetBrokerHAStatus:                    "GET_BROKER_HA_STATUS",
	ResetMasterFlushOffset:               "RESET_MASTER_FLUSH_OFFSET",
	ControllerAlterSyncStateSet:          "CONTROLLER_ALTER_SYNC_STATE_SET",
	ControllerElectMaster:                "CONTROLLER_ELECT_MASTER",
	ControllerRegisterBroker:             "CONTROLLER_REGISTER_BROKER",
	ControllerGetReplicaInfo:             "CONTROLLER_GET_REPLICA_INFO",
	ControllerGetMetadataInfo:            "CONTROLLER_GET_METADATA_INFO",
	ControllerGetSyncStateData:           "CONTROLLER_GET_SYNC_STATE_DATA",
	GetBrokerEpochCache:                  "GET_BROKER_EPOCH_CACHE",
	NotifyBrokerRoleChanged:              "NOTIFY_BROKER_ROLE_CHANGED",
	UpdateControllerConfig:               "UPDATE_CONTROLLER_CONFIG",
	GetControllerConfig:                  "GET_CONTROLLER_CONFIG",
	CleanBrokerData:                      "CLEAN_BROKER_DATA",
	ControllerGetNextBrokerID:            "CONTROLLER_GET_NEXT_BROKER_ID",
	ControllerApplyBrokerID:              "CONTROLLER_APPLY_BROKER_ID",
	UpdateColdDataFlowCtrConfig:          "UPDATE_COLD_DATA_FLOW_CTR_CONFIG",
	RemoveColdDataFlowCtrConfig:          "REMOVE_COLD_DATA_FLOW_CTR_CONFIG",
	GetColdDataFlowCtrInfo:               "GET_COLD_DATA_FLOW_CTR_INFO",
	SetCommitlogReadMode:                 "SET_COMMITLOG_READ_MODE",
	AuthCreateUser:                       "AUTH_CREATE_USER",
	AuthUpdateUser:                       "AUTH_UPDATE_USER",
	AuthDeleteUser:                       "AUTH_DELETE_USER",
	AuthGetUser:                          "AUTH_GET_USER",
	AuthListUser:                         "AUTH_LIST_USER",
	AuthCreateACL:                        "AUTH_CREATE_ACL",
	AuthUpdateACL:                        "AUTH_UPDATE_ACL",
	AuthDeleteACL:                        "AUTH_DELETE_ACL",
	AuthGetACL:                           "AUTH_GET_ACL",
	AuthListACL:                          "AUTH_LIST_ACL",
	SwitchTimerEngine:                    "SWITCH_TIMER_ENGINE",
}

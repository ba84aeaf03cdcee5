package remoting

// Response codes (ResponseCode, RemotingSysResponseCode).
const (
	Success                              int32 = 0
	SystemError                          int32 = 1
	SystemBusy                           int32 = 2
	RequestCodeNotSupported              int32 = 3
	TransactionFailed                    int32 = 4
	FlushDiskTimeout                     int32 = 10
	SlaveNotAvailable                    int32 = 11
	FlushSlaveTimeout                    int32 = 12
	MessageIllegal                       int32 = 13
	ServiceNotAvailable                  int32 = 14
	VersionNotSupported                  int32 = 15
	NoPermission                         int32 = 16
	TopicNotExist                        int32 = 17
	TopicExistAlready                    int32 = 18
	PullNotFound                         int32 = 19
	PullRetryImmediately                 int32 = 20
	PullOffsetMoved                      int32 = 21
	QueryNotFound                        int32 = 22
	SubscriptionParseFailed              int32 = 23
	SubscriptionNotExist                 int32 = 24
	SubscriptionNotLatest                int32 = 25
	SubscriptionGroupNotExist            int32 = 26
	FilterDataNotExist                   int32 = 27
	FilterDataNotLatest                  int32 = 28
	InvalidParameter                     int32 = 29
	TransactionShouldCommit              int32 = 200
	TransactionShouldRollback            int32 = 201
	TransactionStateUnknow               int32 = 202
	TransactionStateGroupWrong           int32 = 203
	NoBuyerID                            int32 = 204
	NotInCurrentUnit                     int32 = 205
	ConsumerNotOnline                    int32 = 206
	ConsumeMsgTimeout                    int32 = 207
	NoMessage                            int32 = 208
	PollingFull                          int32 = 209
	PollingTimeout                       int32 = 210
	BrokerNotExist                       int32 = 211
	BrokerDispatchNotComplete            int32 = 212
	BroadcastConsumption                 int32 = 213
	FlowControl                          int32 = 215
	NotLeaderForQueue                    int32 = 501
	IllegalOperation                     int32 = 604
	RPCUnknown                           int32 = -1000
	RPCAddrIsNull                        int32 = -1002
	RPCSendToChannelFailed               int32 = -1004
	RPCTimeOut                           int32 = -1006
	GoAway                               int32 = 1500
	ControllerFencedMasterEpoch          int32 = 2000
	ControllerFencedSyncStateSetEpoch    int32 = 2001
	ControllerInvalidMaster              int32 = 2002
	ControllerInvalidReplicas            int32 = 2003
	ControllerMasterNotAvailable         int32 = 2004
	ControllerInvalidRequest             int32 = 2005
	ControllerBrokerNotAlive             int32 = 2006
	ControllerNotLeader                  int32 = 2007
	ControllerBrokerMetadataNotExist     int32 = 2008
	ControllerInvalidCleanBrokerMetadata int32 = 2009
	ControllerBrokerNeedToBeRegistered   int32 = 2010
	ControllerMasterStillExist           int32 = 2011
	ControllerElectMasterFailed          int32 = 2012
	ControllerAlterSyncStateSetFailed    int32 = 2013
	ControllerBrokerIDInvalid            int32 = 2014
	ControllerJraftInternalError         int32 = 2015
	ControllerBrokerLiveInfoNotExists    int32 = 2016
	LMQQuotaExceeded                     int32 = 2017
	LiteSubscriptionQuotaExceeded        int32 = 2018
	UserNotExist                         int32 = 3001
	PolicyNotExist                       int32 = 3002
)

// responseCodeNames names a code as the reference spells it, for logs and remarks.
var responseCodeNames = map[int32]string{
	Success:                              "SUCCESS",
	SystemError:                          "SYSTEM_ERROR",
	SystemBusy:                           "SYSTEM_BUSY",
	RequestCodeNotSupported:              "REQUEST_CODE_NOT_SUPPORTED",
	TransactionFailed:                    "TRANSACTION_FAILED",
	FlushDiskTimeout:                     "FLUSH_DISK_TIMEOUT",
	SlaveNotAvailable:                    "SLAVE_NOT_AVAILABLE",
	FlushSlaveTimeout:                    "FLUSH_SLAVE_TIMEOUT",
	MessageIllegal:                       "MESSAGE_ILLEGAL",
	ServiceNotAvailable:                  "SERVICE_NOT_AVAILABLE",
	VersionNotSupported:                  "VERSION_NOT_SUPPORTED",
	NoPermission:                         "NO_PERMISSION",
	TopicNotExist:                        "TOPIC_NOT_EXIST",
	TopicExistAlready:                    "TOPIC_EXIST_ALREADY",
	PullNotFound:                         "PULL_NOT_FOUND",
	PullRetryImmediately:                 "PULL_RETRY_IMMEDIATELY",
	PullOffsetMoved:                      "PULL_OFFSET_MOVED",
	QueryNotFound:                        "QUERY_NOT_FOUND",
	SubscriptionParseFailed:              "SUBSCRIPTION_PARSE_FAILED",
	SubscriptionNotExist:                 "SUBSCRIPTION_NOT_EXIST",
	SubscriptionNotLatest:                "SUBSCRIPTION_NOT_LATEST",
	SubscriptionGroupNotExist:            "SUBSCRIPTION_GROUP_NOT_EXIST",
	FilterDataNotExist:                   "FILTER_DATA_NOT_EXIST",
	FilterDataNotLatest:                  "FILTER_DATA_NOT_LATEST",
	InvalidParameter:                     "INVALID_PARAMETER",
	TransactionShouldCommit:              "TRANSACTION_SHOULD_COMMIT",
	TransactionShouldRollback:            "TRANSACTION_SHOULD_ROLLBACK",
	TransactionStateUnknow:               "TRANSACTION_STATE_UNKNOW",
	TransactionStateGroupWrong:           "TRANSACTION_STATE_GROUP_WRONG",
	NoBuyerID:                            "NO_BUYER_ID",
	NotInCurrentUnit:                     "NOT_IN_CURRENT_UNIT",
	ConsumerNotOnline:                    "CONSUMER_NOT_ONLINE",
	ConsumeMsgTimeout:                    "CONSUME_MSG_TIMEOUT",
	NoMessage:                            "NO_MESSAGE",
	PollingFull:                          "POLLING_FULL",
	PollingTimeout:                       "POLLING_TIMEOUT",
	BrokerNotExist:                       "BROKER_NOT_EXIST",
	BrokerDispatchNotComplete:            "BROKER_DISPATCH_NOT_COMPLETE",
	BroadcastConsumption:                 "BROADCAST_CONSUMPTION",
	FlowControl:                          "FLOW_CONTROL",
	NotLeaderForQueue:                    "NOT_LEADER_FOR_QUEUE",
	IllegalOperation:                     "ILLEGAL_OPERATION",
	RPCUnknown:                           "RPC_UNKNOWN",
	RPCAddrIsNull:                        "RPC_ADDR_IS_NULL",
	RPCSendToChannelFailed:               "RPC_SEND_TO_CHANNEL_FAILED",
	RPCTimeOut:                           "RPC_TIME_OUT",
	GoAway:                               "GO_AWAY",
	ControllerFencedMasterEpoch:          "CONTROLLER_FENCED_MASTER_EPOCH",
	ControllerFencedSyncStateSetEpoch:    "CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH",
	ControllerInvalidMaster:              "CONTROLLER_INVALID_MASTER",
	ControllerInvalidReplicas:            "CONTROLLER_INVALID_REPLICAS",
	ControllerMasterNotAvailable:         "CONTROLLER_MASTER_NOT_AVAILABLE",
	ControllerInvalidRequest:             "CONTROLLER_INVALID_REQUEST",
	ControllerBrokerNotAlive:             "CONTROLLER_BROKER_NOT_ALIVE",
	ControllerNotLeader:                  "CONTROLLER_NOT_LEADER",
	ControllerBrokerMetadataNotExist:     "CONTROLLER_BROKER_METADATA_NOT_EXIST",
	ControllerInvalidCleanBrokerMetadata: "CONTROLLER_INVALID_CLEAN_BROKER_METADATA",
	ControllerBrokerNeedToBeRegistered:   "CONTROLLER_BROKER_NEED_TO_BE_REGISTERED",
	ControllerMasterStillExist:           "CONTROLLER_MASTER_STILL_EXIST",
	ControllerElectMasterFailed:          "CONTROLLER_ELECT_MASTER_FAILED",
	ControllerAlterSyncStateSetFailed:    "CONTROLLER_ALTER_SYNC_STATE_SET_FAILED",
	ControllerBrokerIDInvalid:            "CONTROLLER_BROKER_ID_INVALID",
	ControllerJraftInternalError:         "CONTROLLER_JRAFT_INTERNAL_ERROR",
	ControllerBrokerLiveInfoNotExists:    "CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS",
	LMQQuotaExceeded:                     "LMQ_QUOTA_EXCEEDED",
	LiteSubscriptionQuotaExceeded:        "LITE_SUBSCRIPTION_QUOTA_EXCEEDED",
	UserNotExist:                         "USER_NOT_EXIST",
	PolicyNotExist:                       "POLICY_NOT_EXIST",
}

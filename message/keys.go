package message

// Keys of properties (MessageConst), with who sets them.
const (
	KeyKeys                    = "KEYS" // user: index keys separated by one blank
	KeyTags                    = "TAGS" // user
	KeyWait                    = "WAIT" // client: "false" waives the wait for flush and replicas
	KeyDelayLevel              = "DELAY"
	KeyRetryTopic              = "RETRY_TOPIC"
	KeyOriginGroup             = "ORIGIN_GROUP"
	KeyRealTopic               = "REAL_TOPIC" // broker: where a message in a system topic belongs
	KeyRealQueueID             = "REAL_QID"
	KeyTransactionPrepared     = "TRAN_MSG" // client: "true" for a half message
	KeyProducerGroup           = "PGROUP"
	KeyMinOffset               = "MIN_OFFSET" // client, never stored
	KeyMaxOffset               = "MAX_OFFSET" // client, never stored
	KeyBuyerID                 = "BUYER_ID"
	KeyOriginMessageID         = "ORIGIN_MESSAGE_ID" // broker: offset id of the first of several redeliveries
	KeyTransferFlag            = "TRANSFER_FLAG"
	KeyCorrectionFlag          = "CORRECTION_FLAG"
	KeyMQ2Flag                 = "MQ2_FLAG"
	KeyReconsumeTime           = "RECONSUME_TIME"
	KeyMaxReconsumeTimes       = "MAX_RECONSUME_TIMES"
	KeyMsgRegion               = "MSG_REGION" // broker
	KeyTraceOn                 = "TRACE_ON"   // broker
	KeyCluster                 = "CLUSTER"    // broker
	KeyUniqueKey               = "UNIQ_KEY"   // client, or broker where it is missing
	KeyExtendUniqueInfo        = "EXTEND_UNIQ_INFO"
	KeyTransactionOffset       = "TRANS_OFFSET"
	KeyConsumeStartTime        = "CONSUME_START_TIME" // client, never stored
	KeyPriority                = "_SYS_MSG_PRIORITY_"
	KeyInnerNum                = "INNER_NUM"
	KeyInnerBase               = "INNER_BASE"
	KeyDupInfo                 = "DUP_INFO"
	KeyCheckImmunityTime       = "CHECK_IMMUNITY_TIME_IN_SECONDS"
	KeyPreparedQueueOffset     = "TRAN_PREPARED_QUEUE_OFFSET"
	KeyTransactionID           = "__transactionId__"
	KeyTransactionCheckTimes   = "TRANSACTION_CHECK_TIMES"
	KeyInstanceID              = "INSTANCE_ID"
	KeyCorrelationID           = "CORRELATION_ID"
	KeyReplyToClient           = "REPLY_TO_CLIENT"
	KeyTTL                     = "TTL"
	KeyArriveTime              = "ARRIVE_TIME"
	KeyPushReplyTime           = "PUSH_REPLY_TIME"
	KeyMsgType                 = "MSG_TYPE"
	KeyPopCheckpoint           = "POP_CK"
	KeyPopCheckpointOffset     = "POP_CK_OFFSET"
	KeyFirstPopTime            = "1ST_POP_TIME"
	KeyShardingKey             = "__SHARDINGKEY"
	KeyLiteTopic               = "__LITE_TOPIC"
	KeyForwardQueueID          = "PROPERTY_FORWARD_QUEUE_ID"
	KeyRedirect                = "REDIRECT"
	KeyInnerMultiDispatch      = "INNER_MULTI_DISPATCH"     // client: LMQ names joined by MultiDispatchSeparator
	KeyInnerMultiQueueOffset   = "INNER_MULTI_QUEUE_OFFSET" // broker: their offsets, joined likewise
	KeyTraceContext            = "TRACE_CONTEXT"
	KeyBornHost                = "__BORNHOST"
	KeyBornTimestamp           = "BORN_TIMESTAMP"
	KeyTimerDelaySec           = "TIMER_DELAY_SEC"
	KeyTimerDelayMs            = "TIMER_DELAY_MS"
	KeyTimerDeliverMs          = "TIMER_DELIVER_MS"
	KeyTimerEnqueueMs          = "TIMER_ENQUEUE_MS"
	KeyTimerDequeueMs          = "TIMER_DEQUEUE_MS"
	KeyTimerRollTimes          = "TIMER_ROLL_TIMES"
	KeyTimerRollLabel          = "TIMER_ROLL_LABEL"
	KeyTimerOutMs              = "TIMER_OUT_MS"
	KeyTimerDelUniqueKey       = "TIMER_DEL_UNIQKEY"
	KeyTimerDelayLevel         = "TIMER_DELAY_LEVEL"
	KeyTimerEngineType         = "E_T"
	KeyCRC32                   = "__CRC32#"
	KeyDLQOriginTopic          = "DLQ_ORIGIN_TOPIC"
	KeyDLQOriginMessageID      = "DLQ_ORIGIN_MESSAGE_ID"
	KeyTransientPrefix         = "__RMQ.TRANSIENT." // client, never sent
	KeyTransientTopicSysFlag   = KeyTransientPrefix + "TOPIC_SYS_FLAG"
	KeyTransientGroupSysFlag   = KeyTransientPrefix + "GROUP_SYS_FLAG"
	KeySeparator               = " " // between the keys in KEYS
	MultiDispatchSeparator     = "," // between the names in INNER_MULTI_DISPATCH
	ReplyMsgType               = "reply"
	UniqueKeyQueryFlag         = "_UNIQUE_KEY_QUERY" // extension field of QUERY_MESSAGE
	DefaultRegion              = "DefaultRegion"
	TimerEngineFileWheel       = "F"
	TimerEngineRocksDBTimeline = "R"
)

// Index types of QUERY_MESSAGE.
const (
	IndexKeyType    = "K"
	IndexUniqueType = "U"
	IndexTagType    = "T"
)

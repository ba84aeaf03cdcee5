package integration

import r "github.com/rocketd/rocketd/remoting"

// send makes the long header of SEND_MESSAGE; later pairs replace earlier ones.
func send(pairs ...string) []string {
	return append([]string{
		"producerGroup=P", "topic=D", "defaultTopic=TBW102", "defaultTopicQueueNums=4", "queueId=0", "sysFlag=0",
		"bornTimestamp=$now", "flag=0", "properties=UNIQ_KEY\x010A0A0A0A00000000000000000000000A\x02TAGS\x01A\x02KEYS\x01k1\x02", "reconsumeTimes=0", "unitMode=false", "batch=false",
	}, pairs...)
}

func pull(pairs ...string) []string {
	return append([]string{
		"consumerGroup=G", "topic=D", "queueId=0", "queueOffset=0", "maxMsgNums=32", "sysFlag=4", "commitOffset=0",
		"suspendTimeoutMillis=0", "subscription=*", "subVersion=0", "expressionType=TAG",
	}, pairs...)
}

const heartbeat = `{"clientID":"c1","heartbeatFingerprint":0,"withoutSub":false,"producerDataSet":[{"groupName":"P"}],"consumerDataSet":[{"groupName":"G",` +
	`"consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","unitMode":false,` +
	`"subscriptionDataSet":[{"topic":"D","subString":"*","tagsSet":[],"codeSet":[],"subVersion":1,"expressionType":"TAG","classFilterMode":false}]}]}`

const queueSet = `{"clientId":"c1","consumerGroup":"G","mqSet":[{"brokerName":"broker-a","queueId":0,"topic":"D"},{"brokerName":"broker-a","queueId":1,"topic":"D"}],"onlyThisBroker":false}`

// exchanges run in this order on fresh brokers: each may stand on what earlier ones left.
var exchanges = []exchange{
	// sending
	{name: "send creates topic", code: r.SendMessage, ext: send(), body: "hello"},
	{name: "send second", code: r.SendMessage, ext: send(), body: "hello"},
	{name: "send to queue -1", code: r.SendMessage, ext: send("topic=R", "queueId=-1"), body: "hello", loose: "random queue"},
	{name: "send to queue 99", code: r.SendMessage, ext: send("queueId=99"), body: "hello"},
	{name: "send bad topic name", code: r.SendMessage, ext: send("topic=a b"), body: "hello"},
	{name: "send blank topic", code: r.SendMessage, ext: send("topic="), body: "hello", loose: "Apache reads a blank field as missing in one header form only"},
	{name: "send forbidden topic", code: r.SendMessage, ext: send("topic=SCHEDULE_TOPIC_XXXX"), body: "hello"},
	{name: "send unknown default topic", code: r.SendMessage, ext: send("topic=E", "defaultTopic=nothing"), body: "hello"},
	{name: "send with delay level", code: r.SendMessage, ext: send("properties=UNIQ_KEY\x01A\x02DELAY\x013\x02"), body: "hello"},
	{name: "send with level not a number", code: r.SendMessage, ext: send("properties=DELAY\x014x\x02"), body: "hello", loose: "Apache's remark is a Java exception"},
	{name: "send with bad timer", code: r.SendMessage, ext: send("properties=TIMER_DELIVER_MS\x01x\x02"), body: "hello"},
	{name: "send with far timer", code: r.SendMessage, ext: send("properties=TIMER_DELAY_SEC\x01259300\x02"), body: "hello"},
	{name: "send with past timer", code: r.SendMessage, ext: send("properties=UNIQ_KEY\x01A\x02TIMER_DELIVER_MS\x011600000000000\x02"), body: "hello"},
	{name: "send delete of a past timer", code: r.SendMessage, ext: send("properties=UNIQ_KEY\x01A\x02TIMER_DEL_UNIQKEY\x01B\x02TIMER_DELIVER_MS\x011600000000000\x02"), body: "hello"},
	{name: "send half", code: r.SendMessage, ext: send("sysFlag=4", "properties=UNIQ_KEY\x010A0A0A0A00000000000000000000000B\x02TRAN_MSG\x01true\x02PGROUP\x01P\x02"), body: "hello"},
	{name: "send to retry topic of unknown group", code: r.SendMessage, ext: send("topic=%RETRY%nobody"), body: "hello"},
	{name: "send batch flag with garbage", code: r.SendBatchMessage, ext: []string{"a=P", "b=D", "c=TBW102", "d=4", "e=0", "f=0", "g=$now", "h=0", "i=", "j=0", "k=false", "m=true"}, body: "garbage", loose: "Apache's remark is a Java exception"},
	{name: "send v2", code: r.SendMessageV2, ext: []string{"a=P", "b=D", "c=TBW102", "d=4", "e=1", "f=0", "g=$now", "h=7", "i=UNIQ_KEY\x01C\x02", "j=0", "k=false", "m=false"}, body: "v2"},
	{name: "send missing field", code: r.SendMessage, ext: []string{"producerGroup=P"}, body: "hello", loose: "Apache's remark is a Java exception"},

	// pulling
	{name: "pull found", code: r.PullMessage, ext: pull()},
	{name: "pull at end", code: r.PullMessage, ext: pull("queueOffset=3")},
	{name: "pull beyond", code: r.PullMessage, ext: pull("queueOffset=5000")},
	{name: "pull negative", code: r.PullMessage, ext: pull("queueOffset=-1")},
	{name: "pull empty queue", code: r.PullMessage, ext: pull("queueId=3")},
	{name: "pull empty queue at 7", code: r.PullMessage, ext: pull("queueId=3", "queueOffset=7")},
	{name: "pull bad queue", code: r.PullMessage, ext: pull("queueId=99")},
	{name: "pull unknown topic", code: r.PullMessage, ext: pull("topic=nothing")},
	{name: "pull without subscription", code: r.PullMessage, ext: pull("sysFlag=0", "consumerGroup=stranger")},
	{name: "pull tag without match", code: r.PullMessage, ext: pull("subscription=other")},
	{name: "pull sql", code: r.PullMessage, ext: pull("subscription=a > 5", "expressionType=SQL92")},
	{name: "pull bad sql", code: r.PullMessage, ext: pull("subscription=a >", "expressionType=SQL92"), loose: "the parser's words"},
	{name: "pull system topic of timers", code: r.PullMessage, ext: pull("topic=rmq_sys_wheel_timer")},

	// membership
	{name: "heartbeat", code: r.HeartBeat, body: heartbeat},
	{name: "consumer list", code: r.GetConsumerListByGroup, ext: []string{"consumerGroup=G"}},
	{name: "consumer list unknown", code: r.GetConsumerListByGroup, ext: []string{"consumerGroup=nobody"}},
	{name: "pull by subscription", code: r.PullMessage, ext: pull("sysFlag=0", "subVersion=1")},
	{name: "pull newer subscription", code: r.PullMessage, ext: pull("sysFlag=0", "subVersion=99")},
	{name: "pull other topic", code: r.PullMessage, ext: pull("sysFlag=0", "topic=TBW102")},
	{name: "check client config", code: r.CheckClientConfig, body: `{"clientId":"c1","group":"G","subscriptionData":{"topic":"D","subString":"a > 5","expressionType":"SQL92","subVersion":1}}`},
	{name: "check bad client config", code: r.CheckClientConfig, body: `{"clientId":"c1","group":"G","subscriptionData":{"topic":"D","subString":"a >","expressionType":"SQL92","subVersion":1}}`, loose: "the parser's words"},
	{name: "lock", code: r.LockBatchMQ, body: queueSet},
	{name: "unlock", code: r.UnlockBatchMQ, body: queueSet},
	{name: "consumer connections", code: r.GetConsumerConnectionList, ext: []string{"consumerGroup=G"}, loose: "client address"},
	{name: "consumer connections unknown", code: r.GetConsumerConnectionList, ext: []string{"consumerGroup=nobody"}},
	{name: "producer connections", code: r.GetProducerConnectionList, ext: []string{"producerGroup=P"}, loose: "client address"},
	{name: "producer connections unknown", code: r.GetProducerConnectionList, ext: []string{"producerGroup=nobody"}},

	// offsets
	{name: "query offset unknown", code: r.QueryConsumerOffset, ext: []string{"consumerGroup=new", "topic=D", "queueId=0", "setZeroIfNotFound=false"}},
	{name: "query offset young topic", code: r.QueryConsumerOffset, ext: []string{"consumerGroup=new", "topic=D", "queueId=0"}},
	{name: "update offset", code: r.UpdateConsumerOffset, ext: []string{"consumerGroup=G", "topic=D", "queueId=0", "commitOffset=2"}},
	{name: "query offset", code: r.QueryConsumerOffset, ext: []string{"consumerGroup=G", "topic=D", "queueId=0"}},
	{name: "update offset unknown topic", code: r.UpdateConsumerOffset, ext: []string{"consumerGroup=G", "topic=nothing", "queueId=0", "commitOffset=2"}},
	{name: "max offset", code: r.GetMaxOffset, ext: []string{"topic=D", "queueId=0"}},
	{name: "max offset unknown", code: r.GetMaxOffset, ext: []string{"topic=nothing", "queueId=0"}},
	{name: "min offset", code: r.GetMinOffset, ext: []string{"topic=D", "queueId=0"}},
	{name: "min offset unknown", code: r.GetMinOffset, ext: []string{"topic=nothing", "queueId=0"}},
	{name: "earliest store time", code: r.GetEarliestMsgStoretime, ext: []string{"topic=D", "queueId=0"}},
	{name: "earliest store time empty", code: r.GetEarliestMsgStoretime, ext: []string{"topic=D", "queueId=3"}},
	{name: "search offset 0", code: r.SearchOffsetByTimestamp, ext: []string{"topic=D", "queueId=0", "timestamp=0"}},
	{name: "search offset now lower", code: r.SearchOffsetByTimestamp, ext: []string{"topic=D", "queueId=0", "timestamp=9999999999999", "boundaryType=LOWER"}},
	{name: "search offset now upper", code: r.SearchOffsetByTimestamp, ext: []string{"topic=D", "queueId=0", "timestamp=9999999999999", "boundaryType=UPPER"}},
	{name: "search offset empty", code: r.SearchOffsetByTimestamp, ext: []string{"topic=D", "queueId=3", "timestamp=5"}},

	// lookup
	{name: "view by offset", code: r.ViewMessageByID, ext: []string{"topic=D", "offset=0"}},
	{name: "view by wrong offset", code: r.ViewMessageByID, ext: []string{"topic=D", "offset=99999999"}},
	{name: "query by unknown key", code: r.QueryMessage, ext: []string{"topic=D", "key=zzz", "maxNum=32", "beginTimestamp=0", "endTimestamp=9999999999999"}, loose: "Apache's index follows with a delay"},
	{name: "query consume queue", code: r.QueryConsumeQueue, ext: []string{"topic=D", "queueId=0", "index=0", "count=3", "consumerGroup=G"}, loose: "message text"},

	// topics and groups
	{name: "create topic", code: r.UpdateAndCreateTopic, ext: []string{"topic=T2", "defaultTopic=TBW102", "readQueueNums=3", "writeQueueNums=3", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false"}},
	{name: "create topic with attribute", code: r.UpdateAndCreateTopic, ext: []string{"topic=T3", "defaultTopic=TBW102", "readQueueNums=3", "writeQueueNums=3", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false", "attributes=+message.type=DELAY"}},
	{name: "create topic with unknown attribute", code: r.UpdateAndCreateTopic, ext: []string{"topic=T4", "defaultTopic=TBW102", "readQueueNums=3", "writeQueueNums=3", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false", "attributes=+nonsense=1"}},
	{name: "create system topic", code: r.UpdateAndCreateTopic, ext: []string{"topic=SCHEDULE_TOPIC_XXXX", "defaultTopic=TBW102", "readQueueNums=3", "writeQueueNums=3", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false"}},
	{name: "create bad topic", code: r.UpdateAndCreateTopic, ext: []string{"topic=a b", "defaultTopic=TBW102", "readQueueNums=3", "writeQueueNums=3", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false"}},
	{name: "topic config", code: r.GetTopicConfig, ext: []string{"topic=T3"}},
	{name: "topic config unknown", code: r.GetTopicConfig, ext: []string{"topic=nothing"}},
	{name: "topic stats", code: r.GetTopicStatsInfo, ext: []string{"topic=T2"}},
	{name: "topic stats unknown", code: r.GetTopicStatsInfo, ext: []string{"topic=nothing"}},
	{name: "delete topic", code: r.DeleteTopicInBroker, ext: []string{"topic=T2"}},
	{name: "delete system topic", code: r.DeleteTopicInBroker, ext: []string{"topic=SCHEDULE_TOPIC_XXXX"}},
	{name: "create group", code: r.UpdateAndCreateSubscriptiongroup, body: `{"groupName":"G2","retryMaxTimes":3}`},
	{name: "group config", code: r.GetSubscriptiongroupConfig, ext: []string{"group=G2"}},
	{name: "group config unknown", code: r.GetSubscriptiongroupConfig, ext: []string{"group=never heard"}},
	{name: "group forbidden", code: r.UpdateAndGetGroupForbidden, ext: []string{"group=G2", "topic=D", "readable=false"}},
	{name: "delete group", code: r.DeleteSubscriptiongroup, ext: []string{"groupName=G2"}},
	{name: "system topics of broker", code: r.GetSystemTopicListFromBroker, loose: "set order"},
	{name: "topics of a group", code: r.QueryTopicsByConsumer, ext: []string{"group=G"}},
	{name: "who consumes", code: r.QueryTopicConsumeByWho, ext: []string{"topic=D"}},
	{name: "subscription of a group", code: r.QuerySubscriptionByConsumer, ext: []string{"group=G", "topic=D"}},
	{name: "consume stats", code: r.GetConsumeStats, ext: []string{"consumerGroup=G", "topic=D"}},
	{name: "consume time span", code: r.QueryConsumeTimeSpan, ext: []string{"topic=D", "group=G"}, loose: "times"},
	{name: "broker consume stats", code: r.GetBrokerConsumeStats, ext: []string{"isOrder=false"}, loose: "order of groups"},
	{name: "reset offset to 0", code: r.InvokeBrokerToResetOffset, ext: []string{"group=G", "topic=D", "timestamp=0", "isForce=true", "queueId=-1"}},
	{name: "reset offset unknown topic", code: r.InvokeBrokerToResetOffset, ext: []string{"group=G", "topic=nothing", "timestamp=0", "isForce=true", "queueId=-1"}},
	{name: "reset offset beyond", code: r.InvokeBrokerToResetOffset, ext: []string{"group=G", "topic=D", "timestamp=0", "isForce=true", "queueId=0", "offset=99999"}},
	{name: "clone offset", code: r.CloneGroupOffset, ext: []string{"srcGroup=G", "destGroup=G3", "topic=D", "offline=false"}},
	{name: "correction offset", code: r.QueryCorrectionOffset, ext: []string{"compareGroup=G", "topic=D", "filterGroups=G3"}},
	{name: "consumer running info offline", code: r.GetConsumerRunningInfo, ext: []string{"consumerGroup=nobody", "clientId=c9"}},

	// broker
	{name: "runtime info", code: r.GetBrokerRuntimeInfo, loose: "figures; the keys have a test of their own"},
	{name: "broker config", code: r.GetBrokerConfig, loose: "keys differ on purpose: those of parts that rocketd does not have"},
	{name: "stats unknown", code: r.ViewBrokerStatsData, ext: []string{"statsName=TOPIC_PUT_NUMS", "statsKey=nothing"}},
	{name: "ha status", code: r.GetBrokerHAStatus, loose: "offsets"},
	{name: "timer check point", code: r.GetTimerCheckPoint},
	{name: "timer metrics", code: r.GetTimerMetrics, loose: "counts move"},
	{name: "assignment", code: r.QueryAssignment, body: `{"clientId":"c1","consumerGroup":"G","messageModel":"CLUSTERING","strategyName":"AVG","topic":"D"}`},
	{name: "set request mode", code: r.SetMessageRequestMode, body: `{"consumerGroup":"G","mode":"POP","popShareQueueNum":0,"topic":"D"}`},
	{name: "set request mode retry topic", code: r.SetMessageRequestMode, body: `{"consumerGroup":"G","mode":"POP","popShareQueueNum":0,"topic":"%RETRY%G"}`},
	{name: "recall bad handle", code: r.RecallMessage, ext: []string{"producerGroup=P", "topic=D", "recallHandle=nonsense"}},
	{name: "end transaction wrong offset", code: r.EndTransaction, ext: []string{"producerGroup=P", "tranStateTableOffset=0", "commitLogOffset=99999999", "commitOrRollback=8", "msgId=A"}},
	{name: "send back unknown group", code: r.ConsumerSendMsgBack, ext: []string{"offset=0", "group=never heard", "delayLevel=0"}},
	{name: "send back wrong offset", code: r.ConsumerSendMsgBack, ext: []string{"offset=99999999", "group=G", "delayLevel=0"}},
	{name: "send back", code: r.ConsumerSendMsgBack, ext: []string{"offset=0", "group=G", "delayLevel=0", "originTopic=D"}},
	{name: "unknown code", code: 9999},
	{name: "name server code at broker", code: r.GetRouteinfoByTopic, ext: []string{"topic=D"}},
	{name: "unregister client", code: r.UnregisterClient, ext: []string{"clientID=c1", "producerGroup=P", "consumerGroup=G"}},

	// pop
	{name: "peek", code: r.PeekMessage, ext: []string{"consumerGroup=G", "topic=D", "queueId=0", "maxMsgNums=8"}, loose: "rest count"},
	{name: "pop too many", code: r.PopMessage, ext: []string{"consumerGroup=GP", "topic=D", "queueId=-1", "maxMsgNums=99", "invisibleTime=10000", "pollTime=0", "bornTime=$now", "initMode=0"}},
	{name: "pop unknown topic", code: r.PopMessage, ext: []string{"consumerGroup=GP", "topic=nothing", "queueId=-1", "maxMsgNums=9", "invisibleTime=10000", "pollTime=0", "bornTime=$now", "initMode=0"}},
	{name: "polling info", code: r.PollingInfo, ext: []string{"consumerGroup=GP", "topic=D", "queueId=0"}},

	// name server
	{name: "route", namesrv: true, code: r.GetRouteinfoByTopic, ext: []string{"topic=D"}},
	{name: "route unknown", namesrv: true, code: r.GetRouteinfoByTopic, ext: []string{"topic=nothing"}},
	{name: "cluster info", namesrv: true, code: r.GetBrokerClusterInfo},
	{name: "put kv", namesrv: true, code: r.PutKVConfig, ext: []string{"namespace=N", "key=k", "value=v"}},
	{name: "get kv", namesrv: true, code: r.GetKVConfig, ext: []string{"namespace=N", "key=k"}},
	{name: "get kv unknown", namesrv: true, code: r.GetKVConfig, ext: []string{"namespace=N", "key=zz"}},
	{name: "kv list", namesrv: true, code: r.GetKvlistByNamespace, ext: []string{"namespace=N"}},
	{name: "kv list unknown", namesrv: true, code: r.GetKvlistByNamespace, ext: []string{"namespace=zz"}},
	{name: "delete kv", namesrv: true, code: r.DeleteKVConfig, ext: []string{"namespace=N", "key=k"}},
	{name: "topics by cluster unknown", namesrv: true, code: r.GetTopicsByCluster, ext: []string{"cluster=zz"}},
	{name: "system topics of name server", namesrv: true, code: r.GetSystemTopicListFromNS, loose: "set order"},
	{name: "unit topics", namesrv: true, code: r.GetUnitTopicList},
	{name: "wipe write perm unknown", namesrv: true, code: r.WipeWritePermOfBroker, ext: []string{"brokerName=zz"}},
	{name: "member group unknown", namesrv: true, code: r.GetBrokerMemberGroup, ext: []string{"clusterName=DefaultCluster", "brokerName=zz"}},
	{name: "member group", namesrv: true, code: r.GetBrokerMemberGroup, ext: []string{"clusterName=DefaultCluster", "brokerName=broker-a"}},
	{name: "delete topic in name server", namesrv: true, code: r.DeleteTopicInNamesrv, ext: []string{"topic=T3"}},
	{name: "unknown code at name server", namesrv: true, code: 9999},
	{name: "broker code at name server", namesrv: true, code: r.SendMessage, ext: send(), body: "x"},
}

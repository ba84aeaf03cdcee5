package dashboard

import "time"

// fields are the parameters of a call, or its JSON body.
type fields map[string]any

// call is one call of the dashboard's pages.
type call struct {
	path   string
	params fields // of the address
	body   any    // of a POST; nil: none
	post   bool
	// why explains a difference. Without one a difference fails the test.
	why string
}

// calls are made in this order on both sides: what an earlier one made is there for the later ones.
func calls(s *side) []call {
	now := time.Now().UnixMilli()
	hour := func(f fields) fields {
		f["begin"], f["end"] = now-3_600_000, now+1000
		return f
	}
	broker, names := s.c.Broker, []string{"broker-a"}
	return []call{
		{path: "/dashboard/broker.query", params: fields{"date": today()}}, // these first: the dashboard samples topics by its own clock
		{path: "/dashboard/topic.query", params: fields{"date": today(), "topicName": "orders"}},
		{path: "/dashboard/topicCurrent.query"},
		{path: "/cluster/list.query", why: "rocketd tells brokerVersion and the offsets of all delay levels too, and the used share of the disk with more digits"},
		{path: "/cluster/brokerConfig.query", params: fields{"brokerAddr": broker}, why: "rocketd has further keys, and paths and thread numbers of its own (docs/configuration.md)"},
		{path: "/consumer/groupList.query", params: fields{"skipSysGroup": false}},
		{path: "/consumer/groupList.query", params: fields{"skipSysGroup": false, "address": broker}},
		{path: "/consumer/group.refresh", params: fields{"address": broker, "consumerGroup": "g-online"}},
		{path: "/consumer/group.query", params: fields{"consumerGroup": "g-online"}},
		{path: "/consumer/examineSubscriptionGroupConfig.query", params: fields{"consumerGroup": "g-online"}},
		{path: "/consumer/fetchBrokerNameList.query", params: fields{"consumerGroup": "g-online"}},
		{path: "/consumer/queryTopicByConsumer.query", params: fields{"consumerGroup": "g-online", "address": broker}},
		{path: "/consumer/consumerConnection.query", params: fields{"consumerGroup": "g-online", "address": broker}},
		{path: "/consumer/consumerRunningInfo.query", params: fields{"consumerGroup": "g-online", "clientId": s.client, "jstack": false}},
		{path: "/consumer/resetOffset.do", body: fields{"consumerGroupList": []string{"g-online"}, "topic": "orders", "resetTime": now - 3_600_000, "force": true}},
		{path: "/consumer/skipAccumulate.do", body: fields{"consumerGroupList": []string{"g-online"}, "topic": "orders", "resetTime": -1, "force": true}},
		{path: "/consumer/createOrUpdate.do", body: fields{
			"clusterNameList": []string{"DefaultCluster"}, "brokerNameList": names,
			"subscriptionGroupConfig": fields{"groupName": "g-made", "consumeEnable": true, "retryQueueNums": 1, "retryMaxTimes": 3, "brokerId": 0, "whichBrokerWhenConsumeSlowly": 1},
		}},
		{path: "/consumer/examineSubscriptionGroupConfig.query", params: fields{"consumerGroup": "g-made"}},
		{path: "/consumer/deleteSubGroup.do", body: fields{"groupName": "g-made", "brokerNameList": names}},
		{path: "/message/viewMessage.query", params: fields{"msgId": s.message, "topic": "orders"}},
		{path: "/message/queryMessageByTopicAndKey.query", params: fields{"topic": "orders", "key": "k3"}},
		{path: "/message/queryMessageByTopic.query", params: hour(fields{"topic": "orders"})},
		{path: "/message/queryMessagePageByTopic.query", body: hour(fields{"topic": "orders", "pageNum": 1, "pageSize": 10, "taskId": ""})},
		{path: "/message/consumeMessageDirectly.do", params: fields{"topic": "orders", "consumerGroup": "g-online", "msgId": s.message, "clientId": s.client}, post: true},
		{path: "/messageTrace/viewMessage.query", params: fields{"msgId": s.message, "topic": "orders"}},
		{path: "/messageTrace/viewMessageTraceDetail.query", params: fields{"msgId": s.message}},
		{path: "/messageTrace/viewMessageTraceGraph.query", params: fields{"msgId": s.message, "traceTopic": "RMQ_SYS_TRACE_TOPIC"}},
		{path: "/dlqMessage/queryDlqMessageByConsumerGroup.query", body: hour(fields{"topic": "%DLQ%g-online", "pageNum": 1, "pageSize": 10, "taskId": ""})},
		{path: "/producer/producerConnection.query", params: fields{"producerGroup": "pg-online", "topic": "orders"}},
		{path: "/producer/producerConnection.query", params: fields{"producerGroup": "nosuch", "topic": "orders"}},
		{path: "/topic/list.query", params: fields{"skipSysProcess": false, "skipRetryAndDlq": false}},
		{path: "/topic/list.queryTopicType"},
		{path: "/topic/stats.query", params: fields{"topic": "orders"}},
		{path: "/topic/route.query", params: fields{"topic": "orders"}},
		{path: "/topic/queryConsumerByTopic.query", params: fields{"topic": "orders"}},
		{path: "/topic/queryTopicConsumerInfo.query", params: fields{"topic": "orders"}},
		{path: "/topic/examineTopicConfig.query", params: fields{"topic": "orders"}},
		{path: "/topic/createOrUpdate.do", body: fields{
			"clusterNameList": []string{"DefaultCluster"}, "brokerNameList": names, "topicName": "t-made", "writeQueueNums": 1, "readQueueNums": 1, "perm": 6, "order": false,
			"messageType": "NORMAL",
		}},
		{path: "/topic/sendTopicMessage.do", body: fields{"topic": "t-made", "key": "dk", "tag": "dt", "messageBody": "hello", "traceEnabled": false}},
		{path: "/topic/examineTopicConfig.query", params: fields{"topic": "t-made"}},
		{path: "/topic/stats.query", params: fields{"topic": "t-made"}},
		{path: "/topic/deleteTopic.do", params: fields{"topic": "t-made"}, post: true},
		{path: "/topic/route.query", params: fields{"topic": "t-made"}},
		{path: "/ops/homePage.query"},
		{path: "/ops/rocketMqStatus.query"},
		{path: "/rocketmq/nsaddr.query"},
		{path: "/acl/users.query", params: fields{"brokerName": "broker-a", "clusterName": "DefaultCluster"}},
		{path: "/acl/acls.query", params: fields{"brokerName": "broker-a", "clusterName": "DefaultCluster"}},
	}
}

package conf

// Namesrv holds the keys of the reference's class NamesrvConfig.
type Namesrv struct {
	RocketmqHome string
	// KVConfigPath: file of the KV configuration. Default: namesrv/kvConfig.json in dataDir.
	KVConfigPath string
	// ConfigStorePath: file that run-time updates are saved to. Default: the properties file of -c, else
	// namesrv/namesrv.properties in dataDir.
	ConfigStorePath string
	ProductEnvName  string
	ClusterTest     bool
	// OrderMessageEnable: fill orderTopicConf in routes. Default: false.
	OrderMessageEnable bool
	// ReturnOrderTopicConfigToBroker: give brokers the order configuration when they register. Default: true.
	ReturnOrderTopicConfigToBroker       bool
	ClientRequestThreadPoolNums          int32
	DefaultThreadPoolNums                int32
	ClientRequestThreadPoolQueueCapacity int32
	// DefaultThreadPoolQueueCapacity: other requests that may wait; more are answered SYSTEM_BUSY. Default: 10000.
	DefaultThreadPoolQueueCapacity int32
	// ScanNotActiveBrokerInterval: how often silent brokers are looked for, in ms. Default: 5000.
	ScanNotActiveBrokerInterval int64
	// UnRegisterBrokerQueueCapacity: brokers that may wait to be unregistered. Default: 3000.
	UnRegisterBrokerQueueCapacity int32
	// SupportActingMaster: present a slave as master while there is none. Default: false.
	SupportActingMaster bool
	// EnableAllTopicList: serve the list of all topics. Default: true.
	EnableAllTopicList bool
	// EnableTopicList: serve the lists of topics by cluster and unit. Default: true.
	EnableTopicList bool
	// NotifyMinBrokerIDChanged: tell brokers when the smallest id of their group changes. Default: false.
	NotifyMinBrokerIDChanged  bool
	EnableControllerInNamesrv bool
	// NeedWaitForService: answer no routes during the first waitSecondsForService. Default: false.
	NeedWaitForService bool
	// WaitSecondsForService: seconds after the start without routes when needWaitForService is on. Default: 45.
	WaitSecondsForService int32
	// DeleteTopicWithBrokerRegistration: A registration removes topics that it does not list. Default: false.
	DeleteTopicWithBrokerRegistration bool
	// ConfigBlackList: keys that run-time updates may not change, separated by semicolons. Default:
	// configBlackList;configStorePath;kvConfigPath.
	ConfigBlackList string
}

func (c *Namesrv) keys(k *keySet) {
	k.str("rocketmqHome", &c.RocketmqHome, "", null)
	k.str("kvConfigPath", &c.KVConfigPath, "", acts)
	k.str("configStorePath", &c.ConfigStorePath, "", acts)
	k.str("productEnvName", &c.ProductEnvName, "center")
	k.boolean("clusterTest", &c.ClusterTest, false, notYet("rocketd does not ask another environment's name servers"))
	k.boolean("orderMessageEnable", &c.OrderMessageEnable, false, acts)
	k.boolean("returnOrderTopicConfigToBroker", &c.ReturnOrderTopicConfigToBroker, true, acts)
	k.i32("clientRequestThreadPoolNums", &c.ClientRequestThreadPoolNums, 8)
	k.i32("defaultThreadPoolNums", &c.DefaultThreadPoolNums, 16)
	k.i32("clientRequestThreadPoolQueueCapacity", &c.ClientRequestThreadPoolQueueCapacity, 50000)
	k.i32("defaultThreadPoolQueueCapacity", &c.DefaultThreadPoolQueueCapacity, 10000, acts, atLeast(1))
	k.i64("scanNotActiveBrokerInterval", &c.ScanNotActiveBrokerInterval, 5000, acts, atLeast(1))
	k.i32("unRegisterBrokerQueueCapacity", &c.UnRegisterBrokerQueueCapacity, 3000, acts, atLeast(1))
	k.boolean("supportActingMaster", &c.SupportActingMaster, false, acts)
	k.boolean("enableAllTopicList", &c.EnableAllTopicList, true, acts)
	k.boolean("enableTopicList", &c.EnableTopicList, true, acts)
	k.boolean("notifyMinBrokerIdChanged", &c.NotifyMinBrokerIDChanged, false, acts)
	k.boolean("enableControllerInNamesrv", &c.EnableControllerInNamesrv, false, notYet("rocketd has no controller"))
	k.boolean("needWaitForService", &c.NeedWaitForService, false, acts)
	k.i32("waitSecondsForService", &c.WaitSecondsForService, 45, acts, atLeast(0))
	k.boolean("deleteTopicWithBrokerRegistration", &c.DeleteTopicWithBrokerRegistration, false, acts)
	k.str("configBlackList", &c.ConfigBlackList, "configBlackList;configStorePath;kvConfigPath", acts)
}

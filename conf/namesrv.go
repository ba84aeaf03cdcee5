package conf

// Namesrv holds the keys of the reference's class NamesrvConfig.
type Namesrv struct {
	RocketmqHome                         string
	KVConfigPath                         string
	ConfigStorePath                      string
	ProductEnvName                       string
	ClusterTest                          bool
	OrderMessageEnable                   bool
	ReturnOrderTopicConfigToBroker       bool
	ClientRequestThreadPoolNums          int32
	DefaultThreadPoolNums                int32
	ClientRequestThreadPoolQueueCapacity int32
	DefaultThreadPoolQueueCapacity       int32
	ScanNotActiveBrokerInterval          int64
	UnRegisterBrokerQueueCapacity        int32
	SupportActingMaster                  bool
	EnableAllTopicList                   bool
	EnableTopicList                      bool
	NotifyMinBrokerIDChanged             bool
	EnableControllerInNamesrv            bool
	NeedWaitForService                   bool
	WaitSecondsForService                int32
	DeleteTopicWithBrokerRegistration    bool
	ConfigBlackList                      string
}

func (c *Namesrv) keys(k *keySet) {
	k.str("rocketmqHome", &c.RocketmqHome, "")
	k.str("kvConfigPath", &c.KVConfigPath, "")
	k.str("configStorePath", &c.ConfigStorePath, "")
	k.str("productEnvName", &c.ProductEnvName, "center")
	k.boolean("clusterTest", &c.ClusterTest, false)
	k.boolean("orderMessageEnable", &c.OrderMessageEnable, false)
	k.boolean("returnOrderTopicConfigToBroker", &c.ReturnOrderTopicConfigToBroker, true)
	k.i32("clientRequestThreadPoolNums", &c.ClientRequestThreadPoolNums, 8)
	k.i32("defaultThreadPoolNums", &c.DefaultThreadPoolNums, 16)
	k.i32("clientRequestThreadPoolQueueCapacity", &c.ClientRequestThreadPoolQueueCapacity, 50000)
	k.i32("defaultThreadPoolQueueCapacity", &c.DefaultThreadPoolQueueCapacity, 10000)
	k.i64("scanNotActiveBrokerInterval", &c.ScanNotActiveBrokerInterval, 5000)
	k.i32("unRegisterBrokerQueueCapacity", &c.UnRegisterBrokerQueueCapacity, 3000)
	k.boolean("supportActingMaster", &c.SupportActingMaster, false)
	k.boolean("enableAllTopicList", &c.EnableAllTopicList, true)
	k.boolean("enableTopicList", &c.EnableTopicList, true)
	k.boolean("notifyMinBrokerIdChanged", &c.NotifyMinBrokerIDChanged, false)
	k.boolean("enableControllerInNamesrv", &c.EnableControllerInNamesrv, false)
	k.boolean("needWaitForService", &c.NeedWaitForService, false)
	k.i32("waitSecondsForService", &c.WaitSecondsForService, 45)
	k.boolean("deleteTopicWithBrokerRegistration", &c.DeleteTopicWithBrokerRegistration, false)
	k.str("configBlackList", &c.ConfigBlackList, "configBlackList;configStorePath;kvConfigPath")
}

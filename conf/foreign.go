package conf

// foreign tells whether name is a key of a class of the reference whose part rocketd does not have (access control,
// controller, tiered storage) or of an older release (4.5 to 5.1), so that files written for those are taken as they are.
func foreign(name string) bool {
	switch name {
	case "rmqAddressServerDomain", "rmqAddressServerSubGroup",
		// older releases
		"commercialBigCount", "commercialEnable", "commercialTimerCount", "commercialTransCount",
		"commitLogRollingInterval", "commitLogRollingMinimumSize", "filterServerNums", "haSlaveFallbehindMax",
		"inBrokerContainer", "isEnableBatchPush", "memTableFlushInterval", "scanAvailableNameSrv",
		// AuthConfig
		"aclCacheExpiredSecond", "aclCacheMaxNum", "aclCacheRefreshSecond", "authConfigPath",
		"authenticationMetadataProvider", "authenticationProvider", "authenticationStrategy",
		"authenticationWhitelist", "authorizationMetadataProvider", "authorizationProvider",
		"authorizationStrategy", "authorizationWhitelist", "clusterName", "configName",
		"initAuthenticationUser", "innerClientAuthenticationCredentials", "migrateAuthFromV1Enabled",
		"statefulAuthenticationCacheExpiredSecond", "statefulAuthenticationCacheMaxNum",
		"statefulAuthorizationCacheExpiredSecond", "statefulAuthorizationCacheMaxNum",
		"userCacheExpiredSecond", "userCacheMaxNum", "userCacheRefreshSecond",
		// ControllerConfig and JraftConfig
		"controllerDLegerGroup", "controllerDLegerPeers", "controllerDLegerSelfId",
		"controllerRequestThreadPoolQueueCapacity", "controllerStorePath", "controllerThreadPoolNums",
		"controllerType", "electMasterMaxRetryCount", "enableElectUncleanMaster", "isProcessReadEvent",
		"jRaftControllerRPCAddr", "jRaftElectionTimeoutMs", "jRaftGroupId", "jRaftInitConf",
		"jRaftScanWaitTimeoutMs", "jRaftServerId", "jRaftSnapshotIntervalSecs", "jraftConfig",
		"mappedFileSize", "notifyBrokerRoleChanged", "processReadEvent", "scanInactiveMasterInterval",
		// tiered storage
		"maxCommitJitter", "maxDelayTime", "objectStoreAccessKey", "objectStoreBucket", "objectStoreEndpoint",
		"objectStoreSecretKey", "readAheadBatchSizeFactorThreshold", "readAheadCacheEnable",
		"readAheadCacheExpireDuration", "readAheadCacheSizeThresholdRate", "readAheadMaxFactor",
		"readAheadMessageCountThreshold", "readAheadMessageSizeThreshold", "readAheadMinFactor",
		"recordGetMessageResult", "tieredBackendServiceProvider", "tieredMetadataServiceProvider",
		"tieredStorageLevel", "tieredStoreCommitLogMaxSize", "tieredStoreConsumeQueueMaxSize",
		"tieredStoreCrcCheckEnable", "tieredStoreDeleteFileEnable", "tieredStoreDeleteFileInterval",
		"tieredStoreFilePath", "tieredStoreFileReservedTime", "tieredStoreGroupCommit",
		"tieredStoreGroupCommitCount", "tieredStoreGroupCommitSize", "tieredStoreGroupCommitTimeout",
		"tieredStoreIndexFileMaxHashSlotNum", "tieredStoreIndexFileMaxIndexNum",
		"tieredStoreIndexFileRollingIdleInterval", "tieredStoreMaxGroupCommitCount", "tieredStoreMaxPendingLimit":
		return true
	default:
		return false
	}
}

// foreignSwitch returns why a foreign key must not have the value true: what it asks for would silently not happen.
func foreignSwitch(name string) string {
	switch name {
	case "authenticationEnabled", "authorizationEnabled":
		return "rocketd has no access control yet"
	default:
		return ""
	}
}

package body

// ConsumerRunningInfo is a client's reply of GET_CONSUMER_RUNNING_INFO. Brokers relay it as it is.
type ConsumerRunningInfo struct {
	Properties       map[string]string
	SubscriptionSet  []SubscriptionData
	ProcessQueues    map[MessageQueue]ProcessQueueInfo
	PopQueues        map[MessageQueue]PopProcessQueueInfo
	StatusTable      map[string]ConsumeStatus // by topic
	UserConsumerInfo map[string]string
	Jstack           string
}

func (c *ConsumerRunningInfo) members(m *members) {
	m.optStr("jstack", &c.Jstack)
	if m.at("mqPopTable") {
		mapOf(m.x, &c.PopQueues, queueKey{}, object[PopProcessQueueInfo])
	}
	if m.at("mqTable") {
		mapOf(m.x, &c.ProcessQueues, queueKey{}, object[ProcessQueueInfo])
	}
	m.stringMap("properties", &c.Properties)
	if m.at("statusTable") {
		mapOf(m.x, &c.StatusTable, stringKey{}, object[ConsumeStatus])
	}
	if m.at("subscriptionSet") {
		listOf(m.x, &c.SubscriptionSet, object[SubscriptionData])
	}
	m.stringMap("userConsumerInfo", &c.UserConsumerInfo)
}

// ProcessQueueInfo is the state of one queue in a consumer; times are in ms since the epoch.
type ProcessQueueInfo struct {
	CommitOffset            int64
	CachedMsgMinOffset      int64
	CachedMsgMaxOffset      int64
	CachedMsgCount          int32
	CachedMsgSizeInMiB      int32
	TransactionMsgMinOffset int64
	TransactionMsgMaxOffset int64
	TransactionMsgCount     int32
	Locked                  bool
	TryUnlockTimes          int64
	LastLockTimestamp       int64
	Dropped                 bool
	LastPullTimestamp       int64
	LastConsumeTimestamp    int64
}

func (p *ProcessQueueInfo) members(m *members) {
	m.i32("cachedMsgCount", &p.CachedMsgCount)
	m.i64("cachedMsgMaxOffset", &p.CachedMsgMaxOffset)
	m.i64("cachedMsgMinOffset", &p.CachedMsgMinOffset)
	m.i32("cachedMsgSizeInMiB", &p.CachedMsgSizeInMiB)
	m.i64("commitOffset", &p.CommitOffset)
	m.boolean("droped", &p.Dropped)
	m.i64("lastConsumeTimestamp", &p.LastConsumeTimestamp)
	m.i64("lastLockTimestamp", &p.LastLockTimestamp)
	m.i64("lastPullTimestamp", &p.LastPullTimestamp)
	m.boolean("locked", &p.Locked)
	m.i32("transactionMsgCount", &p.TransactionMsgCount)
	m.i64("transactionMsgMaxOffset", &p.TransactionMsgMaxOffset)
	m.i64("transactionMsgMinOffset", &p.TransactionMsgMinOffset)
	m.i64("tryUnlockTimes", &p.TryUnlockTimes)
}

// PopProcessQueueInfo is the state of one queue in a pop consumer.
type PopProcessQueueInfo struct {
	WaitAckCount     int32
	Dropped          bool
	LastPopTimestamp int64
}

func (p *PopProcessQueueInfo) members(m *members) {
	m.boolean("droped", &p.Dropped)
	m.i64("lastPopTimestamp", &p.LastPopTimestamp)
	m.i32("waitAckCount", &p.WaitAckCount)
}

// ConsumeStatus is the rates of one topic in a consumer.
type ConsumeStatus struct {
	PullRT            float64
	PullTPS           float64
	ConsumeRT         float64
	ConsumeOKTPS      float64
	ConsumeFailedTPS  float64
	ConsumeFailedMsgs int64
}

func (c *ConsumeStatus) members(m *members) {
	m.i64("consumeFailedMsgs", &c.ConsumeFailedMsgs)
	m.double("consumeFailedTPS", &c.ConsumeFailedTPS)
	m.double("consumeOKTPS", &c.ConsumeOKTPS)
	m.double("consumeRT", &c.ConsumeRT)
	m.double("pullRT", &c.PullRT)
	m.double("pullTPS", &c.PullTPS)
}

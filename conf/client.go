package conf

// Client holds the keys of the reference's class NettyClientConfig: the broker's outgoing calls.
type Client struct {
	ClientWorkerThreads                int32
	ClientCallbackExecutorThreads      int32
	ClientOnewaySemaphoreValue         int32
	ClientAsyncSemaphoreValue          int32
	ConnectTimeoutMillis               int32
	ChannelNotActiveInterval           int64
	IsScanAvailableNameSrv             bool
	ClientChannelMaxIdleTimeSeconds    int32
	ClientSocketSndBufSize             int32
	ClientSocketRcvBufSize             int32
	ClientPooledByteBufAllocatorEnable bool
	ClientCloseSocketIfTimeout         bool
	UseTLS                             bool
	SocksProxyConfig                   string
	WriteBufferHighWaterMark           int32
	WriteBufferLowWaterMark            int32
	DisableCallbackExecutor            bool
	DisableNettyWorkerGroup            bool
	MaxReconnectIntervalTimeSeconds    int64
	EnableReconnectForGoAway           bool
}

func (c *Client) keys(k *keySet) {
	k.i32("clientWorkerThreads", &c.ClientWorkerThreads, 4)
	k.i32("clientCallbackExecutorThreads", &c.ClientCallbackExecutorThreads, k.cpus)
	k.i32("clientOnewaySemaphoreValue", &c.ClientOnewaySemaphoreValue, 65535)
	k.i32("clientAsyncSemaphoreValue", &c.ClientAsyncSemaphoreValue, 65535)
	k.i32("connectTimeoutMillis", &c.ConnectTimeoutMillis, 3000)
	k.i64("channelNotActiveInterval", &c.ChannelNotActiveInterval, 60000)
	k.boolean("isScanAvailableNameSrv", &c.IsScanAvailableNameSrv, true)
	k.i32("clientChannelMaxIdleTimeSeconds", &c.ClientChannelMaxIdleTimeSeconds, 120)
	k.i32("clientSocketSndBufSize", &c.ClientSocketSndBufSize, 0)
	k.i32("clientSocketRcvBufSize", &c.ClientSocketRcvBufSize, 0)
	k.boolean("clientPooledByteBufAllocatorEnable", &c.ClientPooledByteBufAllocatorEnable, false)
	k.boolean("clientCloseSocketIfTimeout", &c.ClientCloseSocketIfTimeout, true)
	k.boolean("useTLS", &c.UseTLS, false)
	k.str("socksProxyConfig", &c.SocksProxyConfig, "{}")
	k.i32("writeBufferHighWaterMark", &c.WriteBufferHighWaterMark, 0)
	k.i32("writeBufferLowWaterMark", &c.WriteBufferLowWaterMark, 0)
	k.boolean("disableCallbackExecutor", &c.DisableCallbackExecutor, false)
	k.boolean("disableNettyWorkerGroup", &c.DisableNettyWorkerGroup, false)
	k.i64("maxReconnectIntervalTimeSeconds", &c.MaxReconnectIntervalTimeSeconds, 60)
	k.boolean("enableReconnectForGoAway", &c.EnableReconnectForGoAway, true)
}

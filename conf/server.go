package conf

// Server holds the keys of the reference's class NettyServerConfig: one listener.
type Server struct {
	// BindAddress: address that the listener binds. Default: see host.
	BindAddress string
	// ListenPort: port of the listener; 0 picks one. Default: 10911, the name server's 9876.
	ListenPort                    int32
	ServerWorkerThreads           int32
	ServerCallbackExecutorThreads int32
	ServerSelectorThreads         int32
	ServerOnewaySemaphoreValue    int32
	ServerAsyncSemaphoreValue     int32
	// ServerChannelMaxIdleTimeSeconds: A connection that is silent for so long is closed, in s. Default: 120.
	ServerChannelMaxIdleTimeSeconds    int32
	ServerSocketSndBufSize             int32
	ServerSocketRcvBufSize             int32
	WriteBufferHighWaterMark           int32
	WriteBufferLowWaterMark            int32
	ServerSocketBacklog                int32
	ServerNettyWorkerGroupEnable       bool
	ServerPooledByteBufAllocatorEnable bool
	EnableShutdownGracefully           bool
	ShutdownWaitTimeSeconds            int32
	UseEpollNativeSelector             bool
}

func (c *Server) keys(k *keySet) {
	port := int32(10911)
	if k.section == SectionNamesrv {
		port = 9876
	}
	k.str("bindAddress", &c.BindAddress, "", acts)
	k.i32("listenPort", &c.ListenPort, port, acts, between(0, 65535))
	k.i32("serverWorkerThreads", &c.ServerWorkerThreads, 8)
	k.i32("serverCallbackExecutorThreads", &c.ServerCallbackExecutorThreads, 0)
	k.i32("serverSelectorThreads", &c.ServerSelectorThreads, 3)
	k.i32("serverOnewaySemaphoreValue", &c.ServerOnewaySemaphoreValue, 256)
	k.i32("serverAsyncSemaphoreValue", &c.ServerAsyncSemaphoreValue, 64)
	k.i32("serverChannelMaxIdleTimeSeconds", &c.ServerChannelMaxIdleTimeSeconds, 120, acts, atLeast(1))
	k.i32("serverSocketSndBufSize", &c.ServerSocketSndBufSize, 0)
	k.i32("serverSocketRcvBufSize", &c.ServerSocketRcvBufSize, 0)
	k.i32("writeBufferHighWaterMark", &c.WriteBufferHighWaterMark, 0)
	k.i32("writeBufferLowWaterMark", &c.WriteBufferLowWaterMark, 0)
	k.i32("serverSocketBacklog", &c.ServerSocketBacklog, 1024)
	k.boolean("serverNettyWorkerGroupEnable", &c.ServerNettyWorkerGroupEnable, true)
	k.boolean("serverPooledByteBufAllocatorEnable", &c.ServerPooledByteBufAllocatorEnable, true)
	k.boolean("enableShutdownGracefully", &c.EnableShutdownGracefully, false)
	k.i32("shutdownWaitTimeSeconds", &c.ShutdownWaitTimeSeconds, 30)
	k.boolean("useEpollNativeSelector", &c.UseEpollNativeSelector, false)
}

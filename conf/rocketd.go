package conf

// Rocketd holds rocketd's own keys.
type Rocketd struct {
	// DataDir is the directory of all files of the process, created when missing. The store lies directly in it, as
	// below the reference's storePathRootDir. Default: ./rocketd-data.
	DataDir string
	// Host is the address that the process listens on, an IP address or a host name. Default: 127.0.0.1; all addresses
	// inside a container and when a file sets brokerIP1 to an address that is not a loopback one.
	Host string
	// Advertise is the HOST or HOST:PORT that clients are told to reach the broker at. Default: brokerIP1; else the
	// listen address; else, when listening on all addresses, the first one of this machine that others can reach. The
	// port is the broker's own.
	Advertise string
	// LogLevel is the least severe level logged: debug, info, warn or error. Default: info.
	LogLevel string
	// LogFormat is text or json. Default: text.
	LogFormat string

	// MaxFrameBytes bounds one frame of the wire; a longer one closes the connection. Default: 16777216.
	MaxFrameBytes int32
	// MaxConnections bounds the open connections of each listener; further ones are closed at once. Default: 20000.
	MaxConnections int32
	// MaxInFlightPerConnection bounds the requests of one connection that are not answered yet; further ones are
	// answered SYSTEM_BUSY. Default: 32768.
	MaxInFlightPerConnection int32
	// MaxInboundBytesTotal bounds what all connections of a listener have sent and what is not worked off yet: further
	// requests are answered SYSTEM_BUSY. Default: 268435456.
	MaxInboundBytesTotal int64
	// MaxOutboundBytes bounds what waits for one slow reader; over it the connection is closed. Default: 16777216.
	MaxOutboundBytes int32
	// MaxOutboundBytesTotal bounds what waits for slow readers over all connections of a listener; over it the ones that
	// already keep bytes waiting are closed. Default: 67108864.
	MaxOutboundBytesTotal int64
	// EventLoops is the number of event loops of each listener. 0: one for each processor, at most 4. Default: 0.
	EventLoops int32
	// MaxHeldPulls bounds the pulls that wait for messages; further ones are answered SYSTEM_BUSY. Default: 100000.
	MaxHeldPulls int32
	// MaxTopics bounds the topics of the broker; creating one more is refused. Default: 100000.
	MaxTopics int32
	// MaxGroups bounds the subscription groups of the broker; creating one more is refused. Default: 100000.
	MaxGroups int32
	// StrictFirstOffset: a group without an offset is always told so, and CONSUME_FROM_LAST_OFFSET means the last one. Off, the
	// reference's way: it is told 0 while the queue begins at 0 and its first message is near. Default: false.
	StrictFirstOffset bool
	// CheckMessageType: a message is refused when its topic has a message.type that it is not of. Off, the reference's way: only its
	// proxy looks. Default: false.
	CheckMessageType bool
	// DiskMinFreeBytes: writing is refused while less is free, whatever the share; with as much free, the
	// reference's ratios do not count. 0: only the ratios count, as in the reference. Default: 536870912.
	DiskMinFreeBytes int64

	// GCPercent is the Go collector's GOGC; lower takes less memory and more processor time. Default: 100.
	GCPercent int32
	// MemoryLimitBytes is the Go runtime's soft limit on its own memory; 0: none. Default: 0.
	MemoryLimitBytes int64

	// HTTPPort is the port of the console, its API, /metrics, /healthz and /readyz. 0 picks one, -1: none of it. When it is taken and was
	// not asked for, the process starts without. Default: 10988.
	HTTPPort int32
	// HTTPHost is the address that httpPort is listened on. Whoever reaches it can read messages. Default: 127.0.0.1.
	HTTPHost string
	// HTTPNames are the host names, split by commas, that browsers may reach the console by. IP addresses, localhost and httpHost work
	// always; other names are refused, so that no page of the web can read the console through a name of its own. Default: none.
	HTTPNames string
	// HTTPWrites says from where the console takes changes (sending, resending dead letters): loopback, all or none. Default: loopback.
	HTTPWrites string
	// HTTPPprof: serve Go's profiles below /debug/pprof/. Default: false.
	HTTPPprof bool

	// Topics are created at start when missing; NAME[:QUEUES], or a mapping with name, queues, perm, order and type.
	// Default: none.
	Topics []TopicSpec
	// Groups are created at start when missing; NAME[:RETRY_MAX_TIMES], or a mapping with name, retryMaxTimes,
	// retryQueueNums, consumeEnable, consumeBroadcastEnable, consumeFromMinEnable and consumeMessageOrderly. Default: none.
	Groups []GroupSpec
	// Messages are sent at start, each once for each data directory: in YAML a list of mappings with topic, body, tags, keys, queue, delay (as
	// 10m) and properties; elsewhere the same as JSON. Default: none.
	Messages []MessageSpec
}

func (c *Rocketd) keys(k *keySet) {
	k.str("dataDir", &c.DataDir, "./rocketd-data", acts)
	k.str("host", &c.Host, "", acts)
	k.str("advertise", &c.Advertise, "", acts, valid(checkAdvertise))
	k.str("logLevel", &c.LogLevel, "info", acts, oneOf("debug", "info", "warn", "error"))
	k.str("logFormat", &c.LogFormat, "text", acts, oneOf("text", "json"))
	k.i32("maxFrameBytes", &c.MaxFrameBytes, 16777216, acts, between(65536, 1073741824))
	k.i32("maxConnections", &c.MaxConnections, 20000, acts, atLeast(1))
	k.i32("maxInFlightPerConnection", &c.MaxInFlightPerConnection, 32768, acts, atLeast(1))
	k.i64("maxInboundBytesTotal", &c.MaxInboundBytesTotal, 268435456, acts, atLeast(1048576))
	k.i32("maxOutboundBytes", &c.MaxOutboundBytes, 16777216, acts, atLeast(65536))
	k.i64("maxOutboundBytesTotal", &c.MaxOutboundBytesTotal, 67108864, acts, atLeast(1048576))
	k.i32("eventLoops", &c.EventLoops, 0, acts, between(0, 256))
	k.i32("maxHeldPulls", &c.MaxHeldPulls, 100000, acts, atLeast(0))
	k.i32("maxTopics", &c.MaxTopics, 100000, acts, atLeast(1))
	k.i32("maxGroups", &c.MaxGroups, 100000, acts, atLeast(1))
	k.boolean("strictFirstOffset", &c.StrictFirstOffset, false, acts)
	k.boolean("checkMessageType", &c.CheckMessageType, false, acts)
	k.i64("diskMinFreeBytes", &c.DiskMinFreeBytes, 536870912, acts, atLeast(0))
	k.i32("gcPercent", &c.GCPercent, 100, acts, between(10, 1000))
	k.i64("memoryLimitBytes", &c.MemoryLimitBytes, 0, acts, atLeast(0))
	k.i32("httpPort", &c.HTTPPort, 10988, acts, between(-1, 65535))
	k.str("httpHost", &c.HTTPHost, "127.0.0.1", acts)
	k.str("httpNames", &c.HTTPNames, "", acts)
	k.str("httpWrites", &c.HTTPWrites, "loopback", acts, oneOf("loopback", "all", "none"))
	k.boolean("httpPprof", &c.HTTPPprof, false, acts)
	k.add("topics", &topicsValue{&c.Topics}, []rule{acts})
	k.add("groups", &groupsValue{&c.Groups}, []rule{acts})
	k.add("messages", &messagesValue{&c.Messages}, []rule{acts})
}

// Package namesrv is the name server: it knows which brokers there are, which topics they serve, and tells clients.
// Nothing of that is stored: brokers register again every 30 seconds. Only the KV configuration is kept in a file.
//
// # Parts
//
//	table       brokers, clusters, topics, static queue mappings, filter servers, who is alive   (RouteInfoManager)
//	kvTable     KV configuration and its file                                                    (KVConfigManager)
//	NameServer  the request table, the listener, the scan for silent brokers                     (NamesrvController)
//
// # Concurrency
//
// The table is guarded by one RWMutex. GET_ROUTEINFO_BY_TOPIC, the request that every client sends all the time, takes no lock
// when it was asked before: its answer is kept, encoded, in a snapshot which whoever changes something that the answer
// depends on removes. It runs on the event loop. Everything else runs on one lane; removing the brokers of closed connections runs on
// a goroutine of its own, so that the loop never walks over the topics.
//
// Lock order: table.mu before kvTable.mu.
//
// # Bounds
//
// A registration that would exceed maxBrokers, maxTopics or maxQueueDatas, or a KV entry beyond maxKVEntries or maxKVBytes, is refused
// with SYSTEM_ERROR and changes nothing. Connections, frames and waiting requests are bounded by the listener.
package namesrv

package broker

import (
	"slices"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
)

// Lanes of the broker's server, beside remoting.OnLoop. Each is one row of laneOptions.
const (
	// laneClient: heartbeats, membership, queue locks.
	laneClient remoting.Lane = iota + 1
	// laneOffset: offset searches that may read the disk.
	laneOffset
	// laneBack: messages that consumers give back.
	laneBack
	// laneTransaction: commits and rollbacks.
	laneTransaction
	// laneReply: replies of request-reply.
	laneReply
	// laneQuery: messages by key and by id.
	laneQuery
	// lanePop: pop, peek, acknowledgements, notifications.
	lanePop
	// laneAdmin: everything an operator asks.
	laneAdmin
)

// maxLaneQueue bounds the queues of lanes whatever is configured: a queue takes memory before anything waits in it.
const maxLaneQueue = 10_000

// laneOptions gives the lanes their workers, queues and the time a request may wait (the reference's BrokerFastFailure). The
// reference's pool sizes are for threads that block; ours only wait for the disk and for one another, so a few do.
func laneOptions(c *conf.Config) []remoting.LaneOptions {
	b := &c.Broker
	lanes := []remoting.LaneOptions{
		laneClient - 1:      laneOf("client", b.ClientManageThreadPoolNums, 4, b.HeartbeatThreadPoolQueueCapacity, b.WaitTimeMillsInHeartbeatQueue),
		laneOffset - 1:      laneOf("offset", b.ConsumerManageThreadPoolNums, 2, b.ConsumerManagerThreadPoolQueueCapacity, 0),
		laneBack - 1:        laneOf("back", b.SendMessageThreadPoolNums, 4, b.SendThreadPoolQueueCapacity, b.WaitTimeMillsInSendQueue),
		laneTransaction - 1: laneOf("transaction", b.EndTransactionThreadPoolNums, 4, b.EndTransactionPoolQueueCapacity, b.WaitTimeMillsInTransactionQueue),
		laneReply - 1:       laneOf("reply", b.ProcessReplyMessageThreadPoolNums, 4, b.ReplyThreadPoolQueueCapacity, 0),
		laneQuery - 1:       laneOf("query", b.QueryMessageThreadPoolNums, 2, b.QueryThreadPoolQueueCapacity, 0),
		lanePop - 1:         laneOf("pop", b.AckMessageThreadPoolNums, 4, b.AckThreadPoolQueueCapacity, b.WaitTimeMillsInAckQueue),
		laneAdmin - 1:       laneOf("admin", b.AdminBrokerThreadPoolNums, 2, b.AdminBrokerThreadPoolQueueCapacity, b.WaitTimeMillsInAdminBrokerQueue),
	}
	if !b.BrokerFastFailureEnable {
		for i := range lanes {
			lanes[i].MaxWait = 0
		}
	}
	return lanes
}

// laneOf is one lane: as many workers and places as configured, within bounds of ours. wait 0: however long.
func laneOf(name string, configured int32, workers int, queue int32, waitMs int64) remoting.LaneOptions {
	return remoting.LaneOptions{
		Name: name, Workers: max(1, min(int(configured), workers)), Queue: min(int(queue), maxLaneQueue),
		MaxWait: time.Duration(waitMs) * time.Millisecond,
	}
}

// routes is the broker's request table.
func (b *Broker) routes() []remoting.Route {
	return slices.Concat(
		b.sendRoutes(),
		b.sendBackRoutes(),
		b.pullRoutes(),
		b.offsetRoutes(),
		b.heartbeatRoutes(),
		b.consumerListRoutes(),
		b.lockRoutes(),
		b.adminRoutes(),
	)
}

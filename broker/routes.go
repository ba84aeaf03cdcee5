package broker

import (
	"slices"

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

// laneOptions gives the lanes their workers and queues. The reference's pool sizes are for threads that block; ours only
// wait for the disk and for one another, so a few do, and the configured number is the upper bound.
func laneOptions(c *conf.Config) []remoting.LaneOptions {
	b := &c.Broker
	return []remoting.LaneOptions{
		laneClient - 1:      {Name: "client", Workers: workers(b.ClientManageThreadPoolNums, 4), Queue: int(b.HeartbeatThreadPoolQueueCapacity)},
		laneOffset - 1:      {Name: "offset", Workers: workers(b.ConsumerManageThreadPoolNums, 2), Queue: int(b.ConsumerManagerThreadPoolQueueCapacity)},
		laneBack - 1:        {Name: "back", Workers: workers(b.SendMessageThreadPoolNums, 4), Queue: int(b.SendThreadPoolQueueCapacity)},
		laneTransaction - 1: {Name: "transaction", Workers: workers(b.EndTransactionThreadPoolNums, 4), Queue: int(b.EndTransactionPoolQueueCapacity)},
		laneReply - 1:       {Name: "reply", Workers: workers(b.ProcessReplyMessageThreadPoolNums, 4), Queue: int(b.ReplyThreadPoolQueueCapacity)},
		laneQuery - 1:       {Name: "query", Workers: workers(b.QueryMessageThreadPoolNums, 2), Queue: int(b.QueryThreadPoolQueueCapacity)},
		lanePop - 1:         {Name: "pop", Workers: workers(b.AckMessageThreadPoolNums, 4), Queue: int(b.AckThreadPoolQueueCapacity)},
		laneAdmin - 1:       {Name: "admin", Workers: workers(b.AdminBrokerThreadPoolNums, 2), Queue: int(b.AdminBrokerThreadPoolQueueCapacity)},
	}
}

func workers(configured int32, most int) int { return max(1, min(int(configured), most)) }

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

package broker

import (
	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) lockRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.LockBatchMQ, Lane: laneClient, Handle: b.lockQueues},
		{Code: remoting.UnlockBatchMQ, Lane: laneClient, Handle: b.unlockQueues},
	}
}

// lockQueues is LOCK_BATCH_MQ: a consumer that consumes in order asks for queues. It gets those of them that nobody else holds
// (AdminBrokerProcessor#lockBatchMQ).
func (b *Broker) lockQueues(conn *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	lock, err := body.Decode[body.LockBatchRequest](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "lock request cannot be read: %s", err)
	}
	if len(lock.MessageQueues) > maxLocksPerGroup {
		return nil, remoting.Errorf(remoting.InvalidParameter, "lock request has %d queues in mqSet, the limit is %d", len(lock.MessageQueues), maxLocksPerGroup)
	}
	granted := b.locks.lock(lock.ConsumerGroup, lock.ClientID, conn, lock.MessageQueues)
	if len(granted) > 0 && !stateOf(conn).joinLocks(lock.ConsumerGroup) {
		b.orphaned(lock.ConsumerGroup, conn)
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.Body = body.Encode(&body.LockBatchReply{LockOKMessageQueues: granted})
	return resp, nil
}

// unlockQueues is UNLOCK_BATCH_MQ. Queues that somebody else holds stay locked (AdminBrokerProcessor#unlockBatchMQ).
func (b *Broker) unlockQueues(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	lock, err := body.Decode[body.LockBatchRequest](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "unlock request cannot be read: %s", err)
	}
	b.locks.unlock(lock.ConsumerGroup, lock.ClientID, lock.MessageQueues)
	return remoting.NewResponse(remoting.Success), nil
}

// orphan is a client whose connection has closed while it held queue locks.
type orphan struct {
	group, clientID string
	conn            *remoting.Conn // the closed one
	dueMs           int64
}

// orphaned notes the locks that a closed connection held: they are released when their owner has not come back in time.
func (b *Broker) orphaned(group string, conn *remoting.Conn) {
	due := b.clock.NowMs() + orphanGrace.Milliseconds()
	for _, id := range b.locks.orphans(group, conn) {
		b.keeper.later(orphan{group: group, clientID: id, conn: conn, dueMs: due})
	}
}

// settleOrphan gives the locks of a closed connection to another one of the same client, or releases them and tells the
// group.
func (b *Broker) settleOrphan(o orphan) {
	if back := b.consumers.find(o.group, o.clientID); back != nil {
		b.locks.adopt(o.group, o.clientID, o.conn, back.conn)
		if !stateOf(back.conn).joinLocks(o.group) {
			b.orphaned(o.group, back.conn)
		}
		return
	}
	n := b.locks.releaseOrphan(o.group, o.clientID, o.conn)
	if n == 0 {
		return
	}
	b.log.WithFields(logrus.Fields{"group": o.group, "client": o.clientID, "queues": n}).Info("queue locks of a consumer that is gone released")
	b.notifier.notify(o.group)
}

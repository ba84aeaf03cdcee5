package broker

import (
	"sync"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

const (
	// lockLife is how long a queue lock lives after its owner last asked for it (the reference's JVM property
	// rocketmq.broker.rebalance.lockMaxLiveTime).
	lockLife = 60 * time.Second
	// orphanGrace is how long the locks of a client whose last connection has closed wait for it to come back.
	orphanGrace = 4 * time.Second
	// maxLocksPerGroup bounds the queues that one group can lock.
	maxLocksPerGroup = 100_000
)

// queueLock is the lock of one queue. Guarded by lockTable.mu.
type queueLock struct {
	clientID string
	conn     *remoting.Conn // that last asked for it
	sinceMs  int64          // when it was last asked for
	asked    uint64         // which request that was
}

// lockTable knows which client owns which queue of a group whose messages are consumed in order (the reference's
// RebalanceLockManager). It lives in memory only. Safe for concurrent use.
type lockTable struct {
	clock clock.Clock

	mu     sync.Mutex
	groups map[string]map[body.MessageQueue]*queueLock // guarded by mu
	asked  uint64                                      // lock requests so far; guarded by mu
}

func newLockTable(c clock.Clock) *lockTable {
	return &lockTable{clock: c, groups: map[string]map[body.MessageQueue]*queueLock{}}
}

// lock gives the client each queue that is free, its own already, or whose lock has expired, and returns those.
func (t *lockTable) lock(group, clientID string, conn *remoting.Conn, queues []body.MessageQueue) []body.MessageQueue {
	now := t.clock.NowMs()
	granted := make([]body.MessageQueue, 0, len(queues))
	t.mu.Lock()
	defer t.mu.Unlock()
	locks := t.groups[group]
	if locks == nil {
		locks = map[body.MessageQueue]*queueLock{}
		t.groups[group] = locks
	}
	t.asked++
	for _, mq := range queues {
		l := locks[mq]
		switch {
		case l != nil && l.asked == t.asked: // named twice
			continue
		case l == nil && len(locks) >= maxLocksPerGroup:
			continue
		case l == nil:
			locks[mq] = &queueLock{clientID: clientID, conn: conn, sinceMs: now, asked: t.asked}
		case l.clientID == clientID || l.expired(now):
			*l = queueLock{clientID: clientID, conn: conn, sinceMs: now, asked: t.asked}
		default:
			continue
		}
		granted = append(granted, mq)
	}
	return granted
}

// unlock gives back those queues that the client owns.
func (t *lockTable) unlock(group, clientID string, queues []body.MessageQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	locks := t.groups[group]
	for _, mq := range queues {
		if l := locks[mq]; l != nil && l.clientID == clientID {
			delete(locks, mq)
		}
	}
	t.dropEmptyLocked(group)
}

// release gives back all queues of a group that the client owns. It returns how many there were.
func (t *lockTable) release(group, clientID string) (released int) {
	return t.releaseIf(group, func(l *queueLock) bool { return l.clientID == clientID })
}

// orphans lists the clients that own queues of a group through a connection which has closed.
func (t *lockTable) orphans(group string, conn *remoting.Conn) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := map[string]struct{}{}
	for _, l := range t.groups[group] {
		if l.conn == conn {
			ids[l.clientID] = struct{}{}
		}
	}
	return keysOf(ids)
}

// releaseOrphan gives back what the client still owns through a connection that has closed: had it come back and asked
// again, the lock would be held through another one.
func (t *lockTable) releaseOrphan(group, clientID string, conn *remoting.Conn) (released int) {
	return t.releaseIf(group, func(l *queueLock) bool { return l.clientID == clientID && l.conn == conn })
}

// adopt moves what the client holds through one connection to another one of it.
func (t *lockTable) adopt(group, clientID string, from, to *remoting.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.groups[group] {
		if l.clientID == clientID && l.conn == from {
			l.conn = to
		}
	}
}

func (t *lockTable) releaseIf(group string, match func(*queueLock) bool) (released int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	locks := t.groups[group]
	for mq, l := range locks {
		if match(l) {
			delete(locks, mq)
			released++
		}
	}
	t.dropEmptyLocked(group)
	return released
}

// ordered tells whether a group holds any lock that has not expired (RebalanceLockManager#isLockAllExpired, negated).
func (t *lockTable) ordered(group string) bool {
	now := t.clock.NowMs()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.groups[group] {
		if !l.expired(now) {
			return true
		}
	}
	return false
}

// sweep forgets expired locks.
func (t *lockTable) sweep() {
	now := t.clock.NowMs()
	t.mu.Lock()
	defer t.mu.Unlock()
	for group, locks := range t.groups {
		for mq, l := range locks {
			if l.expired(now) {
				delete(locks, mq)
			}
		}
		t.dropEmptyLocked(group)
	}
}

func (t *lockTable) dropEmptyLocked(group string) {
	if locks, ok := t.groups[group]; ok && len(locks) == 0 {
		delete(t.groups, group)
	}
}

func (l *queueLock) expired(nowMs int64) bool { return nowMs-l.sinceMs > lockLife.Milliseconds() }

package broker

import (
	"sync"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
)

// scanEvery is how often clients without heartbeats, expired locks and unused subscriptions are looked for
// (ClientHousekeepingService).
const scanEvery = 10 * time.Second

// keeper does what time asks for: it settles the queue locks of clients that are gone and scans for what has expired. It owns
// one goroutine.
type keeper struct {
	clock  clock.Clock
	settle func(orphan)
	scan   func(nowMs int64)

	mu      sync.Mutex
	orphans []orphan // in the order of their time; guarded by mu
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

func newKeeper(c clock.Clock, settle func(orphan), scan func(nowMs int64)) *keeper {
	return &keeper{
		clock: c, settle: settle, scan: scan,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

func (k *keeper) start() { go k.run() }

func (k *keeper) close() {
	close(k.stop)
	<-k.done
}

// later settles o at its time. Times never go back: the grace is the same for all.
func (k *keeper) later(o orphan) {
	k.mu.Lock()
	k.orphans = append(k.orphans, o)
	k.mu.Unlock()
	signal(k.wake)
}

func (k *keeper) run() {
	defer close(k.done)
	timer := k.clock.NewTimer(scanEvery)
	defer timer.Stop()
	nextScan := k.clock.NowMs() + scanEvery.Milliseconds()
	for {
		now := k.clock.NowMs()
		for _, o := range k.takeDue(now) {
			k.settle(o)
		}
		if now >= nextScan || nextScan-now > scanEvery.Milliseconds() { // the clock may have gone back
			k.scan(now)
			nextScan = now + scanEvery.Milliseconds()
		}
		timer.Reset(k.wait(nextScan))
		select {
		case <-k.stop:
			return
		case <-k.wake:
		case <-timer.C():
		}
	}
}

func (k *keeper) takeDue(now int64) []orphan {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for n < len(k.orphans) && k.orphans[n].dueMs <= now {
		n++
	}
	due := k.orphans[:n:n]
	if k.orphans = k.orphans[n:]; len(k.orphans) == 0 {
		k.orphans = nil
	}
	return due
}

// wait is the time until something is due.
func (k *keeper) wait(nextScan int64) time.Duration {
	due := nextScan
	k.mu.Lock()
	if len(k.orphans) > 0 {
		due = min(due, k.orphans[0].dueMs)
	}
	k.mu.Unlock()
	return max(0, time.Duration(due-k.clock.NowMs())*time.Millisecond)
}

// scanExpired drops what has expired: connections whose client sends no heartbeats, locks, subscriptions of pulls.
func (b *Broker) scanExpired(nowMs int64) {
	oldest := nowMs - b.config().Broker.ChannelExpiredTimeout
	expired := map[*remoting.Conn]struct{}{}
	for _, conn := range b.consumers.expired(oldest) {
		expired[conn] = struct{}{}
	}
	for _, conn := range b.producers.expired(oldest) {
		expired[conn] = struct{}{}
	}
	for conn := range expired {
		b.log.WithField("remote", conn.RemoteAddr().String()).Warn("no heartbeat for too long, the connection is closed")
		conn.Close("no heartbeat")
		b.forget(conn)
	}
	b.locks.sweep()
	b.compensation.sweep(nowMs)
}

// forget takes a connection that has closed out of every table. Calling it again does nothing.
func (b *Broker) forget(conn *remoting.Conn) {
	state := stateOf(conn)
	b.holds.connClosed(state, b.freePull)
	consumers, producers, locks := state.close()
	b.consumers.connClosed(conn, consumers)
	b.producers.connClosed(conn, producers)
	for _, group := range locks {
		b.orphaned(group, conn)
	}
}

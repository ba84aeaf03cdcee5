package broker

import (
	"sync"

	"github.com/rocketd/rocketd/remoting"
)

// notifier tells the members of a group that their number has changed (NOTIFY_CONSUMER_IDS_CHANGED). Groups that
// change while it is busy are told once when it gets to them. Safe for concurrent use; owned by the broker.
type notifier struct {
	consumers *consumerTable

	mu      sync.Mutex
	pending map[string]struct{} // guarded by mu
	wake    chan struct{}       // holds at most one token
	stop    chan struct{}
	done    chan struct{}
}

func newNotifier(consumers *consumerTable) *notifier {
	return &notifier{
		consumers: consumers, pending: map[string]struct{}{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

func (n *notifier) start() { go n.run() }

// close ends the notifier and waits for it; what is pending is not sent any more.
func (n *notifier) close() {
	close(n.stop)
	<-n.done
}

// notify asks for the members of a group to be told soon.
func (n *notifier) notify(group string) {
	n.mu.Lock()
	n.pending[group] = struct{}{}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run() {
	defer close(n.done)
	for {
		select {
		case <-n.stop:
			return
		case <-n.wake:
		}
		n.mu.Lock()
		groups := keysOf(n.pending)
		clear(n.pending)
		n.mu.Unlock()
		for _, group := range groups {
			n.tell(group)
		}
	}
}

func (n *notifier) tell(group string) {
	if !n.consumers.config().Broker.NotifyConsumerIdsChangedEnable {
		return
	}
	for _, c := range n.consumers.members(group) {
		cmd := remoting.NewRequest(remoting.NotifyConsumerIDsChanged, &remoting.NotifyConsumerIDsChangedRequestHeader{ConsumerGroup: group})
		// A connection that cannot take it is closing: its end is a change of its own.
		_ = c.conn.Oneway(cmd)
	}
}

package broker

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Bounds of asking a client for its subscriptions.
const (
	askTimeout = 3 * time.Second
	askEvery   = 2 * time.Second // and client: pulls of its other queues come at once
)

// askSubscriptions asks a member that pulls with a newer subscription than its heartbeats brought what it subscribes now. Java
// clients from 5.0 on give a subscription a new version at each rebalance and then send a heartbeat, unless another one is
// just under way: in a new consumer both begin a second after its start, and every so often the broker hears of the version only half a
// minute later. In the reference the consumer gets nothing till then (SUBSCRIPTION_NOT_LATEST); here, with its next pull.
func (b *Broker) askSubscriptions(group string, conn *remoting.Conn) {
	member, due := b.consumers.asking(group, conn, b.clock.NowMs())
	if !due || member.language != remoting.Java || member.version < remoting.V318Snapshot {
		return
	}
	cmd := remoting.NewRequest(remoting.GetConsumerRunningInfo, &remoting.GetConsumerRunningInfoRequestHeader{
		ConsumerGroup: member.group, ClientID: member.id,
	})
	conn.Request(cmd, askTimeout, func(resp *remoting.Command, err error) {
		if err != nil || resp.Code != remoting.Success {
			return // the next heartbeat tells
		}
		// Not on the event loop: the answer tells much more than asked for.
		b.slowSends.try(func() { b.learnSubscriptions(member, resp.Body) })
	})
}

// learnSubscriptions notes what a member has answered.
func (b *Broker) learnSubscriptions(member asked, data []byte) {
	info, err := body.Decode[body.ConsumerRunningInfo](data)
	if err != nil || len(info.SubscriptionSet) == 0 {
		return
	}
	if b.consumers.renew(member, info.SubscriptionSet) {
		b.log.WithFields(logrus.Fields{"group": member.group, "client": member.id}).Debug("subscriptions of a consumer learned by asking")
	}
}

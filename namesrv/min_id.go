package namesrv

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

// minIDChange is a group of brokers whose smallest id has changed: its members may want to know.
type minIDChange struct {
	brokerName  string
	minID       int64
	minAddr     string
	offlineAddr string // who left, "" when somebody joined
	haAddr      string // of who joined
	notify      []string
}

// newMinIDChange tells whom to notify: who is left, or all but the new smallest (RouteInfoManager.chooseBrokerAddrsToNotify).
func newMinIDChange(brokerName string, addrs map[int64]string, offlineAddr, haAddr string) *minIDChange {
	ids := slices.Sorted(maps.Keys(addrs))
	c := &minIDChange{brokerName: brokerName, minID: ids[0], minAddr: addrs[ids[0]], offlineAddr: offlineAddr, haAddr: haAddr}
	for _, id := range ids {
		if offlineAddr != "" || len(ids) == 1 || id != c.minID {
			c.notify = append(c.notify, addrs[id])
		}
	}
	return c
}

// notifyTimeout bounds one NOTIFY_MIN_BROKER_ID_CHANGE.
const notifyTimeout = 300 * time.Millisecond

// oneway sends requests to brokers. It is a *remoting.Client.
type oneway interface {
	Oneway(ctx context.Context, addr string, cmd *remoting.Command) error
}

// notifyMinID tells the members of groups of their new smallest id.
func (n *NameServer) notifyMinID(changes ...*minIDChange) {
	if !n.config().Namesrv.NotifyMinBrokerIDChanged {
		return
	}
	for _, c := range changes {
		if c == nil {
			continue
		}
		n.log.WithField("broker", c.brokerName).WithField("minId", c.minID).Info("smallest id of broker group changed")
		for _, addr := range c.notify {
			h := &remoting.NotifyMinBrokerIDChangeRequestHeader{
				MinBrokerID: remoting.Some(c.minID), MinBrokerAddr: c.minAddr, OfflineBrokerAddr: c.offlineAddr, HABrokerAddr: c.haAddr,
			}
			n.background.Go(func() {
				ctx, cancel := context.WithTimeout(n.running, notifyTimeout)
				defer cancel()
				if err := n.brokers.Oneway(ctx, addr, remoting.NewRequest(remoting.NotifyMinBrokerIDChange, h)); err != nil {
					n.log.WithError(err).WithField("broker", addr).Warn("broker is not told of the new smallest id")
				}
			})
		}
	}
}

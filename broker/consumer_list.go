package broker

import (
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) consumerListRoutes() []remoting.Route {
	return []remoting.Route{{Code: remoting.GetConsumerListByGroup, Lane: laneClient, Handle: b.consumerList}}
}

// consumerList is GET_CONSUMER_LIST_BY_GROUP: the client ids among which a group's queues are shared out
// (ConsumerManageProcessor#getConsumerListByGroup). Unlike there an id is listed once however many connections have it.
func (b *Broker) consumerList(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetConsumerListByGroupRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	ids := b.consumers.clientIDs(h.ConsumerGroup)
	if len(ids) == 0 {
		return nil, remoting.Errorf(remoting.SystemError, "no consumer for this group, %s", h.ConsumerGroup)
	}
	resp := remoting.NewResponse(remoting.Success)
	resp.Body = body.Encode(&body.ConsumerList{ConsumerIDs: ids})
	return resp, nil
}

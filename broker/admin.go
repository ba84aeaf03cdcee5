package broker

import "github.com/rocketd/rocketd/remoting"

// adminRoutes joins the request tables of administration, queries, transactions, request-reply and pop.
func (b *Broker) adminRoutes() []remoting.Route {
	return nil
}

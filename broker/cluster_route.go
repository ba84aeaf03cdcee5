package broker

import (
	"context"
	"sync"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

const (
	// maxClusterRoutes bounds the topics whose routes are remembered.
	maxClusterRoutes = 10_000
	// routeTimeout bounds the asking of one name server.
	routeTimeout = 3 * time.Second
)

// router is a name server in this process that tells routes.
type router interface {
	Route(topic string) *body.TopicRouteData
}

// clusterRoutes knows which queues other brokers have of a topic (TopicRouteInfoManager). Routes that external name servers told are
// remembered for loadBalancePollNameServerInterval. Safe for concurrent use.
type clusterRoutes struct {
	b *Broker

	mu    sync.Mutex
	known map[string]*knownRoute // by topic; guarded by mu
}

// knownRoute is one topic's route. Its lock is held while a name server is asked, so that it is asked once.
type knownRoute struct {
	mu    sync.Mutex
	asked int64 // ms; guarded by mu
	route *body.TopicRouteData
}

func newClusterRoutes(b *Broker) *clusterRoutes {
	return &clusterRoutes{b: b, known: map[string]*knownRoute{}}
}

// route tells where a topic's queues are, nil when no name server knows. It may wait for a name server.
func (c *clusterRoutes) route(topic string) *body.TopicRouteData {
	for _, n := range c.b.options.NameServers {
		if r, ok := n.(router); ok {
			if route := r.Route(topic); route != nil {
				return route
			}
		}
	}
	config := &c.b.config().Broker
	addrs := nameServerAddrs(config.NamesrvAddr)
	if len(addrs) == 0 {
		return nil
	}
	k := c.entry(topic)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := c.b.clock.NowMs()
	if k.asked != 0 && now-k.asked < config.LoadBalancePollNameServerInterval {
		return k.route
	}
	k.asked = now
	for _, addr := range addrs {
		route, err := c.ask(addr, topic)
		if err == nil {
			k.route = route
			break
		}
		if c.b.warnings.allow("route@" + addr) {
			c.b.log.WithError(err).WithField("nameServer", addr).Warn("route of a topic cannot be had, going on with what is known")
		}
	}
	return k.route
}

func (c *clusterRoutes) entry(topic string) *knownRoute {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[topic]
	if k != nil {
		return k
	}
	if len(c.known) >= maxClusterRoutes {
		clear(c.known)
	}
	k = &knownRoute{}
	c.known[cloned(topic)] = k
	return k
}

// ask gets a route from an external name server; nil without an error when it knows none.
func (c *clusterRoutes) ask(addr, topic string) (*body.TopicRouteData, error) {
	ctx, cancel := context.WithTimeout(context.Background(), routeTimeout)
	defer cancel()
	answer, err := c.b.caller.Invoke(ctx, addr, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}))
	switch {
	case err != nil:
		return nil, err
	case answer.Code == remoting.TopicNotExist:
		return nil, nil
	case answer.Code != remoting.Success:
		return nil, remoting.Errorf(answer.Code, "%s", answer.Remark)
	}
	return body.Decode[body.TopicRouteData](answer.Body)
}

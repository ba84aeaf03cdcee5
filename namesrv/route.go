package namesrv

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rocketd/rocketd/remoting/body"
)

// syncMemberPrefix begins the topics over which brokers find the members of their group: their route is never acted on
// (TopicValidator.SYNC_BROKER_MEMBER_GROUP_PREFIX).
const syncMemberPrefix = "rmq_sys_SYNC_BROKER_MEMBER_"

// answer is what GET_ROUTEINFO_BY_TOPIC gives for one topic, encoded when it is first asked for in that form. It never changes.
type answer struct {
	route  *body.TopicRouteData
	quoted func() []byte // integer keys in quotes
	bare   func() []byte
}

func newAnswer(route *body.TopicRouteData) *answer {
	return &answer{
		route:  route,
		quoted: sync.OnceValue(func() []byte { return body.Encode(route) }),
		bare:   sync.OnceValue(func() []byte { return body.EncodeBare(route) }),
	}
}

// routeRules are the settings that routes depend on. Whoever changes one calls forgetAnswers.
type routeRules struct {
	actingMaster bool                      // supportActingMaster
	orderConf    func(topic string) string // nil unless orderMessageEnable
}

// forgetAnswers removes all answers.
func (t *table) forgetAnswers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers.Clear()
}

// route finds the answer for a topic, nil when no broker serves it. topic may alias a frame.
func (t *table) route(topic string, rules func() routeRules) *answer {
	if a, ok := t.answers.Load(topic); ok {
		return a.(*answer) //nolint:errcheck,forcetypeassert // nothing else is in it
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	// Settings are read under the lock: a change of them that comes later finds and removes what is kept here.
	route := t.pickupLocked(topic, rules())
	if route == nil {
		return nil
	}
	a := newAnswer(route)
	t.answers.Store(strings.Clone(topic), a)
	return a
}

// pickupLocked puts a route together (RouteInfoManager.pickupTopicRouteData).
func (t *table) pickupLocked(topic string, rules routeRules) *body.TopicRouteData {
	queues := t.topics[topic]
	route := &body.TopicRouteData{QueueDatas: sortedQueueDatas(queues), BrokerDatas: []body.BrokerData{}, FilterServerTable: map[string][]string{}}
	for _, q := range route.QueueDatas {
		g := t.groups[q.BrokerName]
		if g == nil {
			continue
		}
		route.BrokerDatas = append(route.BrokerDatas, g.data(q.BrokerName))
		for _, addr := range g.addrs {
			if servers := t.filters[brokerKey{g.cluster, addr}]; servers != nil {
				route.FilterServerTable[addr] = servers
			}
		}
	}
	if len(route.BrokerDatas) == 0 {
		return nil
	}
	if infos := t.mappings[topic]; len(infos) > 0 {
		route.TopicQueueMappingByBroker = maps.Clone(infos)
	}
	if rules.orderConf != nil {
		route.OrderTopicConf = rules.orderConf(topic)
	}
	if rules.actingMaster && !strings.HasPrefix(topic, syncMemberPrefix) {
		presentActingMasters(route)
	}
	return route
}

// presentActingMasters shows the slave with the smallest id of a group without master as its master, if the group allows it and its
// queues cannot be written.
func presentActingMasters(route *body.TopicRouteData) {
	for i := range route.BrokerDatas {
		b := &route.BrokerDatas[i]
		if b.BrokerAddrs[masterID] != "" || len(b.BrokerAddrs) == 0 || !b.EnableActingMaster {
			continue
		}
		at := slices.IndexFunc(route.QueueDatas, func(q body.QueueData) bool { return q.BrokerName == b.BrokerName })
		if at < 0 || route.QueueDatas[at].Perm&permWrite != 0 {
			continue
		}
		minID := slices.Min(slices.Collect(maps.Keys(b.BrokerAddrs)))
		b.BrokerAddrs[masterID] = b.BrokerAddrs[minID]
		delete(b.BrokerAddrs, minID)
	}
}

// inZone leaves out the brokers of other zones, but for those whose master is missing: from their slaves everybody may read
// (ZoneRouteRPCHook.filterByZoneName).
func inZone(route *body.TopicRouteData, zone string) *body.TopicRouteData {
	near := *route
	near.BrokerDatas = []body.BrokerData{}
	near.FilterServerTable = maps.Clone(route.FilterServerTable)
	far := make(map[string]bool)
	for _, b := range route.BrokerDatas {
		if b.BrokerAddrs[masterID] == "" || strings.EqualFold(b.ZoneName, zone) {
			near.BrokerDatas = append(near.BrokerDatas, b)
			continue
		}
		far[b.BrokerName] = true
		for _, addr := range b.BrokerAddrs {
			delete(near.FilterServerTable, addr)
		}
	}
	near.QueueDatas = slices.DeleteFunc(slices.Clone(route.QueueDatas), func(q body.QueueData) bool { return far[q.BrokerName] })
	return &near
}

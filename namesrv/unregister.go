package namesrv

import (
	"maps"
	"slices"
)

// departure is a broker to be taken out.
type departure struct {
	key        brokerKey
	brokerName string
	brokerID   int64
}

// unregister takes brokers out of all routes (RouteInfoManager.unRegisterBroker) and tells which groups have a new smallest id.
func (t *table) unregister(departures []departure) []*minIDChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unregisterLocked(departures)
}

func (t *table) unregisterLocked(departures []departure) []*minIDChange {
	gone := make(map[string]struct{})       // broker names without members
	leaderless := make(map[string]struct{}) // broker names whose topics may only be read now
	var changes []*minIDChange
	for _, d := range departures {
		delete(t.lives, d.key)
		delete(t.filters, d.key)
		g := t.groups[d.brokerName]
		if g == nil {
			continue
		}
		previousMin, _ := g.minID()
		addrs := maps.Clone(g.addrs) // answers under construction may hold the old one
		maps.DeleteFunc(addrs, func(_ int64, addr string) bool { return addr == d.key.addr })
		g.addrs = addrs
		t.forgetAnswersLocked(d.brokerName)
		minID, left := g.minID()
		switch {
		case !left:
			delete(t.groups, d.brokerName)
			gone[d.brokerName] = struct{}{}
			t.leaveClusterLocked(d.key.cluster, d.brokerName)
			continue
		case g.actingMaster && minID != masterID:
			leaderless[d.brokerName] = struct{}{}
		}
		if d.brokerID == previousMin && g.actingMaster {
			changes = append(changes, newMinIDChange(d.brokerName, addrs, d.key.addr, ""))
		}
	}
	t.cleanTopicsLocked(gone, leaderless)
	return changes
}

func (t *table) leaveClusterLocked(cluster, brokerName string) {
	names := t.clusters[cluster]
	delete(names, brokerName)
	if len(names) == 0 {
		delete(t.clusters, cluster)
	}
}

func (t *table) cleanTopicsLocked(gone, leaderless map[string]struct{}) {
	if len(gone) == 0 && len(leaderless) == 0 {
		return
	}
	for topic, queues := range t.topics {
		for brokerName, q := range queues {
			if _, ok := leaderless[brokerName]; ok {
				q.Perm &^= permWrite
				t.setQueueDataLocked(topic, q)
			}
		}
		for brokerName := range gone {
			t.removeQueueDataLocked(topic, brokerName)
		}
	}
	for topic, infos := range t.mappings {
		for brokerName := range gone {
			delete(infos, brokerName)
		}
		if len(infos) == 0 {
			delete(t.mappings, topic)
		}
	}
}

// departureLocked finds the name and id of a registered address (RouteInfoManager.setupUnRegisterRequest).
func (t *table) departureLocked(key brokerKey) departure {
	for name, g := range t.groups {
		if g.cluster != key.cluster {
			continue
		}
		for id, addr := range g.addrs {
			if addr == key.addr {
				return departure{key: key, brokerName: name, brokerID: id}
			}
		}
	}
	return departure{key: key}
}

// disconnect takes out the brokers that registered over connections which are closed now.
func (t *table) disconnect(conns []connection) (departures []departure, changes []*minIDChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, l := range t.lives {
		if l.conn != nil && slices.Contains(conns, l.conn) {
			departures = append(departures, t.departureLocked(key))
		}
	}
	return departures, t.unregisterLocked(departures)
}

// registeredOver tells whether a broker has registered over the connection.
func (t *table) registeredOver(conn connection) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, l := range t.lives {
		if l.conn == conn {
			return true
		}
	}
	return false
}

// expire takes out the brokers that have been silent for too long, and gives their connections, which are to be closed
// (RouteInfoManager.scanNotActiveBroker). It finds closed connections, too, that disconnect was not told of.
func (t *table) expire(nowMs int64) (departures []departure, conns []connection, changes []*minIDChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, l := range t.lives {
		if l.conn != nil && (l.lastUpdate.Load()+l.timeout < nowMs || l.conn.Closed()) {
			departures = append(departures, t.departureLocked(key))
			conns = append(conns, l.conn)
		}
	}
	return departures, conns, t.unregisterLocked(departures)
}

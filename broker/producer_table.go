package broker

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
)

// producerTable knows the connections of each producer group (the reference's ProducerManager). Safe for concurrent use.
type producerTable struct {
	log    *logrus.Entry
	config func() *conf.Config

	turn atomic.Uint32 // round robin over a group's connections

	mu      sync.RWMutex
	groups  map[string]map[*remoting.Conn]*client // guarded by mu
	clients map[string]map[*remoting.Conn]int     // by client id: connections, and in how many groups; guarded by mu
}

func newProducerTable(log *logrus.Entry, config func() *conf.Config) *producerTable {
	return &producerTable{
		log: log, config: config,
		groups: map[string]map[*remoting.Conn]*client{}, clients: map[string]map[*remoting.Conn]int{},
	}
}

// register notes a heartbeat of c for a group. It is false when the table already holds maxGroups groups.
func (t *producerTable) register(group string, c *client) bool {
	t.mu.Lock()
	members := t.groups[group]
	if members == nil {
		if len(t.groups) >= int(t.config().Rocketd.MaxGroups) {
			t.mu.Unlock()
			return false
		}
		members = map[*remoting.Conn]*client{}
		t.groups[group] = members
	}
	old := members[c.conn]
	if old != nil && old.same(c) {
		old.updatedMs = c.updatedMs
		t.mu.Unlock()
		return true
	}
	if old != nil {
		t.forgetClientLocked(old)
	}
	members[c.conn] = c
	conns := t.clients[c.id]
	if conns == nil {
		conns = map[*remoting.Conn]int{}
		t.clients[c.id] = conns
	}
	conns[c.conn]++
	t.mu.Unlock()
	if !stateOf(c.conn).joinProducer(group) {
		t.remove(group, c.conn)
		return true
	}
	if old == nil {
		t.log.WithFields(logrus.Fields{"group": group, "client": c.id, "remote": c.conn.RemoteAddr().String()}).Info("producer connected")
	}
	return true
}

// unregister removes a connection from a group.
func (t *producerTable) unregister(group string, conn *remoting.Conn) {
	if t.remove(group, conn) {
		stateOf(conn).leaveProducer(group)
	}
}

// connClosed removes a connection from the groups that it was in.
func (t *producerTable) connClosed(conn *remoting.Conn, groups []string) {
	for _, group := range groups {
		t.remove(group, conn)
	}
}

func (t *producerTable) remove(group string, conn *remoting.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	members := t.groups[group]
	c := members[conn]
	if c == nil {
		return false
	}
	delete(members, conn)
	t.forgetClientLocked(c)
	if len(members) == 0 {
		delete(t.groups, group)
	}
	t.log.WithFields(logrus.Fields{"group": group, "client": c.id}).Info("producer gone")
	return true
}

func (t *producerTable) forgetClientLocked(c *client) {
	conns := t.clients[c.id]
	if conns[c.conn]--; conns[c.conn] <= 0 {
		delete(conns, c.conn)
	}
	if len(conns) == 0 {
		delete(t.clients, c.id)
	}
}

// online tells whether a group has a connection.
func (t *producerTable) online(group string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.groups[group]) > 0
}

// pick is a connection of a group, another one at each call; nil when there is none.
func (t *producerTable) pick(group string) *remoting.Conn {
	members := t.members(group)
	for range members {
		c := members[int(t.turn.Add(1))%len(members)]
		if !c.conn.Closed() {
			return c.conn
		}
	}
	return nil
}

// find is an open connection of a client id, nil when there is none. Of several the newest one.
func (t *producerTable) find(clientID string) *remoting.Conn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found *remoting.Conn
	for conn := range t.clients[clientID] {
		if !conn.Closed() && (found == nil || conn.ID() > found.ID()) {
			found = conn
		}
	}
	return found
}

// members lists the clients of a group in the order of their connecting.
func (t *producerTable) members(group string) []client {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return clientsOf(t.groups[group])
}

// all lists the clients of each group.
func (t *producerTable) all() map[string][]client {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make(map[string][]client, len(t.groups))
	for group, members := range t.groups {
		all[group] = clientsOf(members)
	}
	return all
}

// expired lists the connections that no heartbeat came from since oldest, ms.
func (t *producerTable) expired(oldest int64) []*remoting.Conn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var conns []*remoting.Conn
	for _, members := range t.groups {
		for conn, c := range members {
			if c.updatedMs < oldest {
				conns = append(conns, conn)
			}
		}
	}
	return conns
}

func clientsOf(members map[*remoting.Conn]*client) []client {
	list := make([]client, 0, len(members))
	for _, c := range members {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b client) int { return cmp.Compare(a.conn.ID(), b.conn.ID()) })
	return list
}

package broker

import (
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// maxSubscriptions bounds the topics that one consumer may subscribe; a heartbeat with more keeps the first ones.
const maxSubscriptions = 10_000

// consumerTable knows the members and subscriptions of each consumer group (the reference's ConsumerManager and
// ConsumerGroupInfo). Safe for concurrent use.
type consumerTable struct {
	log      *logrus.Entry
	config   func() *conf.Config
	warnings *throttle
	// changed is called, without locks held, when the members of a group or the topics it subscribes have changed.
	changed func(group string)
	// emptied is called, without locks held, when the last member of a group has left.
	emptied func(group string)

	mu     sync.RWMutex
	groups map[string]*consumerGroup // guarded by mu
}

// consumerGroup is one group that has members. Its fields are guarded by the table's mu.
type consumerGroup struct {
	name         string
	consumeType  body.ConsumeType
	messageModel body.MessageModel
	fromWhere    body.ConsumeFromWhere
	updatedMs    int64
	fingerprint  int32
	members      map[*remoting.Conn]*client
	declared     map[*remoting.Conn]declaration // what each member subscribes; absent: it sent no subscriptions
	subs         map[string]*subscription       // by topic; the values are immutable
}

// declaration is one member's own subscriptions in a form to be compared and printed.
type declaration []string

// joining is what a heartbeat says of one group.
type joining struct {
	group         string
	client        *client
	consumeType   body.ConsumeType
	messageModel  body.MessageModel
	fromWhere     body.ConsumeFromWhere
	subscriptions []body.SubscriptionData
	withoutSub    bool // subscriptions are unchanged and not given
	fingerprint   int32
	notify        bool // notifyConsumerIdsChangedEnable of the group
}

func newConsumerTable(log *logrus.Entry, config func() *conf.Config, warnings *throttle) *consumerTable {
	return &consumerTable{
		log: log, config: config, warnings: warnings,
		changed: func(string) {}, emptied: func(string) {}, groups: map[string]*consumerGroup{},
	}
}

// register notes a heartbeat. fresh tells that the fingerprint differs from the one the group had
// (ClientManageProcessor#heartBeatV2).
func (t *consumerTable) register(j joining) (fresh bool) {
	compiled := t.compile(j)
	t.mu.Lock()
	g := t.groups[j.group]
	if g == nil {
		if len(t.groups) >= int(t.config().Rocketd.MaxGroups) {
			t.mu.Unlock()
			return false
		}
		g = &consumerGroup{
			name: j.group, members: map[*remoting.Conn]*client{}, declared: map[*remoting.Conn]declaration{},
			subs: map[string]*subscription{},
		}
		t.groups[j.group] = g
	} else {
		fresh = g.fingerprint != j.fingerprint
	}
	g.fingerprint = j.fingerprint
	g.consumeType, g.messageModel, g.fromWhere = j.consumeType, j.messageModel, j.fromWhere
	g.updatedMs = j.client.updatedMs
	joined, twin := g.joinLocked(j.client)
	changed := joined
	var rival *client
	if !j.withoutSub {
		changed = g.subscribeLocked(compiled) || changed
		rival = g.declareLocked(j.client, declarationOf(j.subscriptions))
	}
	rivals := t.rivalsLocked(g, j.client, rival)
	broadcasting := g.broadcasting()
	t.mu.Unlock()

	if !stateOf(j.client.conn).joinConsumer(j.group) {
		t.remove(j.group, j.client.conn)
		return fresh
	}
	t.warnTwin(j, twin)
	t.warnRival(j, rival, rivals)
	if joined {
		t.log.WithFields(logrus.Fields{
			"group": j.group, "client": j.client.id, "remote": j.client.conn.RemoteAddr().String(),
			"type": j.consumeType, "model": j.messageModel,
		}).Info("consumer connected")
	}
	if changed && j.notify && !broadcasting {
		t.changed(j.group)
	}
	return fresh
}

// compile prepares the subscriptions of a heartbeat outside the lock; those that the group has already are taken over.
func (t *consumerTable) compile(j joining) []*subscription {
	if j.withoutSub {
		return nil
	}
	list := j.subscriptions
	if len(list) > maxSubscriptions {
		if t.warnings.allow("subscriptions@" + j.group) {
			t.log.WithFields(logrus.Fields{"group": j.group, "client": j.client.id, "subscriptions": len(list), "limit": maxSubscriptions}).
				Warn("consumer subscribes too many topics, the rest is ignored")
		}
		list = list[:maxSubscriptions]
	}
	compiled := make([]*subscription, 0, len(list))
	for i := range list {
		old, _ := t.lookup(j.group, list[i].Topic)
		if old != nil && old.equal(&list[i]) {
			compiled = append(compiled, old)
			continue
		}
		s := newSubscription(list[i])
		if s.err != nil && t.warnings.allow("expression@"+j.group+"@"+s.data.Topic) {
			t.log.WithFields(logrus.Fields{"group": j.group, "client": j.client.id, "topic": s.data.Topic, "expression": s.data.SubString}).
				WithError(s.err).Warn("consumer subscribes with an expression that cannot be read, it gets nothing")
		}
		if s.sql != nil && s.sql.Ignored() != "" && t.warnings.allow("ignored@"+j.group+"@"+s.data.Topic) {
			t.log.WithFields(logrus.Fields{"group": j.group, "client": j.client.id, "topic": s.data.Topic, "expression": s.data.SubString, "ignored": s.sql.Ignored()}).
				Warn("the end of a consumer's expression has no effect")
		}
		compiled = append(compiled, s)
	}
	return compiled
}

// joinLocked enters or refreshes a member. twin is another connection of the same client id.
func (g *consumerGroup) joinLocked(c *client) (joined bool, twin *client) {
	old := g.members[c.conn]
	if old != nil && old.same(c) {
		old.updatedMs = c.updatedMs
	} else {
		g.members[c.conn] = c
	}
	for conn, other := range g.members {
		if other.id == c.id && conn != c.conn && !conn.Closed() {
			twin = other
			break
		}
	}
	return old == nil, twin
}

// subscribeLocked makes subs the group's subscriptions as ConsumerGroupInfo#updateSubscription does: the latest
// heartbeat decides which topics there are, a newer version replaces an older one and is not a change.
func (g *consumerGroup) subscribeLocked(subs []*subscription) (changed bool) {
	keep := make(map[string]struct{}, len(subs))
	for _, s := range subs {
		topic := s.data.Topic
		keep[topic] = struct{}{}
		old := g.subs[topic]
		switch {
		case old == nil:
			g.subs[topic] = s
			changed = true
		case s.data.SubVersion > old.data.SubVersion:
			g.subs[topic] = s
		}
	}
	for topic := range g.subs {
		if _, ok := keep[topic]; !ok {
			delete(g.subs, topic)
			changed = true
		}
	}
	return changed
}

// declareLocked notes a member's own subscriptions and finds a member with other ones.
func (g *consumerGroup) declareLocked(c *client, d declaration) (rival *client) {
	g.declared[c.conn] = d
	for conn, other := range g.declared {
		if conn != c.conn && !slices.Equal(other, d) && !conn.Closed() {
			return g.members[conn]
		}
	}
	return nil
}

// rivalsLocked is what two members that differ have declared, for the log.
func (t *consumerTable) rivalsLocked(g *consumerGroup, c, rival *client) [2]declaration {
	if rival == nil {
		return [2]declaration{}
	}
	return [2]declaration{g.declared[c.conn], g.declared[rival.conn]}
}

func (g *consumerGroup) broadcasting() bool {
	return g.messageModel == body.Broadcasting
}

func (t *consumerTable) warnTwin(j joining, twin *client) {
	if twin == nil || !t.warnings.allow("twin@"+j.group+"@"+j.client.id) {
		return
	}
	t.log.WithFields(logrus.Fields{
		"group": j.group, "client": j.client.id,
		"remote": j.client.conn.RemoteAddr().String(), "other": twin.conn.RemoteAddr().String(),
	}).Warn("two connections have the same client id in one consumer group: their queues are shared out wrongly")
}

func (t *consumerTable) warnRival(j joining, rival *client, rivals [2]declaration) {
	if rival == nil || !t.warnings.allow("rival@"+j.group) {
		return
	}
	t.log.WithFields(logrus.Fields{
		"group": j.group, "client": j.client.id, "subscriptions": rivals[0].String(),
		"other": rival.id, "otherSubscriptions": rivals[1].String(),
	}).Warn("two members of one consumer group subscribe differently: they take each other's subscriptions away")
}

// asked is a member that is asked for its subscriptions.
type asked struct {
	client
	group string
}

// asking tells whether a connection is a member of a group that may be asked for its subscriptions now: not more often than
// askEvery.
func (t *consumerTable) asking(group string, conn *remoting.Conn, nowMs int64) (asked, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[group]
	if g == nil {
		return asked{}, false
	}
	c := g.members[conn]
	if c == nil || nowMs-c.askedMs < askEvery.Milliseconds() && c.askedMs != 0 {
		return asked{}, false
	}
	c.askedMs = nowMs
	return asked{client: *c, group: g.name}, true
}

// renew replaces those subscriptions of a group that a member has in a newer version. Topics come and go with heartbeats only.
func (t *consumerTable) renew(member asked, subscriptions []body.SubscriptionData) (renewed bool) {
	compiled := t.compile(joining{group: member.group, client: &member.client, subscriptions: subscriptions})
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[member.group]
	if g == nil || g.members[member.conn] == nil {
		return false
	}
	for _, s := range compiled {
		if old := g.subs[s.data.Topic]; old != nil && s.data.SubVersion > old.data.SubVersion {
			g.subs[s.data.Topic] = s
			renewed = true
		}
	}
	return renewed
}

// unregister removes a connection from a group; notify tells the others.
func (t *consumerTable) unregister(group string, conn *remoting.Conn, notify bool) (left *client) {
	left, others := t.remove(group, conn)
	if left == nil {
		return nil
	}
	stateOf(conn).leaveConsumer(group)
	if others && notify {
		t.changed(group)
	}
	return left
}

// connClosed removes a connection from the groups that it was in.
func (t *consumerTable) connClosed(conn *remoting.Conn, groups []string) {
	for _, group := range groups {
		if left, others := t.remove(group, conn); left != nil && others {
			t.changed(group)
		}
	}
}

// remove takes a member out; others tells that there are members left who should know.
func (t *consumerTable) remove(group string, conn *remoting.Conn) (left *client, others bool) {
	left, rest, broadcasting := t.takeOut(group, conn)
	if left == nil {
		return nil, false
	}
	t.log.WithFields(logrus.Fields{"group": group, "client": left.id}).Info("consumer gone")
	if rest == 0 {
		t.emptied(group)
	}
	return left, rest > 0 && !broadcasting
}

func (t *consumerTable) takeOut(group string, conn *remoting.Conn) (left *client, rest int, broadcasting bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[group]
	if g == nil {
		return nil, 0, false
	}
	if left = g.members[conn]; left == nil {
		return nil, 0, false
	}
	delete(g.members, conn)
	delete(g.declared, conn)
	if len(g.members) == 0 {
		delete(t.groups, group)
	}
	return left, len(g.members), g.broadcasting()
}

// standing is what a pull needs to know of its group.
type standing struct {
	online       bool
	broadcasting bool
	consumeType  body.ConsumeType
}

// lookup finds the subscription of a group to a topic, nil when there is none.
func (t *consumerTable) lookup(group, topic string) (*subscription, standing) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return nil, standing{}
	}
	return g.subs[topic], standing{online: true, broadcasting: g.broadcasting(), consumeType: g.consumeType}
}

// isMember tells whether a connection is a member of a group.
func (t *consumerTable) isMember(group string, conn *remoting.Conn) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	return g != nil && g.members[conn] != nil
}

// find is a member by its client id: of several the one that connected last, nil when there is none.
func (t *consumerTable) find(group, clientID string) *client {
	var found *client
	for _, c := range t.members(group) {
		if c.id == clientID && !c.conn.Closed() {
			found = &c
		}
	}
	return found
}

// members lists the clients of a group in the order of their connecting, empty when it is not online.
func (t *consumerTable) members(group string) []client {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return nil
	}
	return clientsOf(g.members)
}

// clientIDs lists the ids of a group's members, each once: two connections of one id are one consumer to the
// clients' way of sharing queues, which looks itself up by id.
func (t *consumerTable) clientIDs(group string) []string {
	members := t.members(group)
	ids := make([]string, 0, len(members))
	for _, c := range members {
		if !slices.Contains(ids, c.id) {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// otherConn tells whether a client id has an open connection in a group beside conn.
func (t *consumerTable) otherConn(group, clientID string, conn *remoting.Conn) bool {
	for _, c := range t.members(group) {
		if c.id == clientID && c.conn != conn && !c.conn.Closed() {
			return true
		}
	}
	return false
}

// consumerInfo is a copy of what is known of one group.
type consumerInfo struct {
	group         string
	consumeType   body.ConsumeType
	messageModel  body.MessageModel
	fromWhere     body.ConsumeFromWhere
	updatedMs     int64
	members       []client
	subscriptions map[string]*subscription
}

// info copies what is known of a group; false when it is not online.
func (t *consumerTable) info(group string) (consumerInfo, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return consumerInfo{}, false
	}
	i := consumerInfo{
		group: g.name, consumeType: g.consumeType, messageModel: g.messageModel, fromWhere: g.fromWhere,
		updatedMs: g.updatedMs, members: clientsOf(g.members), subscriptions: make(map[string]*subscription, len(g.subs)),
	}
	for topic, s := range g.subs {
		i.subscriptions[topic] = s
	}
	return i, true
}

// groupNames lists the groups that are online, sorted.
func (t *consumerTable) groupNames() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := make([]string, 0, len(t.groups))
	for name := range t.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// groupsOf lists the online groups that subscribe a topic, sorted.
func (t *consumerTable) groupsOf(topic string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var names []string
	for name, g := range t.groups {
		if g.subs[topic] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// expired lists the connections that no heartbeat came from since oldest, ms.
func (t *consumerTable) expired(oldest int64) []*remoting.Conn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var conns []*remoting.Conn
	for _, g := range t.groups {
		for conn, c := range g.members {
			if c.updatedMs < oldest {
				conns = append(conns, conn)
			}
		}
	}
	return conns
}

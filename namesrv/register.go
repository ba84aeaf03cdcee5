package namesrv

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// defaultTimeout is how long a broker is kept without a sign of life, in ms (RouteInfoManager.DEFAULT_BROKER_CHANNEL_EXPIRED_TIME).
const defaultTimeout = 120_000

// registration is one REGISTER_BROKER.
type registration struct {
	*remoting.RegisterBrokerRequestHeader
	*body.RegisterBrokerBody

	zone    string
	conn    connection // nil for a broker in this process
	nowMs   int64
	changed bool // the topics have changed, whatever the version says
}

func (r *registration) key() brokerKey { return brokerKey{r.ClusterName, r.BrokerAddr} }

// registered is what a registration leads to besides the routes.
type registered struct {
	masterAddr   string // for a slave: its master
	haServerAddr string
	minID        *minIDChange // nil unless the group has a new smallest id
}

// rules are the settings that decide about registrations.
type rules struct {
	deleteMissing bool // deleteTopicWithBrokerRegistration
}

// register takes a registration in (RouteInfoManager.registerBroker). An error leaves everything as it was.
func (t *table) register(r *registration, rules rules) (registered, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[r.BrokerName]
	if g == nil {
		g = &group{}
	}
	addrs := maps.Clone(g.addrs) // as it will be
	if addrs == nil {
		addrs = make(map[int64]string)
	}
	// The same address under another id has changed its role.
	maps.DeleteFunc(addrs, func(id int64, addr string) bool { return addr == r.BrokerAddr && id != r.BrokerID })
	oldAddr := addrs[r.BrokerID]
	if t.conflictsLocked(r, oldAddr) {
		// The reference answers as if all were well, and forgets what it knew of the new address.
		delete(t.lives, r.key())
		if !maps.Equal(g.addrs, addrs) {
			g.addrs = addrs
			t.forgetAnswersLocked(r.BrokerName)
		}
		return registered{}, nil
	}
	if oldAddr == "" && len(r.Topics.Topics) == 1 {
		// A change arrives before its broker has registered all topics: it must do so first.
		return registered{}, remoting.Errorf(remoting.SystemError, "register broker failed")
	}
	previousMin, hadMembers := g.minID()
	addrs[r.BrokerID] = r.BrokerAddr
	if err := t.admitLocked(r, addrs); err != nil {
		return registered{}, err
	}

	t.putGroupLocked(r, g, addrs)
	t.putTopicsLocked(r, g, oldAddr == "", rules)
	t.putLiveLocked(r)

	var out registered
	if master := addrs[masterID]; r.BrokerID != masterID && master != "" {
		if l := t.lives[brokerKey{r.ClusterName, master}]; l != nil {
			out.masterAddr, out.haServerAddr = master, l.haAddr
		}
	}
	if hadMembers && r.BrokerID < previousMin {
		out.minID = newMinIDChange(r.BrokerName, addrs, "", r.HAServerAddr)
	}
	return out, nil
}

// conflictsLocked tells whether another address holds the id with a newer state, as after a switch of masters.
func (t *table) conflictsLocked(r *registration, oldAddr string) bool {
	if oldAddr == "" || oldAddr == r.BrokerAddr {
		return false
	}
	old := t.lives[brokerKey{r.ClusterName, oldAddr}]
	return old != nil && old.version.StateVersion > r.Topics.DataVersion.StateVersion
}

// admitLocked checks the bounds of the table.
func (t *table) admitLocked(r *registration, addrs map[int64]string) error {
	if t.lives[r.key()] == nil && len(t.lives) >= maxBrokers {
		return remoting.Errorf(remoting.SystemError, "register broker failed: %d brokers are registered, the limit is %d", len(t.lives), maxBrokers)
	}
	if !r.writesTopics(addrs) {
		return nil
	}
	names := make(map[string]struct{}, len(r.Topics.Topics))
	queues := 0
	for key, topic := range r.Topics.Topics {
		name := topicName(key, topic)
		names[name] = struct{}{}
		if _, ok := t.topics[name][r.BrokerName]; !ok {
			queues++
		}
	}
	return t.roomLocked(names, queues)
}

// roomLocked checks that these topics, with so many more queue datas, may be in the table.
func (t *table) roomLocked(names map[string]struct{}, queues int) error {
	fresh := 0
	for name := range names {
		if t.topics[name] == nil {
			fresh++
		}
	}
	if n := len(t.topics) + fresh; fresh > 0 && n > maxTopics {
		return remoting.Errorf(remoting.SystemError, "register broker failed: %d topics, the limit is %d", n, maxTopics)
	}
	if n := t.queues + queues; queues > 0 && n > maxQueueDatas {
		return remoting.Errorf(remoting.SystemError, "register broker failed: %d topics on all brokers, the limit is %d", n, maxQueueDatas)
	}
	return nil
}

// primeSlave tells whether the broker is the slave that stands in for a master which is missing. Brokers before 5.0, which do not
// send enableActingMaster, never are.
func (r *registration) primeSlave(addrs map[int64]string) bool {
	return r.EnableActingMaster.Set && r.BrokerID != masterID && r.BrokerID == slices.Min(slices.Collect(maps.Keys(addrs)))
}

// writesTopics tells whether the broker's topics count.
func (r *registration) writesTopics(addrs map[int64]string) bool {
	return r.BrokerID == masterID || r.primeSlave(addrs)
}

// putGroupLocked puts the broker into its group and cluster.
func (t *table) putGroupLocked(r *registration, g *group, addrs map[int64]string) {
	if t.groups[r.BrokerName] == nil {
		g.cluster = r.ClusterName
		t.groups[r.BrokerName] = g
	}
	names := t.clusters[r.ClusterName]
	if names == nil {
		names = make(map[string]struct{})
		t.clusters[r.ClusterName] = names
	}
	names[r.BrokerName] = struct{}{}
	actingMaster := r.EnableActingMaster.Or(false)
	if maps.Equal(g.addrs, addrs) && g.zone == r.zone && g.actingMaster == actingMaster {
		return
	}
	g.addrs, g.zone, g.actingMaster = addrs, r.zone, actingMaster
	t.forgetAnswersLocked(r.BrokerName)
}

// putTopicsLocked puts the broker's topics into the routes. first tells that its id was not known.
func (t *table) putTopicsLocked(r *registration, g *group, first bool, rules rules) {
	if !r.writesTopics(g.addrs) {
		return
	}
	previous := t.lives[r.key()]
	changed := first || r.changed || previous == nil || previous.version != r.Topics.DataVersion
	if rules.deleteMissing && len(r.Topics.MappingInfos) == 0 && !r.changed {
		t.deleteMissingLocked(r)
	}
	readOnly := g.actingMaster && r.primeSlave(g.addrs)
	for key, topic := range r.Topics.Topics {
		if topic == nil {
			continue
		}
		name := topicName(key, topic)
		if _, known := t.topics[name][r.BrokerName]; known && !changed {
			continue
		}
		q := body.QueueData{
			BrokerName: r.BrokerName, ReadQueueNums: topic.ReadQueueNums, WriteQueueNums: topic.WriteQueueNums,
			Perm: topic.Perm, TopicSysFlag: topic.TopicSysFlag,
		}
		if readOnly {
			q.Perm &^= permWrite
		}
		t.setQueueDataLocked(name, q)
	}
	if !changed {
		return
	}
	for topic, info := range r.Topics.MappingInfos {
		if t.mappings[topic] == nil {
			t.mappings[topic] = make(map[string]body.TopicQueueMappingInfo)
		}
		t.mappings[topic][info.BrokerName] = info
		t.answers.Delete(topic)
	}
}

// topicName is what a topic is registered as: its own name, not its key.
func topicName(key string, topic *body.TopicConfig) string {
	if topic == nil || topic.TopicName == "" {
		return key
	}
	return topic.TopicName
}

// deleteMissingLocked removes the broker's topics that it does not register any more.
func (t *table) deleteMissingLocked(r *registration) {
	names := make(map[string]struct{}, len(r.Topics.Topics))
	for key, topic := range r.Topics.Topics {
		names[topicName(key, topic)] = struct{}{}
	}
	for topic := range t.topics {
		if _, still := names[topic]; !still {
			t.removeQueueDataLocked(topic, r.BrokerName)
		}
	}
}

func (t *table) putLiveLocked(r *registration) {
	l := &live{
		timeout: r.HeartbeatTimeoutMillis.Or(defaultTimeout), version: r.Topics.DataVersion, conn: r.conn, haAddr: r.HAServerAddr,
	}
	l.lastUpdate.Store(r.nowMs)
	t.lives[r.key()] = l
	if r.FilterServerList == nil {
		return
	}
	if !slices.Equal(t.filters[r.key()], r.FilterServerList) {
		t.filters[r.key()] = r.FilterServerList
		t.forgetAnswersLocked(r.BrokerName)
	}
	if len(r.FilterServerList) == 0 {
		delete(t.filters, r.key())
	}
}

// String names the broker in logs.
func (r *registration) String() string {
	return fmt.Sprintf("%s/%s id %d at %s", r.ClusterName, r.BrokerName, r.BrokerID, r.BrokerAddr)
}

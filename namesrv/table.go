package namesrv

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rocketd/rocketd/remoting/body"
)

// Bounds of the table.
const (
	maxBrokers    = 20_000    // addresses
	maxTopics     = 500_000   // names
	maxQueueDatas = 2_000_000 // topics times the brokers that serve them
)

const masterID int64 = 0

const (
	permRead  int32 = 4
	permWrite int32 = 2
)

// brokerKey names one registered address.
type brokerKey struct{ cluster, addr string }

// connection is what the table needs of a broker's connection. It is a *remoting.Conn.
type connection interface {
	Close(reason string)
	Closed() bool
}

// live is what is known of one registered address.
type live struct {
	lastUpdate atomic.Int64 // ms since the epoch
	timeout    int64        // ms without sign of life until it is dropped
	version    body.DataVersion
	conn       connection // nil for a broker in this process, which never expires
	haAddr     string
}

// group is one broker name: the addresses of its master and slaves.
type group struct {
	cluster      string
	addrs        map[int64]string
	zone         string
	actingMaster bool
}

func (g *group) minID() (id int64, ok bool) {
	if len(g.addrs) == 0 {
		return 0, false
	}
	return slices.Min(slices.Collect(maps.Keys(g.addrs))), true
}

func (g *group) data(name string) body.BrokerData {
	return body.BrokerData{
		Cluster: g.cluster, BrokerName: name, BrokerAddrs: maps.Clone(g.addrs), ZoneName: g.zone, EnableActingMaster: g.actingMaster,
	}
}

// table is who serves what. All of it is in memory only.
type table struct {
	mu       sync.RWMutex
	topics   map[string]map[string]body.QueueData             // topic, broker name; guarded by mu
	groups   map[string]*group                                // broker name; guarded by mu
	clusters map[string]map[string]struct{}                   // cluster, broker name; guarded by mu
	lives    map[brokerKey]*live                              // guarded by mu
	filters  map[brokerKey][]string                           // filter servers; guarded by mu
	mappings map[string]map[string]body.TopicQueueMappingInfo // topic, broker name; guarded by mu
	queues   int                                              // sum of the lengths of topics' values; guarded by mu

	// answers holds what route made of a topic, until somebody who holds mu removes it. Put in under mu, taken out without.
	answers sync.Map // topic to *answer
}

func newTable() *table {
	return &table{
		topics:   make(map[string]map[string]body.QueueData),
		groups:   make(map[string]*group),
		clusters: make(map[string]map[string]struct{}),
		lives:    make(map[brokerKey]*live),
		filters:  make(map[brokerKey][]string),
		mappings: make(map[string]map[string]body.TopicQueueMappingInfo),
	}
}

// setQueueDataLocked sets what a broker name serves of a topic.
func (t *table) setQueueDataLocked(topic string, q body.QueueData) {
	queues := t.topics[topic]
	if queues == nil {
		queues = make(map[string]body.QueueData)
		t.topics[topic] = queues
	}
	old, known := queues[q.BrokerName]
	if known && old == q {
		return
	}
	if !known {
		t.queues++
	}
	queues[q.BrokerName] = q
	t.answers.Delete(topic)
}

// removeQueueDataLocked takes a broker name from a topic, and the topic when no other serves it.
func (t *table) removeQueueDataLocked(topic, brokerName string) {
	queues := t.topics[topic]
	if _, known := queues[brokerName]; !known {
		return
	}
	delete(queues, brokerName)
	t.queues--
	if len(queues) == 0 {
		delete(t.topics, topic)
	}
	t.answers.Delete(topic)
}

// forgetAnswersLocked removes the answers that name a broker.
func (t *table) forgetAnswersLocked(brokerName string) {
	for topic, queues := range t.topics {
		if _, ok := queues[brokerName]; ok {
			t.answers.Delete(topic)
		}
	}
}

// setPerm changes the permission of all topics of a broker name and counts them.
func (t *table) setPerm(brokerName string, change func(perm int32) int32) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var count int32
	for topic, queues := range t.topics {
		if q, ok := queues[brokerName]; ok {
			q.Perm = change(q.Perm)
			t.setQueueDataLocked(topic, q)
			count++
		}
	}
	return count
}

// deleteTopic removes a topic: of one cluster, or of all when cluster is empty.
func (t *table) deleteTopic(topic, cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for brokerName := range maps.Clone(t.topics[topic]) {
		if _, in := t.clusters[cluster][brokerName]; in || cluster == "" {
			t.removeQueueDataLocked(topic, brokerName)
		}
	}
}

// setTopic sets what several brokers serve of a topic. It ends silently at a broker that is not registered; a topic that is new is not
// made then (RouteInfoManager.registerTopic).
func (t *table) setTopic(topic string, queues []body.QueueData) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := len(t.topics[topic]) > 0
	upTo := slices.IndexFunc(queues, func(q body.QueueData) bool { return t.groups[q.BrokerName] == nil })
	switch {
	case upTo < 0:
		upTo = len(queues)
	case !known:
		return nil
	}
	if err := t.roomLocked(map[string]struct{}{topic: {}}, upTo); err != nil {
		return err
	}
	for _, q := range queues[:upTo] {
		t.setQueueDataLocked(topic, q)
	}
	return nil
}

// topicNames lists the topics that have a queue which keep accepts, sorted.
func (t *table) topicNames(keep func(queues map[string]body.QueueData) bool) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := make([]string, 0, len(t.topics))
	for topic, queues := range t.topics {
		if keep(queues) {
			names = append(names, topic)
		}
	}
	slices.Sort(names)
	return names
}

// topicsOfCluster lists the topics of a cluster, sorted.
func (t *table) topicsOfCluster(cluster string) []string {
	return t.topicNames(func(queues map[string]body.QueueData) bool {
		for brokerName := range queues {
			if _, ok := t.clusters[cluster][brokerName]; ok { // topicNames holds mu
				return true
			}
		}
		return false
	})
}

// systemNames lists the clusters and broker names, and gives the address of a broker.
func (t *table) systemNames() body.TopicList {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := body.TopicList{Topics: []string{}}
	for _, cluster := range slices.Sorted(maps.Keys(t.clusters)) {
		list.Topics = append(list.Topics, cluster)
		for _, name := range slices.Sorted(maps.Keys(t.clusters[cluster])) {
			if !slices.Contains(list.Topics, name) {
				list.Topics = append(list.Topics, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		if id, ok := t.groups[name].minID(); ok {
			list.BrokerAddr = t.groups[name].addrs[id]
			break
		}
	}
	return list
}

// clusterInfo is all brokers.
func (t *table) clusterInfo() *body.ClusterInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info := &body.ClusterInfo{Brokers: make(map[string]body.BrokerData), Clusters: make(map[string][]string)}
	for name, g := range t.groups {
		info.Brokers[name] = g.data(name)
	}
	for cluster, names := range t.clusters {
		info.Clusters[cluster] = slices.Sorted(maps.Keys(names))
	}
	return info
}

// memberGroup is the addresses of one broker name, none when it is unknown.
func (t *table) memberGroup(cluster, brokerName string) *body.BrokerMemberGroup {
	t.mu.RLock()
	defer t.mu.RUnlock()
	members := &body.BrokerMemberGroup{Cluster: cluster, BrokerName: brokerName}
	if g := t.groups[brokerName]; g != nil {
		members.BrokerAddrs = maps.Clone(g.addrs)
	}
	return members
}

// heard notes a sign of life and gives the version that is known of the broker.
func (t *table) heard(key brokerKey, nowMs int64) (version body.DataVersion, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	l := t.lives[key]
	if l == nil {
		return body.DataVersion{}, false
	}
	l.lastUpdate.Store(nowMs)
	return l.version, true
}

// sortedQueueDatas is the values of a topic in the order of the broker names.
func sortedQueueDatas(queues map[string]body.QueueData) []body.QueueData {
	return slices.SortedFunc(maps.Values(queues), func(a, b body.QueueData) int { return cmp.Compare(a.BrokerName, b.BrokerName) })
}

// version is the version that is known of the broker.
func (t *table) version(key brokerKey) (version body.DataVersion, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if l := t.lives[key]; l != nil {
		return l.version, true
	}
	return body.DataVersion{}, false
}

package broker

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) assignmentRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.QueryAssignment, Lane: laneClient, Handle: b.queryAssignment},
		{Code: remoting.SetMessageRequestMode, Lane: laneAdmin, Handle: b.setRequestMode},
		{Code: remoting.GetAllMessageRequestMode, Lane: laneAdmin, Handle: b.getAllRequestModes},
	}
}

// requestModes tells which groups read which topics by pop: messageRequestMode.json (MessageRequestModeManager). Safe
// for concurrent use.
type requestModes struct {
	file *stateFile
	log  *logrus.Entry

	mu    sync.RWMutex
	modes map[string]map[string]body.SetMessageRequestMode // by topic, then group; the inner maps are replaced, not changed; guarded by mu
}

func newRequestModes(files *stateFiles, log *logrus.Entry) *requestModes {
	m := &requestModes{log: log, modes: map[string]map[string]body.SetMessageRequestMode{}}
	m.file = files.file("messageRequestMode.json", m.encode)
	return m
}

// load reads messageRequestMode.json. A broken file is set aside: all groups pull then.
func (m *requestModes) load() error {
	_, err := m.file.load(func(data []byte) error {
		table, err := body.Decode[body.MessageRequestModeTable](data)
		if err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		maps.Copy(m.modes, table.Modes)
		return nil
	})
	if errors.Is(err, errBroken) {
		m.log.WithError(err).Error("messageRequestMode.json cannot be read, starting without it: groups pull unless set again")
		m.file.setAside()
		return nil
	}
	return err
}

func (m *requestModes) table() body.MessageRequestModeTable {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return body.MessageRequestModeTable{Modes: maps.Clone(m.modes)}
}

func (m *requestModes) encode() []byte {
	table := m.table()
	return body.EncodePretty(&table)
}

func (m *requestModes) get(topic, group string) (body.SetMessageRequestMode, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	mode, ok := m.modes[topic][group]
	return mode, ok
}

// set makes a mode durable.
func (m *requestModes) set(mode body.SetMessageRequestMode) error {
	m.mu.Lock()
	groups := maps.Clone(m.modes[mode.Topic])
	if groups == nil {
		groups = map[string]body.SetMessageRequestMode{}
	}
	groups[mode.ConsumerGroup] = mode
	m.modes[mode.Topic] = groups
	m.mu.Unlock()
	return m.file.save()
}

// setRequestMode makes a group read a topic by pull or pop (QueryAssignmentProcessor#setMessageRequestMode).
func (b *Broker) setRequestMode(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	mode, err := body.Decode[body.SetMessageRequestMode](req.Body)
	switch {
	case err != nil:
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	case message.IsRetryTopic(mode.Topic):
		return nil, remoting.Errorf(remoting.NoPermission, "retry topic is not allowed to set mode")
	case b.topics.get(mode.Topic) == nil:
		return nil, remoting.Errorf(remoting.TopicNotExist, "topic[%s] not exist", mode.Topic)
	case b.groups.getOrCreate(mode.ConsumerGroup) == nil:
		return nil, remoting.Errorf(remoting.SubscriptionGroupNotExist, "subscription group does not exist")
	case mode.Mode != body.ModePull && mode.Mode != body.ModePop:
		return nil, remoting.Errorf(remoting.InvalidParameter, "mode is %.16q, %s and %s are known", string(mode.Mode), body.ModePull, body.ModePop)
	}
	if err := b.modes.set(*mode); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	return success(), nil
}

// getAllRequestModes answers all modes, for slaves (AdminBrokerProcessor#getAllMessageRequestMode).
func (b *Broker) getAllRequestModes(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	table := b.modes.table()
	return bodyResponse(&table), nil
}

// queryAssignment shares the queues of a topic out to a member of a group (QueryAssignmentProcessor#queryAssignment). An
// answer without assignments tells the member to keep what it has.
func (b *Broker) queryAssignment(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	q, err := body.Decode[body.QueryAssignment](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	}
	mode := b.requestMode(q.Topic, q.ConsumerGroup)
	var reply body.QueryAssignmentReply
	queues, ok := b.assign(q, mode)
	if ok {
		reply.Assignments = make([]body.MessageQueueAssignment, 0, len(queues))
		for _, queue := range queues {
			reply.Assignments = append(reply.Assignments, body.MessageQueueAssignment{MessageQueue: &queue, Mode: mode.Mode})
		}
	}
	return bodyResponse(&reply), nil
}

// requestMode is how a group reads a topic: as set, or by the default. Retry topics are pulled.
func (b *Broker) requestMode(topic, group string) body.SetMessageRequestMode {
	if mode, ok := b.modes.get(topic, group); ok {
		return mode
	}
	c := &b.config().Broker
	mode := body.SetMessageRequestMode{Topic: topic, ConsumerGroup: group, Mode: body.MessageRequestMode(c.DefaultMessageRequestMode)}
	if message.IsRetryTopic(topic) {
		mode.Mode = body.ModePull
	}
	if mode.Mode == body.ModePop {
		mode.PopShareQueueNum = c.DefaultPopShareQueueNum
	}
	return mode
}

// assign is the share of one member; false when nothing can be said (doLoadBalance).
func (b *Broker) assign(q *body.QueryAssignment, mode body.SetMessageRequestMode) ([]body.MessageQueue, bool) {
	var queues []body.MessageQueue
	if message.IsLMQ(q.Topic) && q.MessageModel == body.Clustering {
		queues = []body.MessageQueue{b.messageQueue(q.Topic, 0)}
	} else {
		queues = b.readableQueues(q.Topic)
	}
	if queues == nil {
		return nil, false
	}
	if q.MessageModel == body.Broadcasting || !b.config().Broker.ServerLoadBalancerEnable {
		return queues, true
	}
	members := b.consumers.clientIDs(q.ConsumerGroup)
	share, known := strategies(q.StrategyName)
	if len(members) == 0 || !known || q.MessageModel != body.Clustering {
		return nil, false
	}
	sortedQueues(queues)
	slices.Sort(members)
	if mode.Mode == body.ModePop {
		return shareForPop(share, q.ClientID, queues, members, int(mode.PopShareQueueNum)), true
	}
	return share(slices.Index(members, q.ClientID), queues, len(members)), true
}

// readableQueues are the queues of a topic, in the whole cluster, that consumers may read; nil when there is no such topic. Of
// itself the broker knows better than the name servers.
func (b *Broker) readableQueues(topic string) []body.MessageQueue {
	var queues []body.MessageQueue
	add := func(brokerName string, n, perm int32) {
		if perm&permRead == 0 {
			return
		}
		if queues == nil {
			queues = []body.MessageQueue{}
		}
		for id := range min(n, maxQueuesOfTopic) {
			queues = append(queues, body.MessageQueue{Topic: topic, BrokerName: brokerName, QueueID: id})
		}
	}
	own := b.config().Broker.BrokerName
	if config := b.topics.get(topic); config != nil {
		add(own, config.ReadQueueNums, config.Perm)
	}
	if route := b.routesOfCluster.route(topic); route != nil {
		for i := range route.QueueDatas {
			if q := &route.QueueDatas[i]; q.BrokerName != own {
				add(q.BrokerName, q.ReadQueueNums, q.Perm)
			}
		}
	}
	return queues
}

// strategy is the share of the index-th of so many members; nothing for index -1.
type strategy func(index int, queues []body.MessageQueue, members int) []body.MessageQueue

// strategies are the ways to share that clients know by name.
func strategies(name string) (strategy, bool) {
	switch name {
	case "AVG":
		return shareEvenly, true
	case "AVG_BY_CIRCLE":
		return shareInTurn, true
	default:
		return nil, false
	}
}

// shareEvenly gives each member a run of neighbouring queues (AllocateMessageQueueAveragely).
func shareEvenly(index int, queues []body.MessageQueue, members int) []body.MessageQueue {
	if index < 0 {
		return nil
	}
	size, rest := len(queues)/members, len(queues)%members
	start := index*size + min(index, rest)
	if index < rest {
		size++
	}
	return slices.Clone(queues[start : start+size])
}

// shareInTurn deals the queues out like cards (AllocateMessageQueueAveragelyByCircle).
func shareInTurn(index int, queues []body.MessageQueue, members int) []body.MessageQueue {
	var share []body.MessageQueue
	for i := index; i >= 0 && i < len(queues); i += members {
		share = append(share, queues[i])
	}
	return share
}

// shareForPop gives a member whole brokers, or its own share and those of the next so many members
// (QueryAssignmentProcessor#allocate4Pop).
func shareForPop(share strategy, clientID string, queues []body.MessageQueue, members []string, shared int) []body.MessageQueue {
	var result []body.MessageQueue
	add := func(queue body.MessageQueue) {
		if !slices.Contains(result, queue) {
			result = append(result, queue)
		}
	}
	index := slices.Index(members, clientID)
	switch {
	case shared <= 0 || shared >= len(members)-1:
		for _, queue := range queues {
			queue.QueueID = -1 // any queue of that broker
			add(queue)
		}
	case index < 0:
	case len(members) <= len(queues):
		for i := range shared + 1 {
			for _, queue := range share((index+i)%len(members), queues, len(members)) {
				add(queue)
			}
		}
	default:
		add(queues[index%len(queues)]) // so that each member has one
	}
	return result
}

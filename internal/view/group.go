package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// GroupLag is how far a group is in a topic.
type GroupLag struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Online    bool   `json:"online"`
	Lag       int64  `json:"lag"`
	InFlight  int64  `json:"inFlight"`
	LagMs     int64  `json:"lagMs"`     // how long the oldest message that is not committed has waited; 0: none waits
	Committed bool   `json:"committed"` // it has an offset in some queue
}

// Group is one line of the list of groups.
type Group struct {
	Name        string     `json:"name"`
	System      bool       `json:"system"`
	Online      bool       `json:"online"`
	ConsumeType string     `json:"consumeType"`
	Model       string     `json:"messageModel"`
	Members     int        `json:"members"`
	Lag         int64      `json:"lag"`
	LagMs       int64      `json:"lagMs"` // the longest of its topics
	DeadLetters int64      `json:"deadLetters"`
	Topics      []GroupLag `json:"topics"`
	Problems    []string   `json:"problems"`
}

// GroupsAnswer is a list of groups.
type GroupsAnswer struct {
	Total  int     `json:"total"`
	Groups []Group `json:"groups"`
}

// GroupDetail is one group without its queues.
type GroupDetail struct {
	Group
	FromWhere      string            `json:"fromWhere"`
	RetryMaxTimes  int32             `json:"retryMaxTimes"` // -1: the group has no configuration
	RetryQueueNums int32             `json:"retryQueues"`
	Enabled        bool              `json:"consumeEnable"`
	Broadcast      bool              `json:"consumeBroadcastEnable"`
	Ordered        bool              `json:"consumeMessageOrderly"`
	Subscriptions  map[string]string `json:"subscriptions"`
	Clients        []Client          `json:"clients"`
}

// NewGroupDetail is a group of which only the name is known.
func NewGroupDetail(name string) GroupDetail {
	return GroupDetail{
		Group:         Group{Name: name, System: IsSystemGroup(name), Topics: []GroupLag{}, Problems: []string{}},
		RetryMaxTimes: -1, Subscriptions: map[string]string{}, Clients: []Client{},
	}
}

// Add adds a topic that the group reads.
func (g *Group) Add(l GroupLag) {
	g.Topics = append(g.Topics, l)
	g.Lag += l.Lag
	g.LagMs = max(g.LagMs, l.LagMs)
}

// Progress is how far a group is in one queue.
type Progress struct {
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queue"`
	Min       int64  `json:"min"` // -1: not asked for
	Max       int64  `json:"max"`
	Committed int64  `json:"committed"` // -1: nothing is known
	Pulled    int64  `json:"pulled"`
	Lag       int64  `json:"lag"`
	InFlight  int64  `json:"inFlight"`
	LagMs     int64  `json:"lagMs"` // how long the oldest message that is not committed has waited; 0: none waits
}

// IsSystemGroup tells whether a group is one of the broker's own.
func IsSystemGroup(name string) bool {
	return message.IsSystemGroup(name) || message.IsPredefinedGroup(name)
}

// Client is one connection.
type Client struct {
	ID            string   `json:"id"`
	Address       string   `json:"address"`
	Language      string   `json:"language"`
	Version       string   `json:"version"`
	HeartbeatMs   int64    `json:"heartbeatMs"` // 0: not known
	Subscriptions []string `json:"subscriptions"`
}

// ClientLine is one line of the list of clients.
type ClientLine struct {
	Client
	Role     string   `json:"role"` // consumer or producer
	Group    string   `json:"group"`
	Problems []string `json:"problems"`
}

// ClientsAnswer lists clients, those with problems first.
type ClientsAnswer struct {
	Total   int          `json:"total"`
	Clients []ClientLine `json:"clients"`
}

// ProblemsOf says what is wrong with the members of a group: ids that collide, and subscriptions that differ; nil: it did
// not say.
func ProblemsOf(members []Client) []string {
	problems := []string{}
	addresses := map[string][]string{}
	var ids []string
	for i := range members {
		id := members[i].ID
		if addresses[id] == nil {
			ids = append(ids, id)
		}
		addresses[id] = append(addresses[id], members[i].Address)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if a := addresses[id]; len(a) > 1 {
			slices.Sort(a)
			problems = append(problems, fmt.Sprintf("client id %s is used by %d connections, %s: they take the same queues", id, len(a), strings.Join(a, ", ")))
		}
	}
	var first *Client
	for i := range members {
		m := &members[i]
		switch {
		case m.Subscriptions == nil:
		case first == nil:
			first = m
		case !slices.Equal(first.Subscriptions, m.Subscriptions):
			return append(problems, "members subscribe differently: "+first.ID+" "+strings.Join(first.Subscriptions, ", ")+"; "+m.ID+" "+strings.Join(m.Subscriptions, ", "))
		}
	}
	return problems
}

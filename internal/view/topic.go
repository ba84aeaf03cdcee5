package view

import "github.com/rocketd/rocketd/message"

// Topic is one line of the list of topics.
type Topic struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // normal, retry, dead or system
	Type     string `json:"type"` // the attribute message.type; empty: none
	Read     int32  `json:"readQueues"`
	Write    int32  `json:"writeQueues"`
	Perm     int32  `json:"perm"` // 4 read, 2 write
	Order    bool   `json:"order"`
	Messages int64  `json:"messages"` // that are still there; -1: not counted
	Max      int64  `json:"max"`      // ever put; -1: not counted
}

// Queue is a queue of a topic.
type Queue struct {
	ID       int32 `json:"id"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	NewestMs int64 `json:"newestMs"` // store time of the newest message; -1: none
	OldestMs int64 `json:"oldestMs"`
}

// KindOf is the kind of a topic: normal, retry, dead or system.
func KindOf(topic string) string {
	switch {
	case message.IsRetryTopic(topic):
		return "retry"
	case message.IsDLQTopic(topic):
		return "dead"
	case message.IsSystemTopic(topic):
		return "system"
	}
	return "normal"
}

// OwnTopic tells whether a topic is one that a broker makes for itself: it is named like the broker or its cluster, which makes it a system topic.
func OwnTopic(topic, broker, cluster string) bool {
	return topic == broker || topic == cluster || topic == message.ReplyTopic(cluster)
}

// Registered is a broker that a name server knows.
type Registered struct {
	Name    string           `json:"name"`
	Cluster string           `json:"cluster"`
	Addrs   map[int64]string `json:"addrs"` // by broker id
}

// BrokersAnswer is what a name server knows.
type BrokersAnswer struct {
	Brokers []Registered `json:"brokers"`
	Topics  int          `json:"topics"`
}

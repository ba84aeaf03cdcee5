package console

import "github.com/rocketd/rocketd/internal/view"

// What the command line prints as JSON too.
type (
	// Message is a stored message.
	Message = view.Message
	// Resent is what became of a dead letter.
	Resent = view.Resent
	// ResendAnswer tells of each.
	ResendAnswer = view.ResendAnswer
	// Topic is one line of the list of topics.
	Topic = view.Topic
	// Queue is a queue of a topic.
	Queue = view.Queue
	// GroupLag is how far a group is in a topic.
	GroupLag = view.GroupLag
	// Group is one line of the list of groups.
	Group = view.Group
	// GroupsAnswer is a list of groups.
	GroupsAnswer = view.GroupsAnswer
	// Client is one connection.
	Client = view.Client
	// ClientLine is one line of the list of clients.
	ClientLine = view.ClientLine
	// ClientsAnswer lists clients, those with problems first.
	ClientsAnswer = view.ClientsAnswer
	// Slot is what falls due in one stretch of time.
	Slot = view.Slot
	// Lateness counts deliveries by how late they were.
	Lateness = view.Lateness
	// TopicCount is a topic and what waits for it.
	TopicCount = view.TopicCount
	// PendingTimer is one timer, or cancel of one, that waits.
	PendingTimer = view.PendingTimer
	// PendingAnswer is a page of pending timers.
	PendingAnswer = view.PendingAnswer
	// Registered is a broker that the name server knows.
	Registered = view.Registered
	// BrokersAnswer are the brokers of the name server of this process.
	BrokersAnswer = view.BrokersAnswer
)

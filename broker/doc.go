// Package broker is the broker's request handlers, one file per concept, and the tables they share.
//
// # Inside
//
// Broker holds everything; New puts it together, Start and Close walk one ordered list of named steps (lifecycle.go).
// routes.go joins the request tables that each handler file declares beside its handlers, and names the lanes.
//
//	state       owner                 file in the store's config directory
//	topics      topicTable            topics.json
//	groups      groupTable            subscriptionGroup.json
//	offsets     offsetTable           consumerOffset.json, lmqConsumerOffset.json with enableLmq
//	consumers   consumerTable         -
//	producers   producerTable         -
//	locks       lockTable             -
//	held pulls  holdTable             -
//	filters     filterTable           consumerFilter.json
//
// The reference's sources are the measure of every answer: codes, remarks that tools match on, the order of checks.
// Where ours is deliberately otherwise, the code says so and DIFFERENCES.md lists it.
//
// # Concurrency
//
// Handlers on the event loop (send, hot pull, offsets) never block: what would is handed to a lane or to one of the
// two pools of the broker (slow sends, cold pulls) together with a copy of what it needs. Every table is safe for
// concurrent use; a configuration read from one is immutable. Tables never call into each other while they hold their
// lock; what must follow a change (notification, registration) happens after the lock is given back.
package broker

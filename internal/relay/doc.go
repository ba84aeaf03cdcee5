// Package relay is what schedule and timer share: how they read the queue of a system topic and put its messages back into the log
// under their real topic, how they replace their state files, and how they count lateness.
//
// Store is the part of the message store they use; FromStore adapts the real one, and tests bring a simple one of their own. A Rebuilder
// turns a stored record into the message to put back.
//
// Rebuilder and Throttle belong to one goroutine, Lateness is safe for concurrent use, and a Store is but for its Put.
package relay

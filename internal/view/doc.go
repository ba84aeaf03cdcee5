// Package view holds what people read of a broker, in the form that both the console's API (docs/openapi.yaml) and the command line's
// --json have: messages with their bodies as text, JSON or a hex dump, topics, groups, clients, timers.
//
// It asks nobody: console fills the structs from the broker in its process, admin from what brokers answer. Where admin asks several
// brokers, it adds the name of the broker by embedding.
//
// It has no state; its functions are safe for concurrent use.
package view

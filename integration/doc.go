// Package integration holds tests with real clients: the same calls run against Apache RocketMQ's own broker and
// against rocketd, and what the clients saw is compared.
package integration

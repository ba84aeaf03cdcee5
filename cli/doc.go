// Package cli is the command line: sub-commands, flags, what is printed, exit codes. It starts rooms and holds no logic
// of theirs.
//
//	rocketd           name server and broker in one process
//	rocketd namesrv   name server alone
//	rocketd broker    broker alone
//	rocketd config    print the effective configuration
//	rocketd store     check, show or rebuild the files of a store
//	rocketd test      name server and broker for tests, controlled over HTTP
//	rocketd record    write down what clients and servers say
//	rocketd replay    play a recording to other servers and compare
//	rocketd timer     show pending timers
//	rocketd topic, group, offset, message, client, cluster, config get and set, broker stats
//	                  ask and change running servers, ours or Apache's
//	rocketd send, consume, tail
//	                  send and read messages
//	rocketd doctor    find out why clients cannot connect
//	rocketd health    tell a container engine whether messages are taken
//	rocketd version   print the version
//
// When ready, a server prints one line on stdout; logs go to stderr. Exit codes are constants of this package.
package cli

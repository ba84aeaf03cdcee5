// Package standalone runs name server and broker, together or alone, in this process. It is what the binary and tests
// start.
//
// Together, the broker registers with the name server by calls inside the process: a topic is routable before the
// call that made it is answered. External name servers (namesrvAddr) are registered with besides.
//
// Start returns when everything listens; Close stops the broker before the name server and waits for both.
package standalone

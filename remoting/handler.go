package remoting

import "time"

// Lane says where a handler runs: on the event loop, or on a pool of workers behind a bounded queue.
type Lane int

// OnLoop runs the handler on the connection's event loop. Such a handler must not block: no fsync, no cold read,
// no lock that is held across one, no scan. The strings and bytes of its request die when it returns; what it
// keeps it clones.
const OnLoop Lane = 0

// LaneOptions describe the worker pool of one lane above OnLoop.
type LaneOptions struct {
	Name    string
	Workers int
	// Queue bounds the requests that wait for a worker; one more is answered SYSTEM_BUSY at once.
	Queue int
	// MaxWait bounds the time a request waits for a worker; one that waited longer is answered SYSTEM_BUSY
	// [TIMEOUT_CLEAN_QUEUE] instead of being handled (BrokerFastFailure). 0 is no bound.
	MaxWait time.Duration
}

// Handler serves one request. It returns the response; or nil and no error when the answer is given later through
// a Replier taken from the request (or never, as for one-way requests); or an error, which becomes the response:
// an *Error with its code and remark, any other one SYSTEM_ERROR with its text as remark. A panic becomes SYSTEM_ERROR.
// Opaque, flags and version of the response are filled in by the server.
//
// On the loop the request's strings and body die when the handler returns, in a lane they belong to the request, which the
// handler may keep.
type Handler func(c *Conn, req *Command) (*Command, error)

// Route binds a request code to its lane and handler.
type Route struct {
	Code   int32
	Lane   Lane
	Handle Handler
}

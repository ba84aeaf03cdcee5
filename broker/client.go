package broker

import (
	"strings"
	"sync"

	"github.com/rocketd/rocketd/remoting"
)

// client is one program at the other end of a connection, as it named itself in a heartbeat. All but the times never
// changes; they are guarded by the table's lock.
type client struct {
	conn     *remoting.Conn
	id       string
	language remoting.LanguageCode
	version  int32
	// updatedMs is when its last heartbeat came.
	updatedMs int64
	// askedMs is when it was last asked for its subscriptions, 0: never.
	askedMs int64
}

// same tells whether a heartbeat still describes this client.
func (c *client) same(o *client) bool {
	return c.id == o.id && c.version == o.version && c.language == o.language
}

func newClient(conn *remoting.Conn, req *remoting.Command, clientID string, nowMs int64) *client {
	return &client{
		conn: conn, id: strings.Clone(clientID), language: req.Language, version: req.Version, updatedMs: nowMs,
	}
}

// connState is what the broker knows of one connection: its Attachment.
type connState struct {
	mu        sync.Mutex
	closed    bool                // guarded by mu
	consumers map[string]struct{} // groups; guarded by mu
	producers map[string]struct{} // groups; guarded by mu
	locks     map[string]struct{} // groups whose queues this connection has locked; guarded by mu
	holds     map[*pull]struct{}  // nil before OnOpen and after the end; guarded by holdTable.mu
}

// stateOf is the state of a connection, never nil.
func stateOf(conn *remoting.Conn) *connState {
	if s, ok := conn.Attachment().(*connState); ok {
		return s
	}
	return &connState{closed: true} // a connection that OnOpen has not seen is not one to be remembered
}

func (s *connState) joinConsumer(group string) bool { return s.join(&s.consumers, group) }
func (s *connState) joinProducer(group string) bool { return s.join(&s.producers, group) }
func (s *connState) joinLocks(group string) bool    { return s.join(&s.locks, group) }

// join notes a membership that ends with the connection. It is false when the connection has closed already: then the
// caller takes back what it entered elsewhere, for nobody else will.
func (s *connState) join(set *map[string]struct{}, group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if *set == nil {
		*set = map[string]struct{}{}
	}
	(*set)[group] = struct{}{}
	return true
}

func (s *connState) leaveConsumer(group string) { s.leave(s.consumers, group) }
func (s *connState) leaveProducer(group string) { s.leave(s.producers, group) }

func (s *connState) leave(set map[string]struct{}, group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(set, group)
}

// close empties the state and gives back what was in it: the connection has closed.
func (s *connState) close() (consumers, producers, locks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	consumers, producers, locks = keysOf(s.consumers), keysOf(s.producers), keysOf(s.locks)
	s.consumers, s.producers, s.locks, s.closed = nil, nil, nil, true
	return consumers, producers, locks
}

func keysOf(set map[string]struct{}) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}

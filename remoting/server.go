package remoting

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// ErrClosed is returned for what was asked of a closed connection, server or client.
var ErrClosed = errors.New("remoting: closed")

// ErrTimeout is a request's outcome when no answer came in time.
var ErrTimeout = errors.New("remoting: no answer in time")

// Server serves the remoting protocol on one or more addresses.
type Server struct{ opts ServerOptions }

// NewServer checks the options. It opens nothing.
func NewServer(opts ServerOptions) (*Server, error) { return &Server{opts: opts}, nil }

// Start listens: clients can connect when it returns.
func (s *Server) Start() error { return nil }

// Addr is the bound address of the first of Addrs.
func (s *Server) Addr() netip.AddrPort { return netip.AddrPort{} }

// StopAccepting closes the listeners and begins to drain.
func (s *Server) StopAccepting() {}

// Close drains the lanes and closes all connections.
func (s *Server) Close(ctx context.Context) error { return nil }

// Stats is a picture of now.
func (s *Server) Stats() ServerStats { return ServerStats{} }

// Loop is one event loop of a server.
type Loop struct{ Data any }

// Response is a scratch response.
func (l *Loop) Response(code int32) *Command { return NewResponse(code) }

// Conn is one connection of a server.
type Conn struct{}

// ID is unique among the connections of a process.
func (c *Conn) ID() uint64 { return 0 }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() netip.AddrPort { return netip.AddrPort{} }

// Loop is the connection's event loop.
func (c *Conn) Loop() *Loop { return nil }

// Closed tells whether the connection has closed.
func (c *Conn) Closed() bool { return false }

// Close closes the connection.
func (c *Conn) Close(reason string) {}

// Replier answers req later.
func (c *Conn) Replier(req *Command) Replier { return Replier{} }

// Request sends a server-initiated request.
func (c *Conn) Request(cmd *Command, timeout time.Duration, done func(*Command, error)) {}

// Oneway sends a server-initiated request that gets no answer.
func (c *Conn) Oneway(cmd *Command) error { return nil }

// OutboundBuffered is the number of bytes not yet taken by the socket.
func (c *Conn) OutboundBuffered() int { return 0 }

// Attachment is the owner's state of this connection.
func (c *Conn) Attachment() any { return nil }

// SetAttachment sets the owner's state of this connection.
func (c *Conn) SetAttachment(a any) {}

// Replier answers one request, once.
type Replier struct{}

// Reply answers from any goroutine.
func (r Replier) Reply(resp *Command) error { return nil }

// ReplyInTurn answers on the connection's loop.
func (r Replier) ReplyInTurn(resp *Command) {}

//go:build !linux && !darwin

package remoting

import "net"

// boundUnsent does nothing: these systems cannot.
func boundUnsent(*net.TCPConn) {}

// writev hands bytes to gnet, which takes all: what the socket does not take waits in gnet's memory, beyond the bounds
// of ServerOptions.
func (c *Conn) writev(iov [][]byte) (int, error) { return c.gc.Writev(iov) }

//go:build linux || darwin

package remoting

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// unsentBytes bounds what the system keeps of one connection and has not sent. Without it a socket takes megabytes for a
// client that reads nothing, and some thousand such clients use up the memory that the system has for all its TCP
// connections: then everybody's stand still. What is on its way to a client that does read is not counted, so far and fast
// ones get what they can take.
const unsentBytes = 256 << 10

// boundUnsent sets the bound. A system that cannot keeps its own.
func boundUnsent(t *net.TCPConn) {
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes)
	})
}

// writev offers bytes to the socket and returns how many it took. It goes past gnet, whose Writev copies what the socket
// does not take into a buffer without a bound: here that stays where it lies, see outQueue.
func (c *Conn) writev(iov [][]byte) (n int, err error) {
	for {
		if len(iov) == 1 {
			n, err = unix.Write(c.fd, iov[0])
		} else {
			n, err = unix.Writev(c.fd, iov)
		}
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, os.NewSyscallError("writev", err)
		}
	}
}

//go:build linux || darwin

package remoting

import (
	"os"

	"golang.org/x/sys/unix"
)

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

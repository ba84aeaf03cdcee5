package cli

import (
	"errors"
	"syscall"

	"github.com/rocketd/rocketd/remoting"
)

// WSAEADDRINUSE and WSAEACCES: the second is what an exclusive listener of another program leads to.
const (
	wsaEADDRINUSE = syscall.Errno(10048)
	wsaEACCES     = syscall.Errno(10013)
)

func isAddressInUse(err error) bool {
	return errors.Is(err, remoting.ErrPortTaken) || errors.Is(err, wsaEADDRINUSE) || errors.Is(err, wsaEACCES)
}

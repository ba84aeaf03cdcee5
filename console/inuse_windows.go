package console

import (
	"errors"
	"syscall"
)

// wsaAddrInUse is WSAEADDRINUSE.
const wsaAddrInUse = syscall.Errno(10048)

func isAddressInUse(err error) bool { return errors.Is(err, wsaAddrInUse) }

//go:build !windows

package cli

import (
	"errors"
	"syscall"

	"github.com/rocketd/rocketd/remoting"
)

func isAddressInUse(err error) bool {
	return errors.Is(err, remoting.ErrPortTaken) || errors.Is(err, syscall.EADDRINUSE)
}

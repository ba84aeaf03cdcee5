//go:build !windows

package console

import (
	"errors"
	"syscall"
)

func isAddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

//go:build unix && !linux && !darwin && !freebsd && !dragonfly

package vfs

import "errors"

func usage(string) (total, free uint64, err error) { return 0, 0, errors.ErrUnsupported }

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/standalone"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailure     = 1 // anything not named below
	ExitUsage       = 2 // unknown command or flag, bad configuration
	ExitPortTaken   = 3 // another program listens on the port
	ExitLocked      = 4 // another process uses the data directory
	ExitNotWritable = 5 // the data directory cannot be written to
	ExitAddress     = 6 // the listen or advertised address is not one
)

// failure is an error with the code that the process exits with and the sentence that a person reads.
type failure struct {
	code     int
	sentence string
	err      error // for the log; may be nil
}

func (f *failure) Error() string { return f.sentence }
func (f *failure) Unwrap() error { return f.err }

// explain turns an error of starting into a sentence and an exit code.
func explain(err error, c *conf.Config) *failure {
	var known *failure
	var bad *conf.Errors
	var start *standalone.StartError
	role := ""
	if errors.As(err, &start) {
		role = start.Part
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &bad):
		return &failure{code: ExitUsage, sentence: "the configuration is not usable:\n  " + strings.ReplaceAll(bad.Error(), "\n", "\n  "), err: err}
	case isAddressInUse(err):
		port, flag := c.Broker.ListenPort, "--broker-port"
		if role == standalone.PartNamesrv {
			port, flag = c.NamesrvServer.ListenPort, "--namesrv-port"
		}
		return &failure{code: ExitPortTaken, err: err, sentence: fmt.Sprintf(
			"port %d of the %s is taken by another program: stop that one, or choose another port with %s (0 picks a free one)", port, role, flag)}
	case errors.Is(err, vfs.ErrLocked):
		return &failure{code: ExitLocked, err: err, sentence: fmt.Sprintf(
			"the directory %s is used by another broker process: stop that one, or choose another directory with --data", c.Store.StorePathRootDir)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.ENOTDIR):
		return &failure{code: ExitNotWritable, err: err, sentence: fmt.Sprintf(
			"%s: choose another directory with --data, or make %s writable for this user", plainReason(err), c.Rocketd.DataDir)}
	case isBadAddress(err):
		return &failure{code: ExitAddress, err: err, sentence: fmt.Sprintf(
			"the %s cannot listen: %v; --host takes an address of this machine, --advertise a name or address that clients can reach", role, err)}
	default:
		return &failure{code: ExitFailure, sentence: err.Error(), err: err}
	}
}

// plainReason says what the file system refused.
func plainReason(err error) string {
	var path *fs.PathError
	where := ""
	if errors.As(err, &path) {
		where = path.Path
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return strings.TrimSpace("the file system of " + where + " is read-only")
	case errors.Is(err, syscall.ENOSPC):
		return strings.TrimSpace("the disk is full " + where)
	case errors.Is(err, syscall.ENOTDIR):
		return where + " is not a directory"
	default:
		return where + " may not be written by this user"
	}
}

func isBadAddress(err error) bool {
	var dns *net.DNSError
	var addr *net.AddrError
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &dns) || errors.As(err, &addr)
}

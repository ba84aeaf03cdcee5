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
	ExitNotFound    = 7 // the topic, group, message, client or key asked for does not exist
	ExitUnreachable = 8 // a name server or broker does not answer
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
		switch role {
		case standalone.PartNamesrv:
			port, flag = c.NamesrvServer.ListenPort, "--namesrv-port"
		case standalone.PartConsole:
			port, flag = c.Rocketd.HTTPPort, "--http-port"
		}
		return &failure{code: ExitPortTaken, err: err, sentence: fmt.Sprintf(
			"port %d of the %s is taken by another program: stop that one, or choose another port with %s (0 picks a free one)", port, role, flag)}
	case errors.Is(err, vfs.ErrLocked):
		return &failure{code: ExitLocked, err: err, sentence: fmt.Sprintf(
			"the directory %s is used by another broker process: stop that one, or choose another directory with --data", c.Store.StorePathRootDir)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.ENOTDIR):
		return &failure{code: ExitNotWritable, err: err, sentence: notWritable(err)}
	case isBadAddress(err):
		return &failure{code: ExitAddress, err: err, sentence: badAddress(err, role)}
	default:
		return &failure{code: ExitFailure, sentence: err.Error(), err: err}
	}
}

// notWritable says what the file system refused and what to do.
func notWritable(err error) string {
	var path *fs.PathError
	where := "the data directory"
	if errors.As(err, &path) {
		where = path.Path
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full, " + where + " cannot be written: make room, or choose another directory with --data"
	case errors.Is(err, syscall.EROFS):
		return where + " lies on a read-only file system: choose another directory with --data"
	case errors.Is(err, syscall.ENOTDIR):
		return where + " lies below something that is not a directory: choose another directory with --data"
	default:
		return where + " may not be written by this user: give it the right to, or choose another directory with --data"
	}
}

// badAddress says which address is wrong and which flag sets it.
func badAddress(err error, role string) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the %s cannot start: the host name %s cannot be looked up; --host and --advertise take addresses or names that this machine knows", role, dns.Name)
	case errors.As(err, &op) && op.Addr != nil:
		return fmt.Sprintf("the %s cannot listen on %s: that is no address of this machine; --host takes one of its addresses, or 0.0.0.0 for all", role, op.Addr)
	default:
		return fmt.Sprintf("the %s cannot listen: %v; --host takes an address of this machine", role, err)
	}
}

func isBadAddress(err error) bool {
	var dns *net.DNSError
	var addr *net.AddrError
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &dns) || errors.As(err, &addr)
}

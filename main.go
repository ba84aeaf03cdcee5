// Command rocketd is a RocketMQ name server and broker in one binary; see package cli for its sub-commands.
package main

import (
	"os"
	"runtime"

	"github.com/rocketd/rocketd/cli"
)

// version is set by the linker in releases.
var version = "dev"

// leastProcs are the goroutines that may run at a time, at least. Event loops occupy one each, also while they are in a system call; on
// machines with few processors the scheduler would take it away in each longer one, wake another thread for it and give it back: with two
// more, a lock-step send costs a quarter less CPU.
const leastProcs = 4

func main() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < leastProcs {
		runtime.GOMAXPROCS(leastProcs)
	}
	os.Exit(cli.Run(cli.Process{
		Args:    os.Args[1:],
		Env:     os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Version: version,
	}))
}

// Command rocketd is a RocketMQ name server and broker in one binary; see package cli for its sub-commands.
package main

import (
	"os"

	"github.com/rocketd/rocketd/cli"
)

// version is set by the linker in releases.
var version = "dev"

func main() {
	os.Exit(cli.Run(cli.Process{
		Args:    os.Args[1:],
		Env:     os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Version: version,
	}))
}

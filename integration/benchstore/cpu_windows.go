package main

import (
	"os"
	"time"
)

// cpuTime is not measured.
func cpuTime() time.Duration { return 0 }

// die ends this process as a crash would.
func die() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Kill()
}

package conf

import "fmt"

// relations reports keys whose values do not go together.
func (c *Config) relations() []Problem {
	var problems []Problem
	wrong := func(qualified, format string, args ...any) {
		problems = append(problems, Problem{Origin: c.origins[qualified], Key: qualified, Message: fmt.Sprintf(format, args...)})
	}
	if c.Rocketd.DataDir == "" {
		wrong("rocketd.dataDir", "must not be empty")
	}
	if p := c.Broker.ListenPort; c.role == RoleAll && p != 0 && p == c.NamesrvServer.ListenPort {
		wrong("broker.listenPort", "%d is the name server's port too", p)
	}
	if c.role == RoleNamesrv {
		return problems
	}
	if c.Store.DiskSpaceCleanForciblyRatio > c.Store.DiskSpaceWarningLevelRatio {
		wrong("broker.diskSpaceCleanForciblyRatio", "%d is more than diskSpaceWarningLevelRatio, %d: writing would be refused before anything is deleted",
			c.Store.DiskSpaceCleanForciblyRatio, c.Store.DiskSpaceWarningLevelRatio)
	}
	return problems
}

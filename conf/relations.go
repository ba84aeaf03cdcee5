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
	if c.Store.BrokerRole == "SLAVE" && c.Broker.BrokerID == 0 {
		wrong("broker.brokerId", "a slave's brokerId must be greater than 0")
	}
	if c.Store.DiskSpaceCleanForciblyRatio > c.Store.DiskSpaceWarningLevelRatio {
		wrong("broker.diskSpaceCleanForciblyRatio", "%d is more than diskSpaceWarningLevelRatio, %d: writing would be refused before anything is deleted",
			c.Store.DiskSpaceCleanForciblyRatio, c.Store.DiskSpaceWarningLevelRatio)
	}
	if c.Store.BrokerRole == "SYNC_MASTER" && c.Store.InSyncReplicas > c.Store.TotalReplicas {
		wrong("broker.inSyncReplicas", "%d is more than totalReplicas, %d: no send could succeed", c.Store.InSyncReplicas, c.Store.TotalReplicas)
	}
	if c.Store.MinInSyncReplicas > c.Store.TotalReplicas {
		wrong("broker.minInSyncReplicas", "%d is more than totalReplicas, %d: no send could succeed", c.Store.MinInSyncReplicas, c.Store.TotalReplicas)
	}
	return problems
}

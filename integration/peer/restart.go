package peer

import (
	"strings"
	"syscall"
	"testing"
)

// StopBroker ends the broker gracefully, and with it the name server when both are one process.
func (c *Cluster) StopBroker(t testing.TB) {
	t.Helper()
	c.processes[len(c.processes)-1].stop(t, syscall.SIGTERM)
}

// RestartApache starts Apache's broker again on its port and its store, after StopBroker. Lines are added to broker.conf.
func (c *Cluster) RestartApache(t testing.TB, lines ...string) {
	t.Helper()
	c.processes = c.processes[:len(c.processes)-1]
	c.startApacheBroker(t, c.Namesrv, lines...)
}

// RestartRocketd starts rocketd again on its ports and its store, after StopBroker. Settings are key=value pairs for --set.
func (c *Cluster) RestartRocketd(t testing.TB, settings ...string) {
	t.Helper()
	_, namesrv, _ := strings.Cut(c.Namesrv, ":")
	_, broker, _ := strings.Cut(c.Broker, ":")
	again := StartRocketdAt(t, c.Dir, namesrv, broker, settings...)
	c.processes = again.processes
}

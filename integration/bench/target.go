package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/integration/peer"
)

// Names of what is measured.
const (
	sideRocketd = "rocketd"
	sideApache  = "apache"
	sideBare    = "bare"
	sideAppend  = "bare+append"
)

// target is a running broker, or the bare server.
type target struct {
	side    string
	addr    string
	namesrv string
	dir     string
	pid     int
	cluster *peer.Cluster // nil: the bare server
	o       options
	idle    map[int]float64 // % of a core with so many idle connections
}

// startTarget starts a side with a store in a new folder that prepare may fill before.
func startTarget(h *measure.Host, side string, o options, settings []string, prepare func(dir string) error) (t *target, err error) {
	t = &target{side: side, o: o}
	err = measure.Attempt(func() error {
		if side == sideBare || side == sideAppend {
			t.addr, t.pid = bareProcess(h, side)
			return nil
		}
		t.dir = h.TempDir()
		if prepare != nil {
			if err := prepare(t.dir); err != nil {
				return err
			}
		}
		t.startOn(h, t.dir, settings)
		return nil
	})
	return t, err
}

// startOn starts the broker on a store that is there.
func (t *target) startOn(h *measure.Host, dir string, settings []string) {
	if t.side == sideApache {
		t.cluster = peer.StartApache(h, dir, settings...)
	} else {
		t.cluster = peer.StartRocketd(h, dir, settings...)
	}
	t.addr, t.namesrv, t.pid = t.cluster.Broker, t.cluster.Namesrv, t.cluster.BrokerPID()
}

// bareProcess starts this program as the bare server.
func bareProcess(h *measure.Host, side string) (addr string, pid int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	spec := addr
	if side == sideAppend {
		spec = "append:" + filepath.Join(h.TempDir(), "log") + "," + addr
	}
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(self, "-bare", spec)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 500 {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr, cmd.Process.Pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.Fatalf("the bare server does not come up")
	return "", 0
}

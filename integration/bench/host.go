package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
)

// host lends the integration tests' helpers, which expect a test, what they need of one.
type host struct {
	testing.TB
	dirs     []string
	cleanups []func()
}

// failed is what a helper's Fatal panics with; attempt turns it into an error.
type failed string

func newHost() *host { return &host{} }

func (h *host) Helper()                        {}
func (h *host) Cleanup(f func())               { h.cleanups = append(h.cleanups, f) }
func (h *host) Logf(format string, a ...any)   { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (h *host) Errorf(format string, a ...any) { h.Logf(format, a...) }
func (h *host) Skipf(format string, a ...any)  { h.Fatalf(format, a...) }
func (h *host) Fatal(a ...any)                 { h.Fatalf("%s", fmt.Sprint(a...)) }
func (h *host) Fatalf(format string, a ...any) { panic(failed(fmt.Sprintf(format, a...))) }

// attempt runs fn and returns as an error what a helper gave up with.
func attempt(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failed)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s", string(f))
		}
	}()
	return fn()
}

func (h *host) TempDir() string {
	base := os.Getenv("BENCH_DIR") // where the stores lie; the system's temporary folder when empty
	dir, err := os.MkdirTemp(base, "rocketd-bench")
	if err != nil {
		h.Fatal(err)
	}
	h.dirs = append(h.dirs, dir)
	return dir
}

// close ends what was started and removes its files.
func (h *host) close() {
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
	for _, d := range h.dirs {
		_ = os.RemoveAll(d)
	}
	h.cleanups, h.dirs = nil, nil
}

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
func startTarget(h *host, side string, o options, settings []string, prepare func(dir string) error) (t *target, err error) {
	t = &target{side: side, o: o}
	err = attempt(func() error {
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
func (t *target) startOn(h *host, dir string, settings []string) {
	if t.side == sideApache {
		t.cluster = peer.StartApache(h, dir, settings...)
	} else {
		t.cluster = peer.StartRocketd(h, dir, settings...)
	}
	t.addr, t.namesrv, t.pid = t.cluster.Broker, t.cluster.Namesrv, t.cluster.BrokerPID()
}

// bareProcess starts this program as the bare server.
func bareProcess(h *host, side string) (addr string, pid int) {
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

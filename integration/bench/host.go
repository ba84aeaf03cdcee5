package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

func newHost() *host { return &host{} }

func (h *host) Helper()                        {}
func (h *host) Cleanup(f func())               { h.cleanups = append(h.cleanups, f) }
func (h *host) Logf(format string, a ...any)   { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (h *host) Errorf(format string, a ...any) { h.Logf(format, a...) }
func (h *host) Skipf(format string, a ...any)  { h.Fatalf(format, a...) }
func (h *host) Fatal(a ...any)                 { h.Fatalf("%s", fmt.Sprint(a...)) }

func (h *host) Fatalf(format string, a ...any) {
	h.Logf(format, a...)
	h.close()
	os.Exit(1)
}

func (h *host) TempDir() string {
	base := os.Getenv("BENCH_DIR") // where the stores lie; the system's temporary folder when empty
	dir, err := os.MkdirTemp(base, "rocketd-bench")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
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

// side is one of the measured servers.
type side struct {
	name  string
	start func(h *host, settings []string) *peer.Cluster
	bare  string // "bare" or "append"; only SEND rows
}

func sides(o options) []side {
	all := []side{
		{name: "rocketd", start: func(h *host, settings []string) *peer.Cluster { return peer.StartRocketd(h, h.TempDir(), settings...) }},
		{name: "bare", bare: "bare"},
		{name: "bare+append", bare: "append"},
	}
	if o.apache {
		all = append(all, side{name: "apache", start: func(h *host, settings []string) *peer.Cluster {
			return peer.StartApache(h, h.TempDir(), settings...)
		}})
	}
	return all
}

// bareProcess starts this program as the bare server.
func bareProcess(h *host, kind string) (addr string, pid int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	spec := addr
	if kind == "append" {
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
	for range 200 {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr, cmd.Process.Pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.Fatalf("bare server does not come up")
	return "", 0
}

// cpuSeconds is user plus system time of a process.
func cpuSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// anonymousMB is the process's memory that is not page cache.
func anonymousMB(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

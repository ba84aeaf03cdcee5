package peer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cluster is a running name server and broker, Apache's or ours.
type Cluster struct {
	Name    string
	Namesrv string
	Broker  string
	Dir     string
	HTTP    string // of rocketd with httpPprof=true

	processes []*process
}

// Stop ends name server and broker gracefully, the broker first.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop(t, syscall.SIGTERM)
	}
}

// Kill ends name server and broker with SIGKILL.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop(t, syscall.SIGKILL)
	}
}

// BrokerPID is the process id of the broker.
func (c *Cluster) BrokerPID() int { return c.processes[len(c.processes)-1].cmd.Process.Pid }

// ExitCode is that of the broker's process after Stop or Kill.
func (c *Cluster) ExitCode() int { return c.processes[len(c.processes)-1].cmd.ProcessState.ExitCode() }

// Log is what the broker's process has printed.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(c.processes[len(c.processes)-1].log)
	return string(text)
}

type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	once sync.Once
}

func start(t testing.TB, cmd *exec.Cmd, log string) *process {
	t.Helper()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	cmd.Dir = filepath.Dir(log) // what a program writes without being asked stays out of the tree
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		_ = f.Close()
		close(p.done)
	}()
	t.Cleanup(func() { p.stop(t, syscall.SIGKILL) })
	return p
}

func (p *process) stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(signal)
		select {
		case <-p.done:
		case <-time.After(60 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
			t.Errorf("%s did not end within a minute of %v", filepath.Base(p.cmd.Path), signal)
		}
	})
}

// awaitLine waits until the log holds the text, and returns the line with it.
func (p *process) awaitLine(t testing.TB, text string, within time.Duration) string {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		log, _ := os.ReadFile(p.log)
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line)
			}
		}
		select {
		case <-p.done:
			t.Fatalf("%s ended before it was ready:\n%s", p.cmd.Path, tail(string(log), 40))
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after %v:\n%s", p.cmd.Path, within, tail(string(log), 40))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var ports = struct {
	sync.Mutex
	next int
}{next: 10000 + os.Getpid()%2000*10} // below the ports that systems give to clients

// FreePorts finds a base such that base-2 .. base+2 are free on loopback: Apache's broker takes three ports in a row.
func FreePorts(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		base := ports.next
		ports.next += 10
		if ports.next > 32000 {
			ports.next = 10000
		}
		free := true
		for p := base - 2; p <= base+2 && free; p++ {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", p))
			if err != nil {
				free = false
				break
			}
			_ = l.Close()
		}
		if free {
			return base
		}
	}
	t.Fatal("no free ports")
	return 0
}

package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the test binary behave as rocketd.
const asProgram = "RUN_AS_ROCKETD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Run(Process{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: "test"}))
	}
	os.Exit(m.Run())
}

// program is a rocketd process.
type program struct {
	cmd    *exec.Cmd
	lines  chan string // of stdout; closed at its end
	exited chan struct{}
	code   int // valid after exited

	mu  sync.Mutex
	log bytes.Buffer // stderr
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *program) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p, _ := startWithInput(t, args...)
	return p
}

// startWithInput gives the process a standard input that ends when it is closed.
func startWithInput(t *testing.T, args ...string) (*program, io.WriteCloser) {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 16), exited: make(chan struct{})}
	p.cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")}
	p.cmd.Stderr = p
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			p.lines <- scan.Text()
		}
		close(p.lines)
		if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState != nil {
			p.code = p.cmd.ProcessState.ExitCode()
		}
		close(p.exited)
	}()
	t.Cleanup(func() {
		select {
		case <-p.exited:
		default:
			if err := p.cmd.Process.Kill(); err != nil {
				t.Log(err)
			}
			<-p.exited
		}
	})
	return p, stdin
}

// ready waits for the ready line and returns its fields.
func (p *program) ready(t *testing.T) map[string]string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		fields := strings.Fields(line)
		if !ok || len(fields) == 0 || fields[0] != "ready" {
			t.Fatalf("stdout %q instead of the ready line; stderr:\n%s", line, p.stderr())
		}
		values := make(map[string]string)
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			values[name] = value
		}
		return values
	case <-time.After(30 * time.Second):
		t.Fatalf("no ready line; stderr:\n%s", p.stderr())
		return nil
	}
}

func (p *program) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.code
	case <-time.After(30 * time.Second):
		t.Fatalf("the process does not end; stderr:\n%s", p.stderr())
		return -1
	}
}

func (p *program) terminate(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

func local(data string, more ...string) []string {
	return append([]string{"--data", data, "--host", "127.0.0.1", "--namesrv-port", "0", "--broker-port", "0"}, more...)
}

// One line on stdout, both listeners open, exit 0 after SIGTERM, and the directory can be used again.
func TestServe(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a", "data")
	for range 2 {
		p := start(t, local(data, "--set", "brokerName=tester")...)
		values := p.ready(t)
		if values["name"] != "tester" || values["data"] != data {
			t.Errorf("ready line %v", values)
		}
		for _, part := range []string{"namesrv", "broker"} {
			c, err := net.Dial("tcp", values[part])
			if err != nil {
				t.Errorf("%s: %v", part, err)
				continue
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		p.terminate(t)
		if code := p.wait(t); code != ExitOK {
			t.Errorf("exit %d after SIGTERM; stderr:\n%s", code, p.stderr())
		}
		if more, ok := <-p.lines; ok {
			t.Errorf("more on stdout: %q", more)
		}
	}
}

func TestServeAlone(t *testing.T) {
	ns := start(t, "namesrv", "--data", t.TempDir(), "--host", "127.0.0.1", "--namesrv-port", "0")
	addr := ns.ready(t)
	if addr["namesrv"] == "" || addr["broker"] != "" || addr["name"] != "" {
		t.Errorf("ready line of the name server %v", addr)
	}
	b := start(t, "broker", "--data", t.TempDir(), "--host", "127.0.0.1", "--broker-port", "0", "--namesrv", addr["namesrv"])
	if got := b.ready(t); got["broker"] == "" || got["namesrv"] != "" {
		t.Errorf("ready line of the broker %v", got)
	}
	for _, p := range []*program{b, ns} {
		p.terminate(t)
		if code := p.wait(t); code != ExitOK {
			t.Errorf("exit %d; stderr:\n%s", code, p.stderr())
		}
	}
}

func TestServeAdvertises(t *testing.T) {
	p := start(t, local(t.TempDir(), "--advertise", "localhost:30911")...)
	if got := p.ready(t)["broker"]; got != "localhost:30911" {
		t.Errorf("clients are told %q", got)
	}
}

// Each obstacle has its exit code and one sentence that says what to do.
func TestServeObstacles(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := taken.Close(); err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	start(t, local(used)...).ready(t)

	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"broker's port taken", append(local(t.TempDir()), "--broker-port", port), ExitPortTaken, []string{"port " + port + " of the broker is taken", "--broker-port"}},
		{"name server's port taken", append(local(t.TempDir()), "--namesrv-port", port), ExitPortTaken, []string{"port " + port + " of the name server is taken", "--namesrv-port"}},
		{"directory used", local(used), ExitLocked, []string{used, "is used by another broker process", "--data"}},
		{"directory below a file", local(filepath.Join(file, "data")), ExitNotWritable, []string{file, "not a directory", "--data"}},
		{"address of another machine", local(t.TempDir(), "--host", "192.0.2.1"), ExitAddress, []string{"192.0.2.1", "--host"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, c.args...)
			if code := p.wait(t); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(p.stderr()), "\n")
			last := lines[len(lines)-1]
			for _, want := range append(c.want, "rocketd: ") {
				if !strings.Contains(last, want) {
					t.Errorf("%q is not in %q", want, last)
				}
			}
		})
	}
}

func TestDev(t *testing.T) {
	p := start(t, "--dev", "--host", "127.0.0.1", "--namesrv-port", "0", "--broker-port", "0", "--http-port", "-1")
	ready := p.ready(t)
	data := ready["data"]
	if _, err := os.Stat(data); err != nil || !strings.Contains(data, "rocketd-dev-") {
		t.Fatalf("data in %q: %v", data, err)
	}
	if code, out, log := run(t, nil, "config", "get", "transactionTimeOut", "--broker", ready["broker"]); code != ExitOK || !strings.Contains(out, "3000") {
		t.Errorf("exit %d, %s%s", code, out, log)
	}
	p.terminate(t)
	if code := p.wait(t); code != ExitOK {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(filepath.Dir(data)); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", filepath.Dir(data), err)
	}
}

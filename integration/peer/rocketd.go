package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	buildRocketd    sync.Once
	buildRocketdErr error
	rocketdDir      string
)

// Main is TestMain of packages whose tests start the binary.
func Main(m *testing.M) {
	code := m.Run()
	if err := Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// Clean removes the binary that Rocketd has built. It is for the end of a program or of a package's tests.
func Clean() error { return os.RemoveAll(rocketdDir) }

// Rocketd is the path of the binary, built once from this tree as `make build` builds it, until Clean.
func Rocketd(t testing.TB) string {
	t.Helper()
	buildRocketd.Do(func() {
		if rocketdDir, buildRocketdErr = os.MkdirTemp("", "rocketd-bin"); buildRocketdErr != nil { //nolint:usetesting // all tests of the package share it
			return
		}
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(rocketdDir, "rocketd"), ".")
		cmd.Dir = Root()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildRocketdErr = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if buildRocketdErr != nil {
		t.Fatal(buildRocketdErr)
	}
	return filepath.Join(rocketdDir, "rocketd")
}

// StartRocketd starts name server and broker in one process on free ports with a store in dir. Settings are
// key=value pairs for --set. There is no HTTP server but with httpPprof=true.
func StartRocketd(t testing.TB, dir string, settings ...string) *Cluster {
	t.Helper()
	return StartRocketdAt(t, dir, "0", "0", settings...)
}

// StartRocketdAt is StartRocketd on given ports.
func StartRocketdAt(t testing.TB, dir, namesrvPort, brokerPort string, settings ...string) *Cluster {
	t.Helper()
	args := []string{"--data", dir, "--host", "127.0.0.1", "--namesrv-port", namesrvPort, "--broker-port", brokerPort, "--set", "brokerName=broker-a"}
	return run(t, dir, append(args, Sets(settings)...)...)
}

// StartRocketdNamesrv starts the name server alone.
func StartRocketdNamesrv(t testing.TB, dir string) *Cluster {
	t.Helper()
	return run(t, dir, "namesrv", "--data", dir, "--host", "127.0.0.1", "--namesrv-port", "0")
}

// StartRocketdBroker starts the broker alone; it registers with the given name servers.
func StartRocketdBroker(t testing.TB, dir, namesrv string, settings ...string) *Cluster {
	t.Helper()
	args := []string{"broker", "--data", dir, "--host", "127.0.0.1", "--broker-port", "0", "--namesrv", namesrv, "--set", "brokerName=broker-a"}
	c := run(t, dir, append(args, Sets(settings)...)...)
	c.Namesrv = namesrv
	return c
}

// Sets are the flags of the binary for key=value pairs.
func Sets(settings []string) []string {
	var flags []string
	for _, s := range settings {
		flags = append(flags, "--set", s)
	}
	return flags
}

func run(t testing.TB, dir string, args ...string) *Cluster {
	t.Helper()
	port := "-1" // they would all want the same one
	if slices.Contains(args, "httpPprof=true") {
		port = "0"
	}
	args = append(args, "--http-port", port)
	p := start(t, exec.Command(Rocketd(t), args...), filepath.Join(t.TempDir(), "rocketd.log"))
	ready := p.awaitLine(t, "ready ", 30*time.Second)
	c := &Cluster{Name: "rocketd", Dir: dir, processes: []*process{p}}
	for field := range strings.FieldsSeq(ready) {
		if v, ok := strings.CutPrefix(field, "namesrv="); ok {
			c.Namesrv = v
		}
		if v, ok := strings.CutPrefix(field, "broker="); ok {
			c.Broker = v
		}
		if v, ok := strings.CutPrefix(field, "http="); ok {
			c.HTTP = v
		}
	}
	return c
}

// Start starts Apache's broker ("apache") or ours ("rocketd"), each with its name server and default settings.
func Start(t testing.TB, broker, dir string) *Cluster {
	t.Helper()
	if broker == "apache" {
		return StartApache(t, dir)
	}
	return StartRocketd(t, dir)
}

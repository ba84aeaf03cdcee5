package peer

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Root is the top folder of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// ClientVersions are the Java clients the scenarios are compiled against.
var ClientVersions = []string{"4.9.8", "5.5.0"}

var (
	buildJava    sync.Once
	buildJavaErr error
)

// NeedJava builds the Maven project once. Without JDK or Maven it skips the test, or fails it in CI.
func NeedJava(t testing.TB) {
	t.Helper()
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			const hint = "%s is missing: install a JDK (8 or newer) and Maven to run the tests with Java clients and Apache's broker"
			if os.Getenv("CI") != "" {
				t.Fatalf(hint, tool)
			}
			t.Skipf(hint, tool)
		}
	}
	buildJava.Do(func() {
		cmd := exec.Command("mvn", "-q", "-B", "package")
		cmd.Dir = filepath.Join(Root(), "integration", "java")
		out, err := cmd.CombinedOutput()
		if err != nil {
			buildJavaErr = fmt.Errorf("mvn package: %w\n%s", err, out)
		}
	})
	if buildJavaErr != nil {
		t.Fatal(buildJavaErr)
	}
}

// Scenario is the outcome of one scenario of the Java project.
type Scenario struct {
	Name   string
	OK     bool
	Reason string
	// Facts are what the client saw, by name.
	Facts map[string]string
}

// ScenarioRun says how the scenarios are run.
type ScenarioRun struct {
	Version string // client version
	Namesrv string
	Prefix  string   // of topics and groups
	Only    []string // names; all when empty
	// JVM are further JVM options, such as -Dexact=true.
	JVM     []string
	Timeout time.Duration
	Watch   Watch
}

// Watch looks at a program of scenarios while it runs. The zero Watch does nothing.
type Watch struct {
	// See gets each line of its output that is no result, in one goroutine.
	See func(line string)
	// Kill ends it with SIGKILL when it is closed; that is no error then.
	Kill <-chan struct{}
}

// RunScenarios runs the Java scenarios and returns what they saw, by name.
func RunScenarios(t testing.TB, r ScenarioRun) map[string]Scenario {
	t.Helper()
	NeedJava(t)
	target := filepath.Join(Root(), "integration", "java", "client-"+r.Version, "target")
	classPath := filepath.Join(target, "scenarios.jar") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*")
	args := append([]string{"-Xmx256m", "-Duser.home=" + t.TempDir()}, r.JVM...)
	args = append(args, "-cp", classPath, "rocketd.scenario.Main", r.Namesrv, r.Prefix)
	args = append(args, r.Only...)
	if r.Timeout == 0 {
		r.Timeout = 5 * time.Minute
	}
	return RunProgram(t, exec.Command("java", args...), "client "+r.Version, r.Timeout, r.Watch)
}

// RunProgram runs a command that prints a RESULT line for each scenario, until it ends or its time is over.
func RunProgram(t testing.TB, cmd *exec.Cmd, what string, timeout time.Duration, watch Watch) map[string]Scenario {
	t.Helper()
	cmd.Dir = t.TempDir()
	log := filepath.Join(cmd.Dir, "client.log")
	stderr, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var killed atomic.Bool
	var killer sync.WaitGroup
	killer.Go(func() {
		select {
		case <-ended:
			return
		case <-watch.Kill:
			killed.Store(true)
		case <-time.After(timeout):
		}
		_ = cmd.Process.Kill() // it may have ended by itself
	})
	seen := map[string]Scenario{}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s, ok := parseResult(lines.Text()); ok {
			seen[s.Name] = s
		} else if watch.See != nil {
			watch.See(lines.Text())
		}
	}
	close(ended)
	killer.Wait()
	if err := cmd.Wait(); err != nil && !killed.Load() {
		text, _ := os.ReadFile(log)
		t.Errorf("scenarios of %s: %v\n%s", what, err, tail(string(text), 40))
	}
	for _, s := range seen {
		if !s.OK {
			text, _ := os.ReadFile(log)
			t.Logf("%s: %s\n%s", s.Name, s.Reason, grep(string(text), s.Name, 30))
		}
	}
	return seen
}

func parseResult(line string) (Scenario, bool) {
	i := strings.Index(line, "RESULT\t")
	if i < 0 {
		return Scenario{}, false
	}
	parts := strings.Split(line[i:], "\t")
	if len(parts) < 4 {
		return Scenario{}, false
	}
	s := Scenario{Name: parts[1], OK: parts[2] == "OK", Reason: parts[3], Facts: map[string]string{}}
	for _, fact := range parts[4:] {
		if k, v, ok := strings.Cut(fact, "="); ok {
			s.Facts[k] = v
		}
	}
	return s, true
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

func grep(s, word string, n int) string {
	var hits []string
	for line := range strings.Lines(s) {
		if strings.Contains(line, word) && !strings.Contains(line, "closeChannel") {
			hits = append(hits, strings.TrimRight(line, "\n"))
		}
	}
	return tail(strings.Join(hits, "\n"), n)
}

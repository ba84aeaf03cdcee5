package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// StoryClient is a gRPC client with a program of stories: it takes an endpoint, the prefix of topics and groups, and names of stories, and
// prints a RESULT line for each.
type StoryClient struct {
	// Name is the client's in the table of scenarios, Prefix that of its topics and groups.
	Name, Prefix string

	tools   []string
	prepare func() error // once: what must be fetched and built
	run     func(home string, exact bool) *exec.Cmd

	once sync.Once
	err  error
}

// StoryClients are the gRPC clients. Java's is built with the Maven project, the others are fetched from their registries.
var StoryClients = []*StoryClient{
	{Name: "Java gRPC 5.2.0", Prefix: "grpc", tools: []string{"java"}, prepare: func() error { return nil }, run: javaStories},
	{Name: "Go gRPC 5.1.4", Prefix: "grpcgo", tools: []string{"go"}, prepare: prepareGoStories, run: goStories},
	{Name: "Python gRPC 5.1.2", Prefix: "grpcpy", tools: []string{"python3"}, prepare: preparePythonStories, run: pythonStories},
	{Name: "Node.js gRPC 1.0.8", Prefix: "grpcjs", tools: []string{"node", "npm"}, prepare: prepareNodeStories, run: nodeStories},
}

// Prepare fetches and builds the client once. An error says why it cannot be had.
func (c *StoryClient) Prepare() error {
	c.once.Do(func() {
		for _, tool := range c.tools {
			if _, c.err = exec.LookPath(tool); c.err != nil {
				return
			}
		}
		c.err = c.prepare()
	})
	return c.err
}

// Run runs stories of a prepared client, all when none is named, and returns what they saw, by name. Exact asks for what rocketd promises
// beyond Apache.
func (c *StoryClient) Run(t testing.TB, endpoint, prefix string, exact bool, only ...string) map[string]Scenario {
	t.Helper()
	cmd := c.run(t.TempDir(), exact)
	cmd.Args = append(append(cmd.Args, endpoint, prefix), only...)
	return RunProgram(t, cmd, c.Name, 5*time.Minute, Watch{})
}

func javaStories(home string, exact bool) *exec.Cmd {
	target := filepath.Join(Root(), "integration", "java", "grpc", "target")
	classPath := filepath.Join(target, "stories.jar") + string(os.PathListSeparator) + filepath.Join(target, "lib", "*")
	return exec.Command("java", "-Xmx256m", "-Duser.home="+home, fmt.Sprintf("-Dexact=%t", exact), "-cp", classPath, "rocketd.grpc.Main")
}

// storiesDir is the folder of a client's program.
func storiesDir(client string) string { return filepath.Join(Root(), "integration", "grpc", client) }

// storyCommand runs a program with a home folder of its own: clients write logs there.
func storyCommand(home string, exact bool, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, fmt.Sprintf("EXACT=%t", exact))
	return cmd
}

// prepareWithin bounds each command of a preparation: a registry that does not answer must not use up the time of the tests.
const prepareWithin = 3 * time.Minute

func inDir(dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), prepareWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second // what it started may hold the output open
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, tail(string(out), 10))
	}
	return nil
}

func prepareGoStories() error {
	dir := storiesDir("go")
	if err := inDir(dir, "go", "mod", "download"); err != nil {
		return err
	}
	return inDir(dir, "go", "build", "-o", filepath.Join("target", "stories.exe"), ".")
}

func goStories(home string, exact bool) *exec.Cmd {
	return storyCommand(home, exact, filepath.Join(storiesDir("go"), "target", "stories.exe"))
}

func preparePythonStories() error {
	dir := storiesDir("python")
	if err := inDir(dir, "python3", "-m", "venv", "target"); err != nil {
		return err
	}
	return inDir(dir, venvPython(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
}

func venvPython() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(storiesDir("python"), "target", "Scripts", "python.exe")
	}
	return filepath.Join(storiesDir("python"), "target", "bin", "python")
}

func pythonStories(home string, exact bool) *exec.Cmd {
	return storyCommand(home, exact, venvPython(), "-B", filepath.Join(storiesDir("python"), "stories.py"))
}

func prepareNodeStories() error {
	return inDir(storiesDir("node"), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
}

func nodeStories(home string, exact bool) *exec.Cmd {
	return storyCommand(home, exact, "node", filepath.Join(storiesDir("node"), "stories.js"))
}

package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
)

// block is one fenced block.
type block struct {
	page     string
	line     int
	language string
	mark     string // what the comment above it says
	text     string
}

func (b *block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// quick are the pages of which the quick blocks are run in every test; the others with DOCS_TEST=all.
var quick = []string{"README.md", "docs/quickstart.md", "docs/cli.md", "docs/operations.md", "docs/configuration.md", "docs/console.md"}

// blocks finds the fenced blocks of a page.
func blocks(page, text string) (list []block) {
	var open *block
	mark, indent := "", ""
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		switch {
		case open != nil && bare == "```":
			list, open, mark = append(list, *open), nil, ""
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(bare, "```"):
			indent = line[:strings.Index(line, "`")]
			open = &block{page: page, line: i + 1, language: strings.TrimPrefix(bare, "```"), mark: mark}
		case strings.HasPrefix(bare, "<!--") && strings.HasSuffix(bare, "-->"):
			mark = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(bare, "<!--"), "-->"))
		case bare != "":
			mark = ""
		}
	}
	return list
}

func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(peer.Root(), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{filepath.Join(peer.Root(), "README.md")}, list...)
}

// desk is where the blocks of one page run.
type desk struct {
	dir    string
	env    []string
	ports  *strings.Replacer
	server *exec.Cmd
	log    *bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	namesrv, broker, http := peer.FreePorts(t), peer.FreePorts(t), peer.FreePorts(t)
	d := &desk{dir: t.TempDir(), log: new(bytes.Buffer)}
	d.ports = strings.NewReplacer(
		"rocketd test ", fmt.Sprintf("rocketd test --namesrv-port %d --broker-port %d --control 127.0.0.1:%d ", namesrv, broker, http+1), "9876", fmt.Sprint(namesrv), "10911", fmt.Sprint(broker), "10909", fmt.Sprint(broker-2), "10988", fmt.Sprint(http), "9877", fmt.Sprint(http+1))
	path := filepath.Dir(peer.Rocketd(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ROCKETD_") && !strings.HasPrefix(e, "NAMESRV_ADDR=") && !strings.HasPrefix(e, "PATH=") {
			d.env = append(d.env, e)
		}
	}
	d.env = append(d.env, "PATH="+path, fmt.Sprintf("NAMESRV_ADDR=127.0.0.1:%d", namesrv), fmt.Sprintf("ROCKETD_NAMESRV_PORT=%d", namesrv),
		fmt.Sprintf("ROCKETD_BROKER_PORT=%d", broker), fmt.Sprintf("ROCKETD_HTTP_PORT=%d", http), "ROCKETD_HOST=127.0.0.1")
	if err := os.Symlink(filepath.Join(peer.Root(), "deploy"), filepath.Join(d.dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.stop(t) })
	return d
}

// serve runs a block in the background and waits until a rocketd in it is ready.
func (d *desk) serve(t *testing.T, script string) {
	t.Helper()
	d.stop(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "server.out"))
	if err != nil {
		t.Fatal(err)
	}
	d.server = exec.Command("bash", "-eu", "-c", d.ports.Replace(script))
	d.server.Dir, d.server.Env, d.server.Stdout, d.server.Stderr = d.dir, d.env, out, d.log
	d.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("ready ")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no ready line of\n%s\n%s%s", script, text, d.log)
		}
	}
}

// stop ends the server with everything that its block started.
func (d *desk) stop(t *testing.T) {
	t.Helper()
	if d.server == nil {
		return
	}
	_ = syscall.Kill(-d.server.Process.Pid, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		_ = d.server.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-d.server.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	d.server = nil
}

// run runs a block to its end.
func (d *desk) run(t *testing.T, b *block) {
	t.Helper()
	if d.server == nil {
		d.serve(t, "exec rocketd --data server-data")
	}
	began := time.Now()
	out, err := d.once(t, b)
	if err != nil && strings.HasPrefix(b.mark, "needs") { // downloads, and clients whose first send times out on a busy machine
		t.Logf("%s: %v, tried again\n%s", b, err, lastLines(out, 30))
		out, err = d.once(t, b)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s\nprinted:\n%s", b, err, b.text, out)
		return
	}
	t.Logf("%s: run in %v\n%s", b, time.Since(began).Round(time.Millisecond), lastLines(out, 12))
}

// once runs a block, with everything it starts, for at most five minutes.
func (d *desk) once(t *testing.T, b *block) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", d.ports.Replace(b.text))
	cmd.Dir, cmd.Env, cmd.WaitDelay = d.dir, d.env, 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.CombinedOutput()
}

func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// TestDocs runs the blocks of every page: the quick ones, or all with DOCS_TEST=all.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is missing")
	}
	all := os.Getenv("DOCS_TEST") == "all"
	for _, file := range pages(t) {
		page, err := filepath.Rel(peer.Root(), file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list := blocks(page, string(text))
		if len(list) == 0 || !all && !slices.Contains(quick, filepath.ToSlash(page)) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			d := newDesk(t)
			for i := range list {
				d.do(t, &list[i], all)
			}
		})
	}
}

// do does with a block what its mark or its language says.
func (d *desk) do(t *testing.T, b *block, all bool) {
	t.Helper()
	word, rest, _ := strings.Cut(b.mark, ":")
	rest = strings.TrimSpace(rest)
	switch word {
	case "not run":
		if rest == "" {
			t.Errorf("%s: not run, and no reason", b)
		}
		return
	case "file":
		name := filepath.Join(d.dir, rest)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(d.ports.Replace(b.text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if b.language == "yaml" && filepath.Base(rest) == "rocketd.yaml" {
			d.config(t, b)
		}
		return
	case "serve":
		d.serve(t, b.text)
		return
	case "needs":
		if !all {
			return
		}
		for _, tool := range strings.Fields(rest) {
			if _, err := exec.LookPath(tool); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s: %s is missing", b, tool)
				}
				t.Logf("%s: left out, %s is missing", b, tool)
				return
			}
		}
	case "slow":
		if !all {
			return
		}
	case "":
	default:
		if _, err := os.Stat(filepath.Join(peer.Root(), b.mark)); err == nil {
			return // it is in step with this file (brokertest/docs_test.go), which runs as a test
		}
		t.Errorf("%s: the mark %q is unknown", b, b.mark)
		return
	}
	switch b.language {
	case "sh":
		d.run(t, b)
	case "yaml":
		d.config(t, b)
	case "json":
		if !json.Valid([]byte(b.text)) {
			t.Errorf("%s: this is no JSON", b)
		}
	case "text", "":
	default:
		t.Errorf("%s: a block in %q is neither written to a file nor marked as not run", b, b.language)
	}
}

// config reads a block as a configuration.
func (d *desk) config(t *testing.T, b *block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rocketd.yaml")
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(peer.Rocketd(t), "config", "--changed", "-c", file)
	cmd.Env = d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", b, err, out)
	}
}

// TestLinks follows the links from page to page.
func TestLinks(t *testing.T) {
	for _, file := range append(pages(t), filepath.Join(peer.Root(), "DESIGN.md"), filepath.Join(peer.Root(), "DIFFERENCES.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, "://") || strings.ContainsAny(target, " \n") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), target)); err != nil {
				t.Errorf("%s leads to %s, which is not there", filepath.Base(file), target)
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	text := "a\n<!-- slow -->\n```sh\none\n```\n\n<!-- x -->\ntext\n  ```go\n  two\n    three\n  ```\n"
	want := []block{{"p", 3, "sh", "slow", "one\n"}, {"p", 9, "go", "", "two\n  three\n"}}
	if got := blocks("p", text); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// attempt is one start of the binary that may fail.
type attempt struct {
	cmd    *exec.Cmd
	broker string // "" when it did not get ready
	took   time.Duration
	stderr bytes.Buffer
}

// tryStart starts the binary on dir and waits until it is ready or has ended; one that does neither within a minute is killed.
func tryStart(t *testing.T, dir string, args ...string) *attempt {
	t.Helper()
	return tryCommand(t, exec.Command(peer.Rocketd(t), append([]string{"--data", dir, "--host", "127.0.0.1", "--namesrv-port", "0", "--broker-port", "0"}, args...)...))
}

// tryCommand is tryStart of a given command.
func tryCommand(t *testing.T, cmd *exec.Cmd) *attempt {
	t.Helper()
	a := &attempt{cmd: cmd}
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop(); _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		for field := range strings.FieldsSeq(lines.Text()) {
			if v, ok := strings.CutPrefix(field, "broker="); ok {
				a.broker, a.took = v, time.Since(begun)
				return a
			}
		}
	}
	_ = a.cmd.Wait() // its exit code is looked at
	a.took = time.Since(begun)
	return a
}

// stop ends it with SIGTERM and gives back the exit code.
func (a *attempt) stop(t *testing.T) int {
	t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = a.cmd.Wait() // its exit code is looked at
	return a.cmd.ProcessState.ExitCode()
}

// TestTwoProcessesOneDirectory: the second one ends at once with its own exit code and a sentence, and the first one does
// not notice.
func TestTwoProcessesOneDirectory(t *testing.T) {
	dir := t.TempDir()
	c := peer.StartRocketd(t, dir)
	second := tryStart(t, dir)
	if second.broker != "" {
		t.Fatal("a second process started on the same directory")
	}
	if code := second.cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(second.stderr.String(), dir) {
		t.Errorf("exit code %d after %v, want 4 and a sentence that names %s:\n%s", code, second.took, dir, second.stderr.String())
	}
	if got := dialWire(t, c.Broker).ask(remoting.JSON, remoting.SendMessage, []byte("x"), sendOf...); got.Code != 0 {
		t.Errorf("the first one: %d %s", got.Code, got.Remark)
	}
}

// TestStopUnderLoad: SIGTERM in the middle of sends ends with exit code 0, loses nothing acknowledged and doubles nothing.
func TestStopUnderLoad(t *testing.T) {
	for _, settings := range [][]string{nil, {"flushDiskType=SYNC_FLUSH"}} {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			dir := t.TempDir()
			c := peer.StartRocketd(t, dir, settings...)
			var mu sync.Mutex
			acked := map[string]bool{}
			dialWire(t, c.Broker).ask(remoting.JSON, remoting.SendMessage, []byte("first"), sendOf...)
			var load sync.WaitGroup
			for worker := range 8 {
				w := dialWire(t, c.Broker)
				load.Go(func() {
					for n := 0; ; n++ {
						body := fmt.Sprintf("w%d n%d", worker, n)
						cmd := w.request(remoting.JSON, remoting.SendMessage, []byte(body), sendOf...)
						if _, err := w.conn.Write(remoting.AppendFrame(nil, cmd)); err != nil {
							return
						}
						got, err := w.read()
						if err != nil {
							return
						}
						if got.Code != 0 {
							continue
						}
						mu.Lock()
						acked[body] = true
						mu.Unlock()
					}
				})
			}
			await(t, 20*time.Second, "load", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(acked) > 2000
			})
			begun := time.Now()
			c.Stop(t)
			took := time.Since(begun)
			load.Wait()
			if code := c.ExitCode(); code != 0 {
				t.Errorf("exit code %d:\n%s", code, c.Log())
			}
			c = peer.StartRocketd(t, dir, settings...)
			seen := map[string]int{}
			for _, r := range readQueue(t, c.Broker) {
				seen[string(r.Body)]++
			}
			for body := range acked {
				if seen[body] == 0 {
					t.Errorf("%q was acknowledged and is lost", body)
				}
			}
			for body, n := range seen {
				if n > 1 {
					t.Errorf("%q is there %d times", body, n)
				}
			}
			t.Logf("%d acknowledged, %d stored, stopped in %v", len(acked), len(seen), took)
		})
	}
}

// readQueue reads queue 0 of topic T.
func readQueue(t *testing.T, broker string) []message.Record {
	t.Helper()
	w := dialWire(t, broker)
	var all []message.Record
	for {
		got := w.ask(remoting.JSON, remoting.PullMessage, nil, with(pullOf, "queueOffset", strconv.Itoa(len(all)))...)
		if got.Code == remoting.PullNotFound || got.Code == remoting.PullOffsetMoved {
			return all
		}
		if got.Code != 0 {
			t.Fatalf("pull at %d: %d %s", len(all), got.Code, got.Remark)
		}
		for body := got.Body; len(body) > 0; {
			var r message.Record
			n, err := message.DecodeRecord(body, &r, true)
			if err != nil {
				t.Fatal(err)
			}
			all, body = append(all, r), body[n:]
		}
	}
}

// TestDamagedFiles empties, zeroes and halves every file beside the commit log (scenario R-48). The broker starts from a
// backup or a rebuild with everything there, or ends by itself within 5 s, naming the file.
func TestDamagedFiles(t *testing.T) {
	origin := t.TempDir()
	settings := []string{"--set", "mappedFileSizeCommitLog=1048576", "--set", "mappedFileSizeConsumeQueue=60000", "--set", "maxHashSlotNum=1000", "--set", "maxIndexNum=4000"}
	for range 2 { // the second run makes backups of what the first has written
		a := tryStart(t, origin, settings...)
		w := dialWire(t, a.broker)
		for i := range 20 {
			w.ask(remoting.JSON, remoting.SendMessage, []byte("body"), with(sendOf, "properties", fmt.Sprintf("KEYS\x01k%d\x02", i))...)
			w.ask(remoting.JSON, remoting.SendMessage, []byte("later"), with(sendOf, "properties", "TIMER_DELAY_SEC\x013600\x02")...)
			w.ask(remoting.JSON, remoting.SendMessage, []byte("later"), with(sendOf, "properties", "DELAY\x0118\x02")...)
		}
		w.ask(remoting.JSON, remoting.PullMessage, nil, pullOf...)
		w.ask(remoting.JSON, remoting.UpdateConsumerOffset, nil, with(commitOf, "commitOffset", "7")...)
		if code := a.stop(t); code != 0 {
			t.Fatalf("exit code %d: %s", code, a.stderr.String())
		}
	}
	var files []string
	if err := filepath.WalkDir(origin, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(origin, path)
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, "commitlog") && !strings.HasSuffix(name, ".bak") && name != "lock" {
			files = append(files, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		for how, damage := range map[string]func([]byte) []byte{
			"empty": func([]byte) []byte { return nil },
			"zeros": func(b []byte) []byte { return make([]byte, len(b)) },
			"half":  func(b []byte) []byte { return b[:len(b)/2] },
		} {
			for _, bak := range []bool{true, false} {
				if _, err := os.Stat(filepath.Join(origin, name+".bak")); err != nil && bak {
					continue
				}
				t.Run(fmt.Sprintf("%s %s backup=%t", name, how, bak), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "data")
					if out, err := exec.Command("cp", "-a", "--sparse=always", origin, dir).CombinedOutput(); err != nil {
						t.Skipf("needs cp of coreutils: %v %s", err, out)
					}
					path := filepath.Join(dir, name)
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, damage(data), 0o600); err != nil {
						t.Fatal(err)
					}
					if !bak {
						_ = os.Remove(path + ".bak")
					}
					damagedStart(t, dir, name, bak, settings)
				})
			}
		}
	}
}

func damagedStart(t *testing.T, dir, name string, bak bool, settings []string) {
	t.Helper()
	a := tryStart(t, dir, settings...)
	if a.broker == "" {
		if !strings.Contains(a.stderr.String(), filepath.Base(name)) || a.cmd.ProcessState.ExitCode() <= 0 { // below 0: it was killed, since it did neither
			t.Errorf("ended after %v with code %d and does not name %s:\n%s", a.took, a.cmd.ProcessState.ExitCode(), name, a.stderr.String())
		} else {
			t.Logf("refused: %s", lastLine(a.stderr.String()))
		}
		return
	}
	w := dialWire(t, a.broker)
	topic := func(name string) string {
		got := w.ask(remoting.JSON, remoting.GetMaxOffset, nil, "topic", name, "queueId", "0")
		v, _ := got.ExtValue("offset")
		return v
	}
	if v := topic("T"); v != "40" {
		t.Errorf("topic T has %s messages, want 40", v)
	}
	if n := len(readQueue(t, a.broker)); n != 40 {
		t.Errorf("%d messages can be read, want 40:\n%s", n, a.stderr.String())
	}
	if v := topic("rmq_sys_wheel_timer"); v != "40" {
		t.Errorf("%s timers, want 40", v)
	}
	got := w.ask(remoting.JSON, remoting.QueryMessage, nil, "topic", "T", "key", "k3", "maxNum", "10", "beginTimestamp", "0", "endTimestamp", "9223372036854775807")
	if got.Code != 0 {
		t.Errorf("key k3 is not found: %d %s", got.Code, got.Remark)
	}
	if bak || !strings.Contains(name, "consumerOffset") {
		got = w.ask(remoting.JSON, remoting.QueryConsumerOffset, nil, "consumerGroup", "G", "topic", "T", "queueId", "0")
		if v, _ := got.ExtValue("offset"); v != "7" {
			t.Errorf("offset of group G is %q: %d %s", v, got.Code, got.Remark)
		}
	}
	if code := a.stop(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, a.stderr.String())
	}
	t.Logf("started; warned: %s", warnings(a.stderr.String()))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// warnings are the lines of a log above info.
func warnings(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "warn") || strings.Contains(line, "error") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, " | ")
}

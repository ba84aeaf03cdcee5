package integration

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
)

// adminCall is one sub-command of mqadmin, called on both sides in the order of the list: what an earlier one made is there for the later ones.
type adminCall struct {
	// line are the words; $namesrv, $broker, $dir and ids taken by `take` are replaced.
	line string
	// sorted compares lines in any order, once leaves out repeated lines, keys cuts out all numbers, names compares only what stands before "=" or ":".
	sorted, once, keys, names bool
	// file is written by the command, below $dir, and compared as well.
	file string
	// take keeps the first match of the expression under a name.
	take map[string]string
	// until repeats the call until the answer has the text: registrations and statistics come with a delay.
	until string
	// limit ends commands that go on for ever; 0: 20 s.
	limit time.Duration
	// why explains a difference. Without one, a difference fails the test.
	why string
}

var adminTable = flag.String("mqadmin-table", "", "file to write the table of mqadmin's sub-commands to")

// adminSide is one broker and the JVM that asks it.
type adminSide struct {
	c     *peer.Cluster
	out   string
	in    io.WriteCloser
	lines *bufio.Reader
	kept  map[string]string
}

func newAdminSide(t *testing.T, c *peer.Cluster) *adminSide {
	t.Helper()
	target := filepath.Join(peer.Root(), "integration", "java", "client-5.5.0", "target")
	home := t.TempDir()
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.home="+home, "-Duser.timezone=UTC",
		"-cp", filepath.Join(target, "scenarios.jar")+string(os.PathListSeparator)+filepath.Join(target, "lib", "*"), "rocketd.admin.Driver")
	cmd.Env = append(os.Environ(), "ROCKETMQ_HOME="+home)
	cmd.Dir = home // where some commands write files
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &adminSide{c: c, out: t.TempDir(), in: in, lines: bufio.NewReaderSize(out, 1<<20), kept: map[string]string{}}
	s.kept["$namesrv"], s.kept["$broker"], s.kept["$dir"] = c.Namesrv, c.Broker, s.out
	t.Cleanup(func() {
		_ = in.Close()
		end := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
	})
	return s
}

// expand puts values for the $ words, the longest first.
func (s *adminSide) expand(text string) string {
	names := make([]string, 0, len(s.kept))
	for name := range s.kept {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		text = strings.ReplaceAll(text, name, s.kept[name])
	}
	return text
}

// call runs one command and returns what it printed.
func (s *adminSide) call(c *adminCall) (string, error) {
	words := strings.Fields(c.line)
	for i := range words {
		words[i] = strings.ReplaceAll(s.expand(words[i]), "␣", " ")
	}
	if !strings.HasPrefix(words[0], "@") && words[0] != "help" && !slices.Contains(words, "-n") {
		words = append(words, "-n", s.c.Namesrv)
	}
	limit := c.limit
	if limit == 0 {
		limit = 20 * time.Second
	}
	deadline := time.Now().Add(40 * time.Second)
	for {
		if _, err := fmt.Fprintf(s.in, "%d\t%s\n", limit.Milliseconds(), strings.Join(words, "\t")); err != nil {
			return "", err
		}
		var text strings.Builder
		for {
			line, err := s.lines.ReadString('\n')
			if err != nil {
				return text.String(), err
			}
			if line == "\x01\n" {
				break
			}
			text.WriteString(line)
		}
		answer := text.String()
		if c.file != "" {
			content, err := os.ReadFile(s.expand(c.file))
			answer += fmt.Sprintf("\nfile: %s %v\n", content, err)
		}
		if c.until != "" && !strings.Contains(answer, c.until) && time.Now().Before(deadline) {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		for name, expression := range c.take {
			if m := regexp.MustCompile(expression).FindStringSubmatch(answer); m != nil {
				s.kept[name] = m[1]
			}
		}
		return answer, nil
	}
}

var (
	adminFrames  = regexp.MustCompile(`(?m)^\s*(\.\.\. \d+ (common frames omitted|more)|at [\w.$]+.*)\n`)
	adminDates   = regexp.MustCompile(`\d{4}-\d\d-\d\d[ #]\d\d:\d\d:\d\d([,.:]\d{1,3})?|\b20\d{12,15}\b`)
	adminIDs     = regexp.MustCompile(`\b[0-9A-F]{32,64}\b`)
	adminClients = regexp.MustCompile(`[\w.:%]+@(seed|\d+#)[\w#-]*|/?\b\d+\.\d+\.\d+\.\d+:\d{4,5}\b`)
	adminLinks   = regexp.MustCompile(`(?m)^\s*(See|For more information, please visit the url,) https?://.*\n`)
	adminObjects = regexp.MustCompile(`\$\$Lambda\S*|@[0-9a-f]{5,8}\b`)
	adminTimes   = regexp.MustCompile(`\b1[6-9]\d{11}\b`)
	adminMillis  = regexp.MustCompile(`\brt=\d+ms|cost:? ?\d+( ?ms)?`)
	adminFloats  = regexp.MustCompile(`-?\b\d+\.\d+(E-?\d+)?\b`)
	adminNumbers = regexp.MustCompile(`-?\d+(\.\d+)?(E-?\d+)?`)
	adminBlanks  = regexp.MustCompile(`[ \t]+`)
	adminName    = regexp.MustCompile(`^\s*"?((?:\$broker )?[\w.@$-]+)"?\s*[:=].*$`)
	adminCounter = regexp.MustCompile(`"counter":\d+`)
	adminPrefix  = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d+ \[.*\n`)
)

// normal makes equal what may differ: addresses, ids, times, rates, padding, Java frames.
func (s *adminSide) normal(c *adminCall, text string) string {
	text = strings.ReplaceAll(text, s.out, "$dir")
	text = strings.ReplaceAll(text, s.c.Dir, "$store")
	text = strings.ReplaceAll(strings.ReplaceAll(text, s.c.Broker, "$broker"), s.c.Namesrv, "$namesrv")
	text = adminLinks.ReplaceAllString(text, "")
	text = adminPrefix.ReplaceAllString(adminFrames.ReplaceAllString(text, ""), "")
	text = adminDates.ReplaceAllString(text, "$$time")
	text = adminIDs.ReplaceAllString(text, "$$id")
	text = adminClients.ReplaceAllString(text, "$$client")
	text = adminObjects.ReplaceAllString(text, "$$object")
	text = adminTimes.ReplaceAllString(text, "$$time")
	text = adminCounter.ReplaceAllString(text, `"counter":$$n`)
	text = adminMillis.ReplaceAllString(text, "$$cost")
	text = adminFloats.ReplaceAllString(text, "$$n")
	if c.keys {
		text = adminNumbers.ReplaceAllString(text, "$$n")
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(adminBlanks.ReplaceAllString(line, " "))
		if c.names {
			if m := adminName.FindStringSubmatch(line); m != nil {
				line = m[1]
			}
		}
		if line != "" && (!c.once || !slices.Contains(lines, line)) {
			lines = append(lines, line)
		}
	}
	if c.sorted {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n")
}

// TestMQAdmin calls the sub-commands of mqadmin 5.5.0 against Apache and against rocketd and compares what they print.
func TestMQAdmin(t *testing.T) {
	peer.NeedJava(t)
	sides := []*adminSide{
		newAdminSide(t, peer.StartApache(t, t.TempDir(), adminSettings...)),
		newAdminSide(t, peer.StartRocketd(t, t.TempDir(), adminSettings...)),
	}
	for _, s := range sides {
		writeAdminFiles(t, s.out)
	}
	table := &bytes.Buffer{}
	for i := range adminCalls {
		c := &adminCalls[i]
		var texts [2]string
		var took [2]time.Duration
		errs := make(chan error, 2)
		for k, s := range sides {
			go func() {
				start := time.Now()
				text, err := s.call(c)
				took[k] = time.Since(start)
				texts[k] = s.normal(c, text)
				errs <- err
			}()
		}
		for range sides {
			if err := <-errs; err != nil {
				t.Fatalf("%s: %v\n%s\n%s", c.line, err, texts[0], texts[1])
			}
		}
		t.Logf("%5d %5d ms  %s", took[0].Milliseconds(), took[1].Milliseconds(), c.line)
		t.Run(strings.ReplaceAll(c.line, "/", "|"), func(t *testing.T) {
			if texts[0] != texts[1] {
				if c.why == "" {
					t.Errorf("%s\n%s", c.line, lineDiff(texts[0], texts[1]))
				} else {
					t.Logf("%s: %s\n%s", c.line, c.why, lineDiff(texts[0], texts[1]))
				}
			} else if c.why != "" {
				t.Errorf("%s no longer differs, though a reason is given: %s", c.line, c.why)
			} else if testing.Verbose() {
				t.Logf("both:\n%.2000s", texts[0])
			}
		})
		addAdminRow(table, c, texts)
	}
	checkAdminTable(t, table.String())
}

// lineDiff lists the lines that only one of two texts has.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	count := map[string]int{}
	for _, line := range g {
		count[line]++
	}
	for _, line := range w {
		if count[line] > 0 {
			count[line]--
			continue
		}
		fmt.Fprintf(&b, "  Apache  %.1500s\n", line)
	}
	count = map[string]int{}
	for _, line := range w {
		count[line]++
	}
	for _, line := range g {
		if count[line] > 0 {
			count[line]--
			continue
		}
		fmt.Fprintf(&b, "  rocketd %.1500s\n", line)
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "  the order differs:\n  Apache\n%.3000s\n  rocketd\n%.3000s\n", want, got)
	}
	return b.String()
}

// addAdminRow adds a row of docs/mqadmin.md. Calls of the clients behind the commands are left out.
func addAdminRow(table *bytes.Buffer, c *adminCall, texts [2]string) {
	if strings.HasPrefix(c.line, "@") {
		return
	}
	command, arguments, _ := strings.Cut(c.line, " ")
	ours := "the same"
	if texts[0] != texts[1] {
		ours = "**differs**: " + c.why
	}
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "␣", " ", "`", "'")
	fmt.Fprintf(table, "| %s | %s | %s | %s |\n", command, code(cell.Replace(arguments)), code(cell.Replace(adminSummary(texts[0]))), cell.Replace(ours))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// adminSummary is the first telling line of an answer.
func adminSummary(text string) string {
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if i := strings.Index(line, "CODE:"); i >= 0 {
			return fmt.Sprintf("%.80s", line[i:])
		}
	}
	return fmt.Sprintf("%.80s", lines[0])
}

const adminTableHead = `# mqadmin 5.5.0

Each sub-command of Apache's mqadmin 5.5.0 that speaks to a name server or a broker, called in this order against Apache's own 5.5.0 and against rocketd, both with
the same topics, groups, messages and clients. What the commands print is compared line by line after addresses, ids, times and rates are made equal. Written by
` + "`make mqadmin-table`" + `; a difference without a reason fails the test (integration/mqadmin_test.go).

| sub-command | arguments | Apache 5.5.0 (first line) | rocketd |
| --- | --- | --- | --- |
`

const adminTableTail = `
The calls of rocketmq-dashboard and the metrics of rocketmq-exporter: [dashboard.md](dashboard.md).
`

// checkAdminTable writes the table, or compares which rows it has and which of them differ.
func checkAdminTable(t *testing.T, rows string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *adminTable != "" {
		if err := os.WriteFile(*adminTable, []byte(adminTableHead+rows+adminTableTail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(filepath.Join(peer.Root(), "docs", "mqadmin.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := adminVerdicts(rows), adminVerdicts(string(kept)); want != got {
		t.Errorf("docs/mqadmin.md is not what was seen, run make mqadmin-table:\n%s", lineDiff(want, got))
	}
}

// adminVerdicts are command, arguments and verdict of each row of a table.
func adminVerdicts(table string) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if strings.HasPrefix(line, "| ") && len(cells) >= 4 && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| sub-command") {
			fmt.Fprintf(&b, "%s %s %s\n", cells[0], cells[1], strings.TrimSpace(cells[len(cells)-1]))
		}
	}
	return b.String()
}

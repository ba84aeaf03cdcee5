package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
)

// Bounds of free space that doctor finds too little, bytes.
const (
	tooLittleFree = 512 << 20
	littleFree    = 2 << 30
)

type doctorAnswer struct {
	Healthy  bool            `json:"healthy"`
	Findings []admin.Finding `json:"findings"`
}

func newDoctor(p *Process) *cobra.Command {
	r := &remote{p: p}
	var data, httpAddr string
	var send bool
	c := &cobra.Command{
		Use: "doctor", Short: "Find out why clients cannot connect: addresses, ports, clocks, disks", Args: cobra.NoArgs,
		Long: `Does what a client does: asks the name servers, takes the addresses that clients are told, tries them, and says in plain words what is wrong: a
container's address, a port of another protocol, a name server without brokers, a clock that differs, a disk that is full. With --data it looks at
a directory on this machine too. Run it where the client runs. Exit code 0: no problem, 1: some.`,
		Example: `  rocketd doctor --namesrv mq.example.com:9876
  rocketd doctor --send                            also sends a message to the topic BenchmarkTest and reads it
  rocketd doctor --data /var/lib/rocketd`,
		RunE: func(*cobra.Command, []string) error { return r.doctor(data, httpAddr, send) },
	}
	r.register(c)
	c.Flags().BoolVar(&send, "send", false, "send a message to BenchmarkTest of each broker and read it")
	c.Flags().StringVar(&data, "data", "", "directory of a rocketd on this machine to look at")
	c.Flags().StringVar(&httpAddr, "http", "127.0.0.1:10988", "HOST:PORT of a console whose recent warnings are shown; empty: none")
	return c
}

func (r *remote) doctor(data, httpAddr string, send bool) error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		var all []admin.Finding
		tell := func(f admin.Finding) {
			all = append(all, f)
			if !r.json {
				printFinding(r.p.Stdout, f)
			}
		}
		a.Diagnose(ctx, send, tell)
		if data != "" {
			lookAtData(data, tell)
		}
		lookAtConsole(ctx, httpAddr, tell)
		problems := 0
		for _, f := range all {
			if f.Level == admin.LevelProblem {
				problems++
			}
		}
		if r.json {
			if err := printJSON(r.p.Stdout, doctorAnswer{problems == 0, all}); err != nil {
				return err
			}
		}
		if problems > 0 {
			return &failure{code: ExitFailure, sentence: fmt.Sprintf("%d problems", problems)}
		}
		return nil
	})
}

func printFinding(w io.Writer, f admin.Finding) {
	mark := map[string]string{admin.LevelOK: "ok       ", admin.LevelWarning: "warning  ", admin.LevelProblem: "PROBLEM  "}[f.Level]
	text := mark + f.What + ": " + f.Text
	if f.Advice != "" {
		text += "\n         -> " + f.Advice
	}
	_, _ = fmt.Fprintln(w, text) // a reader that is gone needs no findings; the exit code tells the result
}

// lookAtData looks at the files of a rocketd, without changing them: rights, free space, who uses it.
func lookAtData(dir string, tell func(admin.Finding)) {
	what := "directory " + dir
	say := func(level, advice, format string, args ...any) {
		tell(admin.Finding{Level: level, What: what, Text: fmt.Sprintf(format, args...), Advice: advice})
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, perr := os.Stat(filepath.Dir(filepath.Clean(dir)))
		if perr != nil || !parent.IsDir() {
			say(admin.LevelProblem, "create it, or choose another directory with --data", "neither it nor its parent exists")
			return
		}
		say(admin.LevelWarning, "", "it does not exist; the first start creates it")
		return
	case err != nil:
		say(admin.LevelProblem, "give this user the right to", "it cannot be read: %v", err)
		return
	case !info.IsDir():
		say(admin.LevelProblem, "choose another directory with --data", "it is no directory")
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		say(admin.LevelProblem, "give this user the right to (chown, chmod), or choose another directory with --data; a container runs as user 65532", "it cannot be written: %v", err)
	} else {
		_ = probe.Close()           // nothing is in it
		_ = os.Remove(probe.Name()) // an empty file that stays harms nothing
		say(admin.LevelOK, "", "it can be written by this user")
	}
	_, free, err := vfs.OS{}.Usage(dir)
	switch {
	case err != nil:
		say(admin.LevelWarning, "", "its free space cannot be read: %v", err)
	case free < tooLittleFree:
		say(admin.LevelProblem, "make room: messages are refused (diskMinFreeBytes)", "%d MiB are free", free>>20)
	case free < littleFree:
		say(admin.LevelWarning, "make room soon", "%d MiB are free", free>>20)
	default:
		say(admin.LevelOK, "", "%d GiB are free", free>>30)
	}
}

// lookAtConsole shows what a rocketd on this machine has to say, when there is one.
func lookAtConsole(ctx context.Context, addr string, tell func(admin.Finding)) {
	if addr == "" {
		return
	}
	what := "console " + addr
	ready, status, err := httpGet(ctx, "http://"+addr+"/readyz")
	if err != nil {
		return // no rocketd with a console here
	}
	if status != http.StatusOK {
		tell(admin.Finding{Level: admin.LevelProblem, What: what, Text: "the rocketd here takes no messages: " + strings.TrimSpace(string(ready))})
	}
	text, status, err := httpGet(ctx, "http://"+addr+"/api/v1/warnings")
	var list struct {
		Warnings []struct {
			Ms      int64             `json:"ms"`
			Message string            `json:"message"`
			Fields  map[string]string `json:"fields"`
		} `json:"warnings"`
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &list) != nil {
		return
	}
	for _, w := range list.Warnings[:min(len(list.Warnings), 5)] {
		detail := ""
		for _, key := range []string{"error", "reason", "client", "addr"} {
			if w.Fields[key] != "" {
				detail += " (" + key + ": " + w.Fields[key] + ")"
			}
		}
		tell(admin.Finding{Level: admin.LevelWarning, What: what, Text: "it logged at " + stampOf(w.Ms) + ": " + w.Message + detail})
	}
}

// httpGet reads at most 1 MiB of an address within 2 s.
func httpGet(ctx context.Context, url string) (text []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	text, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return text, resp.StatusCode, err
}

// newHealth is for container engines: images without a shell have no other way to look.
func newHealth(p *Process) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "health", Short: "Tell by the exit code whether the rocketd of this configuration takes messages", Args: cobra.NoArgs,
		Long: `Asks /readyz of the process that was started with the same flags, files and environment; without a console, whether its port answers.
Exit code 0: it takes messages, 1: it does not. For HEALTHCHECK of a container and exec probes.`,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := f.load(p, conf.RoleAll)
			if err != nil {
				return err
			}
			return health(p, loaded)
		},
	}
	f.register(c, conf.RoleAll)
	return c
}

func health(p *Process, c *conf.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	host := func(listen string) string {
		if ip := net.ParseIP(listen); listen == "" || ip != nil && ip.IsUnspecified() {
			return "127.0.0.1"
		}
		return listen
	}
	if c.Rocketd.HTTPPort > 0 {
		addr := net.JoinHostPort(host(c.Rocketd.HTTPHost), strconv.Itoa(int(c.Rocketd.HTTPPort)))
		text, status, err := httpGet(ctx, "http://"+addr+"/readyz")
		switch {
		case err != nil:
			return &failure{code: ExitFailure, sentence: "no answer at http://" + addr + "/readyz: " + err.Error(), err: err}
		case status != http.StatusOK:
			return &failure{code: ExitFailure, sentence: "not ready: " + strings.TrimSpace(string(text))}
		}
		_, err = fmt.Fprintln(p.Stdout, "ready")
		return err
	}
	addr := net.JoinHostPort(host(c.Rocketd.Host), strconv.Itoa(int(c.Broker.ListenPort)))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return &failure{code: ExitFailure, sentence: "no answer at " + addr, err: err}
	}
	_ = conn.Close() // it was only tried
	_, err = fmt.Fprintln(p.Stdout, "listening")
	return err
}

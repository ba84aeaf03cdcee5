package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/conf"
)

// remote is what the commands share that ask running servers.
type remote struct {
	p       *Process
	namesrv string
	broker  string
	timeout time.Duration
	json    bool
}

// register adds the flags that all commands below c have.
func (r *remote) register(c *cobra.Command) {
	set := c.PersistentFlags()
	set.SortFlags = false
	set.StringVarP(&r.namesrv, "namesrv", "n", "", "name servers, HOST:PORT;HOST:PORT (default: NAMESRV_ADDR, else "+admin.DefaultNamesrv+")")
	set.StringVarP(&r.broker, "broker", "b", "", "this broker alone: its name, or HOST:PORT, which needs no name server")
	set.DurationVar(&r.timeout, "timeout", 5*time.Second, "longest wait for one answer")
	set.BoolVar(&r.json, "json", false, "JSON for programs instead of tables")
}

// addrs are the name servers: those of the flag, of NAMESRV_ADDR, or none for the default.
func (r *remote) addrs() []string {
	text := r.namesrv
	for _, e := range r.p.Env {
		if v, ok := strings.CutPrefix(e, "NAMESRV_ADDR="); ok && text == "" {
			text = v
		}
	}
	return conf.SplitAddresses(text)
}

func (r *remote) open() *admin.Admin {
	return admin.New(admin.Options{Namesrv: r.addrs(), Broker: r.broker, Timeout: r.timeout})
}

// ask runs fn with an Admin until it is done or a signal comes, and explains its error.
func (r *remote) ask(fn func(ctx context.Context, a *admin.Admin) error) error {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	a := r.open()
	defer a.Close()
	return explainRemote(fn(ctx, a))
}

// explainRemote gives an error of admin its exit code.
func explainRemote(err error) error {
	var known *failure
	var missing *admin.NotFound
	var gone *admin.Unreachable
	var wrong *admin.Usage
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &missing):
		return &failure{code: ExitNotFound, sentence: err.Error(), err: err}
	case errors.As(err, &gone):
		return &failure{code: ExitUnreachable, sentence: err.Error(), err: err}
	case errors.As(err, &wrong):
		return &failure{code: ExitUsage, sentence: err.Error(), err: err}
	case errors.Is(err, context.Canceled):
		return &failure{code: ExitFailure, sentence: "interrupted", err: err}
	case errors.Is(err, syscall.EPIPE):
		return &failure{code: ExitOK, err: err} // the reader has seen enough
	default:
		return &failure{code: ExitFailure, sentence: err.Error(), err: err}
	}
}

// show prints an answer: as JSON when that was asked for, else by fn.
func (r *remote) show(answer any, fn func(t *table)) error {
	if r.json {
		return printJSON(r.p.Stdout, answer)
	}
	t := &table{w: tabwriter.NewWriter(r.p.Stdout, 0, 0, 2, ' ', tabwriter.StripEscape)}
	fn(t)
	return t.flush()
}

func printJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// table prints columns. Its first error is told by flush.
type table struct {
	w   *tabwriter.Writer
	err error
}

func (t *table) row(cells ...any) {
	line := make([]string, len(cells))
	for i, c := range cells {
		line[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(fmt.Sprint(c))
	}
	t.line(strings.Join(line, "\t"))
}

// line prints text that divides no columns.
func (t *table) line(text string) {
	if _, err := fmt.Fprintln(t.w, text); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *table) flush() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	return t.err
}

// said prints a sentence for people; with --json nothing, since the exit code tells it.
func (r *remote) said(format string, args ...any) error {
	if r.json {
		return printJSON(r.p.Stdout, struct {
			OK bool `json:"ok"`
		}{true})
	}
	_, err := fmt.Fprintf(r.p.Stdout, format+"\n", args...)
	return err
}

// progress shows on a terminal how much of a long work is done; elsewhere it is nil.
func (r *remote) progress(what string) admin.Progress {
	if !isTerminal(r.p.Stderr) {
		return nil
	}
	return newBar(r.p.Stderr, what, time.Now)
}

// newBar draws a bar over itself, at most ten times a second, and takes it away at the end.
func newBar(w io.Writer, what string, now func() time.Time) admin.Progress {
	const width = 24
	begin := now()
	var last time.Time
	drawn := false
	return func(done, total int) {
		at := now()
		switch {
		case done >= total && drawn:
			_, _ = fmt.Fprint(w, "\r\x1b[K") // a bar that is not drawn is no failure of the work
			drawn = false
		case done < total && at.Sub(begin) > 300*time.Millisecond && at.Sub(last) > 100*time.Millisecond:
			full := width * done / total
			// As above: the bar is no part of the work.
			_, _ = fmt.Fprintf(w, "\r\x1b[K%s [%s%s] %d/%d", what, strings.Repeat("#", full), strings.Repeat(".", width-full), done, total)
			last, drawn = at, true
		}
	}
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// stampOf prints ms since the epoch in local time.
func stampOf(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}

// age prints a duration in its two largest units.
func age(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func permission(p int32) string {
	text := ""
	if p&4 != 0 {
		text += "r"
	}
	if p&2 != 0 {
		text += "w"
	}
	if p&1 != 0 {
		text += "x"
	}
	if text == "" {
		return "none"
	}
	return text
}

func parsePermission(text string) (int32, error) {
	switch text {
	case "r", "4":
		return 4, nil
	case "w", "2":
		return 2, nil
	case "rw", "6":
		return 6, nil
	}
	return 0, &failure{code: ExitUsage, sentence: fmt.Sprintf("permission %q is none of r, w, rw", text)}
}

// parseTime reads a time: a span that has passed (10m, 36h, 3d), a date or a time of day in local time, RFC 3339, or ms or s since the epoch.
func parseTime(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		if _, err := fmt.Sscanf(days, "%g", &n); err == nil {
			return now.Add(-time.Duration(n * 24 * float64(time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05.000", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.Local), nil
		}
	}
	var n int64
	if _, err := fmt.Sscanf(text, "%d", &n); err == nil && fmt.Sprint(n) == text {
		switch len(text) {
		case 13:
			return time.UnixMilli(n), nil
		case 10:
			return time.Unix(n, 0), nil
		}
	}
	return now, &failure{code: ExitUsage, sentence: fmt.Sprintf(
		"%q is no time: write a span that has passed (10m, 3d), 2006-01-02 15:04:05, 15:04, RFC 3339, or ms since the epoch", text)}
}

// timeMs reads the time of a flag, ms since the epoch; 0 when it is empty.
func timeMs(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	t, err := parseTime(text, time.Now())
	return t.UnixMilli(), err
}

// given is the value of a flag that was set, else nil.
func given[T any](c *cobra.Command, flag string, value *T) *T {
	if c.Flags().Changed(flag) {
		return value
	}
	return nil
}

// completeTopics offers the names of topics as the first argument.
func (r *remote) completeTopics(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return r.topicNames(prefix)
}

func (r *remote) topicNames(prefix string) ([]string, cobra.ShellCompDirective) {
	return r.offer(func(ctx context.Context, a *admin.Admin) (names []string, err error) {
		topics, err := a.Topics(ctx, admin.TopicQuery{}, nil)
		for i := range topics {
			if strings.HasPrefix(topics[i].Name, prefix) && (topics[i].Kind == "normal" || prefix != "") {
				names = append(names, topics[i].Name)
			}
		}
		return names, err
	})
}

// completeGroups offers groups as the first argument and topics as the second.
func (r *remote) completeGroups(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return r.offer(func(ctx context.Context, a *admin.Admin) (names []string, err error) {
			groups, err := a.GroupNames(ctx)
			return slices.DeleteFunc(groups, func(name string) bool { return !strings.HasPrefix(name, prefix) }), err
		})
	case 1:
		return r.topicNames(prefix)
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// offer asks the servers, and offers nothing when they do not answer soon.
func (r *remote) offer(fn func(ctx context.Context, a *admin.Admin) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a := r.open()
	defer a.Close()
	names, err := fn(ctx, a)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

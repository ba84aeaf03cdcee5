package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/replay"
)

// replayFlags are those of rocketd replay.
type replayFlags struct {
	namesrv         string
	brokers, ignore []string
	timeout         time.Duration
	json            bool
}

func newReplay(p *Process) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a recording to other servers and compare their answers",
		Long: `Sends what the clients of a recording sent, waits for answers where the recording has them, and tells what is different: codes,
fields, and bodies by what they mean; times, addresses and ids that servers make are not compared. Both servers must have begun in the
same state, best an empty one. FILE - is stdin.

Exit code 0: all answers are equal. 1: there are differences.`,
		Example: `  rocketd replay --namesrv 127.0.0.1:9876 traffic.rec
  rocketd replay --broker =127.0.0.1:10911 --ignore QUERY_CONSUMER_OFFSET traffic.rec`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.play(p, args[0]) },
	}
	set := c.Flags()
	set.SortFlags = false
	set.StringVar(&f.namesrv, "namesrv", "", "HOST:PORT of the name server to play to; it tells the brokers")
	set.StringArrayVar(&f.brokers, "broker", nil, "NAME=HOST:PORT, a broker to play to by the name or address of the recorded one; no name: all others")
	set.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for one answer")
	set.StringArrayVar(&f.ignore, "ignore", nil, "request code by name or number whose answers are not compared; may be repeated")
	set.BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

func (f *replayFlags) options(p *Process) (replay.PlayOptions, error) {
	o := replay.PlayOptions{Namesrv: f.namesrv, Brokers: map[string]string{}, Timeout: f.timeout}
	for _, b := range f.brokers {
		name, addr, ok := strings.Cut(b, "=")
		if !ok {
			return o, &failure{code: ExitUsage, sentence: fmt.Sprintf("--broker %q is not NAME=HOST:PORT", b)}
		}
		o.Brokers[name] = addr
	}
	for _, name := range f.ignore {
		code, ok := remoting.RequestCode(name)
		if !ok {
			return o, &failure{code: ExitUsage, sentence: fmt.Sprintf("--ignore %q is no request code", name)}
		}
		o.Ignore = append(o.Ignore, code)
	}
	if f.namesrv == "" && len(o.Brokers) == 0 {
		return o, &failure{code: ExitUsage, sentence: "--namesrv or --broker must say what to play to"}
	}
	o.Recording = p.Stdin
	return o, nil
}

func (f *replayFlags) play(p *Process, path string) error {
	o, err := f.options(p)
	if err != nil {
		return err
	}
	if path != "-" {
		file, err := os.Open(path) //nolint:gosec // the file that the user names
		if err != nil {
			return &failure{code: ExitUsage, sentence: err.Error(), err: err}
		}
		defer func() { _ = file.Close() }() // it was only read
		o.Recording = file
	}
	if o.Recording == nil {
		o.Recording = strings.NewReader("")
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	report, playErr := replay.Play(ctx, o)
	if err := f.print(p.Stdout, report); err != nil {
		return &failure{code: ExitFailure, sentence: err.Error(), err: err}
	}
	if playErr != nil {
		return &failure{code: ExitFailure, sentence: playErr.Error(), err: playErr}
	}
	if n := len(report.Differences) + report.Further; n > 0 {
		return &failure{code: ExitFailure, sentence: fmt.Sprintf("%d answers are not the recorded ones", n)}
	}
	return nil
}

func (f *replayFlags) print(w io.Writer, report *replay.Report) error {
	if !f.json {
		return report.Print(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

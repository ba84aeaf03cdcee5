package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

// maxLine bounds a line of --lines, bytes: as much as a broker takes by default.
const maxLine = 4 << 20

// sendFlags are those of rocketd send.
type sendFlags struct {
	file        string
	lines       bool
	repeat      int
	tag, shard  string
	keys, props []string
	queue       int32
	level       int32
	delay       time.Duration
	at          string
}

func newSend(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := sendCommand(r)
	r.register(c)
	return c
}

func sendCommand(r *remote) *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use: "send TOPIC [BODY]", Short: "Send a message, or each line of standard input as one", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: r.completeTopics,
		Long: `Sends a message and prints where it went. The body is the argument, --file, or standard input; with --lines each line is a message.
A topic that does not exist is created by its first message, where the broker allows it.`,
		Example: `  rocketd send orders '{"id":4711}' --tag created --key 4711
  rocketd send orders 'later' --delay 10m
  rocketd send orders --at "2026-12-24 18:00" < letter.txt
  seq 1 1000 | rocketd send numbers --lines`,
		RunE: func(_ *cobra.Command, args []string) error { return r.send(f, args) },
	}
	set := c.Flags()
	set.SortFlags = false
	set.StringVarP(&f.file, "file", "f", "", "file that is the body; - is standard input")
	set.BoolVar(&f.lines, "lines", false, "each line of standard input or --file is a message")
	set.IntVar(&f.repeat, "repeat", 1, "send it so many times")
	set.StringVar(&f.tag, "tag", "", "tag")
	set.StringArrayVarP(&f.keys, "key", "k", nil, "key; may be repeated")
	set.StringArrayVarP(&f.props, "property", "p", nil, "NAME=VALUE; may be repeated")
	set.DurationVar(&f.delay, "delay", 0, "deliver so much later, to the millisecond (needs timers: rocketd, Apache 5)")
	set.StringVar(&f.at, "at", "", "deliver at this time (needs timers)")
	set.Int32Var(&f.level, "delay-level", 0, "delay level 1 to 18 (1s to 2h)")
	set.Int32Var(&f.queue, "queue", -1, "number of the queue; -1: any")
	set.StringVar(&f.shard, "sharding-key", "", "messages of one key go to one queue, in order")
	return c
}

func (f *sendFlags) request(topic string) (admin.SendRequest, error) {
	m := admin.SendRequest{
		Topic: topic, Tags: f.tag, Keys: f.keys, Properties: map[string]string{}, Queue: f.queue, ShardingKey: f.shard, DelayLevel: f.level, Delay: f.delay,
	}
	if err := pairs(f.props, m.Properties); err != nil {
		return m, err
	}
	if f.delay < 0 || f.repeat < 1 {
		return m, &failure{code: ExitUsage, sentence: "--delay cannot be negative, and --repeat not less than 1"}
	}
	var err error
	if m.AtMs, err = timeMs(f.at); err == nil && f.at != "" && m.AtMs < time.Now().UnixMilli() {
		err = &failure{code: ExitUsage, sentence: fmt.Sprintf("--at %s is in the past; --delay takes a span", f.at)}
	}
	return m, err
}

// input is where bodies come from.
func (r *remote) input(f *sendFlags, args []string) (io.ReadCloser, error) {
	switch {
	case len(args) == 2 && (f.file != "" || f.lines):
		return nil, &failure{code: ExitUsage, sentence: "the body is either an argument or read from a file or standard input"}
	case len(args) == 2:
		return io.NopCloser(strings.NewReader(args[1])), nil
	case f.file != "" && f.file != "-":
		file, err := os.Open(f.file)
		if err != nil {
			return nil, &failure{code: ExitUsage, sentence: err.Error(), err: err}
		}
		return file, nil
	case r.p.Stdin == nil || isTerminal(r.p.Stdin) && f.file != "-":
		return nil, &failure{code: ExitUsage, sentence: "there is no body: give it as an argument, by --file, or on standard input"}
	default:
		return io.NopCloser(r.p.Stdin), nil
	}
}

type sentAnswer struct {
	Sent int `json:"sent"`
}

func (r *remote) send(f *sendFlags, args []string) error {
	m, err := f.request(args[0])
	if err != nil {
		return err
	}
	in, err := r.input(f, args)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		s, err := a.Sender(ctx, m.Topic)
		if err != nil {
			return err
		}
		if f.lines {
			return r.sendLines(ctx, s, m, in)
		}
		if m.Body, err = io.ReadAll(in); err != nil {
			return err
		}
		bar := r.progress("messages")
		for n := range f.repeat {
			answer, err := s.Send(ctx, m)
			if err != nil {
				return err
			}
			if f.repeat > 1 {
				if bar != nil {
					bar(n+1, f.repeat)
				}
				continue
			}
			return r.showSent(answer)
		}
		return r.show(sentAnswer{f.repeat}, func(t *table) { t.line(fmt.Sprintf("sent %d messages", f.repeat)) })
	})
}

func (r *remote) showSent(answer *admin.SendAnswer) error {
	return r.show(answer, func(t *table) {
		t.row("sent", answer.ID)
		t.row("unique key", answer.UniqueKey)
		t.row("queue, offset", fmt.Sprintf("%s/%d, %d", answer.Broker, answer.Queue, answer.Offset))
		if answer.RecallHandle != "" {
			t.row("recall handle", answer.RecallHandle)
		}
		if answer.Warning != "" {
			t.row("warning", answer.Warning)
		}
	})
}

// sendLines sends each line as a message, in order, and tells how many at the end; with --json it tells of each.
func (r *remote) sendLines(ctx context.Context, s *admin.Sender, m admin.SendRequest, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // a message has a body
		}
		m.Body = append([]byte(nil), lines.Bytes()...)
		answer, err := s.Send(ctx, m)
		if err != nil {
			return fmt.Errorf("%d messages were sent, then: %w", n, err)
		}
		n++
		if !r.json {
			continue
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		if _, err := r.p.Stdout.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%d messages were sent, then a line could not be read: %w", n, err)
	}
	if r.json {
		return nil
	}
	return r.said("sent %d messages", n)
}

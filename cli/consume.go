package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

// consumeFlags are those of rocketd consume.
type consumeFlags struct {
	group, tags, sql, from string
	follow, body           bool
	count                  int
}

func newConsume(p *Process) *cobra.Command {
	r, f := &remote{p: p}, &consumeFlags{}
	c := &cobra.Command{
		Use: "consume TOPIC", Short: "Read messages, as a member of a group or without leaving a trace", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		Long: `Prints messages, one a line: time, queue, offset, tags, keys, body. With --group it is a member like any other: it shares the queues, and the
group's progress is kept. Without, it reads all queues and nothing changes at the broker. Without --follow it ends where the queues ended when it began.`,
		Example: `  rocketd consume orders                                 everything that is there
  rocketd consume orders --group billing --follow        as a member, until Ctrl-C
  rocketd consume orders --from 10m --tags 'created || paid' --json`,
		RunE: func(_ *cobra.Command, args []string) error { return r.consume(f, args[0]) },
	}
	r.register(c)
	set := c.Flags()
	set.SortFlags = false
	set.StringVarP(&f.group, "group", "g", "", "consumer group to be a member of")
	set.BoolVarP(&f.follow, "follow", "F", false, "go on with messages that come")
	set.StringVar(&f.from, "from", "first", "where to begin without progress: first, last, a span that has passed (10m), or a time")
	set.StringVar(&f.tags, "tags", "", "only messages with one of these tags, A || B")
	set.StringVar(&f.sql, "sql", "", "only messages whose properties fit an SQL92 condition")
	set.IntVar(&f.count, "count", 0, "end after so many messages; 0: no bound")
	set.BoolVar(&f.body, "body", false, "print the body alone")
	return c
}

// newTail is consume without a group, from the last few messages on.
func newTail(p *Process) *cobra.Command {
	r, f := &remote{p: p}, &consumeFlags{follow: true}
	var lines int
	c := &cobra.Command{
		Use: "tail TOPIC", Short: "Watch a topic: its last messages, then those that come", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		Example: `  rocketd tail orders
  rocketd tail '%DLQ%billing' --lines 50`,
		RunE: func(_ *cobra.Command, args []string) error { return r.tail(f, args[0], lines) },
	}
	r.register(c)
	set := c.Flags()
	set.SortFlags = false
	set.IntVar(&lines, "lines", 10, "messages to begin with")
	set.StringVar(&f.tags, "tags", "", "only messages with one of these tags, A || B")
	set.StringVar(&f.sql, "sql", "", "only messages whose properties fit an SQL92 condition")
	set.IntVar(&f.count, "count", 0, "end after so many messages; 0: no bound")
	set.BoolVar(&f.body, "body", false, "print the body alone")
	return c
}

func (f *consumeFlags) options(topic string) (admin.ConsumeOptions, error) {
	o := admin.ConsumeOptions{Topic: topic, Group: f.group, Expression: f.tags, Follow: f.follow, Count: f.count}
	if f.sql != "" {
		if f.tags != "" {
			return o, &failure{code: ExitUsage, sentence: "of --tags and --sql only one can be given"}
		}
		o.Expression, o.SQL = f.sql, true
	}
	switch f.from {
	case "", "last":
	case "first":
		o.Start.First = true
	default:
		t, err := parseTime(f.from, time.Now())
		if err != nil {
			return o, err
		}
		o.Start.FromMs = t.UnixMilli()
	}
	return o, nil
}

func (r *remote) consume(f *consumeFlags, topic string) error {
	o, err := f.options(topic)
	if err != nil {
		return err
	}
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		return a.Consume(ctx, o, func(m *admin.Message) error { return r.line(r.p.Stdout, m, f.body) })
	})
}

// tail prints the newest messages in order and follows from behind them.
func (r *remote) tail(f *consumeFlags, topic string, lines int) error {
	o, err := f.options(topic)
	if err != nil {
		return err
	}
	if lines < 0 {
		return &failure{code: ExitUsage, sentence: fmt.Sprintf("--lines %d is negative", lines)}
	}
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		return a.Tail(ctx, o, lines, func(m *admin.Message) error { return r.line(r.p.Stdout, m, f.body) })
	})
}

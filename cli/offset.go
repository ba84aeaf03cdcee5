package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

func newOffset(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := &cobra.Command{
		Use:   "offset",
		Short: "Show and move the progress of consumer groups",
		Example: `  rocketd offset show billing
  rocketd offset reset billing orders --to 30m               again what was stored in the last 30 minutes
  rocketd offset reset billing orders --to "2026-11-30 12:00"
  rocketd offset skip billing orders                         to the end: what waits is not consumed`,
	}
	r.register(c)
	c.AddCommand(offsetShow(r), offsetReset(r), offsetSkip(r), offsetSet(r), offsetClone(r))
	return c
}

type offsetsAnswer struct {
	Group  string                `json:"group"`
	Queues []admin.QueueProgress `json:"queues"`
}

func offsetShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "show GROUP [TOPIC]", Short: "Show how far a group is in each queue", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Offsets(ctx, args[0], strings.Join(args[1:], ""))
				if err != nil {
					return err
				}
				return r.showProgress(args[0], list)
			})
		},
	}
}

func (r *remote) showProgress(group string, list []admin.QueueProgress) error {
	return r.show(offsetsAnswer{group, list}, func(t *table) {
		t.row("TOPIC", "BROKER", "QUEUE", "MIN", "MAX", "COMMITTED", "LAG", "BEHIND")
		for _, q := range list {
			t.row(q.Topic, q.Broker, q.QueueID, count(q.Min), q.Max, count(q.Committed), q.Lag, age(q.LagMs))
		}
	})
}

type movedAnswer struct {
	Group string        `json:"group"`
	Moved []admin.Moved `json:"moved"`
}

func (r *remote) showMoved(group string, list []admin.Moved) error {
	return r.show(movedAnswer{group, list}, func(t *table) {
		t.row("TOPIC", "BROKER", "QUEUE", "NOW AT")
		for _, m := range list {
			t.row(m.Topic, m.Broker, m.QueueID, m.Offset)
		}
	})
}

func offsetReset(r *remote) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "reset GROUP TOPIC --to TIME", Short: "Move a group to a time, to the first or behind the last message", Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			var ms int64
			switch to {
			case "":
				return &failure{code: ExitUsage, sentence: "--to is missing: first, last, or a time such as 30m, 2026-11-30 12:00, 12:00"}
			case "first":
				ms = 0
			case "last":
				ms = admin.ToEnd
			default:
				var err error
				if ms, err = timeMs(to); err != nil {
					return err
				}
			}
			return r.reset(args[0], args[1], ms)
		},
	}
	c.Flags().StringVar(&to, "to", "", "first, last, a span that has passed (30m, 2d), or a time")
	return c
}

func (r *remote) reset(group, topic string, ms int64) error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		list, err := a.ResetOffsets(ctx, group, topic, ms)
		if err != nil {
			return err
		}
		return r.showMoved(group, list)
	})
}

func offsetSkip(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "skip GROUP TOPIC", Short: "Move a group behind the last message: what waits is not consumed", Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error { return r.reset(args[0], args[1], admin.ToEnd) },
	}
}

func offsetSet(r *remote) *cobra.Command {
	var queue int32
	var offset int64
	c := &cobra.Command{
		Use: "set GROUP TOPIC --queue N --offset N", Short: "Set a group's offset in one queue", Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			if queue < 0 || offset < 0 {
				return &failure{code: ExitUsage, sentence: "--queue and --offset are both needed, and not negative"}
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				m, err := a.SetOffset(ctx, args[0], args[1], queue, offset)
				if err != nil {
					return err
				}
				return r.showMoved(args[0], []admin.Moved{*m})
			})
		},
	}
	c.Flags().Int32Var(&queue, "queue", -1, "number of the queue")
	c.Flags().Int64Var(&offset, "offset", -1, "the next message that the group gets")
	return c
}

func offsetClone(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "clone FROM TO TOPIC", Short: "Give a group the offsets of another one", Args: cobra.ExactArgs(3), ValidArgsFunction: r.completeGroups,
		Long: "Gives the group TO the offsets that the group FROM has in TOPIC, so that it goes on from there.",
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == args[1] {
				return &failure{code: ExitUsage, sentence: fmt.Sprintf("%s is both groups", args[0])}
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.CloneOffsets(ctx, args[0], args[1], args[2])
				if err != nil {
					return err
				}
				return r.showProgress(args[1], list)
			})
		},
	}
}

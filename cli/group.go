package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/internal/view"
)

func newGroup(p *Process) *cobra.Command {
	return newRemote(p, &cobra.Command{
		Use:   "group",
		Short: "List, show, create, change and delete consumer groups",
		Example: `  rocketd group list                 lag and members of all groups
  rocketd group show billing         queue by queue
  rocketd group members billing      who works on what`,
	}, func(r *remote) []*cobra.Command {
		return []*cobra.Command{groupList(r), groupShow(r), groupMembers(r), groupPut(r, true), groupPut(r, false), groupDelete(r)}
	})
}

func groupList(r *remote) *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use: "list [TEXT]", Short: "List groups whose names contain TEXT, with lag and members", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return look(r, func(ctx context.Context, a *admin.Admin) (view.GroupsAnswer, error) {
				list, err := a.Groups(ctx, admin.GroupQuery{Contains: strings.Join(args, ""), System: system}, r.progress("groups"))
				return view.GroupsAnswer{Total: len(list), Groups: list}, err
			}, printGroups)
		},
	}
	c.Flags().BoolVar(&system, "system", false, "the brokers' own groups too")
	return c
}

func printGroups(t *table, answer view.GroupsAnswer) {
	t.row("GROUP", "MEMBERS", "MODEL", "LAG", "BEHIND", "DEAD", "TOPICS")
	for i := range answer.Groups {
		g := &answer.Groups[i]
		var topics []string
		for _, l := range g.Topics {
			topics = append(topics, l.Topic)
		}
		t.row(g.Name, g.Members, dash(strings.ToLower(g.Model)), g.Lag, age(g.LagMs), g.DeadLetters, dash(strings.Join(topics, ",")))
		for _, problem := range g.Problems {
			t.line("  warning: " + problem)
		}
	}
}

func groupShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "show GROUP", Short: "Show a group: settings, members, progress in each queue", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return look(r, func(ctx context.Context, a *admin.Admin) (*admin.GroupDetail, error) { return a.Group(ctx, args[0]) }, printGroup)
		},
	}
}

func printGroup(t *table, g *admin.GroupDetail) {
	t.row("group", g.Name)
	t.row("online", yesNo(g.Online))
	if g.Online {
		t.row("model", strings.ToLower(g.Model))
		t.row("begins", strings.ToLower(g.FromWhere))
	}
	if g.RetryMaxTimes >= 0 {
		t.row("enabled", yesNo(g.Enabled))
		t.row("retries", g.RetryMaxTimes)
		t.row("ordered", yesNo(g.Ordered))
	}
	t.row("lag", g.Lag)
	t.row("dead letters", g.DeadLetters)
	for _, topic := range slices.Sorted(maps.Keys(g.Subscriptions)) {
		t.row("subscribes", topic+" "+g.Subscriptions[topic])
	}
	for _, problem := range g.Problems {
		t.row("warning", problem)
	}
	if len(g.Clients) > 0 {
		t.line("")
		t.row("MEMBER", "ADDRESS", "LANGUAGE", "VERSION")
		for _, c := range g.Clients {
			t.row(c.ID, c.Address, c.Language, c.Version)
		}
	}
	printProgress(t, g.Queues)
}

func printProgress(t *table, queues []admin.QueueProgress) {
	if len(queues) == 0 {
		return
	}
	t.line("")
	t.row("TOPIC", "BROKER", "QUEUE", "MIN", "MAX", "COMMITTED", "LAG", "IN FLIGHT", "BEHIND")
	for _, q := range queues {
		t.row(q.Topic, q.Broker, q.QueueID, count(q.Min), q.Max, count(q.Committed), q.Lag, q.InFlight, age(q.LagMs))
	}
}

type membersAnswer struct {
	Group   string         `json:"group"`
	Members []admin.Member `json:"members"`
}

func groupMembers(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "members GROUP", Short: "Ask each member of a group which queues it works on", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return look(r, func(ctx context.Context, a *admin.Admin) (membersAnswer, error) {
				list, err := a.Members(ctx, args[0], r.progress("members"))
				return membersAnswer{args[0], list}, err
			}, func(t *table, answer membersAnswer) {
				t.row("MEMBER", "ADDRESS", "LANGUAGE", "VERSION", "TOPIC", "QUEUES", "CACHED")
				for i := range answer.Members {
					printMember(t, &answer.Members[i])
				}
			})
		},
	}
}

func printMember(t *table, m *admin.Member) {
	if m.Problem != "" || len(m.Queues) == 0 {
		t.row(m.ID, m.Address, m.Language, m.Version, "-", "-", "-")
		if m.Problem != "" {
			t.line("  not asked: " + m.Problem)
		}
		return
	}
	byTopic := map[string][]string{}
	cached := map[string]int64{}
	for _, q := range m.Queues {
		byTopic[q.Topic] = append(byTopic[q.Topic], fmt.Sprintf("%s/%d", q.Broker, q.QueueID))
		cached[q.Topic] += q.Cached
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		t.row(m.ID, m.Address, m.Language, m.Version, topic, strings.Join(byTopic[topic], ","), cached[topic])
	}
}

func groupPut(r *remote, create bool) *cobra.Command {
	var retries, retryQueues int32
	var enabled, broadcast, ordered, fromMin bool
	c := putCommand("group", create, r.completeGroups)
	c.RunE = func(c *cobra.Command, args []string) error {
		change := admin.GroupChange{
			Name: args[0], RetryMaxTimes: given(c, "retries", &retries), RetryQueueNums: given(c, "retry-queues", &retryQueues), Enabled: given(c, "enabled", &enabled),
			Broadcast: given(c, "broadcast", &broadcast), Ordered: given(c, "ordered", &ordered), FromMin: given(c, "from-first", &fromMin),
		}
		return r.ask(func(ctx context.Context, a *admin.Admin) error {
			if create {
				return r.done(a.CreateGroup(ctx, change), "group %s created", args[0])
			}
			return r.done(a.UpdateGroup(ctx, change), "group %s changed", args[0])
		})
	}
	set := c.Flags()
	set.SortFlags = false
	set.Int32Var(&retries, "retries", 16, "deliveries after the first before a message is a dead letter")
	set.Int32Var(&retryQueues, "retry-queues", 1, "queues of the retry topic")
	set.BoolVar(&enabled, "enabled", true, "the group may consume")
	set.BoolVar(&broadcast, "broadcast", true, "members may broadcast")
	set.BoolVar(&ordered, "ordered", false, "the group consumes in order")
	set.BoolVar(&fromMin, "from-first", true, "a new group begins at the first message when its client asks for nothing else")
	return c
}

func groupDelete(r *remote) *cobra.Command {
	var keep, force bool
	c := deleteCommand(r, deletion{
		what: "group", short: "Delete a group and its offsets", complete: r.completeGroups,
		loss: func(ctx context.Context, a *admin.Admin, name string) (string, error) {
			g, err := a.Group(ctx, name)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d members and progress in %d topics", g.Members, len(g.Topics)), nil
		},
		do: func(ctx context.Context, a *admin.Admin, name string) error {
			return a.DeleteGroup(ctx, name, !keep, force)
		},
	})
	c.Flags().BoolVar(&keep, "keep-offsets", false, "leave its offsets: a group of the same name goes on from there")
	c.Flags().BoolVar(&force, "force", false, "even though it has members")
	return c
}

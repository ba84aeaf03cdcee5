package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

// groupsAnswer has the form of the console's API.
type groupsAnswer struct {
	Total  int           `json:"total"`
	Groups []admin.Group `json:"groups"`
}

func newGroup(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := &cobra.Command{
		Use:   "group",
		Short: "List, show, create, change and delete consumer groups",
		Example: `  rocketd group list                 lag and members of all groups
  rocketd group show billing         queue by queue
  rocketd group members billing      who works on what`,
	}
	r.register(c)
	c.AddCommand(groupList(r), groupShow(r), groupMembers(r), groupPut(r, true), groupPut(r, false), groupDelete(r))
	return c
}

func groupList(r *remote) *cobra.Command {
	var system bool
	c := &cobra.Command{
		Use: "list [TEXT]", Short: "List groups whose names contain TEXT, with lag and members", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Groups(ctx, admin.GroupQuery{Contains: strings.Join(args, ""), System: system}, r.progress("groups"))
				if err != nil {
					return err
				}
				return r.show(groupsAnswer{len(list), list}, func(t *table) {
					t.row("GROUP", "MEMBERS", "MODEL", "LAG", "BEHIND", "DEAD", "TOPICS")
					for i := range list {
						g := &list[i]
						var topics []string
						for _, l := range g.Topics {
							topics = append(topics, l.Topic)
						}
						t.row(g.Name, g.Members, dash(strings.ToLower(g.Model)), g.Lag, age(g.LagMs), g.DeadLetters, dash(strings.Join(topics, ",")))
						for _, problem := range g.Problems {
							t.line("  warning: " + problem)
						}
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&system, "system", false, "the brokers' own groups too")
	return c
}

func groupShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "show GROUP", Short: "Show a group: settings, members, progress in each queue", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				g, err := a.Group(ctx, args[0])
				if err != nil {
					return err
				}
				return r.show(g, func(t *table) { printGroup(t, g) })
			})
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
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Members(ctx, args[0], r.progress("members"))
				if err != nil {
					return err
				}
				return r.show(membersAnswer{args[0], list}, func(t *table) {
					t.row("MEMBER", "ADDRESS", "LANGUAGE", "VERSION", "TOPIC", "QUEUES", "CACHED")
					for i := range list {
						printMember(t, &list[i])
					}
				})
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
	c := &cobra.Command{Use: "update GROUP", Short: "Change a group; what is not named stays", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups}
	if create {
		c.Use, c.Short, c.ValidArgsFunction = "create GROUP", "Create a group on all brokers", nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		change := admin.GroupChange{
			Name: args[0], RetryMaxTimes: given(c, "retries", &retries), RetryQueueNums: given(c, "retry-queues", &retryQueues), Enabled: given(c, "enabled", &enabled),
			Broadcast: given(c, "broadcast", &broadcast), Ordered: given(c, "ordered", &ordered), FromMin: given(c, "from-first", &fromMin),
		}
		return r.ask(func(ctx context.Context, a *admin.Admin) error {
			done, put := "changed", a.UpdateGroup
			if create {
				done, put = "created", a.CreateGroup
			}
			if err := put(ctx, change); err != nil {
				return err
			}
			return r.said("group %s %s", args[0], done)
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
	var yes, keep, force bool
	c := &cobra.Command{
		Use: "delete GROUP", Short: "Delete a group and its offsets", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				if !yes {
					g, err := a.Group(ctx, args[0])
					if err != nil {
						return err
					}
					return &failure{code: ExitUsage, sentence: fmt.Sprintf("group %s has %d members and progress in %d topics, and deleting it cannot be undone: add --yes", g.Name, g.Members, len(g.Topics))}
				}
				if err := a.DeleteGroup(ctx, args[0], !keep, force); err != nil {
					return err
				}
				return r.said("group %s deleted", args[0])
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	c.Flags().BoolVar(&keep, "keep-offsets", false, "leave its offsets: a group of the same name goes on from there")
	c.Flags().BoolVar(&force, "force", false, "even though it has members")
	return c
}
